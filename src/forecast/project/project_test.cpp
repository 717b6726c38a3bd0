// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/project.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/law/maximum.hpp"

namespace cox::forecast {
namespace {

TimeEstimate known(double value) {
  return {.value = Seconds{value}, .low = Seconds{value}, .high = Seconds{value}, .origin = Origin::Stated};
}
TimeEstimate seen(double deviation, double freedom) {
  TimeEstimate e = known(deviation);
  e.origin = Origin::Measured;
  e.freedom = freedom;
  return e;
}

/// 64 ranks in nodes of 8, seen for 2,000 steps: normal parts.
Parts parts_of(double residual, double rank = 0, double node = 0) {
  Parts parts;
  parts.ranks = 64;
  parts.ranks_per_node = 8;
  parts.nodes = 8;
  parts.steps = 2000;
  PositionParts p;
  p.level = known(100);
  p.residual = Law::normal(Seconds{0}, Seconds{residual});
  p.pooled = Law::normal(Seconds{0}, Seconds{std::sqrt(residual * residual + rank * rank + node * node)});
  p.residual_sd = seen(residual, 128'000);
  p.rank = seen(rank, 56);
  p.node = seen(node, 7);
  parts.positions = {p};
  parts.rest = known(5);
  parts.rest_growth = {{.growth = Growth::None}};
  return parts;
}

TEST(Project, OneNormalPartIsTheTableOfNormalMaxima) {
  const SizePoint at = project_one(parts_of(5), 4096, {});
  EXPECT_NEAR(at.mean.value.count(), 100 + 5 * 3.626082 + 5, 1e-3);
  EXPECT_NEAR(at.cv * at.mean.value.count(), 5 * 0.32013, 1e-2);
  EXPECT_NEAR(at.efficiency, 100 / at.mean.value.count(), 1e-9);
  EXPECT_NEAR(at.elasticity, 1 - 5 * 0.259776 / at.mean.value.count(), 1e-5);
  EXPECT_NE(at.rests_on.find("seen to 1 in 128"), std::string::npos) << at.rests_on;
}

TEST(Project, PositionsAddTheirMaxima) {
  Parts parts = parts_of(0);
  PositionParts& p = parts.positions[0];
  p.residual = p.pooled = Law::exponential(Seconds{1}).plus(Seconds{-1});
  p.residual_sd = seen(1, 1e5);
  parts.positions.assign(4, p);
  const SizePoint at = project_one(parts, 64, {});
  EXPECT_NEAR(at.mean.value.count(), 4 * 99 + 18.975564 + 5,
              1e-2);  // and not the maximum of sums, 10.19 + 4 x 99
  EXPECT_NEAR(at.cv * at.mean.value.count(), 2 * 1.276491, 1e-2);
}

TEST(Project, StrongScalingDividesTheWork) {
  const SizePoint at = project_one(parts_of(5), 640, {.scaling = Scaling::Strong});
  EXPECT_NEAR(at.mean.value.count(),
              Maximum({.own = Law::normal(Seconds{10}, Seconds{0.5})}, 640).mean().count() + 5, 1e-2);
  EXPECT_NEAR(at.elasticity, (at.mean.value.count() - 5) / at.mean.value.count(), 0.02);
}

TEST(Project, ALinearLevelMakesThroughputFallOnlyPastItsSize) {
  Parts parts = parts_of(1);
  parts.positions[0].growth = {{.growth = Growth::Linear, .slope = Seconds{1.9}}};
  const SizePoint at = project_one(parts, 128, {});
  EXPECT_NEAR(at.mean.value.count(),
              100 + 64 * 1.9 + Maximum({.own = Law::normal(Seconds{0}, Seconds{1})}, 128).mean().count() + 5,
              1e-2);
  EXPECT_NEAR(at.elasticity, 1 - (128 * 1.9 + 0.36) / at.mean.value.count(), 1e-2);
}

TEST(Project, BandsAreOrderedAndWiderWithFewerUnits) {
  const auto width = [](double freedom_node, double freedom_rank, std::int64_t ranks) {
    Parts parts = parts_of(1, 2, 2);
    parts.positions[0].node.freedom = freedom_node;
    parts.positions[0].rank.freedom = freedom_rank;
    const SizePoint at = project(parts, {ranks}, {.widening = 1}).points.at(0);
    EXPECT_LE(at.mean.low, at.mean.value);
    EXPECT_GE(at.mean.high, at.mean.value);
    EXPECT_GE(at.with_unseen.high, at.mean.high);
    return (at.mean.high - at.mean.low).count();
  };
  EXPECT_GT(width(1, 14, 4096), width(7, 56, 4096));
  EXPECT_GT(width(7, 56, 4096), width(63, 448, 4096));
  // More asked is never surer.
  for (std::int64_t n = 128; n < 1'000'000; n *= 2) EXPECT_GE(width(7, 56, 2 * n), width(7, 56, n)) << n;
}

TEST(Project, WhatDoesNotVaryHasNoBand) {
  Parts parts = parts_of(0);
  parts.positions[0].residual = parts.positions[0].pooled = Law();
  ProjectOptions options;
  options.prior.alpha = 0;
  const SizePoint at = project(parts, {1, 64, 1 << 20}, options).points.at(2);
  EXPECT_EQ(at.mean.low, at.mean.high);
  EXPECT_NEAR(at.mean.value.count(), 105, 1e-9);
  EXPECT_TRUE(at.refused.empty()) << at.refused;
}

TEST(Project, SlowUnitsNotSeenAreInASecondBand) {
  const SizePoint at = project(parts_of(1), {4096}).points.at(0);
  EXPECT_GT(at.with_unseen.high - at.mean.value, 5 * (at.mean.high - at.mean.value));
  EXPECT_GT(at.unseen_chance, 0.3);
  Parts slow = parts_of(1);
  slow.positions[0].slow = {.seen = 1, .of = 8, .extra = Seconds{20}};
  const SizePoint with = project(slow, {4096}).points.at(0);
  EXPECT_NEAR(with.mean.value.count() - at.mean.value.count(), 20, 1);
  EXPECT_EQ(with.unseen_chance, 0);
}

TEST(Project, TheSameForAnyNumberOfThreads) {
  const Parts parts = parts_of(1, 1, 1);
  const Projection one = project(parts, {256, 4096}, {.threads = 1});
  const Projection four = project(parts, {256, 4096}, {.threads = 4});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(one.points[i].mean.low, four.points[i].mean.low);
    EXPECT_EQ(one.points[i].with_unseen.high, four.points[i].with_unseen.high);
  }
}

TEST(Project, AnotherUnitOfTimeChangesNoRatio) {
  const auto scaled = [](double f) {
    Parts parts = parts_of(1, 1, 1);
    PositionParts& p = parts.positions[0];
    p.residual = p.residual.times(f);
    p.pooled = p.pooled.times(f);
    for (TimeEstimate* e : {&p.level, &p.rank, &p.node, &p.residual_sd, &parts.rest}) {
      e->value *= f;
      e->low *= f;
      e->high *= f;
    }
    return project(parts, {4096}).points.at(0);
  };
  const SizePoint s = scaled(1);
  const SizePoint ms = scaled(1e-3);
  EXPECT_NEAR(ms.mean.high / s.mean.high, 1e-3, 1e-12);
  EXPECT_NEAR(ms.with_unseen.high / s.with_unseen.high, 1e-3, 1e-12);
  EXPECT_NEAR(ms.elasticity, s.elasticity, 1e-9);
  EXPECT_EQ(ms.rests_on, s.rests_on);
}

TEST(Project, RefusesSizesAndTailsBeyondWhatIsKnown) {
  const Projection p = project(parts_of(1), {0, 64, 1 << 21});
  EXPECT_FALSE(p.points[0].refused.empty());
  EXPECT_TRUE(p.points[1].refused.empty()) << p.points[1].refused;
  EXPECT_FALSE(p.points[2].refused.empty());
  Parts heavy = parts_of(1);
  heavy.positions[0].tail_probability = 0.01;
  heavy.positions[0].tail_shape = {.value = 0.8, .low = 0.5, .high = 1.1};
  EXPECT_NE(project(heavy, {4096}).points[0].refused.find("no mean"), std::string::npos);
}

/// A queue: rank r waits r times 2 s before it works for 100 s, so the slowest is 2 s a rank later, the mean only 1 s.
Sample queue_of(std::int64_t ranks) {
  Sample sample;
  sample.name = "queue";
  Position position;
  for (std::int32_t r = 0; r < ranks; ++r) sample.ranks.push_back({.rank = r});
  for (std::int64_t k = 0; k < 20; ++k) {
    const Seconds length{100 + 2.0 * static_cast<double>(ranks)};
    sample.steps.push_back({.number = k, .begin = static_cast<double>(k) * length, .length = length});
    // Who comes when changes from step to step.
    for (std::int64_t r = 0; r < ranks; ++r)
      position.own.push_back(Seconds{100 + 2.0 * static_cast<double>((r * 7 + k * 5) % ranks + 1)});
  }
  sample.positions.push_back(std::move(position));
  return sample;
}

TEST(Project, WhatTheSlowestTakesBeyondThePartsGoesOnAsItDidOverTheSizes) {
  const std::vector<Sample> samples = {queue_of(4), queue_of(8), queue_of(16)};
  auto parts = calibrate(samples);
  ASSERT_TRUE(parts);
  const double without = project_one(*parts, 64, {}).mean.value.count();
  EXPECT_LT(without, 200) << "the parts alone have a mean that grows by a second a rank";
  compare_sizes(*parts, samples);
  ASSERT_EQ(parts->beyond_growth.front().growth, Growth::Linear);
  for (const std::int64_t ranks : {4, 8, 16})
    EXPECT_NEAR(project_one(*parts, ranks, {}).mean.value.count(), 100 + 2.0 * static_cast<double>(ranks), 4)
        << ranks;
  EXPECT_NEAR(project_one(*parts, 64, {}).mean.value.count(), 228, 0.08 * 228);

  compare_sizes(*parts, std::span(samples).first(1));
  EXPECT_TRUE(parts->beyond_growth.empty());
  EXPECT_EQ(project_one(*parts, 64, {}).mean.value.count(), without);
}

// A run draws its lasting parts once: its steps vary by what is fresh, and its p99 is no further from its own mean.
TEST(Project, WhatLastsIsNotInTheSpreadOfOneRun) {
  const SizePoint at = project_one(parts_of(1, 3), 64, {});
  double cv = 0;
  constexpr int kRuns = 60;
  constexpr int kSteps = 150;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    const RandomStream random(run + 1, 5);
    Welford steps;
    for (std::uint64_t k = 0; k < kSteps; ++k) {
      double most = 0;
      for (std::uint64_t r = 0; r < 64; ++r)
        most = std::max(most, 100 + 3 * random.normal(1'000'000, r) + random.normal(k, r));
      steps.add(most + 5);
    }
    cv += steps.cv() / kRuns;
  }
  EXPECT_NEAR(at.cv / cv, 1, 0.15);
  EXPECT_LT((at.p99.value - at.mean.value).count(), 2.8);  // a normal step of 0.0075 would have 2.33 x 0.85
}

}  // namespace
}  // namespace cox::forecast
