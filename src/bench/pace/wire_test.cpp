// SPDX-License-Identifier: Apache-2.0
#include "bench/pace/wire.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cox::bench {
namespace {

PacePlan small_plan() {
  PacePlan plan;
  plan.job = {{.prepare = Seconds{1e-4},
               .fetch = Bytes{1000},
               .link = Bandwidth::gbit_per_s(0.4),
               .compute = Seconds{0.002},
               .jitter = model::JitterLaw::Lognormal,
               .spread = 0.03,
               .imbalance = model::Imbalance::Persistent,
               .slow_ranks = 1,
               .slow_factor = 1.5,
               .wait = pace::WaitMode::Yield},
              4};
  plan.seed = 18446744073709551615U;
  plan.background = {.share = 0.5, .episode = 7};
  plan.arms = {{.name = "off"},
               {.name = "paper", .settings = "paper,window=16"},
               {.name = "wait", .wait = pace::WaitMode::Block},
               {.name = "priority", .nice = -10}};
  plan.blocks = {{.arm = 0, .steps = 2, .first_draw = 5},
                 {.arm = 1, .steps = 1, .first_draw = 5, .cold = false}};
  return plan;
}

TEST(PaceWire, PlanReadsBackToItself) {
  const std::string text = pace_plan_text(small_plan());
  const auto back = parse_pace_plan(text, "plan");
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(pace_plan_text(*back), text);
  EXPECT_EQ(back->seed, 18446744073709551615U);
  EXPECT_EQ(back->job.wait, pace::WaitMode::Yield);
  EXPECT_DOUBLE_EQ(back->job.prepare.count(), 1e-4);
  ASSERT_EQ(back->arms.size(), 4U);
  EXPECT_EQ(back->arms[2].wait, pace::WaitMode::Block);
  EXPECT_EQ(back->arms[3].nice, -10);
  EXPECT_FALSE(back->blocks[1].cold);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST(PaceWire, BadPlansAreRefusedWithTheirLine) {
  const std::string text = pace_plan_text(small_plan());
  const std::pair<const char*, const char*> cases[] = {{"ranks\t4", "ranks\t129"},
                                                       {"ranks\t4", "ranks\t-1"},
                                                       {"ranks\t4", "ranks\t4x"},
                                                       {"spread\t0.03", "spread\tnan"},
                                                       {"wait\t1", "wait\t3"},
                                                       {"wait\t1", "wait\t-1"},
                                                       {"paper,window=16", "paper,window=0"},
                                                       {"block\t1\t1", "block\t4\t1"},
                                                       {"block\t1\t1", "block\t1\t0"},
                                                       {"seed\t", "seeds\t"}};
  for (const auto& [what, by] : cases) {
    const auto back = parse_pace_plan(replaced(text, what, by), "plan");
    ASSERT_FALSE(back) << by;
    EXPECT_EQ(back.error().id, "bench-009");
    EXPECT_GT(back.error().where->line, 1) << by;
  }
  for (const auto& [what, by] :
       {std::pair{"link_bytes_per_s\t50000000", "link_bytes_per_s\t0"},
        std::pair{"slow_ranks\t1", "slow_ranks\t5"}, std::pair{"block\t0\t2", "block\t0\t1000000"}})
    EXPECT_FALSE(parse_pace_plan(replaced(text, what, by), "plan")) << by;
  EXPECT_FALSE(parse_pace_plan("", "plan"));
}

constexpr const char* kRows =
    "cox-pace-rows 1\nblock\t0\t0.01\nstep\t2000000\t500\t250\t0\t0\t1900000\t0\t0\t0\n"
    "step\t2100000\t500\t250\t7\t3\t1900000\t1\t0\t2\nblock\t1\t0\nstep\t1\t2\t3\t4\t5\t6\t15\t4\t0\n"
    "rank\t1\t3\t1\t10\t20\t30\n";

TEST(PaceWire, RowsAreReadInUnits) {
  const auto rows = parse_pace_rows(kRows, small_plan());
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->blocks.size(), 2U);
  EXPECT_DOUBLE_EQ(rows->blocks[0].steal_ratio, 0.01);
  EXPECT_EQ(rows->blocks[0].steps[1].period, Nanoseconds{2100000});
  EXPECT_EQ(rows->blocks[0].steps[1].mean_delay, Nanoseconds{3});
  EXPECT_EQ(rows->blocks[0].steps[1].trying, 2);
  EXPECT_EQ(rows->blocks[1].steps[0].reason, pace::Reason::Fixed);
  EXPECT_EQ(rows->blocks[1].steps[0].holding, 4);
  ASSERT_EQ(rows->ranks.size(), 1U);
  EXPECT_EQ(rows->ranks[0].delay, Nanoseconds{30});
}

TEST(PaceWire, RowsThatDoNotFitThePlanAreRefused) {
  const std::string text = kRows;
  const std::pair<const char*, const char*> cases[] = {
      {"cox-pace-rows 1", "cox-pace-rows 2"},
      {"block\t1", "block\t2"},
      {"block\t1\t0\n", ""},
      {"step\t2000000\t500\t250\t0\t0\t1900000\t0\t0\t0\n", ""},
      {"step\t2000000", "step\t-1"},
      {"\t15\t4\t0", "\t15\t5\t0"},
      {"rank\t1\t3", "rank\t1\t4"},
      {"rank\t1\t3", "rank\t9\t3"}};
  for (const auto& [what, by] : cases) {
    const auto rows = parse_pace_rows(replaced(text, what, by), small_plan());
    ASSERT_FALSE(rows) << what << " -> " << by;
    EXPECT_EQ(rows.error().id, "bench-009");
  }
}

}  // namespace
}  // namespace cox::bench
