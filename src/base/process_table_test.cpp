// SPDX-License-Identifier: Apache-2.0
#include "cox/base/process_table.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <limits>

#include "cox/base/processes.h"

namespace cox {
namespace {

TEST(ProcessTable, ReadsStateAndStartBehindAnyName) {
  const std::string rest = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n";
  const auto facts = parse_process_stat("77 (a) b (c)) T" + rest);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->state, 'T');
  EXPECT_EQ(facts->start_ticks, 4711U);
}

TEST(ProcessTable, TellsWhoHasBegunToEnd) {
  const std::string rest = " 0 0 0 0 0 0 0 0 0 0 0 4711 ";
  EXPECT_TRUE(
      parse_process_stat("77 (a) R 1 2 3 4 5 4194572 1" + rest)->is_ending);  // PF_EXITING among others
  EXPECT_FALSE(parse_process_stat("77 (a) R 1 2 3 4 5 4194560 1" + rest)->is_ending);
  EXPECT_FALSE(this_machine().find({getpid()}).value_or(ProcessFacts{.is_ending = true}).is_ending);
}

TEST(ProcessTable, RefusesWhatIsNoStat) {
  for (const char* text :
       {"", "77 (a", "77 (a) ", "77 (a) R 1 2", "77 (a) RR 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19",
        "77 (a) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x9"})
    EXPECT_FALSE(parse_process_stat(text).has_value()) << text;
}

TEST(ProcessTable, SeesItself) {
  const ProcessTable& here = this_machine();
  const auto self = here.find({getpid()});
  ASSERT_TRUE(self.has_value());
  EXPECT_EQ(self->state, 'R');
  EXPECT_GT(self->start_ticks, 0U);
  EXPECT_LE(self->started_ns, here.monotonic_ns());
  EXPECT_FALSE(here.boot_id().empty());
  EXPECT_FALSE(here.find({-1}).has_value());
  EXPECT_FALSE(here.find({std::numeric_limits<int>::max()}).has_value());
}

TEST(ProcessTable, TellsStoppedFromGone) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  ASSERT_GT(child, 0);
  cox_signal_process(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(cox_wait_process(child, &status, WUNTRACED), child);
  EXPECT_EQ(this_machine().find({child}).value_or(ProcessFacts{}).state, 'T');
  cox_signal_process(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(cox_wait_process_state(child, &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(this_machine().find({child}).value_or(ProcessFacts{}).state, 'Z');
  ASSERT_EQ(cox_wait_process(child, &status, 0), child);
  EXPECT_FALSE(this_machine().find({child}).has_value());
}

}  // namespace
}  // namespace cox
