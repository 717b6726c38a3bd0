// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/ratios.hpp"

#include <gtest/gtest.h>

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
  ASSERT_EQ(margins.size(), 4u) << "behind the last boundary there is none";
  EXPECT_DOUBLE_EQ(margins[1].factor, 8);
  EXPECT_DOUBLE_EQ(margins[2].factor, 2);
  EXPECT_DOUBLE_EQ(margins[3].factor, 2);
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
