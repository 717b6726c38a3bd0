// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/delay.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cox::simulate {
namespace {

model::NoiseSource delay(Seconds mean, std::int64_t step, std::vector<int> ranks) {
  return {.name = "delay",
          .law = model::NoiseLaw::Constant,
          .pattern = model::NoisePattern::Once,
          .relative = false,
          .mean = mean,
          .step = step,
          .ranks = std::move(ranks)};
}

/// Eight ranks that compute a second and meet at a barrier that costs nothing.
model::Scenario barrier() {
  model::Scenario s;
  s.cluster.nodes = 8;
  s.across = {.latency = Seconds{1e-12}};
  s.job.steps = 12;
  s.replicas = 3;
  s.job.as<model::CollectiveJob>() = {.collective = {.kind = model::Collective::Barrier,
                                                     .algorithm = model::Algorithm::Dissemination,
                                                     .ranks = 8},
                                      .compute = Seconds{1}};
  return s;
}

TEST(Delay, IsKeptWholeWhereNobodyIsLate) {
  model::Scenario s = barrier();
  s.noise = {delay(Seconds{0.25}, 4, {3})};
  const auto kept = follow_delay(s, {});
  ASSERT_TRUE(kept) << kept.error().to_string();
  ASSERT_EQ(kept->by.size(), 8U);
  EXPECT_EQ(kept->step, 4);
  for (const ReplicaSpread& d : kept->by) EXPECT_NEAR(d.mean.count(), 0.25, 1e-9);
  ASSERT_EQ(kept->ranks.size(), 8U);
  for (const Seconds d : kept->ranks) EXPECT_NEAR(d.count(), 0.25, 1e-9);
}

// At a barrier D_k is D_0 in every step that follows: each step begins as late as the last one ended.
TEST(Delay, StaysWhatTheFirstBarrierLeftOfIt) {
  model::Scenario s = barrier();
  s.replicas = 40;
  s.noise = {{.name = "jitter", .law = model::NoiseLaw::Gaussian, .cv = 0.1}, delay(Seconds{0.3}, 4, {3})};
  const auto kept = follow_delay(s, {});
  ASSERT_TRUE(kept) << kept.error().to_string();
  // Three standard deviations, eight ranks: 0.541 of it, by quadrature.
  EXPECT_NEAR(kept->by.front().mean / kept->delay, 0.541,
              1.6 * (kept->by.front().half_width_95 / kept->delay));
  for (const ReplicaSpread& d : kept->by) {
    EXPECT_NEAR(d.mean.count(), kept->by.front().mean.count(), 1e-9);
    EXPECT_GE(d.p50.count(), -1e-9);
    EXPECT_LE(d.p99.count(), 0.3 + 1e-9);
  }
}

// Of two ranks that are slow by turns, a delay of the fast one goes into its slack.
TEST(Delay, GoesIntoSlack) {
  model::Scenario s = barrier();
  model::NoiseSource slow{
      .name = "slow", .law = model::NoiseLaw::Constant, .mean_ratio = 0.2, .ranks = std::vector<int>{0}};
  s.noise = {slow, delay(Seconds{0.15}, 2, {1})};
  const auto hidden = follow_delay(s, {});
  ASSERT_TRUE(hidden);
  EXPECT_NEAR(hidden->by.front().mean.count(), 0, 1e-9);
  s.noise[1].ranks = {0};
  const auto whole = follow_delay(s, {});
  ASSERT_TRUE(whole);
  EXPECT_NEAR(whole->by.back().mean.count(), 0.15, 1e-9);
}

TEST(Delay, NeedsOneThatIsATime) {
  model::Scenario s = barrier();
  EXPECT_FALSE(follow_delay(s, {}));
  s.noise = {delay(Seconds{0.1}, 1, {0}), delay(Seconds{0.1}, 2, {0})};
  EXPECT_FALSE(follow_delay(s, {}));
  s.noise[1].off = true;
  EXPECT_TRUE(follow_delay(s, {}));
  s.noise[0].relative = false;
  s.noise[0].target = model::NoiseTarget::Message;
  EXPECT_FALSE(follow_delay(s, {}));
}

// Without the delay nobody meets in a card, and the job would be left to another engine; the twin stays where the job is.
TEST(Delay, BothTwinsAreByOneEngine) {
  model::Scenario s;
  s.cluster.nodes = 7;
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.across = {.per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  s.job.steps = 3;
  s.job.as<model::CollectiveJob>() = {.collective = {.kind = model::Collective::AllToAll,
                                                     .algorithm = model::Algorithm::Direct,
                                                     .ranks = 7,
                                                     .bytes = Bytes{100'003}},
                                      .compute = Seconds{1e-3}};
  s.noise = {delay(Seconds{20e-6}, 1, {3})};
  ASSERT_EQ(simulate(s, {})->engine, model::EngineKind::Flow);
  const auto ours = follow_delay(s, {});
  s.engine = model::EngineKind::Flow;
  const auto flow = follow_delay(s, {});
  ASSERT_TRUE(ours && flow);
  ASSERT_EQ(ours->by.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(ours->by[k].mean, flow->by[k].mean);
}

}  // namespace
}  // namespace cox::simulate
