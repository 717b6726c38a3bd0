// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/drawn_structure.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cox/model/toml.hpp"

namespace cox::forecast {
namespace {

FullForecast drawn(model::Scenario scenario) {
  Asked q;
  q.sizes = {32};
  q.project.replicates = 5;
  q.project.threads = 1;
  q.structure.drawn = true;
  auto out = make_forecast(Evidence{.scenario = std::move(scenario)}, q);
  EXPECT_TRUE(out) << out.error().to_string();
  return out.value_or(FullForecast{});
}

model::Scenario example(const std::string& name) {
  const std::string path = std::string(COX_EXAMPLES) + "/" + name;
  auto read = model::read_scenario(path, {});
  EXPECT_TRUE(read) << read.error().to_string();
  return read ? read->scenario : model::Scenario{};
}

/// Four nodes of two ranks that work 10 ms and meet; rank 5 takes two milliseconds longer, and each varies by a tenth of one.
model::Scenario uneven() {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 2;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(300).time_per_byte()};
  s.across = {.latency = Seconds{1e-5}, .per_byte = Bandwidth::gbyte_per_s(25).time_per_byte()};
  model::CollectiveJob job;
  job.collective.kind = model::Collective::AllReduce;
  job.collective.ranks = 8;
  job.collective.bytes = Bytes{1'000'000};
  job.compute = Seconds{0.01};
  s.job.work = job;
  s.job.steps = 10;
  s.noise.push_back(
      {.name = "jitter", .law = model::NoiseLaw::Exponential, .relative = false, .mean = Seconds{1e-4}});
  s.noise.push_back({.name = "slow",
                     .law = model::NoiseLaw::Constant,
                     .relative = false,
                     .mean = Seconds{2e-3},
                     .ranks = {5}});
  return s;
}

TEST(DrawnStructures, OfAScenarioAreThoseOfItsSteps) {
  const FullForecast f = drawn(uneven());
  ASSERT_TRUE(f.drawn && f.drawn->structure && f.drawn->over_time && f.drawn->delay) << f.drawn->why_not;
  EXPECT_FALSE(f.structure) << "nothing was recorded";
  const Structure& s = *f.drawn->structure;
  ASSERT_EQ(s.ranks.size(), 8U);
  EXPECT_GT(s.ranks[5].critical.value, 0.95) << "the slow one sets the pace";
  ASSERT_EQ(s.entered.size(), 4U);
  double entered = 0;
  for (const auto& row : s.entered)
    for (const double share : row) entered += share;
  EXPECT_NEAR(entered, 1, 1e-9);
  EXPECT_GT(s.entered[2][2], 0.9) << "rank 5 is on node 2";
  EXPECT_GT(f.drawn->over_time->windows.size(), 1U);
}

// A barrier keeps what slack does not take: of 1 ms on a rank that waits 2 ms nothing is left, and what is left stays.
TEST(DrawnStructures, ADelayIsFollowedOverSteps) {
  FullForecast f = drawn(uneven());
  ASSERT_TRUE(f.drawn && f.drawn->delay);
  const DelayOverSteps& late = *f.drawn->delay;
  EXPECT_GT(late.delay, Seconds{0.9e-3}) << "a tenth of the work";
  EXPECT_LT(late.delay, Seconds{1.3e-3});
  ASSERT_EQ(late.kept.size(), 30U);
  EXPECT_NEAR(late.kept[0].value, 0, 0.02) << "less than the two that the others wait";
  Asked q;
  q.sizes = {32};
  q.project.replicates = 5;
  q.structure.drawn = true;
  q.structure.delay = Seconds{0.05};
  const auto longer = make_forecast(Evidence{.scenario = uneven()}, q);
  ASSERT_TRUE(longer && longer->drawn && longer->drawn->delay);
  const std::vector<Proportion>& kept = longer->drawn->delay->kept;
  EXPECT_NEAR(kept.front().value, (0.05 - 2e-3) / 0.05, 0.01) << "what it would have waited is off";
  EXPECT_NEAR(kept.back().value, kept.front().value, 2e-3) << "less than the jitter of a step";
  EXPECT_LE(kept[0].low, kept[0].value);
  // What is said of a delay beside the picture is of as long a one.
  for (const FullForecast* one : std::initializer_list<const FullForecast*>{&f, &*longer}) {
    ASSERT_TRUE(one->drawn->kept);
    EXPECT_EQ(one->drawn->kept->delay, one->drawn->delay->delay);
    EXPECT_NE(one->drawn->kept->delay, one->drawn->structure->kept[1].delay);
  }
}

TEST(DrawnStructures, WhatIsTooLargeIsSaid) {
  model::Scenario s = uneven();
  s.cluster.nodes = 512;
  s.job.as<model::CollectiveJob>().collective.ranks = 1'024;
  const FullForecast f = drawn(std::move(s));
  ASSERT_TRUE(f.drawn);
  EXPECT_FALSE(f.drawn->structure);
  EXPECT_NE(f.drawn->why_not.find("at most 512 ranks"), std::string::npos);
  EXPECT_TRUE(f.drawn->delay) << "that is small enough";
}

TEST(DrawnStructures, OfTrainingStepsThereAreSome) {
  const FullForecast f = drawn(example("os-noise.toml"));
  ASSERT_TRUE(f.drawn);
  EXPECT_TRUE(f.drawn->structure || !f.drawn->why_not.empty());
}

}  // namespace
}  // namespace cox::forecast
