// SPDX-License-Identifier: Apache-2.0
#include "forecast/sample/sample.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

Sample two_by_two() {
  return {.name = "job",
          .ranks = {{.rank = 0}, {.rank = 1}},
          .steps = {{.number = 7, .begin = Seconds{0}, .length = Seconds{2}},
                    {.number = 8, .begin = Seconds{2}, .length = Seconds{2}}},
          .positions = {{.name = "", .own = {Seconds{1}, Seconds{2}, Seconds{1}, Seconds{2}}}},
          .left_out = {}};
}

TEST(Sample, TimesOfAllRanksAndStepsAreTaken) {
  EXPECT_TRUE(check(two_by_two()));
}

TEST(Sample, StepsThatAreCutOutKeepWhatRanksDidInThem) {
  const Sample all = test::sample_of({.residual = 1}, 2, 3, 10, 4);
  const Sample some = cut(all, 4, 3);
  ASSERT_EQ(some.steps.size(), 3U);
  EXPECT_EQ(some.steps.front().number, all.steps[4].number);
  EXPECT_EQ(some.positions[0].at(2, 5, 6), all.positions[0].at(6, 5, 6));
  EXPECT_TRUE(check(some));
}

TEST(Sample, WhatIsMissingOrImpossibleIsToldWithItsPlace) {
  Sample sample = two_by_two();
  sample.positions[0].own.pop_back();
  EXPECT_NE(check(sample).error().message.find("has 3 times of own work, expected 4"), std::string::npos);

  sample = two_by_two();
  sample.positions[0].own[3] = Seconds{std::numeric_limits<double>::quiet_NaN()};
  EXPECT_NE(check(sample).error().message.find("rank 1 in step 8"), std::string::npos);

  sample = two_by_two();
  sample.steps[1].length = Seconds{-1};
  EXPECT_NE(check(sample).error().message.find("step 8 lasts -1 s"), std::string::npos);

  sample = two_by_two();
  for (SampleStep& step : sample.steps) step.length = Seconds{0};
  EXPECT_NE(check(sample).error().message.find("every step lasts 0 s"), std::string::npos);

  sample = two_by_two();
  sample.positions[0].own[0] = Seconds{1e300};
  EXPECT_FALSE(check(sample));

  sample = two_by_two();
  sample.steps.pop_back();
  EXPECT_FALSE(check(sample));
}

}  // namespace
}  // namespace cox::forecast
