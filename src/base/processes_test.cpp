// SPDX-License-Identifier: Apache-2.0
#include "cox/base/processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace {

/// Signal 0 only asks: were one of these passed on to the kernel, it would succeed and do nothing.
constexpr int kNothing = 0;

template <class Call>
bool is_refused(Call call) {
  errno = 0;
  return call() == -1 && errno == EINVAL;
}

TEST(Processes, NobodyIsSignalledByANumberThatIsNoProcess) {
  for (const pid_t number : {0, -1, -2, -static_cast<int>(getpid())})
    EXPECT_TRUE(is_refused([&] { return cox_signal_process(number, kNothing); })) << number;
  EXPECT_EQ(cox_signal_process(getpid(), kNothing), 0);
}

TEST(Processes, AGroupIsNamedByItsPositiveNumber) {
  for (const pid_t number : {1, 0, -1, -2})
    EXPECT_TRUE(is_refused([&] { return cox_signal_group(number, kNothing); })) << number;
  // In a PID namespace the group that one is born into may lie outside, and has no number.
  ASSERT_TRUE(getpgrp() == getpid() || setpgid(0, 0) == 0);
  EXPECT_EQ(cox_signal_group(getpgrp(), kNothing), 0);
}

TEST(Processes, OneChildIsWaitedForAndNoOther) {
  const pid_t child = fork();
  if (child == 0) _exit(7);
  ASSERT_GT(child, 0);
  int status = 0;
  struct rusage used {};
  siginfo_t state{};
  for (const pid_t number : {0, -1}) {
    EXPECT_TRUE(is_refused([&] { return cox_wait_process(number, &status, 0); })) << number;
    EXPECT_TRUE(is_refused([&] { return cox_wait_process_usage(number, &status, 0, &used); })) << number;
    EXPECT_TRUE(is_refused([&] { return cox_wait_process_state(number, &state, WEXITED); })) << number;
  }
  EXPECT_EQ(cox_wait_process_state(child, &state, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(cox_wait_process(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
