// SPDX-License-Identifier: Apache-2.0
#include "cox/base/child.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cox {
namespace {

constexpr const char* kId = "room-001";

TEST(RunChild, GivesOutputStatusAndMemory) {
  const auto ended = run_child({"sh", "-c", "cat; echo hello; exit 3"}, kId);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->out, "hello\n");
  EXPECT_EQ(ended->status, 3);
  EXPECT_GT(ended->peak_memory.count(), 100'000);
}

TEST(RunChild, SaysWhichSignalEndedIt) {
  const auto ended = run_child({"sh", "-c", "kill -9 $$"}, kId);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 128 + 9);
}

TEST(RunChild, NamesAProgramThatIsNotThere) {
  const auto ended = run_child({"/no/such/program"}, kId);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().id, kId);
  EXPECT_EQ(ended.error().message, "/no/such/program: No such file or directory");
}

TEST(RunChild, SendsErrorsNowhereWhereAsked) {
  testing::internal::CaptureStderr();
  ASSERT_TRUE(run_child({"sh", "-c", "echo ours >&2"}, kId));
  ASSERT_TRUE(run_child({"sh", "-c", "echo lost >&2"}, kId, {.errors = ChildLimits::Errors::Nowhere}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ours\n");
}

TEST(RunChild, EndsWhatClosesItsOutputAndGoesOn) {
  const auto ended = run_child({"sh", "-c", "exec >&-; while :; do :; done"}, kId, {.time = Seconds{0.05}});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "sh: not done after 0.05 s");
}

TEST(RunChild, EndsWhatPrintsTooMuch) {
  const auto ended = run_child({"yes"}, kId, {.out_bytes = 1000});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "yes: printed more than 1000 bytes");
}

TEST(ShellWord, AShellTakesItAsOneWord) {
  EXPECT_EQ(shell_word("run/a-1.csv"), "run/a-1.csv");
  EXPECT_EQ(shell_word(""), "''");
  for (const std::string word : {"a b", "it's", "$(id)", "#no", "~", "a\nb", "*", "x#2"}) {
    const auto told = run_child({"sh", "-c", "printf '[%s]' " + shell_word(word)}, kId);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->out, "[" + word + "]");
  }
}

TEST(RunChildren, RunsThemBesideEachOther) {
  // Each waits for the other's file, so one after the other would never end.
  const std::string folder = ::testing::TempDir() + "cox-children-" + std::to_string(getpid());
  const auto wait_for = [&](const std::string& mine, const std::string& others) {
    return std::vector<std::string>{"sh", "-c",
                                    "mkdir -p " + folder + "; touch " + folder + "/" + mine +
                                        "; while [ ! -e " + folder + "/" + others + " ]; do :; done; echo " +
                                        mine};
  };
  const auto all = run_children({wait_for("a", "b"), wait_for("b", "a")}, kId, {.time = Seconds{30}});
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)[0].out, "a\n");
  EXPECT_EQ((*all)[1].out, "b\n");
  static_cast<void>(run_child({"rm", "-rf", folder}, kId));
}

TEST(RunChild, WhatItPrintsIsHeardAsItComesAndItCanBeAskedToEnd) {
  std::string heard;
  ChildLimits limits{.time = Seconds{20}, .stop = {}, .hear = [&](std::string_view some) { heard += some; }};
  limits.stop = [&] { return heard.find("begun") != std::string::npos; };
  const auto ended =
      run_child({"sh", "-c", "echo begun; trap 'echo asked; exit 7' TERM; while :; do sleep 0.1; done"},
                "base-002", limits);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->status, 7);
  EXPECT_EQ(heard, "begun\nasked\n");
  EXPECT_EQ(ended->out, heard);
  EXPECT_LT(ended->wall, Seconds{15});
}

}  // namespace
}  // namespace cox
