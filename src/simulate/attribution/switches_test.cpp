// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/simulate/attribution.hpp"

namespace cox::simulate {
namespace {

TEST(Mechanisms, AnIdealMachineHasNone) {
  EXPECT_TRUE(mechanisms_of({}).empty());
}

TEST(Mechanisms, AreSaidInAFewWords) {
  model::Scenario s;
  s.cluster.nodes = 2;
  s.fabric.oversubscription = 4;
  s.fabric.background_load = 0.5;
  s.fabric.routing = model::Routing::Ecmp;
  s.fabric.pause = true;
  s.failures.node_mtbf = Seconds{1e6};
  s.policy.kind = model::PolicyKind::LocalSgd;
  model::NoiseSource noise;
  noise.name = "jitter";
  noise.law = model::NoiseLaw::Pareto;
  noise.target = model::NoiseTarget::Message;
  s.noise.push_back(noise);
  s.job.work = model::TrainingJob{.overlap_slowdown = 0.05};
  EXPECT_EQ(mechanisms_of(s),
            (std::vector<std::string>{"pareto noise, target message (jitter)", "4:1 oversubscription",
                                      "background load 50 %", "pause frames", "routing ecmp",
                                      "failures, their checkpoints and restarts", "policy local-sgd",
                                      "compute slowed by 5.0 % beside communication"}));
}

TEST(Mechanisms, OneNodeHasNoFabric) {
  model::Scenario s;
  s.fabric.background_load = 0.5;
  EXPECT_TRUE(mechanisms_of(s).empty());
}

}  // namespace
}  // namespace cox::simulate
