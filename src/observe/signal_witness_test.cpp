// SPDX-License-Identifier: Apache-2.0
#include "observe/signal_witness.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cox::observe {
namespace {

using namespace std::chrono_literals;

constexpr pid_t kNobody = 0x7ffffff0;  // no process has that number
constexpr int kFailed = 1 << 8;        // as wait() says exit(1)

siginfo_t sent(int signal, pid_t by, int code = SI_USER) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = code;
  info.si_pid = by;
  return info;
}

TEST(ToldToEnd, WhoIsAskedFromOutsideAndEndsHasBeenTold) {
  ToldToEnd told;
  const auto at = ToldToEnd::Clock::now();
  EXPECT_EQ(told.ended(kFailed, at), 0);
  told.hear(sent(SIGTERM, getppid()), kNobody, false, at);
  EXPECT_EQ(told.ended(kFailed, at + 10s), SIGTERM);
  told.hear(sent(SIGINT, 0, SI_KERNEL), getpid(), true, at + 20s);
  EXPECT_EQ(told.ended(kFailed, at + 21s), SIGINT) << "a terminal's";
}

TEST(ToldToEnd, AJobThatOutlivesTheSignalEndsOfSomethingElse) {
  ToldToEnd told;
  const auto at = ToldToEnd::Clock::now();
  told.hear(sent(SIGTERM, getppid()), kNobody, false, at);
  EXPECT_EQ(told.ended(kFailed, at + 1h), 0);
  EXPECT_EQ(told.ended((128 + SIGTERM) << 8, at + 1h), SIGTERM) << "its status says so";
  EXPECT_EQ(told.ended(SIGTERM, at + 1h), SIGTERM);
}

TEST(ToldToEnd, WhatTheJobSendsItselfIsNobodyElse) {
  ToldToEnd told;
  told.hear(sent(SIGTERM, getpid()), getppid(), false);  // a child of the job
  told.hear(sent(SIGTERM, getpid()), getpid(), false);
  EXPECT_EQ(told.ended(kFailed), 0);
  told.hear(sent(SIGTERM, kNobody), getpid(), true);
  EXPECT_EQ(told.ended(kFailed), 0) << "a script that signalled its group, and is gone";
  told.hear(sent(SIGTERM, kNobody), getpid(), false);
  EXPECT_EQ(told.ended(kFailed), SIGTERM) << "/bin/kill, which is gone as well";
}

TEST(ToldToEnd, WhoSavesForMinutesHasBeenTold) {
  ToldToEnd told;
  const auto at = ToldToEnd::Clock::now();
  told.hear(sent(SIGTERM, getppid()), kNobody, false, at);
  EXPECT_EQ(told.ended(kFailed, at + 4min), SIGTERM);
  EXPECT_EQ(told.age(at + 4min), 240s);
  EXPECT_EQ(told.ended(kFailed, at + 6min), 0);
}

TEST(ToldToEnd, WhatIsIgnoredEndsWhoHearsItAllTheSame) {
  const auto before = signal(SIGHUP, SIG_IGN);
  ToldToEnd told;
  const auto at = ToldToEnd::Clock::now();
  told.hear(sent(SIGHUP, getppid()), kNobody, false, at);
  signal(SIGHUP, before);
  EXPECT_EQ(told.ended(kFailed, at + 1s), SIGHUP) << "as mpirun of Open MPI does under nohup";
  EXPECT_EQ(told.ended(kFailed, at + 1min), 0);
  ToldToEnd other;
  other.hear(sent(SIGUSR1, getppid()), kNobody, false);
  EXPECT_EQ(other.ended(kFailed), 0) << "asks for something else";
}

}  // namespace
}  // namespace cox::observe
