// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/scatter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "cox/base/stats.hpp"

namespace cox::diagnose {
namespace {

/// A first-order autoregression with variance 1, whose distribution does not change.
std::vector<double> autoregression(std::uint64_t seed, double correlation, std::size_t n) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(n);
  double state = normal(bits);
  for (double& v : x) {
    v = state;
    state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(bits);
  }
  return x;
}

TEST(Scatter, CountsIndependentValuesOfAutoregressions) {
  for (const double correlation : {0.0, 0.5, 0.9}) {
    const double expected = 1000 * (1 - correlation) / (1 + correlation);
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed)
      sum += scatter_of(autoregression(seed, correlation, 1000)).independent;
    EXPECT_NEAR(sum / 50 / expected, 1, 0.2) << correlation;
  }
}

TEST(Scatter, EvenSeriesClearTheBarAsOftenAsItSays) {
  for (const std::size_t n : {60, 200, 1000, 5000})
    for (const double correlation : {0.0, 0.7, 0.9}) {
      int beyond = 0;
      for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const Scatter s = scatter_of(autoregression(1000 * n + seed, correlation, n));
        beyond += chance_of_level(s.center, s) < 0.01;
      }
      EXPECT_LE(beyond, 25) << n << " values, correlation " << correlation;
    }
}

TEST(Scatter, AChangeOfLevelIsNoCorrelationWithoutEnd) {
  std::vector<double> x = autoregression(1, 0, 200);
  for (std::size_t i = 30; i < x.size(); ++i) x[i] += 8;
  const Scatter s = scatter_of(x);
  EXPECT_LT(chance_of_level(s.center, s), 1e-4);
}

// Of stretches whose own medians were taken off, less is left than scatters: counting the levels makes up for it.
TEST(Scatter, CountsIndependentValuesAboutTwoLevels) {
  for (const double correlation : {0.0, 0.5, 0.9}) {
    const double expected = 400 * (1 - correlation) / (1 + correlation);
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      std::vector<double> x = autoregression(seed, correlation, 400);
      for (std::size_t half = 0; half < 2; ++half) {
        const std::span<double> part = std::span(x).subspan(200 * half, 200);
        const double level = median(part);
        for (double& v : part) v -= level;
      }
      sum += scatter_of(x, 2).independent;
    }
    EXPECT_NEAR(sum / 50 / expected, 1, 0.25) << correlation;
  }
}

TEST(Scatter, WhatDoesNotScatterIsNoChance) {
  const Scatter s = scatter_of(std::vector<double>(50, 0.1));
  EXPECT_EQ(chance_of_level(s.center, s), 0);
  EXPECT_EQ(chance_of_level(0, s), 1);
}

}  // namespace
}  // namespace cox::diagnose
