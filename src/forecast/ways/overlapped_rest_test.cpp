// SPDX-License-Identifier: Apache-2.0
#include "forecast/ways/overlapped_rest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/project/refused.hpp"
#include "forecast/sample/read.hpp"
#include "forecast/ways/sample_answer.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

constexpr Bytes kBytes{40'000'000};

/// A sum of so many ranks: 1 + (ranks - 1) / 64.
Seconds sum_of(std::int64_t ranks) {
  return Seconds{1 + static_cast<double>(ranks - 1) / 64};
}

/// Work of 100; eight sums that begin at 30, 40, ... and with the end of the work, one after the other.
Sample overlapped(int ranks) {
  Sample out = test::sample_of({.residual = 1}, ranks / 8, 8, 200, static_cast<std::uint64_t>(ranks));
  RunRecord& r = out.record;
  r.overlapped_among = ranks;
  // Bytes that take what is left of a time of about a millisecond: latencies are looked at up to 3 ms.
  r.messages = {{.kind = model::Collective::AllReduce,
                 .ranks = ranks,
                 .bytes = kBytes,
                 .times = std::vector<Seconds>(20, 1e-3 * sum_of(ranks))}};
  r.background.assign(
      static_cast<std::size_t>(ranks),
      {.operations = 8, .in_flight = 8.0 * 200 * sum_of(ranks), .hidden = 7.0 * 200 * sum_of(ranks)});
  OverlappedStep step{.work = Seconds{100}};
  for (int i = 0; i < 8; ++i)
    step.operations.push_back({.kind = model::Collective::AllReduce,
                               .bytes = kBytes,
                               .arrival = Seconds{30.0 + 10 * i},
                               .departure = Seconds{30.0 + 10 * i} + sum_of(ranks)});
  r.overlapped.assign(10, step);
  for (SampleStep& s : out.steps) s.length += sum_of(ranks) - Seconds{7};
  return out;
}

OverlappedRest rest(const std::vector<Sample>& samples) {
  const Parts parts = calibrate(samples).value();
  auto out = overlapped_rest(samples, parts, {});
  EXPECT_TRUE(out);
  return out ? *std::move(out) : OverlappedRest{};
}

TEST(OverlappedRest, WhatWorkHidesSurfacesWhereSumsOutlastIt) {
  const OverlappedRest told = rest({overlapped(16), overlapped(32), overlapped(64)});
  ASSERT_TRUE(told.at);
  EXPECT_NE(told.told.find("surfaces from"), std::string::npos) << told.told;
  EXPECT_TRUE(told.unknown.empty()) << told.unknown;
  EXPECT_NEAR(told.at(64).value / sum_of(64), 1, 0.02) << "as it was recorded";
  EXPECT_NEAR(told.at(256).value / sum_of(256), 1, 0.1) << "the last sum alone";
  // From 640 ranks on a sum lasts longer than the work between two: eight of them, less what work there is behind the first.
  const Seconds all = 8 * sum_of(2'048) - Seconds{70};
  EXPECT_NEAR(told.at(2'048).value / all, 1, 0.1);
  EXPECT_LT(told.at(2'048).low, all);
  EXPECT_GT(told.at(2'048).high, all);
  EXPECT_TRUE(told.at(2'048).split);
}

TEST(OverlappedRest, OneSizeHasAWideRangeAndSaysWhy) {
  const OverlappedRest told = rest({overlapped(16)});
  ASSERT_TRUE(told.at);
  EXPECT_NE(told.unknown.find("a Run of other ranks tells"), std::string::npos) << told.unknown;
  const Seconds all = 8 * sum_of(2'048) - Seconds{70};
  EXPECT_LT(told.at(2'048).low, all / 4);
  EXPECT_GT(told.at(2'048).high, all);
}

TEST(OverlappedRest, WhereStepsAreNotPlayedBandsReachUpToNothingHidden) {
  Sample sample = overlapped(16);
  sample.record.overlapped.clear();
  const OverlappedRest told = rest({sample});
  EXPECT_FALSE(told.at);
  EXPECT_NEAR(told.hidden / (7 * sum_of(16)), 1, 1e-9);
  EXPECT_NE(told.unknown.find("nothing hidden"), std::string::npos) << told.unknown;
  Sample alone = sample;
  alone.record.background.clear();
  const auto point = [](const Sample& s) {
    return answer_samples(std::vector{s}, {128}, {.replicates = 40}).value().projection.points.front();
  };
  EXPECT_NEAR((point(sample).mean.high - point(alone).mean.high) / told.hidden, 1, 1e-6);
  EXPECT_EQ(point(sample).mean.value, point(alone).mean.value);
  EXPECT_FALSE(overlapped_rest(std::vector{alone}, calibrate(alone).value(), {}));
}

TEST(OverlappedRest, ARangeThatIsSplitHasItsValueInTheMiddle) {
  TimeEstimate t{.value = Seconds{3}, .low = Seconds{2}, .high = Seconds{11}};
  EXPECT_EQ(t.at_place(0.5), Seconds{6.5});
  t.split = true;
  EXPECT_EQ(t.at_place(0.5), Seconds{3});
  EXPECT_EQ(t.at_place(0.25), Seconds{2.5});
  EXPECT_EQ(t.at_place(0.75), Seconds{7});
}

TEST(OverlappedRest, ABandIsToldWhereItIsWideByWhatSurfaces) {
  SizePoint point;
  point.mean = {Seconds{2}, Seconds{1}, Seconds{5}};
  TimeEstimate rest{.value = Seconds{1}, .low = Seconds{0.5}, .high = Seconds{4}};
  EXPECT_EQ(widest_band(point, rest), 2);
  rest.split = true;
  EXPECT_EQ(widest_band(point, rest), 8);
  rest.high = Seconds{1};
  EXPECT_EQ(widest_band(point, rest), 2) << "something else makes it wide";
}

/// A job whose sums are hidden up to a few hundred ranks.
model::Scenario job(int nodes, int steps) {
  model::Scenario s;
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = 1;
  s.across = s.inside = {.latency = Seconds{4e-6}, .per_byte = TimePerByte::seconds_per_byte(2e-11)};
  s.job.steps = steps;
  model::TrainingJob training;
  training.layout.data = nodes;
  training.bucket = Bytes{20'000'000};
  training.layers.assign(8, {.forward = Seconds{0.5e-3},
                             .backward = Seconds{1e-3},
                             .gradients = Bytes{20'000'000},
                             .activations = {}});
  training.collective.algorithm = model::Algorithm::Ring;
  s.job.work = training;
  model::NoiseSource jitter;
  jitter.name = "jitter";
  jitter.law = model::NoiseLaw::Gaussian;
  jitter.cv = 0.03;
  s.noise.push_back(jitter);
  return s;
}

Seconds step_of(int ranks) {
  const auto outcome = simulate::simulate(job(ranks, 20), {.threads = 1});
  return outcome.value().total / 20;
}

Sample recorded(int ranks) {
  const auto outcome = simulate::simulate(job(ranks, 60), {.threads = 1, .want_run = true});
  return forecast::sample_of(*outcome.value().run, 1).value();
}

// Hidden at all sizes that were recorded; at 512 ranks two thirds of the step are sums.
TEST(OverlappedRest, SimulatedStepsOfLargerSizesAreInTheBands) {
  const std::vector<Sample> all{recorded(16), recorded(32), recorded(64)};
  for (std::size_t sizes = 1; sizes <= all.size(); ++sizes) {
    const auto answer = answer_samples({all.data(), sizes}, {128, 512}, {.replicates = 60});
    ASSERT_TRUE(answer);
    for (const SizePoint& p : answer->projection.points) {
      if (!p.refused.empty()) {
        EXPECT_LT(sizes, 3U) << p.refused;
        continue;
      }
      const Seconds truth = step_of(static_cast<int>(p.ranks));
      EXPECT_LT(p.mean.low, truth) << sizes << " sizes, " << p.ranks;
      EXPECT_GT(p.mean.high, truth) << sizes << " sizes, " << p.ranks;
      if (sizes == 3) EXPECT_NEAR(p.mean.value / truth, 1, 0.12) << p.ranks;
    }
  }
  EXPECT_GT(step_of(512), 1.5 * step_of(64)) << "what was hidden surfaces";
}

}  // namespace
}  // namespace cox::forecast
