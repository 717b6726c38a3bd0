// SPDX-License-Identifier: Apache-2.0
#include "observe/end_witness.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "cox/base/processes.h"
#include "cox/guest/node_name.hpp"
#include "cox/trace/raw_exit.hpp"
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
    for (const pid_t p : processes_) end(p);
    fs::remove_all(folder_);
  }
  /// A process that has knocked and waits.
  pid_t begin() {
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
      const bool good = connect(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0;
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
  static void end(pid_t process) {
    cox_signal_process(process, SIGKILL);
    cox_wait_process(process, nullptr, 0);
  }
  void leave_file(int rank, pid_t process, trace::WriterState state, int status, int world = 3) {
    trace::RawHeader head{};
    std::memcpy(head.magic, trace::kRawMagic, sizeof head.magic);
    head.rank = rank;
    head.world_size = world;
    head.pid = process;
    head.state = state;
    if (status >= 0) trace::set_exit_field(head, trace::exit_field(status));
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

TEST_F(EndWitnessTest, WhoBeganBeforeItLookedIsSeen) {
  EndWitness witness(folder_);
  const pid_t p = begin();
  witness.start();
  const SeenEnds seen = witness.stop();
  EXPECT_EQ(seen.began, std::vector<pid_t>{p});
}

TEST_F(EndWitnessTest, TheRankThatWasCutOffFirstIsNamed) {
  for (int rank = 0; rank < 3; ++rank) leave_file(rank, 100 + rank, kOpen, -1);
  const SeenEnds seen{.began = {100, 101, 102}, .ended = {{102, 5, true}, {100, 6, true}, {101, 7, true}}};
  const auto first = first_end(folder_, seen);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rank, 2);
  EXPECT_EQ(first->exit_status, -1);
  EXPECT_EQ(first->realtime_ns, 5);
}

TEST_F(EndWitnessTest, NobodyWhereAnotherMayHaveDiedBefore) {
  for (int rank = 0; rank < 3; ++rank) leave_file(rank, 100 + rank, kOpen, -1);
  EXPECT_FALSE(first_end(
      folder_, {.began = {100, 101, 102}, .ended = {{102, 5, false}, {100, 6, true}, {101, 7, true}}}));
}

TEST_F(EndWitnessTest, WhoEndedWellIsPassedOver) {
  leave_file(0, 100, kClosed, 0);
  leave_file(1, 101, kClosed, 3);
  leave_file(2, 102, kOpen, -1);
  const auto first = first_end(
      folder_, {.began = {100, 101, 102}, .ended = {{100, 4, true}, {101, 5, true}, {102, 6, true}}});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rank, 1);
  EXPECT_EQ(first->exit_status, 3);
}

TEST_F(EndWitnessTest, NobodyWhereAStatusIsNotKnown) {
  leave_file(0, 100, kClosed, -1);  // it closed its record before it ended
  leave_file(1, 101, kOpen, -1);
  leave_file(2, 102, kOpen, -1);
  EXPECT_FALSE(first_end(
      folder_, {.began = {100, 101, 102}, .ended = {{100, 4, true}, {101, 5, true}, {102, 6, true}}}));
}

TEST_F(EndWitnessTest, NobodyWhereARankWasNotSeen) {
  for (int rank = 0; rank < 3; ++rank) leave_file(rank, 100 + rank, kOpen, -1);
  EXPECT_FALSE(first_end(folder_, {.began = {100, 101}, .ended = {{101, 5, true}}}));
  fs::remove(folder_ / "2.coxraw");
  EXPECT_FALSE(first_end(folder_, {.began = {100, 101, 102}, .ended = {{101, 5, true}}}));
}

}  // namespace
}  // namespace cox::observe
