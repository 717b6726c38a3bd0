// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/measured.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/random.hpp"

namespace cox::learn {
namespace {

TEST(MeasuredCurvature, OfAQuadraticIsItsLargest) {
  for (const std::int64_t reflections : {0, 3}) {
    auto problem =
        make_problem({.dimension = 30, .condition = 100, .curvature = 7, .reflections = reflections});
    ASSERT_TRUE(problem);
    std::vector<float> x(30);
    (*problem)->initial(x);
    const Curvature found = measured_curvature(**problem, x, {.first = 0, .count = 4});
    EXPECT_LT(found.residual, 0.01 * found.value);
    EXPECT_NEAR(found.value, 7, found.residual + 1e-3);
    EXPECT_GT(measured_curvature(**problem, x, {.first = 0, .count = 4}, 2).residual, found.residual);
  }
}

/// A true batch of trace(covariance) / |gradient|^2 = 5,000 by the moments of 8 workers with 8 samples each (probe `noise`).
NoiseScale measured(int steps) {
  constexpr int kDimension = 1000;
  NoiseScale scale(8, 8);
  std::vector<double> z(std::size_t{8} * kDimension);
  const double sd = std::sqrt(5000.0 / kDimension / 8);
  for (int t = 0; t < steps; ++t) {
    RandomStream(3, 1).normals32(static_cast<std::uint64_t>(t), 0, z);
    std::vector<double> squares(8);
    double of_mean = 0;
    for (int j = 0; j < kDimension; ++j) {
      double mean = 0;
      for (int i = 0; i < 8; ++i) {
        const double g =
            (j == 0 ? 1 : 0) + sd * z[static_cast<std::size_t>(i) * kDimension + static_cast<std::size_t>(j)];
        squares[static_cast<std::size_t>(i)] += g * g;
        mean += g / 8;
      }
      of_mean += mean * mean;
    }
    scale.add(squares, of_mean);
  }
  return scale;
}

TEST(NoiseScale, AveragesApartAndHasAnInterval) {
  const NoiseScale::Estimate found = measured(2000).estimate();
  EXPECT_NEAR(found.noise, 5000, 10);
  // Check 51: one step's standard deviation is 3.7767.
  EXPECT_NEAR(found.gradient, 1, 4 * 3.7767 / std::sqrt(2000.0));
  ASSERT_TRUE(found.critical_batch);
  EXPECT_LT(found.critical_batch->low, 5000);
  EXPECT_GT(found.critical_batch->high, 5000);
}

TEST(NoiseScale, FewStepsHaveNone) {
  EXPECT_FALSE(measured(5).estimate().critical_batch);
}

}  // namespace
}  // namespace cox::learn
