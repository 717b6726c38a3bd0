// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only, no exceptions, no allocation, no locks on the hot path (begin, end, instant).
#include "cox/trace/guest_writer.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "trace/guest_budget.hpp"
#include "trace/guest_sampler.hpp"
#if defined(COX_TEST_GUEST)
#include "support/guest_test_clock.hpp"
#endif

namespace cox::trace::guest {
namespace {

constexpr std::uint64_t kReserveAhead = 16;  // chunks kept ready beyond those in use
constexpr std::uint32_t kMinimumChunks = 32;
constexpr int kOwnDescriptor = 200;                // the file's, or the next free one
constexpr long kKeeperPeriodNs = 100'000'000;      // the keeper thread wakes 10 times a second
constexpr std::uint64_t kWholeSamplePeriods = 10;  // of these samples one also reads what is dear
constexpr std::uint64_t kFirstPairPeriods = 1;  // periods between clock pairs; doubles as pairs are thinned

struct ThreadCursor {
  RawRecord* next = nullptr;
  RawRecord* end = nullptr;
  ChunkHeader* chunk = nullptr;
  std::uint32_t tid = 0;
  RawRecord spill{};  // written to while recording is off or there is no room
};

// Initial-exec: the object that holds this is loaded at program start, so access is one instruction.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCursor t_cursor;

enum class Phase : int { Off = 0, Opening = 1, On = 2, Dead = 3 };

struct Global {
  std::atomic<Phase> phase{Phase::Off};
  std::atomic<bool> use_tsc{false};
  std::atomic<bool> off{false};
  RawHeader* header = nullptr;
  std::byte* base = nullptr;  // of the mapping; chunk i lies at kHeaderBytes + i * chunk_bytes
  std::uint64_t mapped_bytes = 0;
  int fd = -1;
  dev_t file_device = 0;
  ino_t file_inode = 0;
  pid_t pid = 0;
  std::atomic<bool> growing{false};
  std::atomic<bool> meta_lock{false};
  ChunkHeader* meta_chunk = nullptr;
  ChunkHeader* sample_chunk = nullptr;  // of the keeper alone
  std::atomic<std::uint32_t> communicators{0};
  std::atomic<std::uint64_t> uncounted_calls{0};  // that left no record of their own
  pthread_key_t thread_end{};
  std::uint64_t pair_every = kFirstPairPeriods;
  double ps_per_tick = 0;
  double max_overhead = OverheadBudget::kDefaultLimit;
  void (*when_off)() noexcept = nullptr;
};
constinit Global g;

template <class T>
std::atomic_ref<T> shared(T& field) {
  return std::atomic_ref<T>(field);
}

std::int64_t clock_ns(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  const std::int64_t ns = std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
#if defined(COX_TEST_GUEST)
  if (id == CLOCK_MONOTONIC) return test_clock::monotonic(ns);
#endif
  return ns;
}

inline std::uint64_t now() noexcept {
#if defined(__x86_64__)
  if (g.use_tsc.load(std::memory_order_relaxed)) [[likely]] {
#if defined(COX_TEST_GUEST)
    return test_clock::counter(__rdtsc());
#else
    return __rdtsc();
#endif
  }
#endif
  return static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC));
}

bool tsc_is_invariant() noexcept {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
  return false;
#endif
}

ClockPair read_clocks() noexcept {
  ClockPair best{};
  std::uint64_t narrowest = ~std::uint64_t{0};
  for (int i = 0; i < 5; ++i) {  // the tightest of a few brackets: preemption widens the others
    const std::uint64_t before = now();
    const std::int64_t mono = clock_ns(CLOCK_MONOTONIC);
    const std::int64_t real = clock_ns(CLOCK_REALTIME);
    const std::uint64_t after = now();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {before + (after - before) / 3, mono, real};
  }
  return best;
}

// Keeps at most kMaxClockPairs readings over any length of run: when full, every other one goes and the
// period doubles.
void add_clock_pair() noexcept {
  RawHeader& h = *g.header;
  std::uint64_t n = h.pair_count;
  if (n == kMaxClockPairs) {
    n /= 2;
    for (std::uint64_t i = 0; i < n; ++i) h.pairs[i] = h.pairs[2 * i];
    shared(h.pair_count).store(n, std::memory_order_release);
    g.pair_every *= 2;
  }
  h.pairs[n] = read_clocks();
  shared(h.pair_count).store(n + 1, std::memory_order_release);
}

template <std::size_t N>
void set_text(char (&field)[N], const char* text) noexcept {
  memset(field, 0, N);
  if (text != nullptr) strncpy(field, text, N - 1);
}

void switch_off(std::uint32_t reason) noexcept {
  g.phase.store(Phase::Dead, std::memory_order_release);
  g.off.store(true, std::memory_order_release);
  if (g.header != nullptr) {
    g.header->disable_reason = reason;
    shared(g.header->state).store(WriterState::Disabled, std::memory_order_release);
  }
  if (g.when_off != nullptr) g.when_off();
}

ChunkHeader* chunk_at(std::uint64_t index) noexcept {
  return reinterpret_cast<ChunkHeader*>(g.base + kHeaderBytes + index * g.header->chunk_bytes);
}

std::uint32_t records_per_chunk() noexcept {
  return (g.header->chunk_bytes - static_cast<std::uint32_t>(sizeof(ChunkHeader))) / sizeof(RawRecord);
}

// Extends the file so that `chunks` chunks lie on disk. posix_fallocate first: a write to a mapped hole on a
// full disk would raise SIGBUS in somebody's job.
// Whether our descriptor still is ours: a job that closes every number it finds may have opened a file of its
// own under this one. (The keeper thread has a descriptor table of its own.)
bool still_our_file() noexcept {
  struct stat now_there {};
  return fstat(g.fd, &now_there) == 0 && now_there.st_dev == g.file_device &&
         now_there.st_ino == g.file_inode;
}

bool reserve(std::uint64_t chunks) noexcept {
  RawHeader& h = *g.header;
  if (chunks > h.chunk_limit) chunks = h.chunk_limit;
  while (g.growing.exchange(true, std::memory_order_acquire)) sched_yield();
  bool good = true;
  const std::uint64_t have = shared(h.chunks_reserved).load(std::memory_order_relaxed);
  if (chunks > have) {
    const auto from = static_cast<off_t>(kHeaderBytes + have * h.chunk_bytes);
    const auto bytes = static_cast<off_t>((chunks - have) * h.chunk_bytes);
    int rc = 0;
    do rc = still_our_file() ? posix_fallocate(g.fd, from, bytes) : EBADF;
    while (rc == EINTR);
    good = rc == 0;
#if defined(MADV_POPULATE_WRITE)
    // Page faults are taken here and not by the events; an older kernel says no and nothing is lost. The
    // start is rounded up to a page: the header before it is touched already.
    constexpr off_t kPage = 4096;
    if (good)
      madvise(g.base + (from + kPage - 1) / kPage * kPage, static_cast<std::size_t>(bytes),
              MADV_POPULATE_WRITE);
#endif
    if (good) shared(h.chunks_reserved).store(chunks, std::memory_order_release);
    if (!good) h.disable_reason = static_cast<std::uint32_t>(rc);  // recording goes on in what there is
  }
  g.growing.store(false, std::memory_order_release);
  return good;
}

void seal(ThreadCursor& c) noexcept {
  if (c.chunk != nullptr) shared(c.chunk->sealed).store(1, std::memory_order_release);
  c.chunk = nullptr;
  c.next = c.end = nullptr;
}

void start_chunk(ChunkHeader* chunk, ChunkKind kind, std::uint64_t ticket, std::uint32_t tid) noexcept {
  shared(chunk->committed).store(0, std::memory_order_release);
  chunk->ticket = ticket;
  chunk->thread = tid;
  chunk->first_ticks = now();
  chunk->kind = kind;
  shared(chunk->magic).store(kChunkMagic, std::memory_order_release);
}

// Index of the chunk behind a ticket: in order up to the limit, then round and round over the unpinned ones.
std::uint64_t chunk_index(std::uint64_t ticket) noexcept {
  const RawHeader& h = *g.header;
  if (ticket < h.chunk_limit) return ticket;
  return h.pinned_chunks + (ticket - h.pinned_chunks) % (h.chunk_limit - h.pinned_chunks);
}

bool has_open_record(ChunkHeader& chunk) noexcept {
  if (chunk.kind != ChunkKind::Events) return false;
  auto* records = reinterpret_cast<RawRecord*>(&chunk + 1);
  for (std::uint64_t i = 0; i < chunk.committed; ++i)
    if (shared(records[i].end).load(std::memory_order_relaxed) == 0) return true;
  return false;
}

// A chunk for the caller alone, or null where there is no room.
ChunkHeader* claim_chunk(ChunkKind kind, std::uint32_t tid) noexcept {
  RawHeader& h = *g.header;
  auto tickets = shared(h.tickets);
  for (std::uint32_t tries = 0; tries <= h.chunk_limit; ++tries) {
    std::uint64_t ticket = tickets.load(std::memory_order_relaxed);
    if (ticket < h.chunk_limit && ticket >= shared(h.chunks_reserved).load(std::memory_order_acquire)) {
      // The keeper fell behind (or the disk is full): reserve here, once per many thousand events.
      // After one failure (a full disk) nothing more is tried: events are dropped and counted.
      if (h.disable_reason != 0 || !reserve(ticket + kReserveAhead)) return nullptr;
      if (ticket >= shared(h.chunks_reserved).load(std::memory_order_acquire)) return nullptr;
    }
    if (!tickets.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    ChunkHeader* chunk = chunk_at(chunk_index(ticket));
    if (ticket >= h.chunk_limit) {
      std::uint32_t one = 1;  // only a sealed chunk may be reused; Meta chunks never are sealed
      if (!shared(chunk->sealed).compare_exchange_strong(one, 0, std::memory_order_acq_rel)) continue;
      if (has_open_record(*chunk)) {  // its `end` is still to be written: the chunk stays as it is
        shared(chunk->sealed).store(1, std::memory_order_release);
        continue;
      }
      shared(h.recycled_chunks).fetch_add(1, std::memory_order_relaxed);
      if (chunk->kind == ChunkKind::Events)
        shared(h.recycled_records).fetch_add(chunk->committed, std::memory_order_relaxed);
    }
    start_chunk(chunk, kind, ticket, tid);
    return chunk;
  }
  return nullptr;
}

// Slow path of begin(): the cursor has no room left.
[[gnu::noinline, gnu::cold]] bool next_chunk(ThreadCursor& c) noexcept {
  if (g.phase.load(std::memory_order_acquire) != Phase::On) return false;
  const int saved_errno = errno;
  if (c.tid == 0) {
    c.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    pthread_setspecific(g.thread_end, &c);
  }
  seal(c);
  c.chunk = claim_chunk(ChunkKind::Events, c.tid);
  if (c.chunk != nullptr) {
    c.next = reinterpret_cast<RawRecord*>(c.chunk + 1);
    c.end = c.next + records_per_chunk();
  }
  errno = saved_errno;
  return c.chunk != nullptr;
}

void thread_ended(void* cursor) {
  auto* c = static_cast<ThreadCursor*>(cursor);
  if (g.phase.load(std::memory_order_acquire) == Phase::On) seal(*c);
  c->next = c->end = nullptr;
}

// A child of fork shares the mapping with its parent: it must never write to it.
void after_fork_in_child() {
  g.phase.store(Phase::Dead, std::memory_order_release);
  t_cursor.next = t_cursor.end = nullptr;
  t_cursor.chunk = nullptr;
  g.header = nullptr;
}

// One sample into the keeper's own chunk; the oldest go under --max-size as events do.
void add_sample(bool whole) noexcept {
  RawHeader& h = *g.header;
  const std::uint64_t room = (h.chunk_bytes - sizeof(ChunkHeader)) / sizeof(RawSample);
  if (room == 0) return;
  if (g.sample_chunk != nullptr && g.sample_chunk->committed == room) {
    shared(g.sample_chunk->sealed).store(1, std::memory_order_release);
    g.sample_chunk = nullptr;
  }
  if (g.sample_chunk == nullptr) g.sample_chunk = claim_chunk(ChunkKind::Samples, 0);
  if (g.sample_chunk == nullptr) return;
  RawSample sample;
  take_sample(sample, whole);
  sample.ticks = now();
  ChunkHeader& chunk = *g.sample_chunk;
  memcpy(reinterpret_cast<std::byte*>(&chunk + 1) + chunk.committed * sizeof sample, &sample, sizeof sample);
  shared(chunk.committed).store(chunk.committed + 1, std::memory_order_release);
  shared(h.sample_tickets).fetch_add(1, std::memory_order_relaxed);
}

void add_locality(const char* lines, std::size_t bytes) noexcept;

// Says why, with the numbers, and stops: a hook that is too dear for its host is worse than none.
void stop_as_too_slow(const OverheadBudget& budget) noexcept {
  static char text[160];
  snprintf(text, sizeof text,
           "recording switched itself off: %.0f calls a second would have cost %.1f %% of a CPU, more than "
           "the %.1f %% "
           "allowed (COX_MAX_OVERHEAD)",
           budget.calls_per_second(), 100 * budget.share(), 100 * g.max_overhead);
  note(text);
  switch_off(kDisabledTooSlow);
}

// Calls so far: records in chunks handed out, and calls that left none.
std::uint64_t calls_so_far(std::uint64_t tickets) noexcept {
  return tickets * records_per_chunk() + g.uncounted_calls.load(std::memory_order_relaxed);
}

// Keeps chunks reserved ahead of use and the clock readings coming, so that no event ever waits for either.
void* keeper(void*) {
  std::uint64_t used = 0;
  OverheadBudget budget(g.max_overhead);
  // A call is an entry and an exit: about twice the two clock reads that were measured.
  const double ns_per_call = 2e-3 * static_cast<double>(g.header->overhead_ticks) * g.ps_per_tick;
  separate_descriptors(g.fd);
  add_sample(true);
  read_locality(g.header->local_rank <= 0, add_locality);  // what all of a node share: once per node
  for (std::uint64_t period = 1;; ++period) {
    const timespec pause{.tv_sec = 0, .tv_nsec = kKeeperPeriodNs};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    if (g.phase.load(std::memory_order_acquire) != Phase::On) return nullptr;
    if (period % g.pair_every == 0) add_clock_pair();
    add_sample(period % kWholeSamplePeriods == 0);
    const std::uint64_t tickets = shared(g.header->tickets).load(std::memory_order_relaxed);
    const std::uint64_t pace = tickets - used;
    used = tickets;
    const std::uint64_t ahead = 2 * pace > kReserveAhead ? 2 * pace : kReserveAhead;
    if (g.header->disable_reason == 0) reserve(tickets + ahead);
    if (budget.exceeded(calls_so_far(tickets), ns_per_call,
                        static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC))))
      stop_as_too_slow(budget);
  }
}

void start_keeper() noexcept {
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);  // the job's signals stay the job's
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attr, std::size_t{256} * 1024);
  pthread_t thread{};
  if (pthread_create(&thread, &attr, keeper, nullptr) == 0) pthread_setname_np(thread, "cox-keeper");
  pthread_attr_destroy(&attr);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

// Own cost per event: smallest of a few batches of empty events on this thread's spill record.
std::uint64_t measure_overhead() noexcept {
  std::uint64_t best = ~std::uint64_t{0};
  RawRecord* spill = &t_cursor.spill;
  for (int batch = 0; batch < 5; ++batch) {
    const std::uint64_t t0 = now();
    for (int i = 0; i < 32; ++i) {
      spill->begin = now();
      std::atomic_signal_fence(std::memory_order_seq_cst);
      spill->end = now();
    }
    const std::uint64_t t = (now() - t0) / 32;
    if (t < best) best = t;
  }
  return best;
}

void read_line(const char* path, char* out, std::size_t size) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t n = read(fd, out, size - 1);
  ::close(fd);
  if (n <= 0) return;
  out[n] = 0;
  if (char* newline = strchr(out, '\n')) *newline = 0;
}

double estimate_ticks_per_second() noexcept {
  if (!g.use_tsc.load(std::memory_order_relaxed)) return 1e9;
  const ClockPair a = read_clocks();
  ClockPair b = a;
  while (b.monotonic_ns - a.monotonic_ns < 200'000)
    b = read_clocks();  // 0.2 ms; the clock pairs are the authority
  return static_cast<double>(b.ticks - a.ticks) * 1e9 / static_cast<double>(b.monotonic_ns - a.monotonic_ns);
}

void fill_header(RawHeader& h, const WriterOptions& o, const Identity& id,
                 std::uint32_t chunk_limit) noexcept {
  h.version = kRawVersion;
  h.endian = kEndianMark;
  h.header_bytes = kHeaderBytes;
  h.chunk_bytes = o.chunk_bytes;
  h.record_bytes = sizeof(RawRecord);
  h.chunk_limit = chunk_limit;
  h.pinned_chunks = chunk_limit / 8;
  h.clock_kind = g.use_tsc.load() ? ClockKind::Tsc : ClockKind::Monotonic;
  h.ticks_per_second = estimate_ticks_per_second();
  g.ps_per_tick = 1e12 / h.ticks_per_second;
  h.pid = static_cast<std::int32_t>(g.pid);
  h.ppid = static_cast<std::int32_t>(getppid());
  h.rank = id.rank;
  h.world_size = id.world_size;
  h.local_rank = id.local_rank;
  h.attempt = id.attempt;
  h.local_size = id.local_size < 0 ? 0 : id.local_size;
  h.node_number = id.node < 0 ? 0 : id.node + 1;
  h.overhead_ticks = measure_overhead();
  gethostname(h.host, sizeof h.host - 1);
  read_line("/proc/sys/kernel/random/boot_id", h.boot_id, sizeof h.boot_id);
  set_text(h.job, id.job);
  set_text(h.launcher, id.launcher);
  set_text(h.library, id.library);
  set_text(h.timing, "collective=cpu wait=cpu step=cpu phase=cpu");
  const ssize_t n = readlink("/proc/self/exe", h.program, sizeof h.program - 1);
  if (n < 0) h.program[0] = 0;
  h.start_time = own_start_time();
  h.time_namespace = own_time_namespace();
  h.state = WriterState::Open;
}

constexpr std::size_t kPathRoom = 4096;

int create_file(const char* dir, char (&path)[kPathRoom]) noexcept {
  char host[64] = {};
  gethostname(host, sizeof host - 1);
  for (char* p = host; *p != 0; ++p)
    if (*p == '/') *p = '_';
  const int n = snprintf(path, sizeof path, "%s/%s-%d-%llx.coxraw", dir, host, static_cast<int>(getpid()),
                         static_cast<unsigned long long>(clock_ns(CLOCK_REALTIME)));
  if (n < 0 || static_cast<std::size_t>(n) >= sizeof path) return -1;
  const int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return fd;
  // Out of the way: a job that closed its input expects the lowest number for what it opens next.
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kOwnDescriptor);
  if (high >= 0) ::close(fd);
  return high >= 0 ? high : fd;
}

// Mapping and header of a fresh file. The magic is written last: a file without it was never finished.
bool map_file(const WriterOptions& o, const Identity& id) noexcept {
  std::uint64_t limit = (o.max_bytes - kHeaderBytes) / o.chunk_bytes;
  if (o.max_bytes < kHeaderBytes || limit < kMinimumChunks) limit = kMinimumChunks;
  // Growing a file beyond the user's limit is a signal that ends the process, not an error.
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t allowed =
        most.rlim_cur < kHeaderBytes ? 0 : (most.rlim_cur - kHeaderBytes) / o.chunk_bytes;
    if (allowed < kMinimumChunks) {
      errno = EFBIG;
      return false;
    }
    if (limit > allowed) limit = allowed;
  }
  if (limit > 0x7fffffff) limit = 0x7fffffff;
  if (const int rc = posix_fallocate(g.fd, 0, kHeaderBytes); rc != 0) {
    errno = rc;
    return false;
  }
  g.mapped_bytes = kHeaderBytes + limit * o.chunk_bytes;
  // Maps up to the limit at once; pages beyond what `reserve` put on disk are never touched.
  void* at = mmap(nullptr, g.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, g.fd, 0);
  if (at == MAP_FAILED) return false;
  g.base = static_cast<std::byte*>(at);
  g.header = static_cast<RawHeader*>(at);
  fill_header(*g.header, o, id, static_cast<std::uint32_t>(limit));
  if (!reserve(kReserveAhead)) return false;
  add_clock_pair();
  std::atomic_thread_fence(std::memory_order_release);
  memcpy(g.header->magic, kRawMagic, sizeof kRawMagic);
  return true;
}

// The file, ready to write to; where that fails nothing is left on disk.
bool start_file(const WriterOptions& o, const Identity& id) noexcept {
  char path[kPathRoom];
  if (o.dir == nullptr) return false;
  g.fd = create_file(o.dir, path);
  if (g.fd < 0) return false;
  struct stat made {};
  if (fstat(g.fd, &made) == 0) {
    g.file_device = made.st_dev;
    g.file_inode = made.st_ino;
  }
  if (map_file(o, id)) return true;
  const int reason = errno;
  unlink(path);
  ::close(g.fd);
  if (g.base != nullptr) munmap(g.base, g.mapped_bytes);
  g.base = nullptr;
  g.header = nullptr;
  errno = reason;
  return false;
}

// Room for one Meta entry of `size` bytes of content, head written; call with meta_lock held. Null where none
// is left.
std::byte* meta_entry(MetaKind kind, std::size_t size) noexcept {
  const std::size_t whole = (sizeof(MetaHead) + size + 7) / 8 * 8;
  const std::size_t room = g.header->chunk_bytes - sizeof(ChunkHeader);
  if (whole > room) return nullptr;
  if (g.meta_chunk == nullptr || g.meta_chunk->committed + whole > room) {
    ChunkHeader* fresh = claim_chunk(ChunkKind::Meta, 0);
    if (fresh == nullptr) return nullptr;
    g.meta_chunk = fresh;
  }
  std::byte* at = reinterpret_cast<std::byte*>(g.meta_chunk + 1) + g.meta_chunk->committed;
  memset(at, 0, whole);
  const MetaHead head{kind, static_cast<std::uint32_t>(size)};
  memcpy(at, &head, sizeof head);
  return at + sizeof head;
}

void commit_meta(std::size_t size) noexcept {
  auto committed = shared(g.meta_chunk->committed);
  committed.store(committed.load() + (sizeof(MetaHead) + size + 7) / 8 * 8, std::memory_order_release);
}

class MetaLock {
 public:
  MetaLock() {
    while (g.meta_lock.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  ~MetaLock() { g.meta_lock.store(false, std::memory_order_release); }
  MetaLock(const MetaLock&) = delete;
  MetaLock& operator=(const MetaLock&) = delete;
};

void add_locality(const char* lines, std::size_t bytes) noexcept {
  const MetaLock lock;
  if (!active()) return;
  if (std::byte* at = meta_entry(MetaKind::Locality, bytes)) {
    memcpy(at, lines, bytes);
    commit_meta(bytes);
  }
}

}  // namespace

bool open(const WriterOptions& options, const Identity& identity) noexcept {
  Phase expected = Phase::Off;
  if (!g.phase.compare_exchange_strong(expected, Phase::Opening, std::memory_order_acq_rel)) {
    while (g.phase.load(std::memory_order_acquire) == Phase::Opening) sched_yield();
    return active();
  }
  const int saved_errno = errno;
  g.pid = getpid();
  g.use_tsc.store(!options.force_monotonic && tsc_is_invariant());
  g.max_overhead = options.max_overhead;
  g.when_off = options.when_off;
  if (pthread_key_create(&g.thread_end, thread_ended) != 0 || !start_file(options, identity)) {
    switch_off(static_cast<std::uint32_t>(errno));
    errno = saved_errno;
    return false;
  }
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  g.phase.store(Phase::On, std::memory_order_release);
  start_keeper();
  errno = saved_errno;
  return true;
}

bool active() noexcept {
  return g.phase.load(std::memory_order_acquire) == Phase::On;
}

bool switched_off() noexcept {
  return g.off.load(std::memory_order_acquire);
}

void close() noexcept {
  Phase expected = Phase::On;
  if (!g.phase.compare_exchange_strong(expected, Phase::Dead, std::memory_order_acq_rel)) return;
  if (getpid() != g.pid) return;
  add_clock_pair();
  shared(g.header->state).store(WriterState::Closed, std::memory_order_release);
  // The mapping stays: other threads may still hold records in it.
}

void set_rank(std::int32_t rank, std::int32_t world_size) noexcept {
  if (!active() || g.header->rank >= 0) return;
  g.header->world_size = world_size;
  shared(g.header->rank).store(rank, std::memory_order_release);
}

void set_library(const char* text) noexcept {
  if (active()) set_text(g.header->library, text);
}

RawRecord* begin(EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint32_t comm, std::uint32_t seq,
                 std::uint64_t bytes, std::uint32_t aux) noexcept {
  ThreadCursor& c = t_cursor;
  RawRecord* r = &c.spill;
  if (c.next != c.end || next_chunk(c)) [[likely]]
    r = c.next++;
  else if (g.phase.load(std::memory_order_relaxed) == Phase::On)
    shared(g.header->dropped_records).fetch_add(1, std::memory_order_relaxed);
  r->bytes = bytes;
  r->end = 0;
  r->comm = comm;
  r->seq = seq;
  r->kind = static_cast<std::uint8_t>(kind);
  r->op = op;
  r->flags = flags;
  r->aux = aux;
  r->begin = now();
  if (r != &c.spill) shared(c.chunk->committed).store(c.chunk->committed + 1, std::memory_order_release);
  return r;
}

void end(RawRecord* r) noexcept {
  if (g.header == nullptr) return;  // a child of fork: the record is its parent's
  r->end = now();
}

bool is_stored(const RawRecord* r) noexcept {
  const auto* at = reinterpret_cast<const std::byte*>(r);
  return g.header != nullptr && at >= g.base && at < g.base + g.mapped_bytes;
}

void retract(RawRecord* r) noexcept {
  ThreadCursor& c = t_cursor;
  if (c.next == nullptr || c.chunk == nullptr || r != c.next - 1) {
    if (r != &c.spill && g.header != nullptr && r->end == 0) r->end = r->begin;
    return;
  }
  shared(c.chunk->committed).store(c.chunk->committed - 1, std::memory_order_release);
  --c.next;
}

bool end_if_long(RawRecord* r, std::uint64_t shortest_ns) noexcept {
  if (g.header == nullptr) return false;
  const std::uint64_t t = now();
  if (static_cast<double>(t - r->begin) * g.ps_per_tick < 1e3 * static_cast<double>(shortest_ns)) {
    retract(r);
    return false;
  }
  r->end = t;
  return true;
}

void count_calls(std::uint64_t calls) noexcept {
  g.uncounted_calls.fetch_add(calls, std::memory_order_relaxed);
}

void instant(EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint64_t value) noexcept {
  RawRecord* r = begin(kind, op, flags, 0, 0, value, 0);
  r->end = r->begin;
}

std::uint32_t define_communicator(std::uint64_t identity, std::int32_t size, std::int32_t my_rank,
                                  const std::int32_t* members, std::uint32_t member_count,
                                  const char* name) noexcept {
  if (!active()) return 0;
  const int saved_errno = errno;
  const std::size_t name_length = name == nullptr ? 0 : strnlen(name, 256);
  const std::size_t list = member_count * sizeof(std::int32_t);
  const MetaLock lock;
  const std::uint32_t number = g.communicators.load() + 1;
  // A list too long for a chunk is left out; the identity still matches the members.
  const bool fits =
      sizeof(MetaCommunicator) + list + name_length + 64 < g.header->chunk_bytes - sizeof(ChunkHeader);
  const std::size_t size_bytes = sizeof(MetaCommunicator) + (fits ? list : 0) + name_length;
  std::byte* at = meta_entry(MetaKind::Communicator, size_bytes);
  errno = saved_errno;
  if (at == nullptr) return 0;
  const MetaCommunicator head{identity, number, size, my_rank, fits ? member_count : 0};
  memcpy(at, &head, sizeof head);
  if (fits && list != 0) memcpy(at + sizeof head, members, list);
  if (name_length != 0) memcpy(at + size_bytes - name_length, name, name_length);
  commit_meta(size_bytes);
  g.communicators.store(number);
  return number;
}

void note(const char* text) noexcept {
  static std::atomic<const char*> said[16];
  if (!active()) return;
  for (auto& slot : said) {
    const char* have = slot.load();
    if (have == text) return;
    if (have == nullptr && slot.compare_exchange_strong(have, text)) break;
  }
  const std::size_t length = strnlen(text, 512);
  const MetaLock lock;
  if (std::byte* at = meta_entry(MetaKind::Note, length)) {
    memcpy(at, text, length);
    commit_meta(length);
  }
}

std::uint32_t thread_id() noexcept {
  if (t_cursor.tid == 0) {
    t_cursor.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    if (active()) pthread_setspecific(g.thread_end, &t_cursor);
  }
  return t_cursor.tid;
}

std::uint64_t ticks() noexcept {
  return now();
}

double picoseconds_per_tick() noexcept {
  return g.ps_per_tick;
}

std::uint64_t group_identity(std::int32_t* ranks, std::size_t count, std::uint32_t occurrence) noexcept {
  // Shell sort: no allocation, no libstdc++; groups are made once.
  for (std::size_t gap = count / 2; gap > 0; gap /= 2)
    for (std::size_t i = gap; i < count; ++i) {
      const std::int32_t value = ranks[i];
      std::size_t j = i;
      for (; j >= gap && ranks[j - gap] > value; j -= gap) ranks[j] = ranks[j - gap];
      ranks[j] = value;
    }
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((word >> shift) & 0xff)) * 0x100000001b3;
  };
  for (std::size_t i = 0; i < count; ++i) mix(static_cast<std::uint32_t>(ranks[i]));
  mix(0xffffffff);
  mix(occurrence);
  return hash == 0 ? 1 : hash;
}

}  // namespace cox::trace::guest
