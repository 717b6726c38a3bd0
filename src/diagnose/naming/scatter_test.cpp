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
  for (const std::size_t n : {60U, 200U, 1000U, 5000U})
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

// Work that differs by a fifth of what the clock tells apart may be told apart by all of it, in every step.
TEST(Scatter, WhatAClockCannotTellApartIsNoCertainty) {
  constexpr double kResolution = 0.1;
  std::mt19937_64 bits(1);
  std::normal_distribution<double> normal;
  std::vector<double> coarse(400);
  for (double& v : coarse)
    v = kResolution * (std::round(5.6 + 0.1 * normal(bits)) - std::round(5.4 + 0.1 * normal(bits)));
  const Scatter s = scatter_of(coarse, 1, kResolution);
  EXPECT_NEAR(s.center, kResolution, 1e-12);
  EXPECT_GT(chance_of_level(s.center, s), 1e-3);
  EXPECT_LT(chance_of_level(s.center + 0.3, s), 1e-9);
  EXPECT_LT(chance_of_level(s.center, scatter_of(coarse)), 1e-9)
      << "what is not known to be coarse is certain";
}

// Others that are told alike are not known to be alike.
TEST(Scatter, OneMoreOfRoundedValuesMayBeOneOff) {
  Welford alike;
  for (int i = 0; i < 7; ++i) alike.add(0.5);
  EXPECT_EQ(error_of_one_more(alike, 0), 0);
  EXPECT_NEAR(error_of_one_more(alike, 0.1), 0.1 / std::sqrt(6.0), 1e-12);
}

TEST(Scatter, WhatDoesNotScatterIsNoChance) {
  const Scatter s = scatter_of(std::vector<double>(50, 0.1));
  EXPECT_EQ(chance_of_level(s.center, s), 0);
  EXPECT_EQ(chance_of_level(0, s), 1);
}

}  // namespace
}  // namespace cox::diagnose
