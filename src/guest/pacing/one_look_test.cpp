// SPDX-License-Identifier: Apache-2.0
#include "guest/pacing/one_look.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cox/base/processes.h"

namespace cox::guest {
namespace {

TEST(OneLook, IsTakenOnceAndAllOthersWaitForIt) {
  OneLook look;
  std::atomic<int> taken{0};
  std::atomic<int> early{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      look.take([&]() noexcept {
        for (int k = 0; k < 1000; ++k) std::this_thread::yield();
        ++taken;
      });
      if (taken != 1) ++early;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(early, 0);
}

TEST(OneLook, AChildForkedInTheMiddleGoesOn) {
  OneLook look;
  int status = -1;
  look.take([&]() noexcept {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // instead of waiting for ever
      bool again = false;
      look.take([&]() noexcept { again = true; });
      look.take([&]() noexcept { again = true; });
      _exit(again ? 1 : 0);
    }
    cox_wait_process(child, &status, 0);
  });
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "it looks itself";
}

}  // namespace
}  // namespace cox::guest
