// SPDX-License-Identifier: Apache-2.0
#include "study/extremes.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::study {
namespace {

// Place: chapter-part3, C.2 (table) and section 7, oracle 8.
TEST(Extremes, LognormalByQuadrature) {
  EXPECT_NEAR(lognormal_maximum(256, 0.05), 1.150, 1e-3);
  EXPECT_NEAR(lognormal_maximum(256, 0.10), 1.320, 2e-3);
  EXPECT_NEAR(lognormal_maximum(256, 0.20), 1.721, 2e-3);
  EXPECT_NEAR(lognormal_maximum(256, 0.30), 2.214, 3e-3);
  EXPECT_NEAR(lognormal_maximum(256, 0.50), 3.473, 2e-2);
  EXPECT_NEAR(lognormal_maximum(1, 0.3), 1, 1e-9);
  EXPECT_NEAR(lognormal_maximum(100, 0), 1, 1e-9);
  // chapter-part1, C.2: E[max] of a mean of 50 ms with sd 10 ms.
  EXPECT_NEAR(50 * lognormal_maximum(8, 0.2), 65.4, 1.0);
  EXPECT_NEAR(50 * lognormal_maximum(1024, 0.2), 93.1, 1.0);
}

/// The largest of two lognormals has a mean of 2 Phi(sigma / sqrt 2) times that of one.
TEST(Extremes, LognormalOfTwo) {
  for (const double cv : {0.1, 0.3, 0.9}) {
    const double sigma = std::sqrt(std::log(1 + cv * cv));
    EXPECT_NEAR(lognormal_maximum(2, cv), 1 + std::erf(sigma / 2), 1e-9);
  }
}

TEST(Extremes, ParetoByItsGammaRatio) {
  EXPECT_NEAR(pareto_maximum(256, 1.5), 36.02, 0.01);
  EXPECT_DOUBLE_EQ(pareto_maximum(1, 1.5), 1);
  EXPECT_NEAR(pareto_maximum(2, 2), 4.0 / 3, 1e-12);  // 2 shape / (2 shape - 1)
}

}  // namespace
}  // namespace cox::study
