// SPDX-License-Identifier: Apache-2.0
// Several sets of shards (hybrid sharding), against what docs/concepts/training-steps.md calculates by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::PolicyKind;

/// Nodes of two devices that hold a set of shards between them: 10 GB/s inside, 1 GB/s across, no latency. Layers of 1 ms
/// forward, 2 ms backward and 8 MB, which leave one by one.
model::Scenario sharded(int nodes, int layers, int zero) {
  model::Scenario s = data_parallel(2 * nodes, layers);
  s.cluster = cluster(nodes, 2);
  s.cluster.nics_per_node = 2;
  s.cluster.scale_up.bandwidth = Bandwidth::gbyte_per_s(10);
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.inside = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(10).time_per_byte()};
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  work_of(s).layout.shard = 2;
  work_of(s).zero_stage = zero;
  work_of(s).bucket = Bytes{1};
  work_of(s).optimizer = {};
  return s;
}

double total_ms(const model::Scenario& s) {
  const auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? out->total.count() * 1e3 : 0;
}

TEST(HybridSharding, OneLayerByHand) {
  // Gather, forward, gather, backward, scatter inside; the shard of 4 MB among two copies.
  EXPECT_NEAR(total_ms(sharded(2, 1, 3)), 0.4 + 1 + 0.4 + 2 + 0.4 + 4, 1e-9);
  // Parameters stay: gradients are scattered, summed, and the new parameters gathered.
  EXPECT_NEAR(total_ms(sharded(2, 1, 2)), 1 + 2 + 0.4 + 4 + 0.4, 1e-9);
  EXPECT_NEAR(total_ms(sharded(2, 1, 1)), 1 + 2 + 0.4 + 4 + 0.4, 1e-9);
}

TEST(HybridSharding, SumsAmongCopiesHoldUpNoGather) {
  // 9.2 ms: the first sum is over; on one stream the second layer's scatter would have waited until then.
  model::Scenario s = sharded(2, 2, 3);
  EXPECT_NEAR(total_ms(s), 13.2, 1e-9);
  work_of(s).layout.shard = 0;
  EXPECT_NEAR(total_ms(s), 37, 1e-9) << "six collectives of 6 ms, and the last layer's forward pass";
}

TEST(HybridSharding, CopiesMeetAfterTheLastMicroBatch) {
  model::Scenario s = sharded(2, 1, 2);
  work_of(s).micro_batches = 2;
  EXPECT_NEAR(total_ms(s), 2 * 3 + 0.4 + 4 + 0.4, 1e-9);
  work_of(s).overlap = false;
  EXPECT_NEAR(total_ms(s), 3.4 + 3.4 + 4 + 0.4, 1e-9) << "the first scatter is waited for, too";
}

TEST(HybridSharding, OneSetIsTheOrdinaryCase) {
  for (int zero = 0; zero <= 3; ++zero) {
    model::Scenario s = sharded(2, 3, zero);
    work_of(s).layout.shard = 0;
    const double all = total_ms(s);
    work_of(s).layout.shard = 4;
    EXPECT_EQ(total_ms(s), all) << zero;
  }
}

TEST(HybridSharding, OnLinksAsAlone) {
  model::Scenario s = sharded(2, 2, 3);
  s.engine = model::EngineKind::Flow;
  EXPECT_NEAR(total_ms(s), 13.2, 1e-6);
  s = sharded(4, 3, 3);
  work_of(s).layout.shard = 4;  // over two nodes, so that both kinds of groups use the cards
  s.engine = model::EngineKind::MaxPlus;
  const double alone = total_ms(s);
  s.engine = model::EngineKind::Flow;
  EXPECT_GT(total_ms(s), 1.05 * alone) << "they share them";
  s.engine = model::EngineKind::MaxPlus;
  const auto told = simulate_training(s, {});
  ASSERT_TRUE(told);
  EXPECT_TRUE(std::ranges::any_of(told->not_modelled, [](const std::string& n) {
    return n.find("sums among copies") != std::string::npos;
  })) << "and max-plus says that it does not know it";
}

TEST(HybridSharding, ComputationIsSlowerBesideEitherStream) {
  model::Scenario s = sharded(2, 2, 3);
  work_of(s).overlap_slowdown = 1;
  // The second gather is beside 0.2 ms of the first layer, which ends at 1.6 ms; that of the first layer beside 0.2 ms of
  // the last one's backward pass, 3 to 5.2 ms. Its scatter, to 5.6 ms, and sum, to 9.6 ms, are beside all of the first
  // one's: 5.2 to 9.2 ms. Its own sum comes behind.
  EXPECT_NEAR(total_ms(s), 9.6 + 4, 1e-9);
}

TEST(HybridSharding, LocalStepsStayInTheGroup) {
  model::Scenario s = sharded(2, 1, 3);
  s.job.steps = 2;
  s.policy = {.kind = PolicyKind::LocalSgd, .local_steps = 2};
  EXPECT_NEAR(total_ms(s), 4.2 + 4.2 + 4, 1e-9) << "a group's step, and one with an average of its shards";
  EXPECT_EQ(*update_workers(s), 2);
}

TEST(HybridSharding, AGroupIsAWorkerOfServers) {
  model::Scenario s = sharded(2, 1, 3);
  s.policy = {.kind = PolicyKind::Asynchronous, .servers = 1};
  EXPECT_EQ(*update_workers(s), 2);
  // Both compute for 4.2 ms; a group's gradients are 8 MB together. On links those of the server's own node cross no card, and where servers
  // are on all four devices half of a device's 4 MB do.
  EXPECT_NEAR(total_ms(s), 4.2 + 8, 1e-9);
  s.policy.servers = 8;
  EXPECT_NEAR(total_ms(s), 4.2 + 2, 1e-9);
  s.engine = model::EngineKind::Event;  // by arithmetic one group's after the other's
  EXPECT_NEAR(total_ms(s), 4.2 + 4, 1e-9) << "then a device's own 4 MB are what takes longest";
  EXPECT_TRUE(std::ranges::any_of(simulate_training(s, {})->not_modelled, [](const std::string& n) {
    return n.find("messages to servers of their own node") != std::string::npos;
  }));
  s.policy.servers = 1;
  EXPECT_NEAR(total_ms(s), 4.2 + 8 + 8, 1e-9);
}

TEST(HybridSharding, BackupsCountGroups) {
  model::Scenario s = sharded(3, 1, 3);
  s.policy = {.kind = PolicyKind::Backup, .backups = 1};
  EXPECT_NEAR(total_ms(s), 4.2 + 4, 1e-9) << "two copies of three";
  s.policy.backups = 3;
  EXPECT_FALSE(simulate_training(s, {}));
  s.policy.backups = 1;
  work_of(s).layout.shard = 0;
  const auto refused = simulate_training(s, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().hint.find("layout.shard"), std::string::npos) << refused.error().hint;
}

TEST(HybridSharding, ALocalStepDoesNotPayForTheOthersJitter) {
  model::Scenario s = sharded(16, 4, 3);
  s.job.steps = 40;
  s.noise = {jitter(0.2)};
  s.across.per_byte = s.inside.per_byte;
  const double all = total_ms(s);
  s.policy = {.kind = PolicyKind::LocalSgd, .local_steps = 8};
  EXPECT_LT(total_ms(s), 0.97 * all);
}

TEST(HybridSharding, StepsAddUp) {
  model::Scenario s = sharded(4, 4, 3);
  s.noise = {jitter(0.1)};
  s.job.steps = 2;
  for (int zero = 1; zero <= 3; ++zero)
    for (const int context : {1, 2}) {
      work_of(s).zero_stage = zero;
      work_of(s).layout.context = context;
      work_of(s).layout.data = 8 / context;
      const auto step = analyse_step(s, 1);
      ASSERT_TRUE(step) << step.error().to_string();
      expect_adds_up(*step, std::to_string(zero));
    }
}

/// Every call of a rank is on a communicator that it is in.
void expect_own_communicators(const trace::Run& run) {
  for (const trace::RankTrack& track : run.ranks)
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      const CommId comm = track.events.comm[i];
      if (comm == trace::kNoComm) continue;
      const auto& ranks = run.communicators[static_cast<std::size_t>(comm.value())].ranks;
      ASSERT_NE(std::ranges::find(ranks, track.rank), ranks.end())
          << "rank " << track.rank.value() << " in "
          << run.communicators[static_cast<std::size_t>(comm.value())].name;
    }
}

TEST(HybridSharding, ARunNamesItsGroups) {
  model::Scenario s = sharded(2, 2, 3);
  const auto out = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(out);
  std::set<std::string> names;
  for (const trace::Communicator& c : out->run->communicators) {
    names.insert(c.name);
    EXPECT_EQ(c.size, 2);
  }
  EXPECT_EQ(names, (std::set<std::string>{"shards of rank 0", "shards of rank 2",
                                          "copies of the shard of rank 0", "copies of the shard of rank 1"}));
  expect_own_communicators(*out->run);
}

TEST(HybridSharding, WorkersAreInTheirOwnCommunicators) {
  model::Scenario s = sharded(4, 2, 3);
  s.job.steps = 3;
  s.policy = {.kind = PolicyKind::Asynchronous, .servers = 2};
  const auto shards = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(shards) << shards.error().to_string();
  expect_own_communicators(*shards->run);
  work_of(s).zero_stage = 0;
  work_of(s).layout.shard = 0;
  work_of(s).layout.expert = 2;
  work_of(s).moe_layers = 1;
  for (model::Layer& l : work_of(s).layers) l.activations = Bytes{1'000'000};
  const auto experts = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(experts) << experts.error().to_string();
  expect_own_communicators(*experts->run);
}

}  // namespace
}  // namespace cox::simulate
