// SPDX-License-Identifier: Apache-2.0
// The guest's file: made, mapped, extended chunk by chunk. Nothing of this runs per event.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "guest/writer/sampler.hpp"
#include "guest/writer/state.hpp"

namespace cox::guest {
namespace {

constexpr std::uint32_t kMinimumChunks = 32;
constexpr int kOwnDescriptor = 200;  // the file's, or the next free one

// Whether our descriptor still is ours: a job that closes every number it finds may have opened a file of its
// own under this one. (The keeper thread has a descriptor table of its own.)
bool still_our_file() noexcept {
  struct stat now_there {};
  return fstat(g.fd, &now_there) == 0 && now_there.st_dev == g.file_device &&
         now_there.st_ino == g.file_inode;
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

}  // namespace

// Extends the file so that `chunks` chunks lie on disk. posix_fallocate first: a write to a mapped hole on a
// full disk would raise SIGBUS in somebody's job.
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

}  // namespace cox::guest
