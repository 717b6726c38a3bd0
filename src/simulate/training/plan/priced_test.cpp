// SPDX-License-Identifier: Apache-2.0
// Steps whose gradients are compressed, and whose collectives were measured: cases solved by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace priced {
namespace {

using namespace testing;
using model::Compressor;
using model::EngineKind;

/// One layer of 1 ms forward and 2 ms backward, 8 MB of gradients on four workers; links of 1 GB/s.
model::Scenario job() {
  model::Scenario s = data_parallel(4, 1);
  work_of(s).optimizer = {};
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.link = s.cluster.nic;
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  return s;
}

/// Eight of 32 bits; 1 ms to pack 8 MB, 2 ms to unpack the 2 MB that are left.
model::Compression packed() {
  return {.kind = Compressor::Quantised,
          .bits = 8,
          .encode = Bandwidth::gbyte_per_s(8),
          .decode = Bandwidth::gbyte_per_s(1)};
}

/// The same by max-plus and on the network.
double step_ms(model::Scenario s) {
  s.engine = EngineKind::MaxPlus;
  const auto alone = simulate_training(s, {});
  s.engine = EngineKind::Flow;
  const auto shared = simulate_training(s, {});
  EXPECT_TRUE(alone && shared);
  if (!alone || !shared) return 0;
  EXPECT_NEAR(alone->total.count(), shared->total.count(), 1e-9 * shared->total.count());
  EXPECT_EQ(simulate_training(s, {.want_run = true})->step_ends, shared->step_ends);
  return alone->total.count() * 1e3;
}

TEST(Compressed, QuantisedGradientsArePackedSentAndUnpacked) {
  model::Scenario s = job();
  EXPECT_NEAR(step_ms(s), 3 + 2 * 0.75 * 8, 1e-9);
  work_of(s).compression = {.kind = Compressor::Quantised, .bits = 8};
  EXPECT_NEAR(step_ms(s), 3 + 2 * 0.75 * 2, 1e-9);
  work_of(s).compression.encode = Bandwidth::gbyte_per_s(8);
  work_of(s).compression.decode = Bandwidth::gbyte_per_s(1);
  EXPECT_NEAR(step_ms(s), 3 + 1 + 2 * 0.75 * 2 + 2 * 0.75 * 2, 1e-9);
  // Only what is summed is packed: parameters are gathered as they are.
  work_of(s).zero_stage = 1;
  EXPECT_NEAR(step_ms(s), 3 + 1 + 0.75 * 2 + 0.75 * 2 + 0.75 * 8, 1e-9);
}

TEST(Compressed, SparseGradientsAreGatheredAndGrowWithTheWorkers) {
  model::Scenario s = job();
  work_of(s).compression = {.kind = Compressor::Sparse, .density = 0.05};
  // 0.05 of 8 MB with as many bytes of places are 0.8 MB of each worker.
  EXPECT_NEAR(step_ms(s), 3 + 3 * 0.8, 1e-6);
  s.cluster.nodes = 32;
  work_of(s).layout.data = 32;
  EXPECT_NEAR(step_ms(s), 3 + 31 * 0.8, 1e-6);
  work_of(s).compression = {};
  EXPECT_NEAR(step_ms(s), 3 + 2 * 31.0 / 32 * 8, 1e-6)
      << "beyond 1 / density workers the dense sum is faster";
}

TEST(Compressed, BucketsQueueBehindPackingOnTheirStream) {
  // Two layers: the first bucket leaves at 4 ms and takes 1 + 3 + 3, the second is there at 6 and waits until 11.
  model::Scenario s = job();
  work_of(s).layers.resize(2, work_of(s).layers.front());
  work_of(s).bucket = Bytes{1};
  work_of(s).compression = packed();
  EXPECT_NEAR(step_ms(s), 4 + 7 + 7, 1e-9);
  const auto step = analyse_step(s, 0);
  ASSERT_TRUE(step);
  expect_adds_up(*step, "compressed");
}

TEST(Compressed, AveragesOfLocalStepsArePackedWhereTheyMeet) {
  model::Scenario s = job();
  s.job.steps = 4;
  s.policy = {.kind = model::PolicyKind::LocalSgd, .local_steps = 2};
  EXPECT_NEAR(step_ms(s), 4 * 3 + 2 * (2 * 0.75 * 8), 1e-9);
  work_of(s).compression = packed();
  EXPECT_NEAR(step_ms(s), 4 * 3 + 2 * (1 + 2 * 0.75 * 2 + 2 * 0.75 * 2), 1e-9);
  work_of(s).compression = {.kind = Compressor::Sparse, .density = 0.05};
  EXPECT_NEAR(step_ms(s), 4 * 3 + 2 * (3 * 0.8), 1e-6);
}

TEST(Compressed, BackupWorkersSumWhatThoseInTimePacked) {
  // Three of four: their sum is over three members.
  model::Scenario s = job();
  s.policy = {.kind = model::PolicyKind::Backup, .backups = 1};
  work_of(s).compression = packed();
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_NEAR(out->total.count() * 1e3, 3 + 1 + 2 * (2.0 / 3) * 2 + 2 * (2.0 / 3) * 2, 1e-5);
}

TEST(Compressed, ServersGetPackedGradientsAndGiveParameters) {
  // 8 MB to a server, alone on its way; two steps with one pull between them.
  model::Scenario s = job();
  s.cluster.nodes = 2;
  s.cluster.devices_per_node = 1;
  work_of(s).layout.data = 2;
  s.job.steps = 2;
  s.policy = {.kind = model::PolicyKind::Asynchronous, .servers = 1};
  s.engine = EngineKind::MaxPlus;
  const auto total = [&] {
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out) << out.error().to_string();
    return out ? out->total.count() * 1e3 : 0;
  };
  // The second worker's messages stand behind the first one's at the server, in both directions.
  EXPECT_NEAR(total(), 3 + 16 + 8 + 3 + 8, 1e-9);
  work_of(s).compression = packed();
  // Packed: 1 ms before, 2 ms on the way, 2 ms behind it. First worker: sent at 4 to 6, there at 8, parameters at 16, sent at
  // 20 to 22, there at 24. Second: sent at 6 to 8, there at 10, parameters from 16 to 24, sent at 28 to 30, there at 32.
  EXPECT_NEAR(total(), 32, 1e-9);
}

TEST(Compressed, OnLinksServersGetAsFewBytes) {
  model::Scenario s = job();
  s.cluster.nodes = 3;
  work_of(s).layout.data = 3;
  s.job.steps = 1;
  s.policy = {.kind = model::PolicyKind::Asynchronous, .servers = 1};
  s.engine = EngineKind::Flow;
  work_of(s).compression = packed();
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  // Two of three workers come over links, and share the server's card: 2 MB each.
  EXPECT_NEAR(out->total.count() * 1e3, 3 + 1 + 2 * 2 + 2, 1e-6);
}

TEST(Compressed, ShardsOfSparseSumsAreRefused) {
  model::Scenario s = job();
  work_of(s).zero_stage = 1;
  work_of(s).compression.kind = Compressor::Sparse;
  EXPECT_FALSE(simulate_training(s, {}));
}

model::Scenario measured() {
  model::Scenario s = job();
  s.price = model::CollectivePrice::Table;
  s.table.curves = {{.kind = model::Collective::AllReduce,
                     .ranks = 4,
                     .rows = {{.bytes = Bytes{2'000'000}, .time = Seconds{1e-3}},
                              {.bytes = Bytes{32'000'000}, .time = Seconds{16e-3}}}}};
  return s;
}

TEST(Measured, AStepTakesTheTimeOfItsCollectives) {
  model::Scenario s = measured();
  // 8 MB lie half way between 2 and 32 MB in logarithms: 4 ms.
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_NEAR(out->total.count() * 1e3, 3 + 4, 1e-9);
  EXPECT_FALSE(out->not_modelled.empty());
  s.table.curves.front().ranks = 8;
  const auto none = simulate_training(s, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "simulate-008");
}

TEST(Measured, BackupsAskForTheTimeOfThoseThatSum) {
  // Three of four workers: times of three ranks are looked up, and those of four are not asked for.
  model::Scenario s = measured();
  s.policy = {.kind = model::PolicyKind::Backup, .backups = 1};
  const auto none = simulate_training(s, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "simulate-008");
  s.table.curves.front().ranks = 3;
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_NEAR(out->total.count() * 1e3, 3 + 4, 1e-9);
}

/// NCCL's model with `gigabytes` a second between nodes.
model::Scenario by_nccl(double gigabytes) {
  model::Scenario s = job();
  s.price = model::CollectivePrice::Nccl;
  s.nccl.inside = s.nccl.across = Bandwidth::gbyte_per_s(gigabytes / s.nccl.channels);
  return s;
}

TEST(Nccl, BackupsArePricedAsTheJobOfThoseThatSum) {
  model::Scenario s = by_nccl(1);
  work_of(s).overlap = false;
  for (const int backups : {1, 2}) {
    model::Scenario few = s;
    few.policy = {};
    few.cluster.nodes = work_of(few).layout.data = 4 - backups;
    s.policy = {.kind = model::PolicyKind::Backup, .backups = backups};
    const auto waited_for = simulate_training(s, {});
    const auto alone = simulate_training(few, {});
    ASSERT_TRUE(waited_for && alone);
    EXPECT_NEAR(waited_for->total.count(), alone->total.count(), 1e-12) << backups;
  }
}

TEST(Nccl, ThoseThatSumAreSpreadOverAllNodes) {
  // Two nodes of four, four of eight workers are waited for: two in each node, and never four in one.
  model::Scenario s = by_nccl(1);
  s.nccl.inside = Bandwidth::gbyte_per_s(100);
  s.cluster = cluster(2, 4);
  work_of(s).layout.data = 8;
  s.policy = {.kind = model::PolicyKind::Backup, .backups = 4};
  const auto two = simulate_training(s, {});
  ASSERT_TRUE(two) << two.error().to_string();
  EXPECT_GT(two->total.count(), 3e-3 + 2 * 0.75 * 8e-3) << "the link between the nodes is crossed";
}

TEST(Measured, DipsAreDrawnForEachStep) {
  model::Scenario s = measured();
  s.job.steps = 2000;
  for (model::MeasuredTime& row : s.table.curves.front().rows) {
    row.slow = 2 * row.time;
    row.probability = 0.25;
  }
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out);
  // 500 of 2,000 steps take 4 ms more: 19.4 is a standard deviation.
  EXPECT_NEAR(out->total.count(), 2000 * 7e-3 + 500 * 4e-3, 4 * 19.4 * 4e-3);
  s.seed = 2;
  EXPECT_NE(simulate_training(s, {})->total, out->total);
}

/// Two tensor groups of two ranks, or as many context groups, or a unit of both: measured times of an all-reduce of 2 ranks
/// are 1 ms with dips of 3, of an all-gather 2 ms with dips of 7. Nothing else is to be sent.
model::Scenario with_inner_dips(model::Layout layout) {
  model::Scenario s = data_parallel(1, 1);
  const int ranks = layout.data * layout.tensor * layout.context;
  s.cluster = cluster(1, ranks);
  work_of(s).layout = layout;
  work_of(s).optimizer = {};
  work_of(s).layers[0].gradients = {};
  work_of(s).layers[0].activations = Bytes{1'000'000};
  s.job.steps = 1000;
  s.price = model::CollectivePrice::Table;
  const auto curve = [](model::Collective kind, double ms, double slow) {
    return model::MeasuredCurve{.kind = kind,
                                .ranks = 0,
                                .rows = {{.bytes = Bytes{1},
                                          .time = Seconds{ms * 1e-3},
                                          .slow = Seconds{slow * 1e-3},
                                          .probability = 0.25}}};
  };
  s.table.curves = {curve(model::Collective::AllReduce, 1, 3), curve(model::Collective::AllGather, 2, 7)};
  s.table.curves[0].rows.push_back(s.table.curves[0].rows[0]);
  s.table.curves[1].rows.push_back(s.table.curves[1].rows[0]);
  for (model::MeasuredCurve& c : s.table.curves) c.rows.back().bytes = Bytes{1'000'000'000};
  return s;
}

// Per step four all-reduces of a tensor group and three exchanges of a context group.
TEST(Measured, DipsOfTensorAndContextGroupsAreDrawn) {
  const auto total_ms = [](const model::Scenario& s) {
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out) << out.error().to_string();
    EXPECT_EQ(std::ranges::count_if(out->not_modelled,
                                    [](const std::string& l) { return l.find("dips") != std::string::npos; }),
              0);
    return out ? out->total.count() * 1e3 : 0;
  };
  // 4,000 draws with 1/4 cost 2 ms each: a standard deviation of 27.4 draws.
  const double tensor = total_ms(with_inner_dips({.data = 1, .tensor = 2}));
  EXPECT_NEAR(tensor, 1000 * (3 + 4 * 1) + 1000 * 2, 4 * 27.4 * 2);
  EXPECT_NEAR(std::remainder(tensor - 7000, 2), 0, 1e-6) << "whole dips";
  // 3,000 draws of 5 ms: 23.7.
  EXPECT_NEAR(total_ms(with_inner_dips({.data = 1, .context = 2})), 1000 * (3 + 3 * 2) + 750 * 5,
              4 * 23.7 * 5);
  // Two groups beside each other: each collective takes the longer of two, 7/16 of them.
  EXPECT_NEAR(total_ms(with_inner_dips({.data = 1, .tensor = 2, .context = 2})),
              1000 * (3 + 4 * 1 + 3 * 2) + 7.0 / 16 * (4000 * 2 + 3000 * 5), 4 * (31.4 * 2 + 27.2 * 5));
}

// What is never drawn, or costs nothing, is as if no dip had been written down; always is always.
TEST(Measured, DipsOfGroupsAreNoneOrAll) {
  model::Scenario s = with_inner_dips({.data = 1, .tensor = 2, .context = 2});
  const auto with = [&](double probability, double slower) {
    for (model::MeasuredCurve& c : s.table.curves)
      for (model::MeasuredTime& row : c.rows) {
        row.probability = probability;
        row.slow = slower * row.time;
      }
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out);
    return out ? out->total.count() * 1e3 : 0;
  };
  EXPECT_NEAR(with(0, 1), 13'000, 1e-6);
  EXPECT_NEAR(with(0.5, 1), 13'000, 1e-6);
  EXPECT_NEAR(with(1, 2), 1000 * (3 + 2 * 10), 1e-6);
  const double rarely = with(0.1, 3);
  EXPECT_GT(rarely, 13'000);
  EXPECT_GT(with(0.2, 3), rarely) << "the same draws: none is a dip that was one before";
  const auto step = analyse_step(s, 3);
  ASSERT_TRUE(step);
  expect_adds_up(*step, "dips");
}

TEST(Measured, DipsOfGroupsAreTheSameForAnyNumberOfThreads) {
  model::Scenario s = with_inner_dips({.data = 2, .tensor = 2});
  s.replicas = 4;
  const auto one = simulate_training(s, {.threads = 1});
  const auto two = simulate_training(s, {.threads = 2});
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->total, two->total);
  EXPECT_EQ(one->step_ends, two->step_ends);
}

}  // namespace
}  // namespace priced
}  // namespace cox::simulate
