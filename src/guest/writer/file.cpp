// SPDX-License-Identifier: Apache-2.0
// The guest's file and its header. All of this runs on the keeper thread, in a table of descriptors of its own.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "guest/writer/sampler.hpp"
#include "guest/writer/state.hpp"

namespace cox::guest {
namespace {

constexpr int kOwnDescriptor = 200;  // the file's, or the next free one
constexpr std::size_t kPathRoom = 4096;

constinit char folder[kPathRoom];
constinit char whole_folder[kPathRoom];

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

void fill_header(RawHeader& h, const Identity& id, std::uint32_t chunk_limit) noexcept {
  h.version = kRawVersion;
  h.endian = kEndianMark;
  h.header_bytes = kHeaderBytes;
  h.record_bytes = sizeof(RawRecord);
  h.chunk_limit = chunk_limit;
  h.pinned_chunks = chunk_limit / 8;
  h.clock_kind = g.use_tsc.load() ? ClockKind::Tsc : ClockKind::Monotonic;
  h.ticks_per_second = estimate_ticks_per_second();
  g.ps_per_tick = 1e12 / h.ticks_per_second;
  g.ns_per_tick =
      static_cast<std::uint64_t>(g.ps_per_tick * 1e-3 * static_cast<double>(std::uint64_t{1} << kTickShift));
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
  h.time_namespace = own_namespace("time");
  h.pid_namespace = own_namespace("pid");
  h.state = WriterState::Open;
  memcpy(h.magic, kRawMagic, sizeof kRawMagic);
}

// A folder of this host below the Run's, so that no folder has as many names as the job has ranks.
void enter_host_folder(const char* host, bool group_may_read) noexcept {
  const std::size_t length = strlen(folder);
  const int n = snprintf(folder + length, sizeof folder - length, "/%s", host);
  const bool fits = n > 0 && static_cast<std::size_t>(n) < sizeof folder - length;
  if (fits && mkdir(folder, 0700) == 0) {
    if (group_may_read) chmod(folder, 0750);  // whatever the umask
    return;
  }
  if (!fits || errno != EEXIST) folder[length] = 0;
}

// HOST-PID-TIME.coxraw, and .byPID behind the time where one `cox observe` of many started this process.
int create_file(const WriterOptions& o, char (&path)[kPathRoom]) noexcept {
  char host[64] = {};
  gethostname(host, sizeof host - 1);
  for (char* p = host; *p != 0; ++p)
    if (*p == '/') *p = '_';
  if (o.folder_per_host) enter_host_folder(host, o.group_may_read);
  char by[24] = {};
  if (o.observer > 0) snprintf(by, sizeof by, ".by%lld", static_cast<long long>(o.observer));
  const int n =
      snprintf(path, sizeof path, "%s/%s-%d-%llx%s.coxraw", folder, host, static_cast<int>(getpid()),
               static_cast<unsigned long long>(clock_ns(CLOCK_REALTIME)), by);
  if (n < 0 || static_cast<std::size_t>(n) >= sizeof path) return -1;
  const int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  if (o.group_may_read) fchmod(fd, 0640);  // whatever the umask
  // Out of the way: a job that closed its input expects the lowest number for what it opens next.
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kOwnDescriptor);
  if (high >= 0) ::close(fd);
  return high >= 0 ? high : fd;
}

// Most chunks of the file; 0 and errno where not even the fewest fit. Growing a file beyond the user's limit is
// a signal that ends the process, not an error.
std::uint32_t most_chunks(const WriterOptions& o) noexcept {
  std::uint64_t limit = o.max_bytes < kHeaderBytes ? 0 : (o.max_bytes - kHeaderBytes) / o.chunk_bytes;
  if (limit < kLeastChunks) limit = kLeastChunks;
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t allowed =
        most.rlim_cur < kHeaderBytes ? 0 : (most.rlim_cur - kHeaderBytes) / o.chunk_bytes;
    if (allowed < kLeastChunks) {
      errno = EFBIG;
      return 0;
    }
    if (limit > allowed) limit = allowed;
  }
  return static_cast<std::uint32_t>(limit > 0x7fffffff ? 0x7fffffff : limit);
}

// The first chunk is for what is said: on a full disk there is room for it still.
bool fill_file() noexcept {
  add_clock_pair();
  g.meta_chunk = claim_chunk(ChunkKind::Meta, 0);
  if (g.meta_chunk == nullptr || !start_saving() || !save()) return false;
  syscall(SYS_fallocate, g.fd, 0, off_t{0}, off_t{kHeaderBytes} + g.header->chunk_bytes);
  return true;
}

}  // namespace

const char* own_folder() noexcept {
  return folder;
}

const char* run_folder() noexcept {
  return whole_folder;
}

bool put(std::uint64_t at, const void* from, std::size_t bytes) noexcept {
  const auto* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = pwrite(g.fd, next, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    next += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool start_file(const WriterOptions& o, const Identity& id) noexcept {
  char path[kPathRoom];
  const std::size_t length = o.dir == nullptr ? sizeof folder : strlen(o.dir);
  if (length >= sizeof folder) return false;
  memcpy(folder, o.dir, length + 1);
  memcpy(whole_folder, o.dir, length + 1);
  const std::uint32_t limit = most_chunks(o);
  if (limit == 0) return false;
  choose_clock();
  fill_header(*g.header, id, limit);
  g.fd = create_file(o, path);
  if (g.fd >= 0 && fill_file()) return true;
  const int reason = errno;
  if (g.fd >= 0) {
    unlink(path);
    ::close(g.fd);
  }
  if (strcmp(folder, whole_folder) != 0) rmdir(folder);  // where nobody else is in it
  g.fd = -1;
  errno = reason;
  return false;
}

void leave_word(const WriterOptions& o, const Identity& id, const char* text, int reason) noexcept {
  if (!start_file(o, id)) return;
  last_note(text);
  g.header->disable_reason = static_cast<std::uint32_t>(reason);
  g.header->state = WriterState::Disabled;
  static_cast<void>(save());
  ::close(g.fd);
  g.fd = -1;
}

}  // namespace cox::guest
