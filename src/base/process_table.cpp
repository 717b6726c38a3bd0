// SPDX-License-Identifier: Apache-2.0
#include "cox/base/process_table.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace cox {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int kStateField = 3;
constexpr int kFlagsField = 9;
constexpr int kStartField = 22;
/// PROC_PID_INIT_INO of the kernel (include/linux/proc_ns.h): every process of the machine has a number in it.
constexpr std::uint64_t kFirstPidNamespace = 0xEFFFFFFC;

/// First bytes of a file of procfs; empty where it cannot be read.
std::string read_small(const std::string& path) {
  constexpr std::size_t kMost = 4096;
  std::ifstream in(path, std::ios::binary);
  std::string text(kMost, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return text;
}

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return 0;
  return std::int64_t{t.tv_sec} * kNanosecondsPerSecond + t.tv_nsec;
}

/// Inode of a process's namespace; 0 where it cannot be read.
std::uint64_t namespace_of(const std::string& process, const char* kind) {
  struct stat info {};
  return stat(("/proc/" + process + "/ns/" + kind).c_str(), &info) == 0 ? info.st_ino : 0;
}

/// The number that a process has in its own PID namespace: the last of the line `NSpid:`; -1 = not readable.
int innermost_number(const std::string& process) {
  const std::string text = read_small("/proc/" + process + "/status");
  const std::size_t line = text.find("\nNSpid:");
  if (line == std::string::npos) return -1;
  const std::size_t end = text.find('\n', line + 1);
  const std::size_t last = text.find_last_of(" \t", end);
  int number = -1;
  if (last == std::string::npos || end == std::string::npos) return -1;
  std::from_chars(text.data() + last + 1, text.data() + end, number);
  return number;
}

/// The number here of a process of another PID namespace; empty where none is seen.
std::string number_here(ProcessNumber process) {
  std::error_code ec;
  for (std::filesystem::directory_iterator it("/proc", ec), end; !ec && it != end; it.increment(ec)) {
    std::string name = it->path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        namespace_of(name, "pid") == process.pid_namespace && innermost_number(name) == process.pid)
      return name;
  }
  return {};
}

class ThisMachine final : public ProcessTable {
 public:
  [[nodiscard]] std::string boot_id() const override {
    std::string text = read_small("/proc/sys/kernel/random/boot_id");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  [[nodiscard]] std::uint64_t time_namespace() const override { return namespace_of("self", "time"); }

  [[nodiscard]] std::int64_t monotonic_ns() const override { return clock_ns(CLOCK_MONOTONIC); }

  [[nodiscard]] std::optional<ProcessFacts> find(ProcessNumber process) const override {
    if (process.pid <= 0) return std::nullopt;
    const std::string here =
        is_ours(process.pid_namespace) ? std::to_string(process.pid) : number_here(process);
    if (here.empty()) return std::nullopt;
    auto facts = parse_process_stat(read_small("/proc/" + here + "/stat"));
    const long per_second = sysconf(_SC_CLK_TCK);
    if (!facts || per_second <= 0) return facts;
    const auto ticks = static_cast<std::uint64_t>(per_second);
    const auto since_boot = facts->start_ticks / ticks * std::uint64_t{kNanosecondsPerSecond} +
                            facts->start_ticks % ticks * (std::uint64_t{kNanosecondsPerSecond} / ticks);
    const std::int64_t asleep = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
    facts->started_ns = static_cast<std::int64_t>(since_boot & INT64_MAX) - asleep;
    return facts;
  }

  [[nodiscard]] bool sees_all_of(std::uint64_t pid_namespace) const override {
    return is_ours(pid_namespace) || namespace_of("self", "pid") == kFirstPidNamespace;
  }

 private:
  static bool is_ours(std::uint64_t pid_namespace) {
    return pid_namespace == 0 || pid_namespace == namespace_of("self", "pid");
  }
};

}  // namespace

const ProcessTable& this_machine() {
  static const ThisMachine machine;
  return machine;
}

std::optional<ProcessFacts> parse_process_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  ProcessFacts facts;
  std::size_t at = name_end + 1;
  for (int field = kStateField; field <= kStartField; ++field) {
    at = text.find_first_not_of(' ', at);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view word = text.substr(at, text.find_first_of(" \n", at) - at);
    at += word.size();
    if (field == kStateField) {
      if (word.size() != 1) return std::nullopt;
      facts.state = word.front();
    } else if (field == kFlagsField) {
      constexpr unsigned kExiting = 0x4;  // include/linux/sched.h
      unsigned flags = 0;
      std::from_chars(word.data(), word.data() + word.size(), flags);
      facts.is_ending = (flags & kExiting) != 0;
    } else if (field == kStartField) {
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), facts.start_ticks);
      if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    }
  }
  return facts;
}

}  // namespace cox
