// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only, no exceptions, no allocation, no locks. Runs on the keeper thread alone, once.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "guest/writer/sampler.hpp"

namespace cox::guest {
namespace {

constexpr std::size_t kValueRoom = 2048;
constexpr std::size_t kPathRoom = 256;
constexpr int kMostCpus = 1024;   // whose topology is copied; sched_getaffinity knows as many here
constexpr int kMostNodes = 64;    // NUMA nodes
constexpr int kMostDevices = 64;  // per kind
constexpr std::size_t kNameRoom = 64;

// Lines on their way out, a piece at a time; what all pieces come to is bounded.
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

constinit int files_read = 0;

// Content of a file; its length, 0 where it cannot be read.
std::size_t read_value(const char* path, char* out, std::size_t room) noexcept {
  ++files_read;
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

// CPUs, or nodes, by number.
struct NumberSet {
  unsigned char bits[kMostCpus / 8];
  [[nodiscard]] bool has(int n) const noexcept {
    return n >= 0 && n < kMostCpus && (bits[n / 8] >> (n % 8) & 1) != 0;
  }
  void add(int n) noexcept {
    if (n >= 0 && n < kMostCpus) bits[n / 8] = static_cast<unsigned char>(bits[n / 8] | 1U << (n % 8));
  }
};

// A list as the kernel writes it: `0-3,8`. False where it is anything else.
bool parse_list(const char* text, NumberSet& out) noexcept {
  memset(&out, 0, sizeof out);
  while (*text >= '0' && *text <= '9') {
    char* end = nullptr;
    const long first = strtol(text, &end, 10);
    long last = first;
    if (*end == '-') last = strtol(end + 1, &end, 10);
    if (last >= kMostCpus) last = kMostCpus - 1;
    for (long n = first; n <= last; ++n) out.add(static_cast<int>(n));
    text = *end == ',' ? end + 1 : end;
  }
  return *text == 0 || *text == '\n';
}

// A mask as the kernel writes it: words of 32 bits in hexadecimal digits, the highest first: `3,00000000`.
void parse_mask(const char* text, NumberSet& out) noexcept {
  memset(&out, 0, sizeof out);
  int bit = 0;
  for (std::size_t at = strcspn(text, "\n"); at-- > 0;) {
    const char c = text[at];
    if (c == ',') continue;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (digit < 0 || digit > 15) return;
    for (int i = 0; i < 4; ++i)
      if ((digit >> i & 1) != 0) out.add(bit + i);
    bit += 4;
  }
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

// The name of entry `index` of a folder, of the first kMostDevices or so; false where there are no more. The folder
// is read with its first entry.
bool entry_of(const char* folder, int index, char (&name)[kNameRoom]) noexcept {
  struct Entry {  // getdents64(2)
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  static char listing[8192];
  static long bytes = 0;
  if (index == 0) {
    ++files_read;
    const int fd = ::open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    bytes = fd <= 2 ? 0 : syscall(SYS_getdents64, fd, listing, sizeof listing);
    if (fd >= 0) ::close(fd);
  }
  for (long at = 0; at < bytes && index < kMostDevices;) {
    unsigned short length = 0;
    memcpy(&length, listing + at + offsetof(Entry, length), sizeof length);
    const char* entry = listing + at + offsetof(Entry, name);
    at += length;
    if (entry[0] == '.' || index-- > 0) continue;
    snprintf(name, sizeof name, "%s", entry);
    return true;
  }
  return false;
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

// What of the machine was said already: the kinds of facts come one after the other.
struct Machine {
  enum Kind : int { Lists, Cpus, Nodes, Net, Infiniband, Pci, Done } kind = Lists;
  int next = 0;  // of that kind
  NumberSet cpus{};
  NumberSet nodes{};
  NumberSet told_cores{};     // CPUs whose core has been said
  NumberSet told_packages{};  // and whose package
};
constinit Machine machine;

void say_list(const char* path, NumberSet* into) noexcept {
  static char value[kValueRoom];
  const std::size_t length = read_value(path, value, sizeof value);
  say(path, value, length);
  if (into != nullptr && (length == 0 || !parse_list(value, *into))) memset(into, 0, sizeof *into);
}

// The core or package of a CPU: its number, and the mask of all CPUs in it, which is the same for each of them. So
// two files are read for all.
void say_shared(int cpu, const char* number_name, const char* mask_name, NumberSet& told) noexcept {
  static char number[64];
  static char mask[kValueRoom];
  char path[kPathRoom];
  constexpr const char* kFormat = "/sys/devices/system/cpu/cpu%d/topology/%s";
  snprintf(path, sizeof path, kFormat, cpu, number_name);
  const std::size_t number_length = read_value(path, number, sizeof number);
  snprintf(path, sizeof path, kFormat, cpu, mask_name);
  const std::size_t mask_length = read_value(path, mask, sizeof mask);
  NumberSet members{};
  if (mask_length > 0) parse_mask(mask, members);
  members.add(cpu);
  for (int each = 0; each < kMostCpus; ++each) {
    if (!members.has(each) || told.has(each) || !machine.cpus.has(each)) continue;
    snprintf(path, sizeof path, kFormat, each, number_name);
    say(path, number, number_length);
    snprintf(path, sizeof path, kFormat, each, mask_name);
    say(path, mask, mask_length);
    told.add(each);
  }
}

// The next facts of one kind, of two files or a few more; false where there are none of it any more.
bool say_next_of(Machine& m) noexcept {
  char name[kNameRoom];
  switch (m.kind) {
    case Machine::Lists:
      say_list("/sys/devices/system/cpu/online", &m.cpus);
      say_file("/sys/devices/system/cpu/possible");
      say_list("/sys/devices/system/node/online", &m.nodes);
      return false;
    case Machine::Cpus:
      while (m.next < kMostCpus && (!m.cpus.has(m.next) || m.told_cores.has(m.next))) ++m.next;
      if (m.next == kMostCpus) return false;
      if (!m.told_packages.has(m.next))
        say_shared(m.next, "physical_package_id", "core_siblings", m.told_packages);
      say_shared(m.next, "core_id", "thread_siblings", m.told_cores);
      return true;
    case Machine::Nodes:
      while (m.next < kMostNodes && !m.nodes.has(m.next)) ++m.next;
      if (m.next == kMostNodes) return false;
      say_file_at("/sys/devices/system/node/node%d/cpumap", m.next);
      say_file_at("/sys/devices/system/node/node%d/distance", m.next++);
      return true;
    case Machine::Net:
    case Machine::Infiniband: {
      const char* folder = m.kind == Machine::Net ? "/sys/class/net" : "/sys/class/infiniband";
      if (!entry_of(folder, m.next++, name)) return false;
      say_port(folder, name);
      return true;
    }
    case Machine::Pci:
      if (!entry_of("/sys/bus/pci/devices", m.next++, name)) return false;
      say_accelerator("/sys/bus/pci/devices", name);
      return true;
    case Machine::Done:
      break;
  }
  return false;
}

}  // namespace

bool run_on(const char* cpus) noexcept {
  NumberSet wanted{};
  if (!parse_list(cpus, wanted)) return false;
  return syscall(SYS_sched_setaffinity, 0, sizeof wanted.bits, wanted.bits) == 0;
}

void read_locality(void (*put)(const char* lines, std::size_t bytes)) noexcept {
  lines.put = put;
  lines.used = lines.total = 0;
  machine = Machine{};
  say_affinity();
  static char status[8192];
  if (read_value("/proc/self/status", status, sizeof status) != 0) {
    say_status(status, "Cpus_allowed_list");
    say_status(status, "Mems_allowed_list");
  }
  flush();
}

bool read_machine(int files, void (*put)(const char* lines, std::size_t bytes)) noexcept {
  lines.put = put;
  files_read = 0;
  while (machine.kind != Machine::Done && files_read < files) {
    if (say_next_of(machine)) continue;
    machine.kind = static_cast<Machine::Kind>(machine.kind + 1);
    machine.next = 0;
  }
  flush();
  return machine.kind != Machine::Done;
}

}  // namespace cox::guest
