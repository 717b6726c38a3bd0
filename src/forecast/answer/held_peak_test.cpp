// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/held_peak.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace cox::forecast {
namespace {

struct Size {
  std::int64_t ranks;
  double throughput;  ///< over ranks in a second
};

CheckedSize simulated(const Size& s) {
  return {.ranks = s.ranks, .step = Seconds{static_cast<double>(s.ranks) / s.throughput}};
}

/// A job of 100 a second at 10 ranks whose curve has its peak at 40, and what was simulated.
FullForecast job(const std::vector<Size>& sizes) {
  FullForecast out;
  out.seen.ranks = 10;
  out.seen.mean = {Seconds{0.1}, Seconds{0.1}, Seconds{0.1}};
  out.known = [](std::int64_t) { return std::nullopt; };
  out.job = ScalingJob{.mechanisms = {}, .at = [](std::int64_t n, MechanismSet) {
                         const double x = std::abs(static_cast<double>(n) - 40);
                         return ThroughputPoint{.throughput = n == 10 ? 1 : 1.5 - x / 1'000, .elasticity = 0};
                       }};
  out.regimes.emplace();
  out.regimes->n_star.value = out.regimes->n_star.low =
      out.regimes->n_star.high = {RegimeBoundary::Place::Inside, 40};
  for (const Size& s : sizes) {
    out.simulated.asked.push_back(simulated(s));
    SizePoint p;
    p.ranks = s.ranks;
    const Seconds step = out.simulated.asked.back().step;
    p.mean = {step, step, step};
    p.elasticity = -0.1;
    out.projection.points.push_back(p);
  }
  return out;
}

TEST(HeldPeak, ASizeThatALargerOneSurpassesIsNotInCollapse) {
  FullForecast made = job({{40, 150}, {80, 140}, {160, 149}, {320, 130}});
  hold_simulated(made);
  const auto& points = made.projection.points;
  EXPECT_EQ(points[0].elasticity, 0) << "none does less before it, and 160 as much";
  EXPECT_EQ(points[1].elasticity, 0) << "a dip";
  EXPECT_EQ(points[3].elasticity, -0.1) << "it did fall";
  EXPECT_EQ(made.regimes->n_star.value.ranks, 40) << "nothing surpasses it";
}

TEST(HeldPeak, ADeclineWithinTheBandIsNone) {
  FullForecast made = job({{40, 150}, {320, 130}});
  made.projection.points[1].mean.low *= 0.8;
  hold_simulated(made);
  EXPECT_EQ(made.projection.points[1].elasticity, 0);
}

TEST(HeldPeak, ASimulatedSizeThatSurpassesItIsThePeakWhereBothSidesAreKnown) {
  FullForecast made = job({{40, 150}, {80, 170}, {160, 160}});
  hold_simulated(made);
  EXPECT_EQ(made.regimes->n_star.value.place, RegimeBoundary::Place::Inside);
  EXPECT_EQ(made.regimes->n_star.value.ranks, 80);
  EXPECT_EQ(made.regimes->n_star.low.ranks, 40);
  EXPECT_EQ(made.regimes->n_star.high.ranks, 160);
  FullForecast last = job({{40, 150}, {80, 140}, {160, 170}});
  hold_simulated(last);
  EXPECT_EQ(last.regimes->n_star.value.place, RegimeBoundary::Place::Above);
  EXPECT_EQ(last.regimes->n_star.value.ranks, 160);
}

TEST(HeldPeak, StaysWhereSomethingFailsOrNothingIsSimulated) {
  FullForecast fails = job({{40, 150}, {80, 170}, {160, 160}});
  fails.goodput.resize(3);
  hold_simulated(fails);
  EXPECT_EQ(fails.regimes->n_star.value.ranks, 40);
  EXPECT_EQ(fails.projection.points[1].elasticity, -0.1);
  FullForecast strong = job({{40, 150}, {80, 170}});
  strong.projection.scaling = Scaling::Strong;
  hold_simulated(strong);
  EXPECT_EQ(strong.regimes->n_star.value.ranks, 40);
}

}  // namespace
}  // namespace cox::forecast
