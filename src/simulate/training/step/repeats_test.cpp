// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/repeats.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"
#include "simulate/training/step/play_steps.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using training::Plan;
using training::StepEngine;

model::Link link(double latency, double rate) {
  return {.latency = Seconds{latency}, .bandwidth = Bandwidth::bytes_per_s(rate)};
}

/// Plain data parallelism on nodes of eight devices with a NIC each, on rails.
model::Scenario on_rails(int nodes) {
  model::Scenario s = data_parallel(8 * nodes, 6);
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = s.cluster.nics_per_node = 8;
  s.cluster.scale_up = link(0.6e-6, 450e9);
  s.cluster.nic = link(1.35e-6, 50e9);
  s.fabric.kind = model::FabricKind::RailOptimised;
  s.fabric.link = link(130e-9, 50e9);
  s.fabric.hosts_per_leaf = 4;
  for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{43'000'001};
  work_of(s).bucket = Bytes{43'000'001};
  s.job.steps = 3;
  return s;
}

/// As Watcher, to have every step played.
class Nobody : public training::Watcher {};

TEST(Repeats, StepsThatBeginAlikeArePlayedOnce) {
  for (const double slowdown : {0.0, 0.1}) {
    model::Scenario s = on_rails(4);
    work_of(s).overlap_slowdown = slowdown;
    for (model::Layer& l : work_of(s).layers) l.forward = Seconds{10};
    s.job.steps = 200;
    const auto plan = Plan::make(s);
    ASSERT_TRUE(plan) << plan.error().to_string();
    StepEngine once(*plan, nullptr, 1, 0, plan->layout().data);
    StepEngine each(*plan, nullptr, 1, 0, plan->layout().data);
    std::vector<Seconds> now(static_cast<std::size_t>(plan->units()));
    std::vector<Seconds> other = now;
    Nobody nobody;
    for (std::int64_t k = 0; k < s.job.steps; ++k) {
      ASSERT_TRUE(once.run(k, training::Meeting::Gradients, now));
      ASSERT_TRUE(each.run(k, training::Meeting::Gradients, other, &nobody));
      for (std::size_t u = 0; u < now.size(); ++u)
        ASSERT_NEAR(now[u].count(), other[u].count(), 1e-10 * other[u].count()) << k;
    }
    // Computation that is slower beside communication is no maximum: only what is exactly alike is known.
    if (slowdown == 0) {
      EXPECT_LE(once.played(), 4);
    }
    EXPECT_EQ(each.played(), 200);
    EXPECT_EQ(once.messages(), each.messages());
    ASSERT_EQ(once.link_bytes().size(), each.link_bytes().size());
    for (std::size_t l = 0; l < once.link_bytes().size(); ++l)
      EXPECT_DOUBLE_EQ(once.link_bytes()[l], each.link_bytes()[l]);
  }
}

// What differs is played: other draws in every step, and in one step alone.
TEST(Repeats, OtherDrawsAreOtherSteps) {
  model::Scenario s = on_rails(2);
  s.job.steps = 20;
  s.noise = {{.name = "jitter", .cv = 0.1}};
  const auto plan = Plan::make(s);
  ASSERT_TRUE(plan);
  const auto noise = Noise::make(s.noise, plan->placement(), 1);
  ASSERT_TRUE(noise);
  StepEngine engine(*plan, &*noise, 1, 0, plan->layout().data);
  std::vector<Seconds> now(static_cast<std::size_t>(plan->units()));
  for (std::int64_t k = 0; k < s.job.steps; ++k)
    ASSERT_TRUE(engine.run(k, training::Meeting::Gradients, now));
  EXPECT_EQ(engine.played(), 20);
}

TEST(OwnLinksOfAStep, AreWhatTheFlowEngineSays) {
  for (const int zero : {0, 1, 3})
    for (const int tensor : {1, 8})
      for (const int context : {1, 2}) {
        model::Scenario s = on_rails(8);
        work_of(s).zero_stage = zero;
        work_of(s).layout.tensor = tensor;
        work_of(s).layout.context = context;
        work_of(s).layout.data = 64 / tensor / context;
        s.noise = {{.name = "jitter", .cv = 0.1}};
        const auto own = simulate_training(s, {});
        s.engine = model::EngineKind::Flow;
        const auto flow = simulate_training(s, {.memo = false});  // the memo wants equal chunks
        ASSERT_TRUE(own && flow);
        EXPECT_EQ(flow->engine, model::EngineKind::Flow);
        EXPECT_EQ(own->engine, context == 1 ? model::EngineKind::MaxPlus : own->engine);
        EXPECT_NEAR(own->total.count(), flow->total.count(), 1e-9 * flow->total.count())
            << zero << ' ' << tensor << ' ' << context;
        EXPECT_EQ(own->messages, flow->messages);
        ASSERT_EQ(own->links.size(), flow->links.size());
        for (std::size_t l = 0; l < own->links.size(); ++l) {
          EXPECT_EQ(own->links[l].name, flow->links[l].name);
          EXPECT_EQ(own->links[l].bytes, flow->links[l].bytes) << own->links[l].name;
        }
      }
}

// Stages, experts, messages with noise, eager messages and leaves with too few cables share links, or may.
TEST(OwnLinksOfAStep, AreNotClaimedWhereLinksMeet) {
  const auto engine = [](const model::Scenario& s) {
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out) << out.error().to_string();
    return out ? out->engine : model::EngineKind::Auto;
  };
  using enum model::EngineKind;
  EXPECT_EQ(engine(on_rails(8)), MaxPlus);
  model::Scenario s = on_rails(8);
  s.fabric.oversubscription = 4;
  EXPECT_EQ(engine(s), Flow);
  s = on_rails(8);
  work_of(s).layout = {.data = 32, .pipeline = 2};
  EXPECT_EQ(engine(s), Flow);
  s = on_rails(8);
  work_of(s).moe_layers = 2;
  work_of(s).layout.expert = 8;
  EXPECT_EQ(engine(s), Flow);
  s = on_rails(8);
  s.protocol = model::Protocol::Eager;
  EXPECT_EQ(engine(s), Flow);
  s = on_rails(8);
  s.noise = {{.name = "delay",
              .target = model::NoiseTarget::Message,
              .law = model::NoiseLaw::Uniform,
              .mean_ratio = 0.1}};
  EXPECT_EQ(engine(s), Flow);
  s = on_rails(8);
  s.fabric.routing = model::Routing::Spray;
  EXPECT_EQ(engine(s), Flow);
}

}  // namespace
}  // namespace cox::simulate
