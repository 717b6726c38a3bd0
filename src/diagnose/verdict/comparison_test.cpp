// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

Diagnosis diagnosis_of(std::uint64_t seed, Duration base, int slow = -1, int steps = 100) {
  testing::Job job;
  job.steps = steps;
  job.work = [=](int r, int s) {
    return testing::lognormal_work(seed, r, s, base, 0.02) + (r == slow ? Duration(3ms) : Duration::zero());
  };
  auto d = diagnose(testing::make_job(job));
  EXPECT_TRUE(d.has_value());
  return *std::move(d);
}

TEST(Comparison, AFixedRankIsFasterAndNoLongerNamed) {
  const Comparison c = compare(diagnosis_of(1, 10ms, 3), diagnosis_of(2, 10ms));
  EXPECT_EQ(c.change, Change::Faster);
  ASSERT_EQ(c.gone.size(), 1U);
  EXPECT_EQ(c.gone.front().ranks, std::vector<Rank>{Rank(3)});
  EXPECT_TRUE(c.remaining.empty() && c.fresh.empty());
  EXPECT_LT(c.step_ratio.high, 0.9);
}

TEST(Comparison, TheSameJobTwiceShowsNoDifference) {
  const Comparison c = compare(diagnosis_of(1, 10ms), diagnosis_of(2, 10ms));
  EXPECT_EQ(c.change, Change::Unclear);
  EXPECT_NEAR(c.step_ratio.value, 1, 0.005);
}

TEST(Comparison, ASlowerJobIsCalledSlower) {
  EXPECT_EQ(compare(diagnosis_of(1, 10ms), diagnosis_of(2, 12ms)).change, Change::Slower);
}

/// Rank 3 pauses in every tenth step.
Diagnosis pausing(std::uint64_t seed, bool pauses) {
  testing::Job job;
  job.steps = 200;
  job.work = [=](int r, int s) {
    return testing::lognormal_work(seed, r, s, 10ms, 0.02) +
           (pauses && r == 3 && s % 10 == 4 ? Duration(12ms) : Duration::zero());
  };
  return *diagnose(testing::make_job(job));
}

TEST(Comparison, PausesThatAreGoneShowInTheMeanStep) {
  const Comparison c = compare(pausing(1, true), pausing(2, false));
  EXPECT_EQ(c.change, Change::Unclear);
  EXPECT_EQ(c.mean_change, Change::Faster);
  EXPECT_NEAR(c.mean_ratio.value, 10.2 / 11.4, 0.02);
  ASSERT_EQ(c.gone.size(), 1U);
  const auto told = std::find_if(c.lines.begin(), c.lines.end(), [](const std::string& line) {
    return line.find("the mean step fell by") != std::string::npos;
  });
  EXPECT_NE(told, c.lines.end());
  EXPECT_EQ(compare(pausing(1, true), pausing(2, true)).mean_change, Change::Unclear);
}

TEST(Comparison, FewStepsAllowNoStatement) {
  EXPECT_EQ(compare(diagnosis_of(1, 10ms, -1, 5), diagnosis_of(2, 20ms, -1, 5)).change, Change::Unclear);
}

TEST(Comparison, JobsOfDifferentSizeAreSaidToBeThatFirst) {
  const auto of_size = [](int ranks) {
    testing::Job job;
    job.ranks = ranks;
    job.work = [](int r, int s) { return testing::lognormal_work(1, r, s, 10ms, 0.02); };
    auto d = diagnose(testing::make_job(job));
    EXPECT_TRUE(d.has_value());
    return *std::move(d);
  };
  const Comparison c = compare(of_size(4), of_size(8));
  EXPECT_EQ(c.differs, std::vector{JobDifference::Ranks});
  EXPECT_EQ(c.lines.front(), "These are not two runs of one job: 4 ranks before, 8 after.");
  const Diagnosis same = of_size(4);
  EXPECT_TRUE(compare(same, same).differs.empty());
  EXPECT_TRUE(compare(same, same).not_alike.empty());
}

}  // namespace
}  // namespace cox::diagnose
