// SPDX-License-Identifier: Apache-2.0
#include "cox/evaluate/pacing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <vector>

#include "cox/base/file.hpp"
#include "cox/study/pacing_page.hpp"

namespace cox::evaluate {
namespace {

using study::PacingConditionResult;
using study::PacingDepth;
using study::PacingResults;
using study::PacingStudy;

constexpr const char* kQuick = "shared-host-persistent";

PacingStudy frozen() {
  const auto text = read_file(std::string(COX_STUDIES) + "/pacing.toml", 1'000'000);
  EXPECT_TRUE(text);
  auto study = study::parse_pacing(text.value_or(""), "pacing.toml");
  EXPECT_TRUE(study) << study.error().to_string();
  if (!study) return {};
  study->protocol.groups = 3;  // enough to see what follows the first
  return *study;
}

/// Steps that take as long as expected; those of `auto` gain `gain`, those of `again` jump by `unrest`.
class FakeWorld {
 public:
  double gain = 0;
  double unrest = 0;
  int fails_from = 1 << 30;  ///< group, over all conditions
  int runs = 0;
  int kept = 0;
  Seconds passed{};
  std::vector<std::string> told;
  std::vector<bench::PacePlan> plans;

  PacingWorld world() {
    return {.run = [this](const bench::PacePlan& plan, Seconds limit) { return run(plan, limit); },
            .now = [this] { return passed; },
            .tell = [this](const std::string& text) { told.push_back(text); },
            .keep =
                [this](const PacingResults&) {
                  ++kept;
                  return Status{};
                }};
  }

 private:
  Result<bench::PaceRows> run(const bench::PacePlan& plan, Seconds limit) {
    passed += limit / 10;
    plans.push_back(plan);
    if (++runs > fails_from)
      return fail(Error{
          .code = Errc::Unsupported, .id = "bench-010", .message = "no link here", .hint = {}, .where = {}});
    bench::PaceRows rows;
    std::map<std::uint32_t, int> blocks;  // of an arm, so far
    for (const bench::PaceBlock& b : plan.blocks) {
      const std::string& arm = plan.arms[b.arm].name;
      double factor = arm == "auto" ? 1 / (1 + gain) : 1;
      if (arm == "again" && ++blocks[b.arm] % 2 == 0) factor *= 1 + unrest;
      bench::PaceBlockRows& out = rows.blocks.emplace_back(bench::PaceBlockRows{.block = b});
      out.steps.resize(static_cast<std::size_t>(b.steps), {.period = duration_from_seconds(0.02 * factor)});
    }
    return rows;
  }
};

PacingResults measure(const PacingStudy& study, const PacingChoice& choice, PacingDepth depth,
                      FakeWorld& fake, PacingResults before = {}) {
  auto results = measure_pacing(study, choice, depth, std::move(before), fake.world());
  EXPECT_TRUE(results) << results.error().to_string();
  return results ? *std::move(results) : PacingResults{};
}

PacingChoice only(const PacingStudy& study, const std::string& names) {
  auto choice = choose_pacing(study, names);
  EXPECT_TRUE(choice) << choice.error().to_string();
  return choice ? *choice : PacingChoice{};
}

const study::PacingCondition& condition(const PacingStudy& study, const std::string& name) {
  const auto at = std::find_if(study.conditions.begin(), study.conditions.end(),
                               [&](const study::PacingCondition& c) { return c.name == name; });
  EXPECT_NE(at, study.conditions.end()) << name;
  return *at;
}

TEST(PacingChoice, NamesConditionsAndSizes) {
  const PacingStudy study = frozen();
  const PacingChoice all = only(study, "");
  EXPECT_EQ(all.conditions.size(), study.conditions.size());
  EXPECT_TRUE(all.sizes);
  const PacingChoice two = only(study, std::string(kQuick) + ",sizes");
  EXPECT_EQ(two.conditions, (std::set<std::string>{kQuick}));
  EXPECT_TRUE(two.sizes);
  const auto wrong = choose_pacing(study, "shared-host-persistant");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().id, "study-006");
  EXPECT_EQ(wrong.error().hint, "did you mean shared-host-persistent?");
  PacingStudy kept = study;
  keep_only(kept, only(study, kQuick));
  ASSERT_EQ(kept.conditions.size(), 1U);
  EXPECT_TRUE(kept.sizes.empty());
}

TEST(MeasurePacing, QuickIsOneGroupOfThoseThatAreQuick) {
  const PacingStudy study = frozen();
  FakeWorld fake;
  const PacingResults results = measure(study, only(study, ""), PacingDepth::Quick, fake);
  const auto quick = std::count_if(study.conditions.begin(), study.conditions.end(),
                                   [](const study::PacingCondition& c) { return c.quick; });
  EXPECT_EQ(fake.runs, quick);
  EXPECT_EQ(fake.kept, quick);
  ASSERT_EQ(results.conditions.size(), static_cast<std::size_t>(quick));
  for (const PacingConditionResult& r : results.conditions) EXPECT_EQ(r.groups, 1) << r.name;
  EXPECT_FALSE(results.full);
  EXPECT_EQ(results.plan, study.digest);
}

TEST(MeasurePacing, WhatIsDecidedGetsNoSecondGroup) {
  const PacingStudy study = frozen();
  ASSERT_GT(condition(study, kQuick).bar, 0);
  FakeWorld fake;
  fake.gain = 0.5;  // beyond any bar, and no unrest at all
  const PacingResults results = measure(study, only(study, kQuick), PacingDepth::Full, fake);
  EXPECT_EQ(fake.runs, 1);
  EXPECT_TRUE(results.conditions.at(0).is_resolved);
  EXPECT_TRUE(results.conditions.at(0).superior.passed);
}

TEST(MeasurePacing, WhatIsUndecidedGetsGroupsOfTheArmsThatDecide) {
  const PacingStudy study = frozen();
  FakeWorld fake;
  fake.gain = 0.5;
  fake.unrest = 0.2;  // the floor stays too wide
  const PacingResults results = measure(study, only(study, kQuick), PacingDepth::Full, fake);
  EXPECT_EQ(fake.runs, study.protocol.groups);
  EXPECT_EQ(results.conditions.at(0).groups, study.protocol.groups);
  EXPECT_FALSE(results.conditions.at(0).is_resolved);
  ASSERT_GT(fake.plans.size(), 1U);
  std::set<std::string> arms;
  for (const bench::PaceBlock& b : fake.plans[1].blocks) arms.insert(fake.plans[1].arms[b.arm].name);
  EXPECT_EQ(arms, (std::set<std::string>{"off", "again"}));
}

TEST(MeasurePacing, AFurtherGroupStartsOnlyWhereItCanEndInTime) {
  PacingStudy study = frozen();
  FakeWorld fake;
  fake.unrest = 0.2;
  measure(study, only(study, kQuick), PacingDepth::Full, fake);
  ASSERT_GT(fake.runs, 1);
  study.protocol.limit = Seconds{1};
  FakeWorld late;
  late.unrest = 0.2;
  measure(study, only(study, kQuick), PacingDepth::Full, late);
  EXPECT_EQ(late.runs, 1);
}

TEST(MeasurePacing, AGroupThatFailsIsLeftOutAndSaysWhy) {
  const PacingStudy study = frozen();
  FakeWorld fake;
  fake.unrest = 0.2;
  fake.fails_from = 1;
  const PacingResults results = measure(study, only(study, kQuick), PacingDepth::Full, fake);
  const PacingConditionResult& r = results.conditions.at(0);
  EXPECT_EQ(r.groups, 1);
  EXPECT_EQ(r.failed_groups, study.protocol.groups - 1);
  EXPECT_EQ(r.failure, "no link here");
  EXPECT_TRUE(r.skipped.empty());
}

TEST(MeasurePacing, AConditionWhoseFirstGroupFailsIsSkipped) {
  const PacingStudy study = frozen();
  FakeWorld fake;
  fake.fails_from = 0;
  const PacingResults results = measure(study, only(study, kQuick), PacingDepth::Full, fake);
  EXPECT_EQ(fake.runs, 1);
  EXPECT_EQ(results.conditions.at(0).skipped, "no link here");
}

TEST(MeasurePacing, WithoutItsProgramNothingIsMeasured) {
  const PacingStudy study = frozen();
  FakeWorld fake;
  fake.fails_from = 0;
  PacingWorld world = fake.world();
  world.has_program = false;
  const auto results = measure_pacing(study, only(study, ""), PacingDepth::Quick, {}, world);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().id, "bench-010");
  EXPECT_EQ(fake.runs, 1);
}

TEST(MeasurePacing, ArmsWithAPriorityAreLeftOutWhereItCannotBeRaised) {
  const PacingStudy study = frozen();
  const auto has_priority = [&](const bench::PacePlan& plan) {
    return std::any_of(plan.blocks.begin(), plan.blocks.end(),
                       [&](const bench::PaceBlock& b) { return plan.arms[b.arm].nice != 0; });
  };
  FakeWorld fake;
  measure(study, only(study, kQuick), PacingDepth::Full, fake);
  ASSERT_TRUE(has_priority(fake.plans.at(0)));
  FakeWorld without;
  PacingWorld world = without.world();
  world.no_priority = "not allowed";
  ASSERT_TRUE(measure_pacing(study, only(study, kQuick), PacingDepth::Full, {}, world));
  EXPECT_FALSE(has_priority(without.plans.at(0)));
}

TEST(MeasurePacing, WhatIsNotChosenKeepsItsResults) {
  const PacingStudy study = frozen();
  PacingResults before;
  for (const study::PacingCondition& c : study.conditions)
    before.conditions.push_back({.name = c.name, .skipped = "of earlier"});
  FakeWorld fake;
  fake.gain = 0.5;
  const PacingResults results = measure(study, only(study, kQuick), PacingDepth::Full, fake, before);
  ASSERT_EQ(results.conditions.size(), study.conditions.size());
  for (const PacingConditionResult& r : results.conditions)
    EXPECT_EQ(r.skipped, r.name == kQuick ? "" : "of earlier") << r.name;
}

TEST(ReadResultsBefore, RefusesThoseOfAnotherPlanOrMachine) {
  const PacingStudy study = frozen();
  PacingResults results{.full = true, .plan = study.digest, .machine = {.kernel = "6.1", .cores = 4}};
  for (const study::PacingCondition& c : study.conditions) results.conditions.push_back({.name = c.name});
  const std::string file = testing::TempDir() + "cox-results-before.json";
  const auto problem_of = [&](const PacingResults& r) {
    std::ofstream(file) << study::pacing_json(r);
    const auto read = read_results_before(study, file, {.kernel = "6.1", .cores = 4});
    return read ? std::string() : read.error().id + ": " + read.error().message;
  };
  EXPECT_EQ(problem_of(results), "");
  PacingResults other = results;
  other.full = false;
  EXPECT_EQ(problem_of(other), "study-007: these are not results of --full");
  other = results;
  other.plan = "0123456789abcdef";
  EXPECT_EQ(problem_of(other), "study-007: these were measured by another plan");
  other = results;
  other.machine.cores = 8;
  EXPECT_EQ(problem_of(other), "study-007: these were measured on another machine");
  other = results;
  other.conditions.pop_back();
  EXPECT_EQ(problem_of(other), "study-007: these are of other conditions than the study has");
}

}  // namespace
}  // namespace cox::evaluate
