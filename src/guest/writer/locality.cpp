// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only, no exceptions, no allocation, no locks. Runs on the keeper thread alone, once.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "guest/writer/sampler.hpp"

namespace cox::guest {
namespace {

constexpr std::size_t kValueRoom = 2048;
constexpr std::size_t kPathRoom = 256;
constexpr int kMostCpus = 1024;   // whose topology is copied; sched_getaffinity knows as many here
constexpr int kMostNodes = 64;    // NUMA nodes
constexpr int kMostDevices = 64;  // per kind

// Lines on their way out, a piece at a time.
struct Lines {
  void (*put)(const char*, std::size_t) = nullptr;
  std::size_t used = 0;
  std::size_t total = 0;
  char text[kLocalityPiece] = {};
};
constinit Lines lines;

void flush() noexcept {
  if (lines.used > 0) lines.put(lines.text, lines.used);
  lines.used = 0;
}

// One fact. Line breaks within a value become spaces.
void say(const char* path, const char* value, std::size_t length) noexcept {
  while (length > 0 && (value[length - 1] == '\n' || value[length - 1] == ' ')) --length;
  if (length > kValueRoom) length = kValueRoom;
  const std::size_t path_length = strnlen(path, kPathRoom);
  const std::size_t whole = path_length + length + 2;
  if (length == 0 || lines.total + whole > kLocalityBytes) return;
  if (lines.used + whole > sizeof lines.text) flush();
  char* at = lines.text + lines.used;
  memcpy(at, path, path_length);
  at[path_length] = '\t';
  for (std::size_t i = 0; i < length; ++i) at[path_length + 1 + i] = value[i] == '\n' ? ' ' : value[i];
  at[whole - 1] = '\n';
  lines.used += whole;
  lines.total += whole;
}

// Content of a file; its length, 0 where it cannot be read.
std::size_t read_value(const char* path, char* out, std::size_t room) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return 0;
  const ssize_t n = fd <= 2 ? 0 : read(fd, out, room - 1);
  ::close(fd);
  if (n <= 0) return 0;
  out[n] = 0;
  return static_cast<std::size_t>(n);
}

void say_file(const char* path) noexcept {
  static char value[kValueRoom];
  say(path, value, read_value(path, value, sizeof value));
}

template <class... Parts>
void say_file_at(const char* format, Parts... parts) noexcept {
  char path[kPathRoom];
  const int n = snprintf(path, sizeof path, format, parts...);
  if (n > 0 && static_cast<std::size_t>(n) < sizeof path) say_file(path);
}

// CPUs that the main thread may use, as a list: `0-3,8`.
void say_affinity() noexcept {
  static unsigned char mask[kMostCpus / 8];
  const long bytes = syscall(SYS_sched_getaffinity, getpid(), sizeof mask, mask);
  if (bytes <= 0) return;
  const auto allowed = [&](int cpu) {
    return cpu < bytes * 8 && cpu < kMostCpus && (mask[cpu / 8] >> (cpu % 8) & 1) != 0;
  };
  char text[kValueRoom];
  std::size_t used = 0;
  for (int cpu = 0; cpu < kMostCpus && used + 24 < sizeof text; ++cpu) {
    if (!allowed(cpu)) continue;
    int last = cpu;
    while (allowed(last + 1)) ++last;
    const int n = last > cpu ? snprintf(text + used, sizeof text - used, "%d-%d,", cpu, last)
                             : snprintf(text + used, sizeof text - used, "%d,", cpu);
    used += static_cast<std::size_t>(n);
    cpu = last;
  }
  if (used > 0) say("affinity", text, used - 1);
}

// One line of /proc/self/status as a fact of its own.
void say_status(const char* text, const char* key) noexcept {
  char path[kPathRoom];
  snprintf(path, sizeof path, "/proc/self/status/%s", key);
  const std::size_t length = strlen(key);
  for (const char* line = text; line != nullptr; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, key, length) != 0 || line[length] != ':') continue;
    const char* value = line + length + 1;
    while (*value == ' ' || *value == '\t') ++value;
    const char* end = strchr(value, '\n');
    return say(path, value, end == nullptr ? strlen(value) : static_cast<std::size_t>(end - value));
  }
}

// Calls `each` with the names in a folder, at most kMostDevices of them.
void list(const char* folder, void (*each)(const char* folder, const char* name)) noexcept {
  struct Entry {  // getdents64(2)
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  static char buffer[8192];
  const int fd = ::open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0) return;
  int left = kMostDevices;
  for (;;) {
    const long n = fd <= 2 ? 0 : syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    if (n <= 0) break;
    for (long at = 0; at < n;) {
      unsigned short length = 0;
      memcpy(&length, buffer + at + offsetof(Entry, length), sizeof length);
      const char* name = buffer + at + offsetof(Entry, name);
      if (name[0] != '.' && left-- > 0) each(folder, name);
      at += length;
    }
  }
  ::close(fd);
}

void say_port(const char* folder, const char* name) noexcept {
  say_file_at("%s/%.64s/device/numa_node", folder, name);
  say_file_at("%s/%.64s/device/local_cpulist", folder, name);
}

// Display controllers and processing accelerators of PCI; all other devices are nobody's business.
void say_accelerator(const char* folder, const char* name) noexcept {
  char path[kPathRoom];
  char text[32];
  snprintf(path, sizeof path, "%s/%.64s/class", folder, name);
  if (read_value(path, text, sizeof text) == 0) return;
  if (strncmp(text, "0x03", 4) != 0 && strncmp(text, "0x12", 4) != 0) return;
  say(path, text, strlen(text));
  say_file_at("%s/%.64s/vendor", folder, name);
  say_file_at("%s/%.64s/device", folder, name);
  say_file_at("%s/%.64s/numa_node", folder, name);
}

void say_topology() noexcept {
  say_file("/sys/devices/system/cpu/online");
  say_file("/sys/devices/system/cpu/possible");
  say_file("/sys/devices/system/node/online");
  for (int node = 0; node < kMostNodes; ++node) {
    say_file_at("/sys/devices/system/node/node%d/cpumap", node);
    say_file_at("/sys/devices/system/node/node%d/distance", node);
  }
  int absent = 0;  // numbers may have gaps where CPUs are offline
  for (int cpu = 0; cpu < kMostCpus && absent < 64; ++cpu) {
    const std::size_t before = lines.total;
    say_file_at("/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    if (lines.total == before) {
      ++absent;
      continue;
    }
    absent = 0;
    say_file_at("/sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
    say_file_at("/sys/devices/system/cpu/cpu%d/topology/thread_siblings", cpu);
    say_file_at("/sys/devices/system/cpu/cpu%d/topology/core_siblings", cpu);
  }
}

}  // namespace

void read_locality(bool machine, void (*put)(const char* lines, std::size_t bytes)) noexcept {
  lines.put = put;
  lines.used = lines.total = 0;
  say_affinity();
  static char status[8192];
  if (read_value("/proc/self/status", status, sizeof status) != 0) {
    say_status(status, "Cpus_allowed_list");
    say_status(status, "Mems_allowed_list");
  }
  if (machine) {
    say_topology();
    list("/sys/class/net", say_port);
    list("/sys/class/infiniband", say_port);
    list("/sys/bus/pci/devices", say_accelerator);
  }
  flush();
}

}  // namespace cox::guest
