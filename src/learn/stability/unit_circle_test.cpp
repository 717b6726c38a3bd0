// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/unit_circle.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::learn {
namespace {

TEST(UnitCircle, AsLibmHasIt) {
  for (double t = -100; t <= 100; t += 0.137) {
    EXPECT_NEAR(unit(t).real(), std::cos(t), 2e-14) << t;
    EXPECT_NEAR(unit(t).imag(), std::sin(t), 2e-14) << t;
  }
}

TEST(UnitCircle, LargestRoots) {
  EXPECT_NEAR(largest_root({1, -5, 6}), 3, 1e-12);            // 2, 3
  EXPECT_NEAR(largest_root({1, 0, 1}), 1, 1e-12);             // +-i
  EXPECT_NEAR(largest_root({1, 0, 0, 0, 0, -32}), 2, 1e-12);  // on a circle
  EXPECT_NEAR(largest_root({1, -6, 11, -6, 0}), 3, 1e-12);    // 0, 1, 2, 3
}

}  // namespace
}  // namespace cox::learn
