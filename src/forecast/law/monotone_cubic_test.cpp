// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/monotone_cubic.hpp"

#include <gtest/gtest.h>

namespace cox::forecast {
namespace {

using Ends = MonotoneCubic::Ends;

TEST(MonotoneCubic, PassesItsPointsAndGoesNoFurtherThanThey) {
  for (const Ends ends : {Ends::GoOn, Ends::Level}) {
    const MonotoneCubic c({0, 1, 3, 4}, {1, 2, 2.5, 0}, ends);
    EXPECT_DOUBLE_EQ(c.at(0).y, 1);
    EXPECT_DOUBLE_EQ(c.at(1).y, 2);
    EXPECT_DOUBLE_EQ(c.at(3).y, 2.5);
    EXPECT_DOUBLE_EQ(c.at(4).y, 0);
    double before = 1;
    for (double x = 0; x <= 3; x += 0.01) {
      EXPECT_GE(c.at(x).y, before - 1e-12) << x;
      EXPECT_LE(c.at(x).y, 2.5 + 1e-12) << x;
      before = c.at(x).y;
    }
  }
}

TEST(MonotoneCubic, SlopesAreThoseOfTheCurve) {
  const MonotoneCubic c({0, 1, 3, 4}, {1, 2, 2.5, 0}, Ends::Level);
  for (double x = -0.995; x < 5; x += 0.1)
    EXPECT_NEAR(c.at(x).slope, (c.at(x + 1e-6).y - c.at(x - 1e-6).y) / 2e-6, 1e-5) << x;
}

TEST(MonotoneCubic, BeyondItsEndsItGoesOnOrIsLevel) {
  const MonotoneCubic on({0, 1, 2}, {0, 1, 3});
  EXPECT_DOUBLE_EQ(on.at(-1).y, -1);
  EXPECT_DOUBLE_EQ(on.at(4).y, 7);
  EXPECT_DOUBLE_EQ(on.at(4).slope, 2);
  const MonotoneCubic level({0, 1, 2}, {0, 1, 3}, Ends::Level);
  EXPECT_DOUBLE_EQ(level.at(-1).y, 0);
  EXPECT_DOUBLE_EQ(level.at(4).y, 3);
  EXPECT_DOUBLE_EQ(level.at(4).slope, 0);
  EXPECT_DOUBLE_EQ(MonotoneCubic({2}, {5}).at(7).y, 5);
}

}  // namespace
}  // namespace cox::forecast
