// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/calibrate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

using Truth = test::KnownJob;
using test::sample_of;

PositionParts parts_of(const Sample& sample) {
  return calibrate(sample).value().positions.at(0);
}

TEST(Calibrate, TheComponentsComeBackOnAverage) {
  const Truth truth = {.rank = 1.4, .node = 1, .step = 0.7, .node_step = 1.2, .residual = 2};
  double rank = 0, node = 0, step = 0, node_step = 0, residual = 0, skewness = 0;
  constexpr int kSets = 24;
  for (int set = 0; set < kSets; ++set) {
    const PositionParts p = parts_of(sample_of(truth, 8, 8, 300, static_cast<std::uint64_t>(set)));
    const auto square = [](TimeEstimate e) { return e.value.count() * e.value.count() / kSets; };
    rank += square(p.rank);
    node += square(p.node);
    step += square(p.step);
    node_step += square(p.node_step);
    residual += square(p.residual_sd);
    skewness += p.node_step_skewness / kSets;
  }
  EXPECT_NEAR(rank, 1.96, 4 * 1.96 * std::sqrt(2.0 / 56 / kSets));
  EXPECT_NEAR(node, 1, 4 * 1.3 * std::sqrt(2.0 / 7 / kSets));
  EXPECT_NEAR(step, 0.49, 0.05);
  EXPECT_NEAR(node_step, 1.44, 0.04);
  EXPECT_NEAR(residual, 4, 0.04);
  EXPECT_NEAR(skewness, 2, 0.25);  // of an exponential part
}

TEST(Calibrate, IntervalsOfDeviationsHoldThem) {
  const Truth truth = {.rank = 1.5, .node = 2};
  int rank = 0;
  int node = 0;
  constexpr int kSets = 60;
  for (int set = 0; set < kSets; ++set) {
    const PositionParts p = parts_of(sample_of(truth, 8, 4, 100, 500 + static_cast<std::uint64_t>(set)));
    rank += p.rank.low.count() <= 1.5 && p.rank.high.count() >= 1.5 ? 1 : 0;
    node += p.node.low.count() <= 2 && p.node.high.count() >= 2 ? 1 : 0;
  }
  EXPECT_GE(rank, 47);  // 54 of 60 expected; 46 or fewer have a chance of 0.2 %
  EXPECT_GE(node, 47);
}

TEST(Calibrate, CorrelatedStepsAreNotTakenForPersistence) {
  double rank = 0;
  for (std::uint64_t set = 0; set < 10; ++set) {
    const PositionParts p = parts_of(sample_of({.residual = 2, .correlation = 0.9}, 8, 8, 400, set));
    EXPECT_NEAR(p.correlation.value, 0.9, 0.04);
    rank += p.rank.value.count() * p.rank.value.count() / 10;
  }
  // Means over 400 steps, of which 21 count, have a deviation of 0.44 by themselves.
  EXPECT_LT(std::sqrt(rank), 0.25);
}

TEST(Calibrate, DriftIsAParameterAndNoSpread) {
  const PositionParts p = parts_of(sample_of({.residual = 1, .drift = 10}, 8, 8, 400, 3));
  EXPECT_NEAR(p.drift.value.count(), 10, 0.4);
  EXPECT_LT(p.step.value.count(), 0.2);
  EXPECT_NEAR(p.level.value.count(), 105, 0.2);
}

TEST(Calibrate, AfterAChangeTheLaterRegimeIsTaken) {
  Sample sample = sample_of({.residual = 1}, 8, 8, 400, 3);
  for (std::size_t i = 0; i < std::size_t{150} * 64; ++i) sample.positions[0].own[i] += Seconds{20};
  const Parts parts = calibrate(sample).value();
  EXPECT_NEAR(parts.positions[0].level.value.count(), 100, 0.5);
  EXPECT_LT(parts.positions[0].step.value.count(), 1);
  ASSERT_EQ(parts.notes.size(), 1U);
  EXPECT_NE(parts.notes[0].find("changed at step 150"), std::string::npos) << parts.notes[0];
  const std::optional<Sample> later = after_change(sample, parts);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->steps.size(), 250U);
  EXPECT_FALSE(after_change(sample_of({.residual = 1}, 8, 8, 400, 3), calibrate(*later).value()));
}

TEST(Calibrate, ConstantTimesHaveOneRegime) {
  Sample sample = sample_of({.residual = 0}, 4, 4, 400, 1);
  for (const double own : {0.01, 0.1, 1.0 / 3, 7e-5, 12.3456}) {
    std::ranges::fill(sample.positions[0].own, Seconds{own});
    const Parts parts = calibrate(sample).value();
    for (const std::string& note : parts.notes) EXPECT_EQ(note.find("changed"), std::string::npos) << note;
    EXPECT_NEAR(parts.positions[0].level.value.count(), own, 1e-12 * own);
  }
}

TEST(Calibrate, ASlowNodeIsAPopulationAndNoSpread) {
  Sample sample = sample_of({.node = 0.3, .residual = 1}, 8, 8, 300, 3);
  for (std::size_t k = 0; k < 300; ++k)
    for (std::size_t r = 16; r < 24; ++r) sample.positions[0].own[k * 64 + r] += Seconds{15};
  const PositionParts p = parts_of(sample);
  EXPECT_EQ(p.slow.seen, 1);
  EXPECT_EQ(p.slow.of, 8);
  EXPECT_NEAR(p.slow.extra.count(), 15, 1.5);
  EXPECT_LT(p.node.value.count(), 1);
}

TEST(Calibrate, OneLongStepMakesNoNodeSlowForGood) {
  Sample sample = sample_of({.node = 0.3, .residual = 1}, 4, 8, 300, 3);
  sample.positions[0].own[100 * 32 + 3] += Seconds{3'600'000};
  sample.steps[100].length += Seconds{3'600'000};
  const Parts parts = calibrate(sample).value();
  EXPECT_EQ(parts.positions[0].slow.seen, 0);
  for (const std::string& note : parts.notes)
    EXPECT_EQ(note.find("slow for good"), std::string::npos) << note;
}

TEST(Calibrate, ConstantTimesHaveNoSpreadAndNoTail) {
  Sample sample = sample_of({.residual = 0}, 4, 4, 50, 1);
  const Parts parts = calibrate(sample).value();
  const PositionParts& p = parts.positions[0];
  EXPECT_EQ(p.level.value.count(), 100);
  EXPECT_EQ(p.residual_sd.high.count(), 0);
  EXPECT_EQ(p.rank.high.count(), 0);
  EXPECT_EQ(p.tail_probability, 0);
  EXPECT_TRUE(p.residual.is_constant());
  EXPECT_NEAR(parts.rest.value.count(), 7, 1e-9);
}

TEST(Calibrate, PermutedRanksGiveTheSameParts) {
  const Sample sample = sample_of({.rank = 1, .node = 1, .node_step = 1, .residual = 1}, 8, 8, 200, 5);
  Sample turned = sample;
  std::vector<std::size_t> order(64);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + 13, order.end());
  std::swap(order[3], order[40]);
  for (std::size_t r = 0; r < 64; ++r) {
    turned.ranks[r] = sample.ranks[order[r]];
    for (std::size_t k = 0; k < 200; ++k)
      turned.positions[0].own[k * 64 + r] = sample.positions[0].own[k * 64 + order[r]];
  }
  const PositionParts a = parts_of(sample);
  const PositionParts b = parts_of(turned);
  EXPECT_EQ(a.level.value, b.level.value);
  EXPECT_EQ(a.node.value, b.node.value);
  EXPECT_EQ(a.rank.high, b.rank.high);
  EXPECT_EQ(a.residual.upper_quantile(1e-5), b.residual.upper_quantile(1e-5));
}

TEST(Calibrate, SizesTellHowTheLevelGrows) {
  std::vector<Sample> samples;
  for (const int ranks : {16, 4, 8}) {
    Sample s = sample_of({.residual = 1}, 1, ranks, 400, static_cast<std::uint64_t>(ranks));
    for (Seconds& x : s.positions[0].own) x += Seconds{1.9 * ranks};
    for (SampleStep& step : s.steps) step.length += Seconds{1.9 * ranks};
    samples.push_back(std::move(s));
  }
  const Parts parts = calibrate(samples).value();
  EXPECT_EQ(parts.ranks, 16);
  EXPECT_EQ(parts.ranks_per_node, 1);  // one node at every size
  ASSERT_FALSE(parts.positions[0].growth.empty());
  EXPECT_EQ(parts.positions[0].growth.front().growth, Growth::Linear);
  EXPECT_NEAR(parts.positions[0].growth.front().slope.count(), 1.9, 0.05);
  EXPECT_EQ(parts.rest_growth.front().growth, Growth::None);
}

TEST(Calibrate, RolesAreNeverPooled) {
  Sample sample = sample_of({.residual = 1}, 8, 8, 200, 5);
  for (std::size_t r = 0; r < 64; ++r) {
    sample.ranks[r].role = r < 32 ? 0 : 1;
    for (std::size_t k = 0; r >= 32 && k < 200; ++k) sample.positions[0].own[k * 64 + r] += Seconds{50};
  }
  const Parts parts = calibrate(sample).value();
  ASSERT_EQ(parts.positions.size(), 2U);
  EXPECT_NEAR(parts.positions[0].level.value.count(), 100, 0.5);
  EXPECT_NEAR(parts.positions[1].level.value.count(), 150, 0.5);
  EXPECT_EQ(parts.positions[1].ranks, 32);
  EXPECT_NEAR(parts.positions[1].residual_sd.value.count(), 1, 0.05);
}

TEST(Calibrate, WhatCannotBeToldIsSaid) {
  const Parts one_node = calibrate(sample_of({}, 1, 8, 50, 1)).value();
  EXPECT_EQ(one_node.positions[0].node.origin, Origin::Range);
  const auto said = [](const Parts& parts, const std::string& what) {
    return std::any_of(parts.untold.begin(), parts.untold.end(),
                       [&](const std::string& s) { return s.find(what) != std::string::npos; });
  };
  EXPECT_TRUE(said(one_node, "what nodes differ by: there is one"));
  EXPECT_TRUE(said(one_node, "all samples have one size"));
  EXPECT_TRUE(said(one_node, "taken as exponential"));
  EXPECT_TRUE(said(calibrate(sample_of({}, 8, 1, 50, 1)).value(), "each holds one rank"));
  Sample unknown = sample_of({}, 8, 8, 50, 1);
  for (SampleRank& r : unknown.ranks) r.node = -1;
  EXPECT_TRUE(said(calibrate(unknown).value(), "which ranks share a node"));
  EXPECT_EQ(calibrate(sample_of({}, 1, 1, 50, 1)).value().ranks, 1);  // one rank: no spread between ranks
}

TEST(Calibrate, RefusesWhatIsNoSampleOrAnotherJob) {
  EXPECT_EQ(calibrate(Sample{}).error().id, "forecast-001");
  Sample times = sample_of({}, 2, 2, 10, 1);
  times.positions.clear();
  EXPECT_EQ(calibrate(times).error().id, "forecast-010");
  std::vector<Sample> two = {sample_of({}, 2, 2, 10, 1), sample_of({}, 2, 4, 10, 1)};
  two[0].positions.push_back(two[0].positions[0]);
  EXPECT_EQ(calibrate(two).error().id, "forecast-011");
}

TEST(Calibrate, DetoursAreAModeOfTheirOwn) {
  Sample sample = test::sample_of({.residual = 1}, 8, 8, 500, 3);
  std::vector<Seconds>& own = sample.positions[0].own;
  std::size_t longer = 0;
  for (std::size_t i = 0; i < own.size(); i += 97) {
    own[i] += Seconds{30};
    ++longer;
  }
  const Parts parts = calibrate(sample).value();
  const PositionParts& p = parts.positions[0];
  ASSERT_TRUE(p.detours);
  const double share = static_cast<double>(longer) / static_cast<double>(own.size());
  EXPECT_NEAR(p.tail_probability, share, 1e-9);
  EXPECT_NEAR((p.detours->longer.law.mean() - p.detours->usual.law.mean()).count(), 30, 0.5);
  EXPECT_NEAR(p.residual.mean().count(), 0, 1e-9);
  EXPECT_NE(parts.notes.at(0).find("a mode of their own"), std::string::npos);
}

}  // namespace
}  // namespace cox::forecast
