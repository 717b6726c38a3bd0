// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only, no exceptions, no allocation, no locks on the hot path (begin, end, instant).
#include "cox/guest/writer.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "cox/base/hash.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "guest/writer/at_fork.hpp"
#include "guest/writer/cursor.hpp"
#include "guest/writer/state.hpp"

namespace cox::guest {

constinit Global g;

namespace {

constexpr std::uint32_t kSkip = 255;
constexpr std::size_t kLastNoteRoom = 512;  // of every chunk of Meta

// Initial-exec: the object that holds this is loaded at program start, so access is one instruction.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCursor t_cursor;

// Whether the kernel itself tells the time by the timestamp counter: it has watched it, across all CPUs.
bool kernel_uses_tsc() noexcept {
  char source[32] = {};
  const int fd =
      ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, source, sizeof source - 1);
  ::close(fd);
  if (n <= 0) return false;
  for (const char* name : {"tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"})
    if (strcmp(source, name) == 0) return true;
  return false;
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

// Callers are undisturbed, here and below.
void forget(ThreadCursor& c) noexcept {
  c.next = nullptr;
  c.end = nullptr;
  c.done = nullptr;
  c.chunk = nullptr;
}

// A chunk that somebody is writing to stays open.
void leave_chunk(ThreadCursor& c) noexcept {
  if (c.chunk != nullptr && c.done == c.next) shared(c.chunk->sealed).store(1, std::memory_order_release);
  forget(c);
}

// Slow path of begin(): the cursor has no room left.
[[gnu::noinline, gnu::cold]] bool next_chunk(ThreadCursor& c) noexcept {
  if (g.phase.load(std::memory_order_acquire) != Phase::On) return false;
  if (c.skip != 0) {
    --c.skip;
    return false;
  }
  if (c.done != c.next && ++c.refused < kMostRefused) return false;
  const int saved_errno = errno;
  const Undisturbed whole;
  if (c.next != c.end) return true;  // by a handler, a moment ago
  c.refused = 0;
  if (c.tid == 0) c.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  // With each: a destructor of the program's that comes after ours may call again, and ours comes again then.
  g.threads->set_specific(g.thread_end, &c);
  leave_chunk(c);
  ChunkHeader* const fresh = claim_chunk(ChunkKind::Events, c.tid);
  if (fresh != nullptr) {
    auto* const first = reinterpret_cast<RawRecord*>(fresh + 1);
    c.chunk = fresh;
    c.done = first;
    c.next = first;
    c.end = first + records_per_chunk();
  } else {
    c.skip = kSkip;
  }
  errno = saved_errno;
  return fresh != nullptr;
}

void thread_ended(void* cursor) {
  auto* c = static_cast<ThreadCursor*>(cursor);
  const Undisturbed whole;
  if (g.phase.load(std::memory_order_acquire) == Phase::On) leave_chunk(*c);
  forget(*c);
}

// A child of fork shares the mapping with its parent: it must never write to it.
void after_fork_in_child() {
  const Undisturbed whole;
  g.phase.store(Phase::Dead, std::memory_order_release);
  forget(t_cursor);
  g.header = nullptr;
}

// Room for one Meta entry of `size` bytes of content, head written;
// call with meta_lock held. Null where none is left. What is kept free is for the last note.
std::byte* meta_entry(MetaKind kind, std::size_t size, std::size_t kept_free = kLastNoteRoom) noexcept {
  const std::size_t whole = (sizeof(MetaHead) + size + 7) / 8 * 8;
  const std::size_t room = g.header->chunk_bytes - sizeof(ChunkHeader) - kept_free;
  if (whole > room) return nullptr;
  if (g.meta_chunk == nullptr || g.meta_chunk->committed + whole > room) {
    if (kept_free == 0) return nullptr;
    ChunkHeader* fresh = claim_chunk(ChunkKind::Meta, 0);
    if (fresh == nullptr) return nullptr;
    if (g.meta_chunk != nullptr) shared(g.meta_chunk->sealed).store(1, std::memory_order_release);
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

}  // namespace

void add_locality(const char* lines, std::size_t bytes) noexcept {
  const Undisturbed whole;
  const MetaLock lock;
  if (std::byte* at = meta_entry(MetaKind::Locality, bytes)) {
    memcpy(at, lines, bytes);
    commit_meta(bytes);
  }
}

void last_note(const char* text) noexcept {
  const std::size_t length = strnlen(text, kLastNoteRoom - sizeof(MetaHead));
  const Undisturbed whole;
  const MetaLock lock;
  if (std::byte* at = meta_entry(MetaKind::Note, length, 0)) {
    memcpy(at, text, length);
    commit_meta(length);
  }
}

void choose_clock() noexcept {
  g.use_tsc.store(g.wants_tsc && tsc_is_invariant() && kernel_uses_tsc());
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

void switch_off(std::uint32_t reason) noexcept {
  g.phase.store(Phase::Dead, std::memory_order_release);
  g.off.store(true, std::memory_order_release);
  if (g.header != nullptr) {
    g.header->disable_reason = reason;
    shared(g.header->state).store(WriterState::Disabled, std::memory_order_release);
  }
  if (g.when_off != nullptr) g.when_off();
}

bool open(const WriterOptions& options, const Identity& identity) noexcept {
  pid_t nobody = 0;
  if (!g.opener.compare_exchange_strong(nobody, getpid(), std::memory_order_acq_rel)) {
    while (g.phase.load(std::memory_order_acquire) <= Phase::Opening) {
      if (g.opener.load(std::memory_order_acquire) !=
          getpid()) {  // forked in the middle of it: nobody goes on here
        after_fork_in_child();
        return false;
      }
      sched_yield();
    }
    return active();
  }
  g.phase.store(Phase::Opening, std::memory_order_release);
  const int saved_errno = errno;
  const NoCancel whole;
  const OwnArithmetic own;
  g.pid = getpid();
  g.wants_tsc = !options.force_monotonic;
  g.max_overhead = options.max_overhead;
  g.when_off = options.when_off;
  g.told_to_stop = options.told_to_stop;
  g.sync_seconds = options.sync_seconds;
  set_text(g.keeper_cpus, options.keeper_cpus);
  const char* text = nullptr;
  g.threads = find_threads();
  int error = g.threads == nullptr ? ENOSYS : g.threads->make_key(&g.thread_end, thread_ended);
  if (error == 0 && !start_memory(options)) error = ENOMEM;
  if (error == 0) {
    at_fork_in_child(after_fork_in_child);
    error = start_keeper(options, identity, text);
    if (text != nullptr) leave_word(options, identity, text, error);
  }
  if (error != 0) switch_off(static_cast<std::uint32_t>(error));
  errno = saved_errno;
  return error == 0;
}

bool active() noexcept {
  return g.phase.load(std::memory_order_acquire) == Phase::On;
}

bool switched_off() noexcept {
  return g.off.load(std::memory_order_acquire);
}

void close() noexcept {
  if (!active() || getpid() != g.pid) return;  // a child of vfork sees its parent's state
  Phase expected = Phase::On;
  if (!g.phase.compare_exchange_strong(expected, Phase::Closed, std::memory_order_acq_rel)) return;
  const int saved_errno = errno;
  const NoCancel whole;
  await_keeper();
  errno = saved_errno;
  // The memory stays: other threads may still hold records in it.
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
  Taken taken = take(c);
  while (taken.record == nullptr && next_chunk(c)) taken = take(c);
  RawRecord* const r = taken.record != nullptr ? taken.record : &c.spill;
  if (taken.record == nullptr && g.phase.load(std::memory_order_relaxed) == Phase::On) [[unlikely]]
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
  if (c.done == r) [[likely]]
    settle(c, taken.chunk);
  return r;
}

void end(RawRecord* r) noexcept {
  if (g.header == nullptr) return;  // a child of fork: the record is its parent's
  shared(r->end).store(now(), std::memory_order_release);
}

bool is_stored(const RawRecord* r) noexcept {
  const auto* at = reinterpret_cast<const std::byte*>(r);
  return g.header != nullptr && at >= g.base && at < g.base + g.mapped_bytes;
}

void retract(RawRecord* r) noexcept {
  ThreadCursor& c = t_cursor;
  if (r == &c.spill || take_back(c, r)) return;
  if (g.header != nullptr && r->end == 0) shared(r->end).store(r->begin, std::memory_order_release);
}

bool end_if_long(RawRecord* r, std::uint64_t shortest_ns) noexcept {
  if (g.header == nullptr) return false;
  const std::uint64_t t = now();
  if (nanoseconds(t - r->begin) < shortest_ns) {
    retract(r);
    return false;
  }
  r->end = t;
  return true;
}

void count_calls(std::uint64_t calls) noexcept {
  g.uncounted_calls.fetch_add(calls, std::memory_order_relaxed);
}

std::uint64_t* unobserved_calls() noexcept {
  return active() ? g.header->unobserved_calls : nullptr;
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
  const std::size_t ranges = for_each_range(members, member_count, [](const MetaRanks&) {});
  const bool as_ranges = ranges * sizeof(MetaRanks) < member_count * sizeof(std::int32_t);
  const std::size_t list = as_ranges ? ranges * sizeof(MetaRanks) : member_count * sizeof(std::int32_t);
  const Undisturbed whole;
  const MetaLock lock;
  const std::uint32_t number = g.communicators.load() + 1;
  // A list too long for a chunk is left out; the identity still matches the members.
  const bool fits =
      sizeof(MetaCommunicator) + list + name_length + 64 < g.header->chunk_bytes - sizeof(ChunkHeader);
  const std::size_t size_bytes = sizeof(MetaCommunicator) + (fits ? list : 0) + name_length;
  std::byte* at = meta_entry(as_ranges ? MetaKind::CommunicatorRanges : MetaKind::Communicator, size_bytes);
  errno = saved_errno;
  if (at == nullptr) return 0;
  const auto listed = as_ranges ? static_cast<std::uint32_t>(ranges) : member_count;
  const MetaCommunicator head{identity, number, size, my_rank, fits ? listed : 0};
  memcpy(at, &head, sizeof head);
  std::byte* to = at + sizeof head;
  if (fits && as_ranges)
    for_each_range(members, member_count, [&](const MetaRanks& range) {
      memcpy(to, &range, sizeof range);
      to += sizeof range;
    });
  else if (fits && list != 0)
    memcpy(to, members, list);
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
  const Undisturbed whole;
  const MetaLock lock;
  if (std::byte* at = meta_entry(MetaKind::Note, length)) {
    memcpy(at, text, length);
    commit_meta(length);
  }
}

std::uint32_t thread_id() noexcept {
  if (t_cursor.tid == 0) {
    t_cursor.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    if (active()) g.threads->set_specific(g.thread_end, &t_cursor);
  }
  return t_cursor.tid;
}

std::uint64_t ticks() noexcept {
  return now();
}

double picoseconds_per_tick() noexcept {
  return g.ps_per_tick;
}

// In whole numbers: this is asked on the program's threads, whose floating-point flags are its own.
std::uint64_t nanoseconds(std::uint64_t ticks) noexcept {
  __extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): needs __extension__
  return static_cast<std::uint64_t>(Wide{ticks} * g.ns_per_tick >> kTickShift);
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
  constexpr int kWord = 4;
  Fnv1a hash;
  for (std::size_t i = 0; i < count; ++i) hash.add_number(static_cast<std::uint32_t>(ranks[i]), kWord);
  hash.add_number(0xffffffff, kWord);
  hash.add_number(occurrence, kWord);
  return hash.identity();
}

}  // namespace cox::guest
