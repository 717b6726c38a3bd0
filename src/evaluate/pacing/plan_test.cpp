// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pacing/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cox/base/file.hpp"

namespace cox::evaluate {
namespace {

PacingStudy frozen() {
  const auto text = read_file(std::string(COX_STUDIES) + "/pacing.toml", 1'000'000);
  EXPECT_TRUE(text);
  auto study = parse_pacing(text.value_or(""), "pacing.toml");
  EXPECT_TRUE(study) << study.error().to_string();
  return study ? *study : PacingStudy{};
}

TEST(PacingStudy, TheFrozenOneIsWhatTheIssueAsksFor) {
  const PacingStudy study = frozen();
  EXPECT_EQ(study.conditions.size(), 14U);
  std::set<std::string> mechanisms;
  int quick = 0;
  for (const PacingCondition& c : study.conditions) {
    mechanisms.insert(c.mechanism);
    quick += c.quick ? 1 : 0;
    EXPECT_GE(c.job.ranks, 4) << c.name;
    EXPECT_LE(c.job.ranks, 64) << c.name;
    std::set<std::string> arms;
    for (const std::size_t a : c.arms) arms.insert(study.arms[a].name);
    for (const char* arm : {"again", "observe", "paper", "auto", "always", "random"})
      EXPECT_TRUE(arms.contains(arm)) << c.name << ' ' << arm;
  }
  EXPECT_EQ(mechanisms.size(), 7U);
  EXPECT_EQ(quick, 4);
  EXPECT_GE(study.protocol.block_windows, 3);
  EXPECT_GE(study.protocol.starts, 4);
  EXPECT_LE(study.protocol.floor, study.protocol.harm)
      << "a floor that is wider than the margin decides nothing";
  EXPECT_LE(study.protocol.limit, Seconds{25 * 60});
  Seconds all{};
  for (const PacingCondition& c : study.conditions)
    for (int start = 0; start < study.protocol.starts; ++start)
      all += plan_pacing(study, c, c.arms, PacingDepth::Full, start).lasts(c);
  EXPECT_LT(all, study.protocol.limit) << "every condition gets its starts";
}

TEST(PacingStudy, WaitsAsTheFileSays) {
  const PacingStudy study = frozen();
  for (const PacingCondition& c : study.conditions)
    EXPECT_EQ(c.job.wait, c.name.starts_with("spin") ? pace::WaitMode::Spin : pace::WaitMode::Block)
        << c.name;
  for (const PacingArm& a : study.arms) {
    if (a.name == "yield") {
      EXPECT_EQ(a.wait, pace::WaitMode::Yield);
    }
    if (a.name == "block") {
      EXPECT_EQ(a.wait, pace::WaitMode::Block);
    }
  }
}

TEST(PacingStudy, SizesAreTheConditionWithOtherRanks) {
  const PacingStudy study = frozen();
  EXPECT_EQ(study.size_of, "shared-host-persistent");
  ASSERT_EQ(study.sizes.size(), 4U);
  std::vector<int> ranks;
  for (const PacingCondition& c : study.sizes) {
    ranks.push_back(c.job.ranks);
    EXPECT_EQ(c.job.slow_ranks, std::max(1, c.job.ranks / 8)) << c.name;
    EXPECT_EQ(c.bar, 0) << c.name;
    ASSERT_EQ(c.arms.size(), 1U);
    EXPECT_EQ(study.arms[c.arms[0]].name, kArmAuto);
    EXPECT_LE(c.best, c.period);
  }
  EXPECT_EQ(ranks, (std::vector<int>{4, 8, 16, 64}));
  EXPECT_DOUBLE_EQ(study.sizes[0].period.count(), 40e-3 - 28 * 0.6e-3 / 2);
  EXPECT_DOUBLE_EQ(study.sizes[3].period.count(), 40e-3 + 32 * 0.6e-3 / 2);
}

TEST(PacingStudy, BadSizesAreRefused) {
  const auto text = read_file(std::string(COX_STUDIES) + "/pacing.toml", 1'000'000);
  ASSERT_TRUE(text);
  const std::string good = "ranks = [4, 8, 16, 64]";
  for (const char* bad : {"ranks = [8, 4]", "ranks = [1]", "ranks = []", "ranks = 4", "ranks = [4, 4096]",
                          "ranks = [\"4\"]", "rank = [4]", "ranks = [32]"}) {
    std::string changed = *text;
    changed.replace(changed.find(good), good.size(), bad);
    const auto study = parse_pacing(changed, "pacing.toml");
    ASSERT_FALSE(study) << bad;
    EXPECT_EQ(study.error().id, "study-002") << bad;
  }
}

TEST(PacingPlan, PairsShareDrawsAndADriftTakesAsMuchFromEitherSide) {
  const PacingStudy study = frozen();
  for (const PacingCondition& c : study.conditions) {
    std::map<std::size_t, double> balance;  // of arms: places of on less places of off, over two starts
    std::map<std::size_t, int> pairs;
    for (const int start : {2, 3}) {
      const PacingPlan plan = plan_pacing(study, c, c.arms, PacingDepth::Full, start);
      std::vector<std::int64_t> middle;  // of a block, in half steps
      std::int64_t passed = 0;
      for (const PacingBlock& b : plan.blocks) {
        middle.push_back(2 * passed + b.steps);
        passed += b.steps;
      }
      for (const PacingPair& p : plan.pairs) {
        EXPECT_EQ(plan.blocks[p.off].arm, 0U);
        EXPECT_EQ(plan.blocks[p.on].arm, p.arm);
        EXPECT_EQ(plan.blocks[p.off].first_draw, plan.blocks[p.on].first_draw);
        EXPECT_EQ(plan.blocks[p.off].dropped, 2 * study.protocol.window);
        balance[p.arm] += static_cast<double>(middle[p.on] - middle[p.off]);
        ++pairs[p.arm];
      }
    }
    for (const auto& [arm, sum] : balance) EXPECT_EQ(sum, 0) << c.name << ' ' << study.arms[arm].name;
    for (const auto& [arm, count] : pairs) {
      const bool in_every_round = study.arms[arm].name == kArmAuto || study.arms[arm].name == kArmAgain;
      EXPECT_EQ(count, !in_every_round ? 2 : c.bar > 0 ? 8 : 4) << c.name << ' ' << study.arms[arm].name;
    }
    EXPECT_EQ(pairs.size(), c.arms.size());
  }
}

TEST(PacingPlan, AutoIsColdOnceAndLongEnough) {
  const PacingStudy study = frozen();
  for (const PacingCondition& c : study.conditions)
    for (const PacingDepth depth : {PacingDepth::Quick, PacingDepth::Full}) {
      const PacingPlan plan = plan_pacing(study, c, c.arms, depth, 1);
      std::int64_t steps = 0;
      std::vector<bool> cold;
      for (const PacingBlock& b : plan.blocks) {
        if (study.arms[b.arm].name != kArmAuto) continue;
        steps += b.steps;
        cold.push_back(b.cold);
        EXPECT_EQ(b.dropped, 0);
      }
      EXPECT_EQ(std::count(cold.begin(), cold.end(), true), 1);
      EXPECT_TRUE(cold.front());
      EXPECT_GE(c.best * static_cast<double>(steps), std::max(study.protocol.segment, c.segment)) << c.name;
    }
}

TEST(PacingPlan, StartsHaveDrawsAndOrdersOfTheirOwn) {
  const PacingStudy study = frozen();
  const PacingCondition& c = study.conditions[7];
  const auto order = [&](int start) {
    std::vector<std::size_t> arms;
    for (const PacingBlock& b : plan_pacing(study, c, c.arms, PacingDepth::Full, start).blocks)
      arms.push_back(b.arm);
    return arms;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
  std::vector<std::size_t> backwards = order(1);
  std::reverse(backwards.begin() + 1, backwards.end());  // after the lead-in
  EXPECT_EQ(order(0), backwards);
  std::set<std::int64_t> draws;
  std::size_t rounds = 0;
  for (int start = 0; start < 3; ++start) {
    const PacingPlan plan = plan_pacing(study, c, c.arms, PacingDepth::Full, start);
    for (const PacingPair& p : plan.pairs) {
      draws.insert(plan.blocks[p.on].first_draw);
      rounds += study.arms[p.arm].name == kArmAuto ? 1 : 0;
    }
  }
  EXPECT_EQ(draws.size(), rounds);
}

TEST(PacingPlan, QuickHasTheSameStartsOfFewerArms) {
  const PacingStudy study = frozen();
  Seconds all{};
  for (const PacingCondition& c : study.conditions) {
    if (!c.quick) continue;
    const PacingPlan plan = plan_pacing(study, c, c.arms, PacingDepth::Quick, 0);
    all += plan.lasts(c) * study.protocol.starts;
    std::set<std::string> arms;
    for (const PacingPair& p : plan.pairs) arms.insert(study.arms[p.arm].name);
    EXPECT_EQ(arms, (std::set<std::string>{"auto", "random"})) << c.name;
  }
  EXPECT_LT(all, Seconds{480});
}

std::string with(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST(PacingStudy, BadFilesAreRefusedWithTheirLine) {
  const std::string text = *read_file(std::string(COX_STUDIES) + "/pacing.toml", 1'000'000);
  const std::pair<const char*, const char*> cases[] = {
      {"window = 8", "window = 0"},
      {"block_windows = 4", "block_windows = 2"},
      {"start_correlation = 0.3", "start_correlation = 1.0"},
      {"steal = 0.02", "steals = 0.02"},
      {"settings = \"auto\"", "settings = \"auto,window=0\""},
      {"ranks = 64", "ranks = 1"},
      {"link = \"400Mbps\"", "link = \"400MB\""},
      {"\"again\", \"obs", "\"agai\", \"obs"},
      {"best = \"25ms\"", "best = \"26ms\""},
      {"fetch = \"225kB\"\n", ""},
      {"name = \"jitter-persistent\"", "name = \"jitter\""},
      {"slow_ranks = 8", "slow_ranks = 64"},
      {"name = \"off\"", "name = \"of\""}};
  for (const auto& [what, by] : cases) {
    const auto study = parse_pacing(with(text, what, by), "p.toml");
    ASSERT_FALSE(study) << what << " -> " << by;
    EXPECT_EQ(study.error().id, "study-002") << by;
    EXPECT_GT(study.error().where->line, 1) << by;
  }
  EXPECT_EQ(parse_pacing("a = ", "p.toml").error().id, "study-001");
  EXPECT_FALSE(parse_pacing("", "p.toml"));
}

}  // namespace
}  // namespace cox::evaluate
