// SPDX-License-Identifier: Apache-2.0
// Workers without a common step whose messages meet on one network.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::PolicyKind;

constexpr PolicyKind kKinds[] = {PolicyKind::Asynchronous, PolicyKind::BoundedWait,
                                 PolicyKind::BoundedDiscard, PolicyKind::Backup};

/// Two workers of two stages, scattered over two nodes of two devices: stage 0 of both on the first node, stage 1 on the second one. A
/// layer a stage, 1 ms forward and 2 ms backward; 1 MB goes to the other stage and back, by the one card of each node, of 1 GB/s. Servers
/// get nothing, and inside a node nothing takes time.
model::Scenario behind_one_card(PolicyKind kind) {
  model::Scenario s = pipeline(2, 2, 1);
  s.cluster = cluster(2, 2);
  s.cluster.nics_per_node = 1;
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1e6)};
  s.fabric.link = s.cluster.nic;
  s.across = {.latency = {}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  s.inside = {.latency = {}, .per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.job.places.rule = model::PlaceRule::Scattered;
  work_of(s).layout = {.data = 2, .pipeline = 2};
  for (model::Layer& l : work_of(s).layers) {
    l.gradients = {};
    l.activations = Bytes{1'000'000};
  }
  s.policy = {.kind = kind};
  return s;
}

Outcome played(const model::Scenario& s) {
  auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  if (!out) return {};
  for (const std::string_view alone : {"each has it to itself", "cross"})
    for (const std::string& line : out->not_modelled)
      if (s.policy.kind != PolicyKind::Backup) EXPECT_EQ(line.find(alone), std::string::npos) << line;
  return *std::move(out);
}

// Both send at once, forward and backward, and each message has half of the card: 1 + 2 + 1 + 2 + 2 + 2 ms, not 8.
TEST(WorkersTogether, TwoBehindOneCardHaveHalfOfItEach) {
  for (const PolicyKind kind : kKinds) {
    model::Scenario s = behind_one_card(kind);
    s.job.steps = 3;
    const Outcome out = played(s);
    ASSERT_EQ(out.step_ends.size(), 3U);
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(out.step_ends[static_cast<std::size_t>(k)] / Seconds{1e-3}, 10 * (k + 1), 1e-9)
          << static_cast<int>(kind);
  }
}

// Stage 0 of the second worker computes 1.5 ms forward and 3 ms backward. Messages forward: 1 ms, of which the second half is shared, to 2.5 ms,
// and 1.5 to 3 ms. Stages 1 send back at 5.5 and 6 ms, in the same way to 7 and 7.5 ms. The workers are through at 9 and 10.5 ms; alone the second
// one would be at 9.5.
TEST(WorkersTogether, WhoComesLaterSharesWhatIsLeft) {
  for (const PolicyKind kind : kKinds) {
    model::Scenario s = behind_one_card(kind);
    s.noise = {slow_rank(2, 0.5)};
    EXPECT_NEAR(played(s).total / Seconds{1e-3}, 10.5, 1e-9) << static_cast<int>(kind);
    s.policy.backups = kind == PolicyKind::Backup ? 1 : 0;
    if (kind == PolicyKind::Backup) EXPECT_NEAR(played(s).total / Seconds{1e-3}, 9, 1e-9);
  }
}

// The same, and 1 MB of gradients of stage 1 to the server on the first node, and back. First step: to 9 and 10.5 ms; sent to 10 and 11.5 ms.
// The first worker reads until 11 ms, computes a millisecond and sends: from 12 ms on beside what the second worker reads since 11.5 ms, of which
// half is left, so that both have half of the card until 13 ms, when the second worker begins; its message is there at 13.5 ms. It is computed
// to 14.5 and 16.5, is back at 17.5, through at 19.5, and sent at 20.5 ms. The second worker: 14.5, 15.5, 16.5, 18.5, 19.5, 22.5 and 23.5 ms.
TEST(WorkersTogether, MessagesToTheServersAreBesideThem) {
  model::Scenario s = behind_one_card(PolicyKind::Asynchronous);
  s.noise = {slow_rank(2, 0.5)};
  s.job.steps = 2;
  work_of(s).layers[1].gradients = Bytes{1'000'000};
  const Outcome out = played(s);
  ASSERT_EQ(out.step_ends.size(), 2U);
  EXPECT_NEAR(out.step_ends[0] / Seconds{1e-3}, 11.5, 1e-9);
  EXPECT_NEAR(out.step_ends[1] / Seconds{1e-3}, 23.5, 1e-9);
}

// Until anybody is through a first step, all do what they do under a synchronous policy, whatever disturbs them.
TEST(WorkersTogether, TheFirstStepOfAllIsTheSynchronousOne) {
  for (const bool lossy : {false, true}) {
    for (const model::Protocol protocol : {model::Protocol::Rendezvous, model::Protocol::Eager}) {
      model::Scenario s = behind_one_card(PolicyKind::Synchronous);
      s.protocol = protocol;
      s.cluster.nodes = 8;
      work_of(s).layout = {.data = 8, .pipeline = 2, .expert = 2};
      work_of(s).moe_layers = 2;
      work_of(s).micro_batches = 4;
      s.fabric.kind = model::FabricKind::FatTree;
      s.fabric.hosts_per_leaf = 2;
      s.fabric.oversubscription = 2;
      s.noise = {jitter(0.1), {.name = "late", .target = model::NoiseTarget::Message, .cv = 0.3}};
      if (lossy) s.fabric.timeouts = {.wait = Seconds{0.02}, .loss = 0.05};
      const double together = played(s).total.count();
      for (const PolicyKind kind : kKinds) {
        if (lossy && kind == PolicyKind::Backup) continue;  // whose sums of nothing lose messages, too
        s.policy = {.kind = kind};
        EXPECT_NEAR(played(s).step_ends[0].count(), together, 1e-9 * together) << static_cast<int>(kind);
      }
    }
  }
}

// Nodes of one worker each, a leaf switch for each: links that nobody shares are those of one switch, where each worker is played alone. With sets of
// shards, whose sums are beside the computation and make it slower.
TEST(WorkersTogether, WhereNobodyMeetsEachIsAsAlone) {
  for (const double slower : {0.0, 0.3}) {
    model::Scenario s = behind_one_card(PolicyKind::Backup);
    s.policy.backups = 1;
    s.job.places.rule = model::PlaceRule::Packed;
    s.job.steps = 4;
    s.cluster = cluster(12, 1);
    s.cluster.nic = s.fabric.link;
    s.engine = model::EngineKind::Flow;
    work_of(s).layout = {.data = 6, .pipeline = 2, .shard = 2};
    work_of(s).zero_stage = 3;
    work_of(s).micro_batches = 3;
    work_of(s).overlap_slowdown = slower;
    work_of(s).layers.resize(6, work_of(s).layers.front());
    work_of(s).bucket = Bytes{1};
    for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{3'000'000};
    s.noise = {jitter(0.2)};
    const Outcome alone = played(s);
    s.fabric.kind = model::FabricKind::FatTree;
    s.fabric.hosts_per_leaf = 1;
    const Outcome beside = played(s);
    ASSERT_EQ(alone.step_ends.size(), beside.step_ends.size());
    for (std::size_t k = 0; k < alone.step_ends.size(); ++k)
      EXPECT_NEAR(alone.step_ends[k].count(), beside.step_ends[k].count(), 1e-9 * alone.total.count()) << k;
    ASSERT_EQ(alone.groups.size(), beside.groups.size());
    for (std::size_t g = 0; g < alone.groups.size(); ++g) {
      EXPECT_NEAR(alone.groups[g].busy.count(), beside.groups[g].busy.count(), 1e-9 * alone.total.count());
      EXPECT_NEAR(alone.groups[g].exposed.count(), beside.groups[g].exposed.count(),
                  1e-9 * alone.total.count());
    }
  }
}

// Between averages workers may be in different steps, and each step has a network of its own: a worker that is 60 ms late, whose first step meets the
// second one of the other, does so unslowed. Said where something makes them drift apart and they share a card.
TEST(WorkersTogether, LocalStepsThatMayMeetAreSaid) {
  const auto said = [](const model::Scenario& s) {
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out) << out.error().to_string();
    return out && std::ranges::any_of(out->not_modelled, [](const std::string& line) {
             return line.find("different steps between averages") != std::string::npos;
           });
  };
  model::Scenario s = behind_one_card(PolicyKind::LocalSgd);
  s.policy.local_steps = 2;
  s.job.steps = 2;
  EXPECT_FALSE(said(s)) << "all are in one step";
  s.noise = {jitter(0.2)};
  EXPECT_TRUE(said(s));
  s.policy.local_steps = 1;
  EXPECT_FALSE(said(s)) << "all meet after each";
  s.policy.local_steps = 2;
  s.job.places.rule = model::PlaceRule::Packed;
  EXPECT_FALSE(said(s)) << "a node each";
}

}  // namespace
}  // namespace cox::simulate
