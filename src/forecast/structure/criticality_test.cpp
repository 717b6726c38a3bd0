// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/criticality.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "forecast/law/maximum.hpp"

namespace cox::forecast {
namespace {

std::vector<Law> normals(std::size_t n) {
  return std::vector<Law>(n, Law::normal(Seconds{0}, Seconds{1}));
}

TEST(Criticality, OfTwoExponentialsIsInTheRatioOfTheirMeans) {
  const std::vector<Law> laws{Law::exponential(Seconds{1}), Law::exponential(Seconds{0.5})};
  const std::vector<double> p = criticality_of(laws);
  EXPECT_NEAR(p[0], 2.0 / 3, 1e-5);
  EXPECT_NEAR(p[1], 1.0 / 3, 1e-5);
}

// dE[max] / d mean_i, by moving one law of eight unlike ones.
TEST(Criticality, IsTheDerivativeOfTheSlowest) {
  std::vector<Law> laws;
  laws.reserve(8);
  for (int i = 0; i < 8; ++i) laws.push_back(Law::normal(Seconds{0.2 * i}, Seconds{1 + 0.1 * (i % 3)}));
  const std::vector<double> p = criticality_of(laws);
  EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
  const auto mean = [&](int which, double by) {
    double sum = 0;
    constexpr double kStep = 1e-3;
    for (int k = -12000; k < 12000; ++k) {
      const double x = kStep * k;
      double f = 1;
      for (int i = 0; i < 8; ++i)
        f *= laws[static_cast<std::size_t>(i)].below(Seconds{x - (i == which ? by : 0)});
      sum += (x > 0 ? 1 - f : -f) * kStep;
    }
    return sum;
  };
  for (const int i : {0, 4, 7})
    EXPECT_NEAR(p[static_cast<std::size_t>(i)], (mean(i, 0.01) - mean(i, -0.01)) / 0.02, 2e-4) << i;
}

TEST(Criticality, LargeJobsAreUniformWithoutBias) {
  const std::vector<double> p = criticality_of(normals(64));
  for (const double share : p) EXPECT_NEAR(share, 1.0 / 64, 1e-9);
}

TEST(Criticality, TiesOfConstantsAreEven) {
  const std::vector<Law> laws(4, Law::constant(Seconds{2}));
  for (const double share : criticality_of(laws)) EXPECT_NEAR(share, 0.25, 1e-9);
  const std::vector<Law> unlike{Law::constant(Seconds{2}), Law::constant(Seconds{3})};
  EXPECT_NEAR(criticality_of(unlike)[1], 1, 1e-9);
  EXPECT_EQ(criticality_of(std::vector<Law>{Law::exponential(Seconds{1})})[0], 1);
}

TEST(Criticality, CouplingOfAPairIsItsDensityOfTies) {
  EXPECT_NEAR(coupling_of(normals(2), 0, 1).per_second, 0.2820948, 1e-5);
  EXPECT_NEAR(coupling_of(normals(64), 3, 9).per_second, 5.81e-4, 5e-7);
}

TEST(Criticality, WhatIsLeftOfADelay) {
  const Law normal = Law::normal(Seconds{0}, Seconds{1});
  EXPECT_NEAR(kept_at_barrier(normal, 64, Seconds{3}), 0.28056, 2e-5);
  EXPECT_NEAR(kept_at_barrier(normal, 4'096, Seconds{10}), 0.63739, 2e-5);
  EXPECT_NEAR(kept_at_barrier(normal, 8, Seconds{3}), 0.541, 5e-4);
  EXPECT_NEAR(kept_at_barrier(normal, 64, Seconds{1e-4}), 1.0 / 64, 1e-5) << "slope at 0: who is last";
  EXPECT_NEAR(kept_at_barrier(normal, 1, Seconds{2}), 1, 1e-5);
  const Law exponential = Law::exponential(Seconds{1});
  EXPECT_NEAR(kept_at_barrier(exponential, 64, Seconds{3}), 0.099, 5e-4);
  EXPECT_NEAR(kept_at_barrier(exponential, 4'096, Seconds{10}), 0.220, 5e-4);
  EXPECT_NEAR(kept_at_barrier(Law::constant(Seconds{1}), 64, Seconds{2}), 1, 1e-5) << "nobody else is late";
}

}  // namespace
}  // namespace cox::forecast
