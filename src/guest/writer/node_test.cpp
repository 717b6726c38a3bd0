// SPDX-License-Identifier: Apache-2.0
#include "guest/writer/node.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cox/base/processes.h"

namespace cox::guest {
namespace {

/// Processes that join the node of one folder, and say with a byte each what was asked of them.
class GuestNode : public testing::Test {
 protected:
  struct Member {
    pid_t process = -1;
    int said = -1;
  };
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "cox-node-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const Member& m : members_) end(m);
    std::filesystem::remove_all(folder_);
  }
  /// A process that joins and calls `life`, which ends with the process.
  Member& start(const std::function<void(int say)>& life) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      join_node(folder_.c_str());
      life(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    members_.push_back({child, ends[0]});
    return members_.back();
  }
  static void end(const Member& m) {
    cox_signal_process(m.process, SIGKILL);
    cox_wait_process(m.process, nullptr, 0);
  }
  static char heard(const Member& m) {
    char said = 0;
    return read(m.said, &said, 1) == 1 ? said : '!';
  }
  static void say(int to, char what) {
    if (write(to, &what, 1) != 1) _exit(1);
  }
  std::string folder_;
  std::vector<Member> members_;
};

void ask_until(const std::function<bool()>& question) {
  while (!question()) std::this_thread::sleep_for(std::chrono::milliseconds{5});
}

TEST_F(GuestNode, OneSpeaksAndWhenItIsKilledAnotherDoes) {
  members_.reserve(2);
  const Member& first = start([](int to) {
    say(to, speaks_for_node() ? 'y' : 'n');
    pause();
  });
  ASSERT_EQ(heard(first), 'y');
  const Member& second = start([](int to) {
    say(to, speaks_for_node() ? 'y' : 'n');
    ask_until(speaks_for_node);
    say(to, 'y');
    pause();
  });
  ASSERT_EQ(heard(second), 'n') << "two at a time";
  end(first);
  EXPECT_EQ(heard(second), 'y');
}

TEST_F(GuestNode, AllHearThatOneWasToldToStop) {
  members_.reserve(2);
  const Member& listener = start([](int to) {
    say(to, is_node_stopped() ? 'y' : 'n');
    ask_until(is_node_stopped);
    say(to, 'y');
    pause();
  });
  ASSERT_EQ(heard(listener), 'n');
  start([](int) {
    stop_node();
    pause();
  });
  EXPECT_EQ(heard(listener), 'y');
}

TEST_F(GuestNode, AnotherFolderIsAnotherNode) {
  members_.reserve(2);
  const Member& first = start([](int to) {
    say(to, speaks_for_node() ? 'y' : 'n');
    pause();
  });
  ASSERT_EQ(heard(first), 'y');
  const std::string other = folder_ + "/other";
  std::filesystem::create_directory(other);
  const Member& second = start([&](int to) {
    join_node(other.c_str());
    say(to, speaks_for_node() ? 'y' : 'n');
  });
  EXPECT_EQ(heard(second), 'y');
}

TEST(GuestNodeAlone, WhoNeverJoinedSpeaksForItself) {
  EXPECT_TRUE(speaks_for_node());
  EXPECT_FALSE(is_node_stopped());
}

}  // namespace
}  // namespace cox::guest
