// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/goal_reader.hpp"

#include <gtest/gtest.h>

#include <string>

#include "simulate/event/goal_image.hpp"

namespace cox::simulate {
namespace {

struct Bad {
  const char* text;
  const char* id;
  int line;
};

TEST(GoalReader, SaysWhatIsWrongAndInWhichLine) {
  const Bad cases[] = {
      {"", "goal-001", 1},
      {"hello\n", "goal-001", 1},
      {"// only\n/* comments\n */", "goal-001", 3},
      {"num_ranks\n", "goal-002", 1},
      {"num_ranks 0\n", "goal-004", 1},
      {"num_ranks 4000000000\n", "goal-004", 1},
      {"num_ranks 2000000\n", "goal-004", 1},
      {"num_ranks 2\nnum_ranks 2\n", "goal-004", 2},
      {"num_ranks 2\nrank 2 {\n}\n", "goal-004", 2},
      {"rank 0 {\n}\n", "goal-004", 1},
      {"num_ranks 2\nrank 1 {\n}\nrank 1 {\n}\n", "goal-004", 4},
      {"num_ranks 2\nrank 1\n", "goal-002", 2},
      {"num_ranks 2\nrank 1 {\ncalc 1\n", "goal-002", 4},
      {"num_ranks 2\nrank 1 {\nfly 1\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\nl1: fly 1\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\ncalc x\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\ncalc 1 tag 3\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\ncalc 1 cpu 256\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\ncalc 18446744073709551616\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\nsend 5 to 1\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\nsend 5b from 1\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\n\n\nsend 5b to 2\n}\n", "goal-004", 5},
      {"num_ranks 2\nrank 1 {\nsend 5b to -1\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\nsend 5b to 0 tag -1\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\nrecv 5b from 0 tag 4294967295\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\nrecv 5b from 0 sideways\n}\n", "goal-002", 3},
      {"num_ranks 2\nrank 1 {\na: calc 1\na: calc 1\n}\n", "goal-003", 4},
      {"num_ranks 2\nrank 1 {\na: calc 1\na requires b\n}\n", "goal-003", 4},
      {"num_ranks 2\nrank 0 {\nb: calc 1\n}\nrank 1 {\na: calc 1\na requires b\n}\n", "goal-003", 7},
      {"num_ranks 2\nrank 1 {\na: calc 1\na needs a\n}\n", "goal-002", 4},
      {"num_ranks 2\nrank 1 {\na: calc 1\na requires a a\n}\n", "goal-002", 4},
  };
  for (const Bad& bad : cases) {
    SCOPED_TRACE(bad.text);
    const auto result = read_goal_text(bad.text, "s.goal");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().id, bad.id) << result.error().message;
    ASSERT_TRUE(result.error().where);
    EXPECT_EQ(result.error().where->file, "s.goal");
    EXPECT_EQ(result.error().where->line, bad.line);
  }
}

TEST(GoalReader, EveryPartOfAStatementArrives) {
  const std::string text =
      "num_ranks 3 // a comment\r\n"
      "rank 2 { /* another\n */ l1: send 17b to 1 tag 5 cpu 2 nic 3\n"
      "l2 : recv 18 b from -1 tag -1 ; calc 19 cpu 4\n"
      "l2 irequires l1\n"
      "x_long_label_1: calc 20\nx_long_label_2: calc 21\nx_long_label_2 requires x_long_label_1\n}\n";
  const auto bytes = read_goal_text(text, "s.goal");
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  const auto image = GoalImage::check(std::as_bytes(std::span(*bytes)), "s.goal");
  ASSERT_TRUE(image) << image.error().to_string();
  EXPECT_EQ(image->ranks(), 3U);
  EXPECT_EQ(image->cpus(), 5);
  EXPECT_EQ(image->nics(), 4);
  EXPECT_TRUE(image->any_both());
  EXPECT_FALSE(image->any_source() || image->any_tag());
  EXPECT_EQ(image->block(0).count, 0U);
  const GoalBlock& block = image->block(2);
  ASSERT_EQ(block.count, 5U);
  const GoalNode send = block.node(0);
  EXPECT_EQ(send.kind(), GoalNode::kSend);
  EXPECT_EQ(send.amount(), 17U);
  EXPECT_EQ(send.peer(), 1U);
  EXPECT_EQ(send.tag(), 5U);
  EXPECT_EQ(send.cpu(), 2);
  EXPECT_EQ(send.nic(), 3);
  EXPECT_EQ(send.after_end(), 0U);
  ASSERT_EQ(send.after_start(), 1U);
  EXPECT_EQ(block.successor(send.after_start_at()), 1U);
  EXPECT_EQ(block.node(1).peer(), kAnySource);
  EXPECT_EQ(block.node(1).tag(), kAnyTag);
  EXPECT_EQ(block.node(1).predecessors(), 1U);
  EXPECT_EQ(block.node(2).kind(), GoalNode::kCalc);
  EXPECT_EQ(block.node(2).amount(), 19U);
  ASSERT_EQ(block.node(3).after_end(), 1U);
  EXPECT_EQ(block.successor(block.node(3).after_end_at()), 4U);
  EXPECT_EQ(block.roots, 3U);
}

}  // namespace
}  // namespace cox::simulate
