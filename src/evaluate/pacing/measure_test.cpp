// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pacing/measure.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "cox/base/file.hpp"

#include "evaluate/pacing/page.hpp"

namespace cox::evaluate {
namespace {

constexpr const char* kQuick = "shared-host-persistent";

PacingStudy frozen() {
  const auto text = read_file(std::string(COX_STUDIES) + "/pacing.toml", 1'000'000);
  EXPECT_TRUE(text);
  auto study = parse_pacing(text.value_or(""), "pacing.toml");
  EXPECT_TRUE(study) << study.error().to_string();
  if (!study) return {};
  study->protocol.starts = 3;
  return *study;
}

/// Steps that take as long as expected; those of `auto` gain `gain`.
class FakeWorld {
 public:
  double gain = 0;
  int fails_from = 1 << 30;  ///< start, over all conditions
  int runs = 0;
  int kept = 0;
  Seconds passed{};
  std::vector<std::string> told;
  std::vector<bench::PacePlan> plans;

  PacingWorld world() {
    return {.run = [this](const PacingCondition&, const bench::PacePlan& plan,
                          Seconds limit) { return run(plan, limit); },
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
    for (const bench::PaceBlock& b : plan.blocks) {
      const std::string& arm = plan.arms[b.arm].name;
      const double factor = arm == "auto" ? 1 / (1 + gain) : 1;
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

const PacingCondition& condition(const PacingStudy& study, const std::string& name) {
  const auto at = std::find_if(study.conditions.begin(), study.conditions.end(),
                               [&](const PacingCondition& c) { return c.name == name; });
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

TEST(MeasurePacing, QuickIsTheQuickConditions) {
  const PacingStudy study = frozen();
  FakeWorld fake;
  const PacingResults results = measure(study, only(study, ""), PacingDepth::Quick, fake);
  const auto quick = std::count_if(study.conditions.begin(), study.conditions.end(),
                                   [](const PacingCondition& c) { return c.quick; });
  EXPECT_EQ(fake.runs, 3 * quick);
  EXPECT_EQ(fake.kept, 3 * quick);
  ASSERT_EQ(results.conditions.size(), static_cast<std::size_t>(quick));
  for (const PacingConditionResult& r : results.conditions) EXPECT_EQ(r.starts, 3) << r.name;
  EXPECT_FALSE(results.full);
  EXPECT_EQ(results.plan, study.digest);
}

/// Whatever they show, there are as many starts, each with all arms; those of one condition lie apart.
TEST(MeasurePacing, TheNumberOfStartsIsFixed) {
  const PacingStudy study = frozen();
  for (const double gain : {0.0, 0.5}) {
    FakeWorld fake;
    fake.gain = gain;
    const PacingResults results = measure(study, only(study, "jitter,spin"), PacingDepth::Full, fake);
    ASSERT_EQ(fake.runs, 6);
    for (const PacingConditionResult& r : results.conditions) EXPECT_EQ(r.starts, 3) << r.name;
    for (std::size_t i = 0; i < 6; ++i) {
      std::set<std::uint32_t> arms;
      for (const bench::PaceBlock& b : fake.plans[i].blocks) arms.insert(b.arm);
      EXPECT_EQ(arms.size(), condition(study, i % 2 == 0 ? "jitter" : "spin").arms.size() + 1) << i;
    }
    EXPECT_EQ(results.conditions.at(0).no_harm.passed, true) << "no unrest at all";
  }
}

TEST(MeasurePacing, AStartBeginsOnlyWhereItCanEndInTime) {
  PacingStudy study = frozen();
  study.protocol.limit = Seconds{130};
  FakeWorld fake;
  const PacingResults results = measure(study, only(study, kQuick), PacingDepth::Full, fake);
  EXPECT_EQ(fake.runs, 2);
  EXPECT_EQ(results.conditions.at(0).starts, 2);
  study.protocol.limit = Seconds{1};
  FakeWorld late;
  EXPECT_TRUE(measure(study, only(study, kQuick), PacingDepth::Full, late).conditions.at(0).effects.empty());
  EXPECT_EQ(late.runs, 0);
}

TEST(MeasurePacing, AStartThatFailsIsLeftOutAndSaysWhy) {
  const PacingStudy study = frozen();
  FakeWorld fake;
  fake.fails_from = 1;
  const PacingResults results = measure(study, only(study, kQuick), PacingDepth::Full, fake);
  const PacingConditionResult& r = results.conditions.at(0);
  EXPECT_EQ(r.starts, 1);
  EXPECT_EQ(r.failed_starts, study.protocol.starts - 1);
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
  for (const PacingCondition& c : study.conditions)
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
  for (const PacingCondition& c : study.conditions) results.conditions.push_back({.name = c.name});
  const std::string file = testing::TempDir() + "cox-results-before-" + std::to_string(getpid()) + ".json";
  const auto problem_of = [&](const PacingResults& r) {
    std::ofstream(file) << pacing_json(r);
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
