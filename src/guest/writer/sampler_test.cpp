// SPDX-License-Identifier: Apache-2.0
#include "guest/writer/sampler.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace cox::guest {
namespace {

using trace::RawSample;

RawSample sample(bool whole) {
  RawSample s{};
  take_sample(s, whole, whole);
  return s;
}

std::string gathered;
std::map<std::string, std::string> locality(bool machine) {
  gathered.clear();
  const auto gather = [](const char* lines, std::size_t bytes) {
    EXPECT_LE(bytes, kLocalityPiece);
    EXPECT_EQ(lines[bytes - 1], '\n');
    gathered.append(lines, bytes);
  };
  read_locality(gather);
  while (machine && read_machine(3, gather)) {
  }
  EXPECT_LE(gathered.size(), kLocalityBytes);
  std::map<std::string, std::string> facts;
  std::istringstream in(gathered);
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    EXPECT_NE(tab, std::string::npos) << line;
    facts[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return facts;
}

TEST(GuestSampler, CountersOfTheProcessGrowWithItsWork) {
  const RawSample before = sample(false);
  volatile std::uint64_t sum = 0;
  // Work of a size, not of a time: CPU time must grow by some of it.
  for (std::uint64_t i = 0; i < 20'000'000; ++i) sum = sum + i;
  const RawSample after = sample(false);
  EXPECT_GT(after.cpu_ns, before.cpu_ns);
  EXPECT_GT(after.main_cpu_ns, before.main_cpu_ns);
  EXPECT_LE(after.main_cpu_ns - before.main_cpu_ns, after.cpu_ns - before.cpu_ns + 1'000'000);
  EXPECT_GE(after.voluntary, before.voluntary);
  EXPECT_GE(after.minor_faults, before.minor_faults);
  EXPECT_EQ(after.threads, 1U);
  EXPECT_EQ(after.state, 'R');
  EXPECT_GE(after.cpu, 0);
}

TEST(GuestSampler, FaultsAreCounted) {
  const RawSample before = sample(false);
  std::vector<char> pages(std::size_t{64} * 4096);
  std::memset(pages.data(), 1, pages.size());
  std::atomic_signal_fence(std::memory_order_seq_cst);
  EXPECT_GE(sample(false).minor_faults, before.minor_faults);
}

TEST(GuestSampler, DescribesTheMainThreadFromAnyThread) {
  RawSample s{};
  std::thread other([&] { take_sample(s, false, false); });
  other.join();
#if defined(__SANITIZE_THREAD__)
  EXPECT_EQ(s.threads, 3U) << "the sanitizer has one of its own from the first thread on";
#else
  EXPECT_EQ(s.threads, 2U);
#endif
  EXPECT_NE(s.main_cpu_ns, ~std::uint64_t{0});
}

TEST(GuestSampler, DearFieldsOnlyWhereAsked) {
  const RawSample s = sample(false);
  EXPECT_EQ(s.throttled_us, ~std::uint64_t{0});
  EXPECT_EQ(s.pressure_us, ~std::uint64_t{0});
  EXPECT_EQ(s.frequency_khz, ~std::uint32_t{0});
  EXPECT_EQ(s.thermal_throttles, ~std::uint32_t{0});
  std::ifstream pressure("/proc/pressure/cpu");
  std::string line;
  if (!std::getline(pressure, line)) GTEST_SKIP() << "this machine tells no pressure";
  EXPECT_NE(sample(true).pressure_us, ~std::uint64_t{0});
}

TEST(GuestSampler, KeepsTheSameFewDescriptors) {
  static_cast<void>(sample(true));
  const int before = ::open("/dev/null", O_RDONLY);
  ::close(before);
  static_cast<void>(sample(true));
  static_cast<void>(locality(true));
  const int after = ::open("/dev/null", O_RDONLY);
  ::close(after);
  EXPECT_EQ(before, after);
}

TEST(GuestSampler, ItRunsWhereItIsToldAndTheOthersWhereTheyDid) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &before)) --last;
  std::thread keeper([&] {
    EXPECT_TRUE(run_on(std::to_string(last).c_str()));
    EXPECT_EQ(sched_getcpu(), last);
    EXPECT_FALSE(run_on("1023")) << "not there";
    EXPECT_FALSE(run_on("all"));
    EXPECT_FALSE(run_on(""));
  });
  keeper.join();
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

/// What a thread sees of a descriptor of the process once it has a table of its own.
struct Separated {
  bool done = false;
  bool sees_other = true;
  int lowest = -1;
};
Separated separate(int other) {
  Separated out;
  std::thread keeper([&] {
    out.done = separate_descriptors();
    out.sees_other = ::fcntl(other, F_GETFD) >= 0;
    out.lowest = ::open("/dev/null", O_RDONLY);
  });
  keeper.join();
  return out;
}

/// Has the calling process refused these system calls, as a container or an older kernel does.
bool refuse(std::initializer_list<long> calls) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, 2, &program) == 0;
}

TEST(GuestSampler, ItsDescriptorsAreItsOwn) {
  const int other = ::open("/dev/zero", O_RDONLY);
  const Separated seen = separate(other);
  EXPECT_GE(::fcntl(other, F_GETFD), 0);  // the job's are as they were
  EXPECT_GE(::fcntl(0, F_GETFD), 0);
  ::close(other);
  ASSERT_TRUE(seen.done);
  EXPECT_FALSE(seen.sees_other);
  EXPECT_EQ(seen.lowest, 3);
}

constexpr long kCloseRange = 436;

TEST(GuestSampler, ItsDescriptorsAreItsOwnOnKernelsBefore59) {
  EXPECT_EXIT(
      {
        if (!refuse({kCloseRange})) _exit(1);
        int other = -1;  // some hundred, so that a listing does not come in one piece
        for (int i = 0; i < 300; ++i) other = ::open("/dev/zero", O_RDONLY);
        const Separated seen = separate(other);
        const bool kept = ::fcntl(other, F_GETFD) >= 0 && ::fcntl(other - 200, F_GETFD) >= 0;
        _exit(seen.done && !seen.sees_other && seen.lowest == 3 && kept ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

TEST(GuestSampler, WhereNoTableOfItsOwnIsToBeHadTheProcessKeepsIts) {
  EXPECT_EXIT(
      {
        if (!refuse({kCloseRange, SYS_unshare})) _exit(1);
        const int other = ::open("/dev/zero", O_RDONLY);
        const Separated seen = separate(other);
        _exit(!seen.done && seen.sees_other ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

TEST(GuestSampler, ToldWhoTheProcessIs) {
  EXPECT_GT(own_start_time(), 0U);
  for (const char* kind : {"time", "pid"}) {
    struct stat about {};
    const bool is_there = ::stat(("/proc/self/ns/" + std::string(kind)).c_str(), &about) == 0;
    EXPECT_EQ(own_namespace(kind), is_there ? about.st_ino : 0U) << kind;
  }
}

TEST(GuestSampler, LocalityHoldsTheAffinityAndTheTopology) {
  const auto facts = locality(true);
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int counted = 0;
  std::istringstream list(facts.at("affinity"));
  for (std::string range; std::getline(list, range, ',');) {
    const std::size_t dash = range.find('-');
    const int first = std::stoi(range);
    const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
    for (int cpu = first; cpu <= last; ++cpu) counted += CPU_ISSET(cpu, &allowed) ? 1 : 1000;
  }
  EXPECT_EQ(counted, CPU_COUNT(&allowed));
  EXPECT_EQ(facts.count("/proc/self/status/Cpus_allowed_list"), 1U);
  std::string online;
  if (std::getline(std::ifstream("/sys/devices/system/cpu/online"), online)) {
    EXPECT_EQ(facts.at("/sys/devices/system/cpu/online"), online);
  }
}

TEST(GuestSampler, LocalityOfAProcessAloneIsShort) {
  const auto facts = locality(false);
  EXPECT_EQ(facts.count("affinity"), 1U);
  EXPECT_EQ(facts.count("/sys/devices/system/cpu/online"), 0U);
}

}  // namespace
}  // namespace cox::guest
