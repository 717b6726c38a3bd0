// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/as_training.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::forecast {
namespace {

using model::Algorithm;
using model::Collective;

/// 10 ms of work with normal noise of ranks and of steps, then this collective; messages of 20 us and 10 GB/s.
model::Scenario steps_of(Collective kind, Algorithm algorithm, int nodes, Bytes bytes) {
  model::Scenario s;
  s.name = "job";
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = 2;
  s.job.steps = 300;
  s.across.latency = Seconds{20e-6};
  s.across.per_byte = TimePerByte::seconds_per_byte(1e-10);
  s.inside = s.across;
  s.job.work = model::CollectiveJob{
      .collective = {.kind = kind, .algorithm = algorithm, .ranks = 2 * nodes, .bytes = bytes},
      .compute = Seconds{10e-3}};
  for (const model::NoiseScope scope : {model::NoiseScope::Rank, model::NoiseScope::Global}) {
    model::NoiseSource n;
    n.law = model::NoiseLaw::Gaussian;
    n.scope = scope;
    n.cv = 0.03;
    s.noise.push_back(n);
  }
  return s;
}

std::vector<Seconds> ends_of(const model::Scenario& s) {
  const auto outcome = simulate::simulate(s, {.threads = 1});
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  return outcome ? outcome->step_ends : std::vector<Seconds>{};
}

TEST(AsTraining, StepsOfASumAreTheSameOnesOnTheSameDraws) {
  for (const auto& [algorithm, nodes] : {std::pair{Algorithm::Ring, 4},
                                         {Algorithm::Ring, 3},
                                         {Algorithm::RecursiveDoubling, 4},
                                         {Algorithm::RecursiveDoubling, 3}}) {
    const model::Scenario s = steps_of(Collective::AllReduce, algorithm, nodes, Bytes{6'000'000});
    const auto training = as_training(s);
    ASSERT_TRUE(training) << training.error().to_string();
    const std::vector<Seconds> before = ends_of(s), after = ends_of(*training);
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t k = 0; k < before.size(); ++k)
      ASSERT_NEAR(after[k] / before[k], 1, 1e-9) << k << " of " << nodes;
  }
}

TEST(AsTraining, OtherCollectivesKeepTheirTime) {
  for (const auto& [kind, algorithm, bytes] :
       {std::tuple{Collective::Barrier, Algorithm::Dissemination, Bytes{}},
        {Collective::AllGather, Algorithm::Ring, Bytes{6'000'000}},
        {Collective::AllToAll, Algorithm::Direct, Bytes{6'000'000}}}) {
    model::Scenario s = steps_of(kind, algorithm, 4, bytes);
    const double noisy = ends_of(*as_training(s)).back() / ends_of(s).back();
    // A direct exchange absorbs some of the lateness that a sum waits for.
    EXPECT_NEAR(noisy, 1, kind == Collective::AllToAll ? 0.02 : 0.002) << static_cast<int>(kind);
    s.noise.clear();
    EXPECT_NEAR(ends_of(*as_training(s)).back() / ends_of(s).back(), 1, 1e-6) << static_cast<int>(kind);
  }
}

TEST(AsTraining, WhatIsWrittenIsReadWithFailuresAndStart) {
  auto training =
      as_training(steps_of(Collective::AllReduce, Algorithm::RecursiveDoubling, 4, Bytes{8})).value();
  training.failures.node_mtbf = Seconds{3.6e6};
  training.failures.restart = Seconds{60};
  training.start.fixed = Seconds{3};
  const auto read = model::parse_scenario(model::scenario_toml(training), "job.toml", ".");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->scenario.failures.node_mtbf, Seconds{3.6e6});
  EXPECT_EQ(read->scenario.start.fixed, Seconds{3});
  EXPECT_NEAR(ends_of(read->scenario).back() / ends_of(training).back(), 1, 1e-9);
}

TEST(AsTraining, StepsOfTrainingStayAsTheyAre) {
  auto training =
      as_training(steps_of(Collective::AllReduce, Algorithm::RecursiveDoubling, 4, Bytes{8})).value();
  EXPECT_FALSE(overlaps_work(training));
  training.job.as<model::TrainingJob>().overlap = true;
  EXPECT_TRUE(overlaps_work(training));
  const auto again = as_training(training);
  ASSERT_TRUE(again);
  EXPECT_TRUE(overlaps_work(*again));
  EXPECT_EQ(ends_of(*again), ends_of(training));
  training.job.work = model::GoalJob{};
  EXPECT_EQ(as_training(training).error().id, "forecast-005");
}

}  // namespace
}  // namespace cox::forecast
