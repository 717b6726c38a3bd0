// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only, no exceptions, no allocation, no locks. Runs on the keeper thread alone.
#include "guest/writer/sampler.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace cox::guest {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::uint32_t kNoneSmall = ~std::uint32_t{0};
constexpr std::size_t kFileRoom = 4096;

// Content of a small file, zero-terminated. Returns its length, 0 where it cannot be read.
std::size_t read_small(const char* path, char* out, std::size_t room) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return 0;
  const ssize_t n = fd <= 2 ? 0 : read(fd, out, room - 1);  // 0 to 2 belong to the job: hands off
  ::close(fd);
  if (n <= 0) return 0;
  out[n] = 0;
  return static_cast<std::size_t>(n);
}

// A file that is read again and again, and so stays open in the keeper's own table of descriptors.
struct KeptFile {
  int fd = -1;
  bool is_missing = false;
};
constinit KeptFile own_stat;
constinit KeptFile own_schedstat;
constinit KeptFile own_status;
constinit KeptFile cpu_pressure;

// Another table has other files under these numbers.
void forget_kept_files() noexcept {
  own_stat = own_schedstat = own_status = cpu_pressure = KeptFile{};
}

std::size_t read_kept(KeptFile& file, const char* path, char* out, std::size_t room) noexcept {
  if (file.is_missing) return 0;
  if (file.fd < 0) {
    file.fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file.fd >= 0 && file.fd <= 2) ::close(file.fd);  // 0 to 2 belong to the job: hands off
    file.is_missing = file.fd <= 2;
    if (file.is_missing) return 0;
  }
  const ssize_t n = pread(file.fd, out, room - 1, 0);
  if (n <= 0) return 0;
  out[n] = 0;
  return static_cast<std::size_t>(n);
}

// The number at the front; all ones where there is none.
std::uint64_t number_at(const char* text) noexcept {
  if (text == nullptr) return kNone;
  while (*text == ' ' || *text == '\t') ++text;
  if (*text < '0' || *text > '9') return kNone;
  return strtoull(text, nullptr, 10);
}

std::uint64_t number_in(const char* path) noexcept {
  char text[64];
  return read_small(path, text, sizeof text) == 0 ? kNone : number_at(text);
}

// The number behind `key` at the begin of a line.
std::uint64_t number_after(const char* text, const char* key) noexcept {
  const std::size_t length = strlen(key);
  for (const char* line = text; line != nullptr; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, key, length) == 0) return number_at(line + length);
  }
  return kNone;
}

// Field `n` (from 3) of /proc/self/stat. The name before it may hold anything, so fields count from its end.
const char* stat_field(const char* stat, int n) noexcept {
  const char* at = strrchr(stat, ')');
  for (int field = 2; at != nullptr && field < n; ++field) {
    at = strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at;
}

std::uint64_t clock_ns(clockid_t id) noexcept {
  timespec t{};
  if (clock_gettime(id, &t) != 0) return kNone;
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// The CPU clock of a thread by its number. Source: Linux, include/linux/posix-timers.h, CPUCLOCK_PERTHREAD.
clockid_t thread_clock(pid_t tid) noexcept {
  return static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6U);
}

std::uint32_t small(std::uint64_t value) noexcept {
  return value > 0x7fffffff ? kNoneSmall : static_cast<std::uint32_t>(value);
}

// /proc/self describes the thread group's leader, the main thread, whoever asks.
void read_main_thread(trace::RawSample& out) noexcept {
  static char text[kFileRoom];
  if (read_kept(own_stat, "/proc/self/stat", text, sizeof text) != 0) {
    if (const char* state = stat_field(text, 3)) out.state = *state;
    out.threads = small(number_at(stat_field(text, 20)));
    out.cpu = static_cast<std::int32_t>(small(number_at(stat_field(text, 39))));
  }
  if (read_kept(own_schedstat, "/proc/self/schedstat", text, sizeof text) != 0)
    out.main_wait_ns = number_at(strchr(text, ' '));
  if (read_kept(own_status, "/proc/self/status", text, sizeof text) != 0) {
    out.voluntary = number_after(text, "voluntary_ctxt_switches:");
    out.involuntary = number_after(text, "nonvoluntary_ctxt_switches:");
  }
}

// Microseconds of denied CPU in cpu.stat of `group` under `mount` and of the groups above it: a limit
// anywhere above holds too. All ones where no file tells.
std::uint64_t throttled_below(const char* mount, const char* group) noexcept {
  static char path[2 * kFileRoom];
  static char text[kFileRoom];
  std::uint64_t sum = kNone;
  std::size_t length = strlen(group);
  while (length > 0 && group[length - 1] == '/') --length;
  for (int level = 0; level < 16; ++level) {
    const int n = snprintf(path, sizeof path, "%s%.*s/cpu.stat", mount, static_cast<int>(length), group);
    if (n < 0 || static_cast<std::size_t>(n) >= sizeof path) return sum;
    if (read_small(path, text, sizeof text) != 0) {
      std::uint64_t us = number_after(text, "throttled_usec");  // version 2
      const std::uint64_t ns = number_after(text, "throttled_time");
      if (us == kNone && ns != kNone) us = ns / 1000;
      if (us != kNone) sum = (sum == kNone ? 0 : sum) + us;
    }
    if (length == 0) return sum;
    while (length > 0 && group[length - 1] != '/') --length;
    while (length > 0 && group[length - 1] == '/') --length;
  }
  return sum;
}

// Lines of /proc/self/cgroup: `0::/group` of version 2, `4:cpu,cpuacct:/group` of version 1.
std::uint64_t throttled_us() noexcept {
  static char text[kFileRoom];
  if (read_small("/proc/self/cgroup", text, sizeof text) == 0) return kNone;
  std::uint64_t found = kNone;
  for (char* line = text; line != nullptr && found == kNone;) {
    char* next = strchr(line, '\n');
    if (next != nullptr) *next++ = 0;
    char* controllers = strchr(line, ':');
    char* group = controllers == nullptr ? nullptr : strchr(controllers + 1, ':');
    if (group != nullptr && strstr(group, "/..") == nullptr) {
      *group++ = 0;
      ++controllers;
      char mount[128];
      if (*controllers == 0) {
        found = throttled_below("/sys/fs/cgroup", group);
        if (found == kNone) found = throttled_below("/sys/fs/cgroup/unified", group);
      } else if (strstr(controllers, "cpu") == controllers || strstr(controllers, ",cpu") != nullptr) {
        if (strncmp(controllers, "cpuset", 6) != 0 && strlen(controllers) < 64) {
          snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controllers);
          found = throttled_below(mount, group);
          if (found == kNone) found = throttled_below("/sys/fs/cgroup/cpu", group);
        }
      }
    }
    line = next;
  }
  return found;
}

// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`
std::uint64_t pressure_us() noexcept {
  char text[512];
  if (read_kept(cpu_pressure, "/proc/pressure/cpu", text, sizeof text) == 0 || strncmp(text, "some ", 5) != 0)
    return kNone;
  const char* total = strstr(text, "total=");
  return total == nullptr ? kNone : number_at(total + 6);
}

void read_cpu(trace::RawSample& out) noexcept {
  if (out.cpu < 0) return;
  char path[128];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", out.cpu);
  out.frequency_khz = small(number_in(path));
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", out.cpu);
  out.thermal_throttles = small(number_in(path));
}

bool leave_all_descriptors() noexcept {
  constexpr long kCloseRange = 436;       // Linux 5.9
  constexpr unsigned kUnshare = 1U << 1;  // CLOSE_RANGE_UNSHARE: in a table of its own
  return syscall(kCloseRange, 0U, ~0U, kUnshare) == 0;
}

// Kernels before 5.9: all are copied and the copies closed. One that stayed would keep a pipe of the job open.
bool copy_and_close_descriptors() noexcept {
  if (unshare(CLONE_FILES) != 0) return false;
  rlimit most{};
  if (getrlimit(RLIMIT_NOFILE, &most) != 0) return false;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/fd", syscall(SYS_gettid));
  const int listing = ::open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (listing < 0) {  // no /proc: every number that there may be
    for (rlim_t fd = 0; fd < most.rlim_max && fd < 1U << 20; ++fd) ::close(static_cast<int>(fd));
    return true;
  }
  for (bool found = true; found;) {
    found = false;
    static char entries[4096];
    lseek(listing, 0, SEEK_SET);
    const long n = syscall(SYS_getdents64, listing, entries, sizeof entries);
    for (long at = 0; at < n;) {  // d_ino 8, d_off 8, d_reclen 2, d_type 1, d_name
      unsigned short length = 0;
      memcpy(&length, entries + at + 16, sizeof length);
      const char* name = entries + at + 19;
      at += length;
      if (*name < '0' || *name > '9') continue;
      const int fd = atoi(name);
      if (fd == listing) continue;
      ::close(fd);
      found = true;
    }
  }
  ::close(listing);
  return true;
}

}  // namespace

void take_sample(trace::RawSample& out, bool whole, bool for_node) noexcept {
  memset(&out, 0xff, sizeof out);
  out.state = 0;
  memset(out.reserved, 0, sizeof out.reserved);
  out.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  out.main_cpu_ns = clock_ns(thread_clock(getpid()));
  rusage use{};
  if (getrusage(RUSAGE_SELF, &use) == 0) {
    out.minor_faults = static_cast<std::uint64_t>(use.ru_minflt);
    out.major_faults = static_cast<std::uint64_t>(use.ru_majflt);
  }
  read_main_thread(out);
  if (!whole) return;
  read_cpu(out);
  out.throttled_us = throttled_us();
  if (for_node) out.pressure_us = pressure_us();
}

std::uint64_t own_start_time() noexcept {
  char text[1024];
  if (read_small("/proc/self/stat", text, sizeof text) == 0) return 0;
  const std::uint64_t start = number_at(stat_field(text, 22));
  return start == kNone ? 0 : start;
}

std::uint64_t own_filters() noexcept {
  static char text[kFileRoom];
  if (read_kept(own_status, "/proc/self/status", text, sizeof text) == 0) return kNone;
  const std::uint64_t count = number_after(text, "Seccomp_filters:");
  return count != kNone ? count : number_after(text, "Seccomp:");
}

std::uint64_t own_namespace(const char* kind) noexcept {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
  struct stat about {};  // by its number: glibc gave the function another version with 2.33
  return syscall(SYS_stat, path, &about) == 0 ? static_cast<std::uint64_t>(about.st_ino) : 0;
}

bool separate_descriptors() noexcept {
  if (!leave_all_descriptors() && !copy_and_close_descriptors()) return false;
  forget_kept_files();
  // 0 to 2 lead nowhere, so that nothing that is read later is taken for the job's own streams.
  int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd < 2) fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (fd > 2) ::close(fd);
  return true;
}

}  // namespace cox::guest
