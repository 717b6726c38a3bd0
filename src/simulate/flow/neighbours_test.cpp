// SPDX-License-Identifier: Apache-2.0
// Several jobs on one fabric, solved by hand.
#include "simulate/flow/neighbours.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/simulate/attribution.hpp"
#include "cox/simulate/outcome.hpp"

#include "support/two_leaves.hpp"

namespace cox::simulate {
namespace {

constexpr double kCompute = 5e-3;
constexpr double kRound = 1e-3;  // a chunk of 1 MB over a link of 1 GB/s

/// A job that computes 5 ms, then reduces 4 MB by ring over four hosts, six rounds of 1 MB.
model::Scenario two_leaves(std::vector<int> nodes, int steps = 4) {
  model::Scenario s = test::two_leaves(std::move(nodes), steps);
  auto& job = s.job.as<model::CollectiveJob>();
  job.compute = Seconds{kCompute};
  job.collective = {.kind = model::Collective::AllReduce,
                    .algorithm = model::Algorithm::Ring,
                    .ranks = 4,
                    .bytes = Bytes{4'000'000}};
  return s;
}

model::Neighbour like_ours(std::vector<int> nodes) {
  model::Neighbour n;
  n.name = "b";
  n.kind = model::NeighbourKind::Collective;
  n.nodes = std::move(nodes);
  n.compute = Seconds{kCompute};
  n.bytes = Bytes{4'000'000};
  return n;
}

Outcome ran(const model::Scenario& s) {
  const auto made = simulate(s, {});
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *made : Outcome{};
}

double step(const model::Scenario& s) {
  return ran(s).total.count() / s.job.steps;
}

TEST(Neighbours, NobodyIsBesideAJobAlone) {
  EXPECT_NEAR(step(two_leaves({0, 1, 4, 5})), kCompute + 6 * kRound, 1e-12);
  EXPECT_NEAR(step(two_leaves({0, 1, 2, 3})), kCompute + 6 * kRound / 10, 1e-12);
}

// Two rings cross the one up-link in every round, in phase for ever: each has half of it.
TEST(Neighbours, TwoJobsShareAnUpLink) {
  model::Scenario s = two_leaves({0, 1, 4, 5});
  s.neighbours = {like_ours({2, 3, 6, 7})};
  const Outcome both = ran(s);
  EXPECT_EQ(both.engine, model::EngineKind::Flow);
  EXPECT_NEAR(both.total.count() / s.job.steps, kCompute + 6 * 2 * kRound, 1e-9);
  ASSERT_EQ(both.neighbours.size(), 1U);
  EXPECT_NEAR(both.neighbours[0].mean.count(), kCompute + 6 * 2 * kRound, 1e-9);
  EXPECT_NEAR(both.neighbours[0].alone.count(), kCompute + 6 * kRound, 1e-9);
  EXPECT_GE(both.neighbours[0].done, s.job.steps - 1);
}

// The same two jobs, each behind its own leaf, do not know of each other.
TEST(Neighbours, PackedJobsDoNotMeet) {
  model::Scenario s = two_leaves({0, 1, 2, 3});
  s.neighbours = {like_ours({4, 5, 6, 7})};
  EXPECT_NEAR(step(s), kCompute + 6 * kRound / 10, 1e-12);
}

// Who comes while the other computes has the link for itself.
TEST(Neighbours, AStartTimeThatKeepsThemApart) {
  model::Scenario s = two_leaves({0, 1, 4, 5}, 3);
  s.job.as<model::CollectiveJob>().compute = Seconds{8e-3};
  s.neighbours = {like_ours({2, 3, 6, 7})};
  s.neighbours[0].compute = Seconds{8e-3};
  s.neighbours[0].start = Seconds{7e-3};
  EXPECT_NEAR(step(s), 8e-3 + 6 * kRound, 1e-9);
  s.neighbours[0].start = {};
  EXPECT_NEAR(step(s), 8e-3 + 12 * kRound, 1e-9);
}

// One flow that never ends takes half of the up-link; one that is limited to a quarter of it leaves the rest.
TEST(Neighbours, FlowsShareLinks) {
  model::Scenario s = two_leaves({0, 1, 4, 5});
  model::Neighbour flows;
  flows.nodes = {2, 6};
  flows.bytes = Bytes{1'000'000'000};
  s.neighbours = {flows};
  EXPECT_NEAR(step(s), kCompute + 6 * 2 * kRound, 1e-9);
  s.neighbours[0].rate = Bandwidth::gbyte_per_s(0.25);
  EXPECT_NEAR(step(s), kCompute + 6 * kRound / 0.75, 1e-9);
  s.neighbours[0].nodes = {2, 6, 3, 7};
  EXPECT_NEAR(step(s), kCompute + 6 * 2 * kRound, 1e-9);
}

// On for 2 ms at the begin of every 11 ms, while we compute: a burst of 2 MB. Then as we communicate.
TEST(Neighbours, FlowsThatAreOnAndOff) {
  model::Scenario s = two_leaves({0, 1, 4, 5}, 5);
  model::Neighbour flows;
  flows.nodes = {2, 6};
  flows.bytes = Bytes{2'000'000};
  flows.period = Seconds{11e-3};
  s.neighbours = {flows};
  const Outcome apart = ran(s);
  EXPECT_NEAR(apart.total.count(), 5 * (kCompute + 6 * kRound), 1e-9);
  EXPECT_EQ(apart.neighbours[0].done, 5);
  EXPECT_NEAR(apart.neighbours[0].mean.count(), 2e-3, 1e-9);
  s.job.steps = 1;
  s.neighbours[0].start = Seconds{kCompute};
  EXPECT_NEAR(step(s), kCompute + 6 * kRound + 2e-3,
              1e-9);  // half of the link until the burst's 2 MB are through
}

// A burst that outlives our job has loaded its links with what passed by then.
// Its root waits for nobody: it would begin one broadcast after the other in no time if it did not wait for its own port.
TEST(Neighbours, AnEagerRootKeepsToItsPort) {
  for (const double compute : {0.0, 1e-3}) {
    model::Scenario s = two_leaves({0, 1, 2, 3});
    s.protocol = model::Protocol::Eager;
    model::Neighbour n = like_ours({0, 1, 2, 3});
    n.collective = model::Collective::Broadcast;
    n.algorithm = model::Algorithm::Chain;
    n.compute = Seconds{compute};
    const double alone = ran(s).total.count();
    s.neighbours = {n};
    const double beside = ran(s).total.count();
    EXPECT_GT(beside, alone);
    EXPECT_LT(beside, 4 * alone);
  }
}

TEST(Neighbours, LinksCarryWhatHasPassed) {
  for (const bool training : {false, true}) {
    model::Scenario s = two_leaves({0, 1, 4, 5});
    if (training) {
      model::TrainingJob job;
      job.layout.data = 4;
      job.layers = {{.forward = Seconds{1e-3},
                     .backward = Seconds{2e-3},
                     .gradients = Bytes{4'000'000},
                     .activations = {}}};
      s.job.work = job;
    }
    model::Neighbour n;
    n.nodes = {2, 6};
    n.bytes = Bytes{200'000'000'000};
    s.neighbours = {n};
    const Outcome out = ran(s);
    ASSERT_FALSE(out.links.empty());
    double busiest = 0;
    for (const LinkLoad& link : out.links) busiest = std::max(busiest, link.utilisation_ratio);
    EXPECT_NEAR(busiest, 1, 1e-9) << training;  // the up-link, all the time
  }
}

// A port that a neighbour never leaves: a message goes through after ten losses.
TEST(Neighbours, AFullPortIsNotForEver) {
  model::Scenario s = two_leaves({0, 1, 4, 5}, 1);
  s.fabric.timeouts.wait = Seconds{1e-3};
  s.fabric.timeouts.flows = 1;
  model::Neighbour n;
  n.nodes = {2, 6};
  n.bytes = Bytes{40'000'000'000'000};
  s.neighbours = {n};
  EXPECT_LT(ran(s).total.count(),
            6 * 2 * 1.1);  // six rounds, each at most 1 + 2 + ... + 512 ms late, twice over
}

TEST(Neighbours, AreMechanisms) {
  model::Scenario s = two_leaves({0, 1, 4, 5});
  s.neighbours = {like_ours({2, 3, 6, 7})};
  const auto made = attribute(s, {});
  ASSERT_TRUE(made) << made.error().to_string();
  bool found = false;
  for (const MechanismCost& m : made->mechanisms) {
    if (m.name != "neighbour b") continue;
    found = true;
    // Without it the job is on a 4:1 tree still; with full links it has an up-link of its own.
    EXPECT_NEAR(m.last.count(), s.job.steps * 6 * kRound, 1e-9);
  }
  EXPECT_TRUE(found);
}

// A flow that takes half of the up-link in every round, and one inside a leaf that we never meet.
TEST(Neighbours, EachIsAMechanismOfItsOwn) {
  model::Scenario s = two_leaves({0, 1, 4, 5});
  s.fabric.oversubscription = 4;
  model::Neighbour idle;
  idle.name = "idle";
  idle.nodes = {2, 3};
  idle.bytes = Bytes{1'000'000};
  model::Neighbour loud = idle;
  loud.name = "loud";
  loud.nodes = {2, 6};
  loud.bytes = Bytes{1'000'000'000};
  for (const bool idle_first : {true, false}) {
    s.neighbours = idle_first ? std::vector{idle, loud} : std::vector{loud, idle};
    const auto made = attribute(s, {});
    ASSERT_TRUE(made) << made.error().to_string();
    double sum = 0;
    double last_of_idle = -1;
    double last_of_loud = -1;
    for (const MechanismCost& m : made->mechanisms) {
      sum += m.share.count();
      if (m.name == "neighbour idle") last_of_idle = m.last.count();
      if (m.name == "neighbour loud") last_of_loud = m.last.count();
    }
    EXPECT_NEAR(sum, (made->with - made->without).count(), 1e-12);
    EXPECT_NEAR(last_of_idle, 0, 1e-9) << idle_first;
    EXPECT_NEAR(last_of_loud, s.job.steps * 6 * kRound, 1e-9) << idle_first;
  }
}

TEST(Neighbours, SameSeedSameBytesForAnyThreads) {
  model::Scenario s = two_leaves({0, 1, 4, 5}, 20);
  s.neighbours = {like_ours({2, 3, 6, 7})};
  s.noise.push_back({.name = "jitter", .cv = 0.1});
  s.replicas = 8;
  const auto one = simulate(s, {.threads = 1});
  const auto four = simulate(s, {.threads = 4});
  ASSERT_TRUE(one && four);
  EXPECT_EQ(one->over_replicas.mean, four->over_replicas.mean);
  EXPECT_EQ(one->step_ends, four->step_ends);
  EXPECT_GT(one->total.count(), 20 * (kCompute + 6 * kRound));
}

TEST(Neighbours, WhatPlaysNoLinksRefusesThem) {
  model::Scenario s = two_leaves({0, 1, 4, 5});
  s.neighbours = {like_ours({2, 3, 6, 7})};
  s.engine = model::EngineKind::MaxPlus;
  const auto made = simulate(s, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "simulate-003");
}

}  // namespace
}  // namespace cox::simulate
