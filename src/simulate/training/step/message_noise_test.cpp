// SPDX-License-Identifier: Apache-2.0
// Noise on messages goes by the rank that receives, wherever it is in its group.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cox/simulate/outcome.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate::testing {
namespace {

Seconds total_of(const model::Scenario& s) {
  const auto made = simulate(s, {.threads = 1});
  EXPECT_TRUE(made) << (made ? "" : made.error().to_string());
  return made ? made->total : Seconds{};
}

model::NoiseSource on_messages(model::NoiseTarget target, std::vector<int> ranks) {
  return {.name = "card",
          .target = target,
          .law = model::NoiseLaw::Constant,
          .pattern = model::NoisePattern::Persistent,
          .mean_ratio = 1,
          .ranks = std::move(ranks)};
}

/// 16 nodes of one device: 4 replicas of 2 stages of 2 tensor ranks. Rank r is tensor rank r % 2 of stage r / 2 % 2 of
/// replica r / 4, so its group has places 0 to 3, and ranks from 4 on are places that no group has.
model::Scenario layout(model::EngineKind engine) {
  model::Scenario s = data_parallel(16, 4);
  s.engine = engine;
  s.cluster = cluster(8, 2);
  s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
  s.cluster.nics_per_node = 2;
  s.cluster.nic = {.latency = Seconds{5e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
  work_of(s).layout = {.data = 4, .tensor = 2, .pipeline = 2};
  work_of(s).overlap = false;
  return s;
}

// All groups are alike, so it does not matter which rank's card is slow, and which place in its group that is.
TEST(MessageNoise, OfOneRankSlowsItsGroupWhicheverItIs) {
  for (const model::EngineKind engine : {model::EngineKind::MaxPlus, model::EngineKind::Flow})
    for (const model::NoiseTarget target : {model::NoiseTarget::Message, model::NoiseTarget::Bandwidth}) {
      model::Scenario s = layout(engine);
      const Seconds plain = total_of(s);
      std::vector<double> slower;
      for (int rank = 0; rank < 16; ++rank) {
        s.noise = {on_messages(target, {rank})};
        slower.push_back((total_of(s) - plain).count());
      }
      EXPECT_GT(slower[0], 1e-4);
      // Of each stage: the first gets its gradients later than the last.
      for (std::size_t rank = 4; rank < 16; ++rank)
        EXPECT_NEAR(slower[rank], slower[rank % 4], 1e-9) << name_of(engine) << ' ' << rank;
      for (const std::size_t rank : {0U, 2U}) EXPECT_NEAR(slower[rank], slower[rank + 1], 1e-9);
    }
}

// A stage's cards, by its scope: every rank of one stage shares a draw, and the other stage has its own.
TEST(MessageNoise, HasStagesAndRails) {
  for (const model::NoiseScope scope : {model::NoiseScope::Stage, model::NoiseScope::Rail}) {
    model::Scenario s = layout(model::EngineKind::MaxPlus);
    model::NoiseSource n = on_messages(model::NoiseTarget::Bandwidth, {});
    n.law = model::NoiseLaw::Exponential;
    n.scope = scope;
    s.noise = {n};
    s.seed = 3;
    const Seconds shared = total_of(s);
    s.noise[0].scope = model::NoiseScope::Rank;
    EXPECT_NE(shared, total_of(s)) << "other draws";
  }
}

}  // namespace
}  // namespace cox::simulate::testing
