// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/learning/answer_for_tests.hpp"

namespace cox::evaluate {
namespace {

TEST(StaleExamples, OneStaleGradient) {
  EXPECT_NEAR(value_of("example-04", "after-the-fresh-gradient"), 8, 1e-6);
  EXPECT_NEAR(value_of("example-04", "after-the-stale-gradient"), 6, 1e-6);
  // 0.2 is below 2 sin(pi / 30) = 0.2091 (age 7), above 0.1845 (age 8).
  EXPECT_EQ(value_of("example-04", "first-age-that-diverges"), 8);
  EXPECT_FALSE(values_of("example-04").contains("updates-age10"));
}

TEST(StaleExamples, ATraceOfThree) {
  EXPECT_NEAR(value_of("example-07", "after-update-1"), 0.5, 1e-6);
  EXPECT_NEAR(value_of("example-07", "after-update-2"), 0.95, 1e-6);
  EXPECT_NEAR(value_of("example-07", "after-update-3"), 1.45, 1e-6);
  // 5 sqrt(2) 0.9^n <= 0.01.
  EXPECT_EQ(value_of("example-07", "updates-age0"),
            std::ceil(std::log(0.01 / (5 * std::sqrt(2.0))) / std::log(0.9)));
}

TEST(StaleExamples, EqualLossesTellNoModelsApart) {
  EXPECT_NEAR(value_of("example-09", "after-one-update"), 2, 1e-6);
  EXPECT_NEAR(value_of("example-09", "after-a-stale-one"), 4, 1e-6);
  const double strict = value_of("example-09", "steps-strict");
  EXPECT_EQ(strict, std::ceil(std::log(1e-4) / (2 * std::log(0.8))));
  EXPECT_EQ(value_of("example-09", "steps-delta"), 10 * std::ceil(strict / 10));
}

// A rate that meets the optimum exactly ends nothing: the next update is still made.
TEST(StaleExamples, AnUpdateAfterTheOptimumIsMade) {
  const auto a = with_input("example-04", "rate=0.5x");
  ASSERT_TRUE(a);
  // 10, then 10 - 0.5 x 2 x 10 = 0, then 0 - 0.5 x 2 x 10.
  EXPECT_EQ(a->computation.values[0].value.in_base_unit(), 0);
  EXPECT_EQ(a->computation.values[1].value.in_base_unit(), -10);
}

}  // namespace
}  // namespace cox::evaluate
