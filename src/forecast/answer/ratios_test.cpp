// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/ratios.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "forecast/ways/curves.hpp"

namespace cox::forecast {
namespace {

SizePoint point(std::int64_t ranks, double step, double efficiency) {
  SizePoint p;
  p.ranks = ranks;
  p.mean = {.value = Seconds{step}, .low = Seconds{step * 0.9}, .high = Seconds{step * 1.1}};
  p.median = p.p95 = p.p99 = p.p999 = p.mean;
  p.rest = Seconds{0.1};
  p.efficiency = efficiency;
  p.elasticity = 0.9;
  return p;
}

Forecast small_forecast() {
  Forecast f;
  f.seen_ranks = 64;
  f.seen = point(64, 1, 0.9);
  f.projection.points = {point(256, 1.2, 0.75), point(4096, 1.8, 0.5), point(8, 1, 0), point(1 << 20, 1, 1)};
  f.projection.points.back().refused = "the tail was not seen";
  return f;
}

Regimes regimes() {
  Regimes r;
  r.n1.value = {.place = RegimeBoundary::Place::Inside, .ranks = 512};
  r.n2.value = {.place = RegimeBoundary::Place::Inside, .ranks = 8192};
  r.n_star.value = {.place = RegimeBoundary::Place::Above, .ranks = 1 << 20};
  return r;
}

TEST(Ratios, ThroughputIsThatOfRanksThatNeverWait) {
  const std::vector<SizeRatios> sizes = size_ratios(small_forecast());
  ASSERT_EQ(sizes.size(), 5u);
  EXPECT_EQ(sizes[0].refused, "own work is not known");
  EXPECT_TRUE(sizes[1].seen) << "the measured size stands among those asked";
  EXPECT_DOUBLE_EQ(sizes[1].cost, 1);
  EXPECT_DOUBLE_EQ(sizes[3].throughput, 2048);
  EXPECT_DOUBLE_EQ(sizes[3].of_ideal(), 0.5);
  EXPECT_NEAR(sizes[3].low, 2048 / 1.1, 1e-9);
  EXPECT_NEAR(sizes[3].high, 2048 / 0.9, 1e-9);
  EXPECT_NEAR(sizes[3].cost, 1.8, 1e-12);
  EXPECT_EQ(sizes[4].refused, "the tail was not seen");
}

TEST(Ratios, WhatFailuresTakeIsInThroughputAndCost) {
  Forecast f = small_forecast();
  f.goodput.resize(f.projection.points.size());
  f.goodput[1].shares.work = 0.5;
  f.at_seen.shares.work = 0.8;
  const std::vector<SizeRatios> sizes = size_ratios(f);
  EXPECT_DOUBLE_EQ(sizes[3].throughput, 1024);
  EXPECT_DOUBLE_EQ(sizes[3].cost, 0.9 * 0.8 / (0.5 * 0.5));
  EXPECT_DOUBLE_EQ(beside_small_run(f, 1).cost, sizes[3].cost);
}

// What a dashboard shows over days has failures in it, what it shows of a second has not.
TEST(Ratios, WhatFailuresTakeIsInThroughputPerRankAndInTwiceTheRanks) {
  Forecast f = small_forecast();
  EXPECT_FALSE(beside_small_run(f, 1).per_rank_running);
  f.goodput.resize(f.projection.points.size());
  f.goodput[1].shares.work = 0.5;
  f.goodput[1].elasticity = -1;
  f.at_seen.shares.work = 0.8;
  const BesideSmallRun at = beside_small_run(f, 1);
  EXPECT_DOUBLE_EQ(*at.per_rank, 0.5 / 0.9 * 0.5 / 0.8);
  EXPECT_DOUBLE_EQ(*at.per_rank_running, 0.5 / 0.9);
  EXPECT_DOUBLE_EQ(at.twice_the_ranks, 0.5) << "by the elasticity with failures, where there is no job";
  f.job = ScalingJob{.mechanisms = {}, .at = [](std::int64_t n, MechanismSet) {
                       return ThroughputPoint{.throughput = n <= 4096 ? 100.0 : 30.0};
                     }};
  EXPECT_DOUBLE_EQ(beside_small_run(f, 1).twice_the_ranks, 0.3);
}

TEST(Ratios, TheSizeOfMostThroughputIsNotInCollapse) {
  Forecast f = small_forecast();
  f.projection.points[1].elasticity = -0.01;
  EXPECT_EQ(f.regime(1), Regime::Collapse);
  f.regimes = regimes();
  f.regimes->n_star.value = {.place = RegimeBoundary::Place::Inside, .ranks = 4096};
  EXPECT_EQ(f.regime(1), Regime::PostLinear);
  EXPECT_EQ(f.regime(0), Regime::Sublinear);
}

/// Rises to 2,000 ranks and falls behind them.
ScalingJob peaked() {
  return {.mechanisms = {}, .at = [](std::int64_t n, MechanismSet) {
            const double x = std::log(static_cast<double>(n) / 2000);
            return ThroughputPoint{.throughput = std::exp(-x * x)};
          }};
}

// Two sizes on both sides of a peak: a line that joins them does not show it.
TEST(Ratios, ACurveGoesThroughTheSizesAskedAndOverThePeakBetweenThem) {
  Forecast f = small_forecast();
  f.job = peaked();
  f.regimes = regimes();
  f.regimes->n_star.value = {.place = RegimeBoundary::Place::Inside, .ranks = 2000};
  const std::vector<SizeRatios> sizes = size_ratios(f);
  const std::vector<SizeRatios> curve = curve_through(f, sizes);
  EXPECT_GT(curve.size(), 60u);
  for (const SizeRatios& p : sizes)
    if (p.refused.empty()) {
      const auto at = std::ranges::find(curve, p.ranks, &SizeRatios::ranks);
      ASSERT_NE(at, curve.end());
      EXPECT_DOUBLE_EQ(at->throughput, p.throughput);
      EXPECT_DOUBLE_EQ(at->low, p.low);
    }
  const auto most = std::ranges::max_element(curve, {}, &SizeRatios::throughput);
  EXPECT_GT(most->throughput, 1.05 * sizes[3].throughput);
  EXPECT_NE(most->ranks, 4096);
  EXPECT_NE(std::ranges::find(curve, 2000, &SizeRatios::ranks), curve.end());
  for (const SizeRatios& p : curve) EXPECT_NEAR(p.high / p.throughput, 1 / 0.9, 1e-9);
  f.job.reset();
  EXPECT_EQ(curve_through(f, sizes).size(), 3u) << "without a job the sizes alone";
}

TEST(Ratios, ControlIsDrawnBetweenTheSizesThatHaveIt) {
  Forecast f = small_forecast();
  f.job = peaked();
  const std::vector<SizeRatios> curve = curve_through(f, size_ratios(f));
  Control c;
  c.controlled = {{.ranks = 256, .throughput_ratio = 1}, {.ranks = 4096, .throughput_ratio = 4}};
  const std::vector<SizeRatios> with = curve_with_control(f, curve, with_control(curve, c));
  EXPECT_EQ(with.front().ranks, 256);
  EXPECT_EQ(with.back().ranks, 4096);
  for (const SizeRatios& p : with) {
    const auto plain = std::ranges::find(curve, p.ranks, &SizeRatios::ranks);
    EXPECT_NEAR(p.throughput / plain->throughput, std::sqrt(static_cast<double>(p.ranks) / 256), 1e-9);
  }
}

TEST(Ratios, ATablesThroughputIsThatOfItsSmallestSize) {
  Curve curve{.name = "sizes.csv", .value = CurveValue::StepTime, .points = {}};
  for (const auto& [size, step] : {std::pair{4, 0.1}, std::pair{8, 0.105}, std::pair{16, 0.11}})
    curve.points.push_back({.size = size, .value = step});
  Forecast f;
  f.curve = project_curve(curve, {32, 16}, Scaling::Weak);
  const std::vector<SizeRatios> sizes = size_ratios(f);
  ASSERT_EQ(sizes.size(), 4u) << "a size that is asked and measured stands once";
  EXPECT_DOUBLE_EQ(sizes[0].throughput, 4);
  EXPECT_NEAR(sizes[1].throughput, 8 * 0.1 / 0.105, 1e-9);
  EXPECT_NEAR(sizes[1].cost, 1.05, 1e-9);
  EXPECT_TRUE(sizes[2].seen);
  EXPECT_LT(sizes[3].low, sizes[3].throughput);
  EXPECT_LT(sizes[3].throughput, sizes[3].high);
}

TEST(Ratios, ControlMultipliesSizesThatHaveANumber) {
  const std::vector<SizeRatios> sizes = size_ratios(small_forecast());
  Control c;
  c.controlled = {{.ranks = 4096, .throughput_ratio = 1.5},
                  {.ranks = 1 << 20, .throughput_ratio = 9},
                  {.ranks = 7, .throughput_ratio = 9}};
  const std::vector<SizeRatios> with = with_control(sizes, c);
  ASSERT_EQ(with.size(), 1u);
  EXPECT_DOUBLE_EQ(with[0].throughput, 1.5 * 2048);
}

TEST(Ratios, MarginsAreTheNextBoundaryOverTheSize) {
  const std::vector<SizeMargin> margins = size_margins(regimes(), size_ratios(small_forecast()));
  ASSERT_EQ(margins.size(), 3u) << "a size without a number has none";
  EXPECT_DOUBLE_EQ(margins[0].factor, 8);
  EXPECT_DOUBLE_EQ(margins[1].factor, 2);
  EXPECT_DOUBLE_EQ(margins[2].factor, 2);
  Regimes r = regimes();
  r.n2.value.ranks = 1024;
  EXPECT_EQ(size_margins(r, size_ratios(small_forecast())).size(), 2u) << "none above, and N* is not known";
  r.n_star.value = {.place = RegimeBoundary::Place::Inside, .ranks = 2048};
  const std::vector<SizeMargin> behind = size_margins(r, size_ratios(small_forecast()));
  ASSERT_EQ(behind.size(), 3u);
  EXPECT_DOUBLE_EQ(behind[2].factor, 0.5) << "the way back";
}

// Between 64 and 8,192 ranks: each boundary is reached at x1, and the next one counts behind it.
TEST(Ratios, EachBoundaryHasAStretchThatEndsAtOne) {
  Regimes r = regimes();
  r.n2.value.ranks = 1024;
  r.n_star.value = {.place = RegimeBoundary::Place::Inside, .ranks = 4096};
  const auto all = margin_stretches(r, 64, 8192);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_DOUBLE_EQ(all[0].front().factor, 8);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(all[i].back().factor, 1);
  EXPECT_DOUBLE_EQ(all[2].front().factor, 4);
  EXPECT_DOUBLE_EQ(all[3].front().factor, 1);
  EXPECT_DOUBLE_EQ(all[3].back().factor, 0.5);
  r.n_star.value = {.place = RegimeBoundary::Place::Above, .ranks = 8192};
  EXPECT_EQ(margin_stretches(r, 64, 8192).size(), 2u);
}

// How much of a delay stays depends on how long it is, not on how long ago it was.
TEST(Ratios, DelaysAreMeasuredInTheShortestOfThem) {
  Structure s;
  s.kept = {{.delay = Seconds{0.1}, .kept = {.value = 0.1, .low = 0.05, .high = 0.2}},
            {.delay = Seconds{0.3}, .kept = {.value = 0.3, .low = 0.25, .high = 0.4}}};
  const std::vector<KeptRatio> kept = kept_ratios(s);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_NEAR(kept[1].step, 3, 1e-12);
  EXPECT_EQ(kept[1].high, 0.4);
}

UnitPace unit(std::int32_t number, double share) {
  return {.unit = number, .critical = {.value = share}};
}

TEST(Ratios, ThePathsSharesNameTheMostAndAddUpTheRest) {
  OverTime o;
  o.windows.resize(2);
  o.windows[0].structure.ranks = {unit(0, 0.5), unit(1, 0.25), unit(2, 0.25)};
  o.windows[1].structure.ranks = {unit(0, 0.125), unit(1, 0.75), unit(2, 0.125)};
  const PathShares path = path_shares(o, 2);
  EXPECT_FALSE(path.of_nodes);
  EXPECT_EQ(path.units, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(path.shares[0], (std::vector<double>{0.25, 0.5, 0.25}));
  EXPECT_EQ(path.shares[1], (std::vector<double>{0.75, 0.125, 0.125}));
  o.windows[0].structure.nodes = {unit(4, 0.5), unit(5, 0.5)};
  EXPECT_TRUE(path_shares(o, 2).of_nodes);
  EXPECT_EQ(last_most_often(o.windows[1].structure.ranks)->unit, 1);
  EXPECT_EQ(last_most_often({}), nullptr);
}

TEST(Ratios, ASizeBesideTheSmallRun) {
  const Forecast f = small_forecast();
  const BesideSmallRun large = beside_small_run(f, 1);
  EXPECT_DOUBLE_EQ(*large.per_rank, 0.5 / 0.9);
  EXPECT_EQ(large.p99_ratio, 1);
  EXPECT_DOUBLE_EQ(*large.communication, 0.1 / 1.8);
  EXPECT_DOUBLE_EQ(large.twice_the_ranks, std::pow(2, 0.9));
  EXPECT_DOUBLE_EQ(large.cost, 1.8);
  EXPECT_TRUE(large.cost_moved);
  EXPECT_DOUBLE_EQ(large.own_small.count(), 0.9);
  EXPECT_DOUBLE_EQ(large.own_here.count(), 0.9);
  EXPECT_FALSE(large.own_moved);
  EXPECT_DOUBLE_EQ(large.communication_small, 0.1);
  EXPECT_FALSE(large.communication_moved) << "4 % of the step";
  const BesideSmallRun none = beside_small_run(f, 2);
  EXPECT_FALSE(none.work_known);
  EXPECT_FALSE(none.per_rank);
  EXPECT_EQ(none.cost, 1);
}

TEST(Ratios, WorkThatIsSplitHasNotMoved) {
  Forecast f = small_forecast();
  f.projection.points[1].efficiency = 0.1;
  EXPECT_TRUE(beside_small_run(f, 1).own_moved);
  f.projection.scaling = Scaling::Strong;
  EXPECT_FALSE(beside_small_run(f, 1).own_moved);
}

}  // namespace
}  // namespace cox::forecast
