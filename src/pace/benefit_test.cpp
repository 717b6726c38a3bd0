// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/random.hpp"
#include "cox/pace/controller.hpp"

namespace cox::pace {
namespace {

TEST(BenefitTest, HalfWidthIsTheFormula) {
  BenefitTest test;
  for (const double gain : {0.1, 0.2, 0.3, 0.2}) test.add(gain, 0);
  EXPECT_DOUBLE_EQ(test.mean(), 0.2);
  const double variance = 0.02 / 3;
  EXPECT_NEAR(test.variance(), variance, 1e-15);
  EXPECT_NEAR(test.half_width(0.05), std::sqrt(variance * 8 / 16 * std::log(8 / (4 * 0.05 * 0.05))), 1e-9);
}

TEST(BenefitTest, LooksAtEverySampleAndStillErrsSeldom) {
  const RandomStream draws(11, 0);
  int wrong = 0;
  constexpr int kTests = 2000;
  for (std::uint64_t i = 0; i < kTests; ++i) {
    BenefitTest test;
    for (std::uint64_t n = 0; n < 16; ++n) {
      test.add(0.02 * draws.normal(i, n), 0.02 * 0.02);
      if (test.count() >= 4 && test.mean() - test.half_width(0.05) > 0) {
        ++wrong;
        break;
      }
    }
  }
  EXPECT_LE(wrong, kTests * 0.03);  // one side of 0.05, and some room
}

}  // namespace
}  // namespace cox::pace
