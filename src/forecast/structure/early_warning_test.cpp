// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "cox/base/random.hpp"

#include "forecast/structure/over_time.hpp"

namespace cox::forecast {
namespace {

constexpr std::size_t kSteps = 2'000;
constexpr std::size_t kRanks = 2;

/// Standard noise of one rank; `number` of the series, so that all differ.
using Draw = std::function<double(const RandomStream& random, std::size_t step, std::size_t rank)>;

double normal(const RandomStream& random, std::size_t step, std::size_t rank) {
  return random.normal(step, rank);
}
/// Pareto of index 2.2: no third moment.
double heavy(const RandomStream& random, std::size_t step, std::size_t rank) {
  return std::pow(random.uniform(step, rank), -1 / 2.2);
}

/// Own work 100 + scale(k) x noise, an AR(1) of phi(k) over it; a step lasts as long as its slowest rank.
Sample series(std::uint64_t number, const Draw& draw, const std::function<double(double)>& phi,
              const std::function<double(double)>& scale) {
  const RandomStream random(number, 17);
  Sample s;
  s.positions = {{.name = "", .own = {}}};
  for (std::size_t r = 0; r < kRanks; ++r) s.ranks.push_back({.rank = static_cast<std::int32_t>(r)});
  std::array<double, kRanks> state{};
  Seconds at{};
  for (std::size_t k = 0; k < kSteps; ++k) {
    const double part = static_cast<double>(k) / kSteps;
    Seconds longest{};
    for (std::size_t r = 0; r < kRanks; ++r) {
      const double f = phi(part);
      state[r] = f * state[r] + std::sqrt(1 - f * f) * draw(random, k, r);
      const Seconds x{100 + scale(part) * state[r]};
      s.positions[0].own.push_back(x);
      longest = std::max(longest, x);
    }
    s.steps.push_back({.number = static_cast<std::int64_t>(k), .begin = at, .length = longest});
    at += longest;
  }
  return s;
}

struct Called {
  double alarms = 0;
  double no_verdict = 0;
};
/// Shares of 800 series.
Called alarms(const Draw& draw, const std::function<double(double)>& phi,
              const std::function<double(double)>& scale) {
  constexpr int kSeries = 800;
  Called out;
  for (int i = 0; i < kSeries; ++i) {
    const EarlyWarning w = early_warning(series(static_cast<std::uint64_t>(i), draw, phi, scale));
    out.alarms += w.alarm ? 1.0 / kSeries : 0;
    out.no_verdict += w.windows == 0 ? 1.0 / kSeries : 0;
  }
  return out;
}

const auto kSteady = [](double) { return 1.0; };
std::function<double(double)> always(double v) {
  return [v](double) { return v; };
}

/// Of 800 at a true 5 %, 6.6 % are exceeded once in 50.
constexpr double kMostFalse = 0.066;

TEST(EarlyWarning, IsRarelyWrongOnSteadyRuns) {
  struct Case {
    const char* name;
    Draw draw;
    double phi;
  };
  for (const Case& c : {Case{"normal", normal, 0}, Case{"Pareto 2.2", heavy, 0}, Case{"AR 0.5", normal, 0.5},
                        Case{"AR 0.9", normal, 0.9}, Case{"AR 0.9 of Pareto 2.2", heavy, 0.9}}) {
    const Called share = alarms(c.draw, always(c.phi), kSteady);
    std::printf("%s: false alarms %.3f, no verdict %.3f\n", c.name, share.alarms, share.no_verdict);
    EXPECT_LE(share.alarms, kMostFalse) << c.name;
    EXPECT_LE(share.no_verdict, 0.5) << c.name;
  }
}

TEST(EarlyWarning, SeesNoiseThatDoublesAndMemoryThatGrows) {
  const double spread = alarms(normal, always(0), [](double part) { return 1 + part; }).alarms;
  const double heavy_spread = alarms(heavy, always(0), [](double part) { return 1 + part; }).alarms;
  const double memory = alarms(
                            normal, [](double part) { return 0.5 + 0.47 * part; }, kSteady)
                            .alarms;
  std::printf("power: noise doubles %.3f, of Pareto 2.2 %.3f, memory 0.5 to 0.97 %.3f\n", spread,
              heavy_spread, memory);
  EXPECT_GE(spread, 0.95);
  EXPECT_GE(heavy_spread, 0.9);
  EXPECT_GE(memory, 0.9);
}

TEST(EarlyWarning, TrendHasItsExactChance) {
  EXPECT_NEAR(rising(std::array{1.0, 2.0, 3.0, 4.0}).chance, 1.0 / 24, 1e-12);
  EXPECT_EQ(rising(std::array{1.0, 2.0, 3.0, 4.0}).tau, 1);
  EXPECT_NEAR(rising(std::array{1.0, 3.0, 2.0, 4.0}).chance, 4.0 / 24, 1e-12);
  EXPECT_NEAR(rising(std::array{4.0, 3.0, 2.0, 1.0}).chance, 1, 1e-12);
  // Kendall's table: n = 10, S = 31: 0.0023.
  std::vector<double> ten{2, 4, 1, 3, 6, 5, 9, 7, 10, 8};
  const Trend t = rising(ten);
  EXPECT_NEAR(t.tau, 31.0 / 45, 1e-12);
  EXPECT_NEAR(t.chance, 0.0023, 1e-4);
}

TEST(EarlyWarning, AShortRunOrALongMemoryHasNoVerdict) {
  const Sample all = series(1, normal, always(0), kSteady);
  EXPECT_EQ(early_warning(cut(all, 0, 200)).windows, 0);
  EXPECT_EQ(early_warning(series(1, normal, always(0.99), kSteady)).windows, 0);
}

TEST(EarlyWarning, AMarginThatShrinksIsOne) {
  const Sample s = series(4, normal, always(0), kSteady);
  std::vector<double> margins;
  for (int i = 0; i < early_warning(s).windows; ++i) margins.push_back(2.0 - 0.1 * i);
  const EarlyWarning w = early_warning(s, margins);
  ASSERT_TRUE(w.margin_falls);
  EXPECT_TRUE(w.alarm);
  std::ranges::reverse(margins);
  EXPECT_FALSE(early_warning(s, margins).alarm);
}

}  // namespace
}  // namespace cox::forecast
