// SPDX-License-Identifier: Apache-2.0
#include "observe/end_witness.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "cox/base/processes.h"
#include "cox/guest/node_name.hpp"
#include "cox/trace/raw_format.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

/// Processes that knock as guests do, and files as they leave them.
class EndWitnessTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cox-ends-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    while (!processes_.empty()) end(processes_.back());
    fs::remove_all(folder_);
  }
  enum class Until { Knocked, Greeted };
  /// A process that has knocked, and by default was greeted, and waits.
  pid_t begin(Until until = Until::Greeted) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      struct stat about {};
      ::stat(folder_.c_str(), &about);
      sockaddr_un name;
      const socklen_t length =
          guest::node_name(guest::kEndsSocket, {.device = about.st_dev, .inode = about.st_ino}, name);
      const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
      bool good = connect(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0;
      char none = 0;
      if (until == Until::Greeted) good = good && read(fd, &none, 1) == 0;  // the witness hangs up
      if (write(ends[1], good ? "y" : "n", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char said = 0;
    EXPECT_EQ(read(ends[0], &said, 1), 1);
    EXPECT_EQ(said, 'y');
    close(ends[0]);
    close(ends[1]);
    processes_.push_back(child);
    return child;
  }
  void end(pid_t process) {
    std::erase(processes_, process);
    cox_signal_process(process, SIGKILL);
    cox_wait_process(process, nullptr, 0);
  }
  void leave_file(int rank, pid_t process, trace::WriterState state, int world = 3) {
    trace::RawHeader head{};
    std::memcpy(head.magic, trace::kRawMagic, sizeof head.magic);
    head.rank = rank;
    head.world_size = world;
    head.pid = process;
    head.state = state;
    std::ofstream out(folder_ / (std::to_string(rank) + ".coxraw"), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&head), sizeof head);
  }
  fs::path folder_;
  std::vector<pid_t> processes_;
};

constexpr trace::WriterState kOpen = trace::WriterState::Open;
constexpr trace::WriterState kClosed = trace::WriterState::Closed;

TEST_F(EndWitnessTest, EndsAreSeenInTheirOrder) {
  EndWitness witness(folder_);
  witness.start();
  const std::array<pid_t, 3> p{begin(), begin(), begin()};
  end(p[1]);
  end(p[0]);
  const SeenEnds seen = witness.stop();
  EXPECT_EQ(seen.began.size(), 3U);
  ASSERT_EQ(seen.ended.size(), 2U);
  EXPECT_EQ(seen.ended[0].process, p[1]);
  EXPECT_EQ(seen.ended[1].process, p[0]);
  EXPECT_TRUE(seen.ended[1].was_alone) << "one lives";
}

TEST_F(EndWitnessTest, WhoKnockedJustBeforeItStoppedIsSeen) {
  for (int i = 0; i < 20; ++i) {
    EndWitness witness(folder_);
    witness.start();
    const pid_t p = begin(Until::Knocked);
    EXPECT_EQ(witness.stop().began, std::vector<pid_t>{p});
    end(p);  // it holds the witness's name
  }
}

TEST_F(EndWitnessTest, WhoBeganBeforeItLookedIsSeen) {
  EndWitness witness(folder_);
  const pid_t p = begin(Until::Knocked);
  witness.start();
  const SeenEnds seen = witness.stop();
  EXPECT_EQ(seen.began, std::vector<pid_t>{p});
}

TEST_F(EndWitnessTest, TheRankThatWasCutOffFirstIsNamed) {
  for (int rank = 0; rank < 3; ++rank) leave_file(rank, 100 + rank, kOpen);
  const SeenEnds seen{.began = {100, 101, 102}, .ended = {{102, 5, true}, {100, 6, true}, {101, 7, true}}};
  const auto first = first_end(folder_, seen);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rank, 2);
  EXPECT_EQ(first->exit_status, -1);
  EXPECT_EQ(first->realtime_ns, 5);
}

TEST_F(EndWitnessTest, NobodyWhereAnotherMayHaveDiedBefore) {
  for (int rank = 0; rank < 3; ++rank) leave_file(rank, 100 + rank, kOpen);
  EXPECT_FALSE(first_end(
      folder_, {.began = {100, 101, 102}, .ended = {{102, 5, false}, {100, 6, true}, {101, 7, true}}}));
}

TEST_F(EndWitnessTest, NobodyWhereAnotherWorldHasTheSameRanks) {
  for (int rank = 0; rank < 3; ++rank) leave_file(rank, 100 + rank, kOpen);
  const std::vector<pid_t> began = {90, 91, 92, 100, 101, 102};
  const auto first_of = [&](std::size_t had_begun) {
    return first_end(
        folder_, {.began = began, .ended = {{90, 4, true, had_begun}, {101, 5, true, 6}, {100, 6, true, 6}}});
  };
  EXPECT_TRUE(first_of(3)) << "90 ended before all of the last three had begun: it was of an earlier start";
  EXPECT_FALSE(first_of(6)) << "90 ended beside them";
}

TEST_F(EndWitnessTest, OneThatClosedItsRecordIsToldAsThat) {
  leave_file(0, 100, kClosed);
  leave_file(1, 101, kOpen);
  leave_file(2, 102, kOpen);
  const auto first = first_end(
      folder_, {.began = {100, 101, 102}, .ended = {{100, 4, false}, {101, 5, true}, {102, 6, true}}});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rank, 0);
  EXPECT_EQ(first->exit_status, trace::RankEnd::kInOrder);
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

TEST_F(EndWitnessTest, WithoutADescriptorToSpareItSleepsAndEnds) {
  {  // a sanitizer looks at what a thread runs through a pipe, once per type: not below, where there is none to spare
    fs::create_directories(folder_ / "other");
    EndWitness other(folder_ / "other");
    other.start();
    static_cast<void>(other.stop());
  }
  EndWitness witness(folder_);
  static_cast<void>(begin(Until::Knocked));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);
  ASSERT_GE(next, 0);
  close(next);
  const rlimit tight{static_cast<rlim_t>(next) + 2,
                     before.rlim_max};  // for what it waits with, and nobody who knocks
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  const double used = cpu_seconds();
  witness.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu_seconds() - used, 0.1) << "it was told again and again of who waits";
  EXPECT_TRUE(witness.stop().began.empty());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(EndWitnessTest, NobodyWhereARankWasNotSeen) {
  for (int rank = 0; rank < 3; ++rank) leave_file(rank, 100 + rank, kOpen);
  EXPECT_FALSE(first_end(folder_, {.began = {100, 101}, .ended = {{101, 5, true}}}));
  fs::remove(folder_ / "2.coxraw");
  EXPECT_FALSE(first_end(folder_, {.began = {100, 101, 102}, .ended = {{101, 5, true}}}));
}

}  // namespace
}  // namespace cox::observe
