// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "cox/simulate/outcome.hpp"

#include "forecast/sample/read.hpp"

namespace cox::forecast {
namespace {

using namespace literals;

/// All ranks compute 10 ms and meet; rank 2 takes a millisecond more, for good.
trace::Run simulated(int nodes, int devices, int steps) {
  model::Scenario s;
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = devices;
  s.across = s.inside = {.latency = Seconds{1e-6}};
  s.job.steps = steps;
  model::CollectiveJob job;
  job.compute = Seconds{10e-3};
  job.collective.kind = model::Collective::AllReduce;
  job.collective.ranks = nodes * devices;
  job.collective.bytes = 1000_B;
  s.job.work = job;
  model::NoiseSource slow;
  slow.law = model::NoiseLaw::Constant;
  slow.pattern = model::NoisePattern::Persistent;
  slow.relative = false;
  slow.mean = Seconds{1e-3};
  slow.ranks = {2};
  s.noise.push_back(slow);
  auto outcome = simulate::simulate(s, {.threads = 1, .want_run = true});
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  return std::move(*outcome->run);
}

TEST(SampleOfRun, OwnWorkIsWhatEachRankDidBeforeItMetTheOthers) {
  const auto made = forecast::sample_of(simulated(2, 2, 20), 1);
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_TRUE(check(*made));
  ASSERT_EQ(made->positions.size(), 1U);
  ASSERT_EQ(made->ranks.size(), 4U);
  EXPECT_GE(made->steps.size(), 18U);
  for (std::size_t k = 0; k < made->steps.size(); ++k) {
    EXPECT_NEAR(made->positions[0].at(k, 0, 4).count(), 10e-3, 1e-6);
    EXPECT_NEAR(made->positions[0].at(k, 2, 4).count(), 11e-3, 1e-6);
    EXPECT_NEAR(made->steps[k].length.count(), 11e-3, 1e-4);
  }
  EXPECT_EQ(made->ranks[0].role, made->ranks[3].role);
  EXPECT_EQ(made->positions[0].traffic.kind, model::Collective::AllReduce);
  EXPECT_EQ(made->positions[0].traffic.bytes, 1000_B);
  EXPECT_NEAR(made->positions[0].traffic.transfer.count(), 6e-6, 1e-8)
      << "a ring of four: six messages of a microsecond";
}

TEST(SampleOfRun, MoreThreadsChangeNothing) {
  const trace::Run run = simulated(2, 4, 10);
  const auto one = forecast::sample_of(run, 1);
  const auto four = forecast::sample_of(run, 4);
  ASSERT_TRUE(one && four);
  EXPECT_EQ(one->positions[0].own, four->positions[0].own);
}

TEST(SampleOfRun, TooFewStepsAreRefused) {
  const auto made = forecast::sample_of(simulated(1, 4, 2), 1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "forecast-002");
  EXPECT_FALSE(forecast::sample_of(trace::Run{}, 1));
}

}  // namespace
}  // namespace cox::forecast
