// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/shared_cards.hpp"

#include <gtest/gtest.h>

#include "cox/simulate/outcome.hpp"

namespace cox::simulate {
namespace {

/// 16 ranks on 4 nodes whose devices share `cards`, 16 MB by `algorithm`.
model::Scenario job(model::Algorithm algorithm, int cards) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 4;
  s.cluster.nics_per_node = cards;
  s.cluster.scale_up.bandwidth = Bandwidth::gbyte_per_s(100);
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.inside = {.per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.across = {.per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  s.job.as<model::CollectiveJob>().collective = {.kind = model::Collective::AllReduce,
                                                 .algorithm = algorithm,
                                                 .ranks = 16,
                                                 .bytes = Bytes{16'000'000},
                                                 .chunks = 8};
  return s;
}

Outcome by(model::Scenario s, model::EngineKind engine) {
  s.engine = engine;
  const auto made = simulate(s, {});
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *made : Outcome{};
}

TEST(SharedCards, OfATreeAreLeftToFlow) {
  const model::Scenario s = job(model::Algorithm::DoubleBinaryTree, 1);
  const Outcome ours = by(s, model::EngineKind::Auto);
  EXPECT_EQ(ours.engine, model::EngineKind::Flow);
  EXPECT_EQ(ours.total, by(s, model::EngineKind::Flow).total);
  EXPECT_TRUE(ours.not_modelled.empty());
  EXPECT_GT(ours.total, by(s, model::EngineKind::MaxPlus).total);
}

// By hand: a root that waits for nobody sends step after step through one port, 0.1 ms each; the last is three hops of 20 us and
// two more of 0.1 ms away. Computing meanwhile moves the first message and no other (LogGOPS: 4.26 and 4.36 ms, too).
TEST(SharedCards, EagerStepsLeaveInTurn) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.nic = {.latency = Seconds{10e-6}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.protocol = model::Protocol::Eager;
  s.job.steps = 40;
  auto& work = s.job.as<model::CollectiveJob>();
  work.collective = {.kind = model::Collective::Broadcast,
                     .algorithm = model::Algorithm::Chain,
                     .ranks = 4,
                     .bytes = Bytes{1'000'000}};
  EXPECT_NEAR(by(s, model::EngineKind::Flow).total.count(), 4.26e-3, 1e-12);
  work.compute = Seconds{0.1e-3};
  EXPECT_NEAR(by(s, model::EngineKind::Flow).total.count(), 4.36e-3, 1e-12);
  // A port is free when the bytes have left it, not when they are there: 1 kB of 0.1 us each, 40 behind each other, and the way.
  work.compute = {};
  work.collective.bytes = Bytes{1000};
  EXPECT_NEAR(by(s, model::EngineKind::Flow).total.count(), 40 * 0.1e-6 + 3 * 20e-6 + 2 * 0.1e-6, 1e-15);
}

// What takes a port no time is bounded, as each open step takes memory: at most 1,024 messages of a rank are under way when it
// begins the next step. Of 3,000 of no bytes, 1,025 set out at 0, as many when these are there, and the rest when those are.
TEST(SharedCards, EagerMessagesUnderWayAreBounded) {
  model::Scenario s;
  s.cluster.nodes = 2;
  s.cluster.nic = {.latency = Seconds{10e-6}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.protocol = model::Protocol::Eager;
  auto& work = s.job.as<model::CollectiveJob>();
  work.collective = {
      .kind = model::Collective::Broadcast, .algorithm = model::Algorithm::Chain, .ranks = 2, .bytes = {}};
  for (const auto& [steps, ways] : {std::pair{1024, 1}, {1025, 1}, {1026, 2}, {3000, 3}}) {
    s.job.steps = steps;
    const Outcome out = by(s, model::EngineKind::Flow);
    EXPECT_NEAR(out.total.count(), ways * 20e-6, 1e-15) << steps;
    EXPECT_EQ(out.not_modelled.size(), steps > 1024 ? 1U : 0U) << steps;  // it is said
  }
}

// By hand: eight ranks behind a server of 1 GB/s get 1 MB each, a step 8 ms; a server is in every step at once, and holds none.
TEST(SharedCards, EagerServersAreInAllSteps) {
  model::Scenario s;
  s.cluster.nodes = 9;
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.protocol = model::Protocol::Eager;
  s.job.steps = 10;
  s.job.as<model::CollectiveJob>().collective = {.kind = model::Collective::Broadcast,
                                                 .algorithm = model::Algorithm::ParameterServer,
                                                 .ranks = 9,
                                                 .bytes = Bytes{1'000'000},
                                                 .servers = 1};
  EXPECT_NEAR(by(s, model::EngineKind::Flow).total.count(), 80e-3, 1e-9);
}

// By hand: nine servers beside nine ranks send 1 MB to each of the eight others, 8 ms of each card. They are ready when the first
// rank is, so nothing is sent while all compute: a step is 10 + 8 ms, eager or not.
TEST(SharedCards, EagerServersAreReadyWithTheFirstRank) {
  for (const auto protocol : {model::Protocol::Rendezvous, model::Protocol::Eager}) {
    model::Scenario s;
    s.cluster.nodes = 9;
    s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
    s.protocol = protocol;
    s.job.steps = 10;
    auto& work = s.job.as<model::CollectiveJob>();
    work.compute = Seconds{10e-3};
    work.collective = {.kind = model::Collective::Broadcast,
                       .algorithm = model::Algorithm::ParameterServer,
                       .ranks = 9,
                       .bytes = Bytes{9'000'000},
                       .servers = 9};
    EXPECT_NEAR(by(s, model::EngineKind::Flow).total.count(), 180e-3, 1e-9);
  }
}

TEST(SharedCards, WhatMaxPlusKnowsStaysThere) {
  EXPECT_EQ(by(job(model::Algorithm::HalvingDoubling, 4), model::EngineKind::Auto).engine,
            model::EngineKind::MaxPlus);
  EXPECT_EQ(by(job(model::Algorithm::Ring, 1), model::EngineKind::Auto).engine, model::EngineKind::MaxPlus);
}

TEST(SharedCards, OfTwoDirectionsAndTwoTreesAreLeftToFlow) {
  for (const auto algorithm : {model::Algorithm::DoubleBinaryTree, model::Algorithm::BidirectionalRing}) {
    const Outcome ours = by(job(algorithm, 4), model::EngineKind::Auto);
    EXPECT_EQ(ours.engine, model::EngineKind::Flow);
    EXPECT_TRUE(ours.not_modelled.empty());
  }
  const model::Scenario one = job(model::Algorithm::BidirectionalRing, 1);
  EXPECT_NEAR(by(one, model::EngineKind::Auto).total / by(one, model::EngineKind::MaxPlus).total, 2, 0.01);
}

// Each of a rank's messages is as long as that to its node's other devices, and two of a node's ranks share the card: max-plus gives
// each its turn, and the card stands still between them.
TEST(SharedCards, OfExchangesAreLeftToFlow) {
  model::Scenario s = job(model::Algorithm::Direct, 1);
  s.job.as<model::CollectiveJob>().collective.kind = model::Collective::AllToAll;
  const Outcome ours = by(s, model::EngineKind::Auto);
  EXPECT_EQ(ours.total, by(s, model::EngineKind::Flow).total);
  EXPECT_LT(ours.total, by(s, model::EngineKind::MaxPlus).total);
  EXPECT_TRUE(ours.not_modelled.empty());
}

// Costs that somebody wrote are not those of the links; more messages than are played soon stay, too. Both are told.
TEST(SharedCards, StayWithMaxPlusWhereFlowWouldSayAnotherThing) {
  model::Scenario said = job(model::Algorithm::DoubleBinaryTree, 1);
  said.across.latency = Seconds{1e-6};
  model::Scenario many = job(model::Algorithm::DoubleBinaryTree, 1);
  many.job.as<model::CollectiveJob>().collective.chunks = 1'000'000;
  const auto schedule = model::Schedule::make(many.job.as<model::CollectiveJob>().collective);
  const auto network = Network::make(many.cluster, many.fabric);
  ASSERT_TRUE(schedule && network);
  EXPECT_TRUE(shares_cards_in_lists(many, *schedule));
  EXPECT_FALSE(flow_may_stand_in(many, *schedule, *network));
  EXPECT_FALSE(flow_may_stand_in(said, *schedule, *network));
  const Outcome out = by(said, model::EngineKind::Auto);
  EXPECT_EQ(out.engine, model::EngineKind::MaxPlus);
  EXPECT_FALSE(out.not_modelled.empty());
}

// Eight devices of a node at 1 GB/s, two trees of 4 MB in four chunks each: no message waits for another by max-plus.
TEST(SharedCards, OfEagerMessagesAreLeftToFlowInsideANodeToo) {
  model::Scenario s = job(model::Algorithm::DoubleBinaryTree, 1);
  s.cluster.nodes = 1;
  s.cluster.devices_per_node = 8;
  s.cluster.scale_up.bandwidth = Bandwidth::gbyte_per_s(1);
  s.inside = {.per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.protocol = model::Protocol::Eager;
  model::CollectiveSpec& spec = s.job.as<model::CollectiveJob>().collective;
  spec.ranks = 8;
  spec.bytes = Bytes{8'000'000};
  spec.chunks = 4;
  const Outcome ours = by(s, model::EngineKind::Auto);
  EXPECT_EQ(ours.engine, model::EngineKind::Flow);
  EXPECT_NEAR(ours.total.count(), 29e-3, 1e-9);
  const Outcome alone = by(s, model::EngineKind::MaxPlus);
  EXPECT_NEAR(alone.total.count(), 19e-3, 1e-9);
  ASSERT_EQ(alone.not_modelled.size(), 1U);
  EXPECT_TRUE(alone.not_modelled.front().starts_with("eager messages wait for no port"));
  // In step nobody meets: a ring of devices of one node.
  spec.algorithm = model::Algorithm::Ring;
  spec.chunks = 1;
  EXPECT_EQ(by(s, model::EngineKind::Auto).engine, model::EngineKind::MaxPlus);
  EXPECT_TRUE(by(s, model::EngineKind::Auto).not_modelled.empty());
  EXPECT_NEAR(by(s, model::EngineKind::Flow).total.count(), 14e-3, 1e-9);
}

// By hand, chunks of 1 ms around three devices, rank 0 comes at 3 ms: it has got both chunks by then, and sends two. They leave in
// turn, so rank 1 has them at 4 and 5 ms; were there no port, both at 4.
TEST(SharedCards, EagerMessagesOfALateRankLeaveInTurn) {
  model::Scenario s = job(model::Algorithm::Ring, 1);
  s.cluster.nodes = 1;
  s.cluster.devices_per_node = 3;
  s.cluster.scale_up.bandwidth = Bandwidth::gbyte_per_s(1);
  s.inside = {.per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.protocol = model::Protocol::Eager;
  s.job.as<model::CollectiveJob>().collective = {
      .kind = model::Collective::AllGather, .ranks = 3, .bytes = Bytes{3'000'000}};
  model::NoiseSource late;
  late.law = model::NoiseLaw::Constant;
  late.relative = false;
  late.mean = Seconds{3e-3};
  late.ranks = {0};
  s.noise = {late};
  const Outcome ours = by(s, model::EngineKind::Auto);
  ASSERT_EQ(ours.rank_ends.size(), 3U);
  EXPECT_NEAR(ours.rank_ends[1].count(), 5e-3, 1e-9);
  EXPECT_NEAR(by(s, model::EngineKind::MaxPlus).rank_ends[1].count(), 4e-3, 1e-9);
}

TEST(SharedCards, TheNumberOfStepsAndSeedsDoesNotChooseTheEngine) {
  model::Scenario s = job(model::Algorithm::DoubleBinaryTree, 1);
  const auto network = Network::make(s.cluster, s.fabric);
  const auto schedule = model::Schedule::make(s.job.as<model::CollectiveJob>().collective);
  ASSERT_TRUE(network && schedule);
  ASSERT_TRUE(flow_may_stand_in(s, *schedule, *network));
  s.job.steps = 1'000'000;
  s.replicas = 1000;
  EXPECT_TRUE(flow_may_stand_in(s, *schedule, *network));
}

TEST(SharedCards, PortsThatServeInTurnAreSaidSo) {
  const auto notes = [](model::Algorithm algorithm, model::EngineKind engine) {
    model::Scenario s = job(algorithm, 4);
    s.cluster.nodes = 16;
    s.cluster.devices_per_node = 1;
    s.cluster.nics_per_node = 1;
    std::size_t found = 0;
    for (const std::string& note : by(s, engine).not_modelled)
      found += note.find("one after the other") != std::string::npos ? 1 : 0;
    return found;
  };
  EXPECT_EQ(notes(model::Algorithm::BinaryTree, model::EngineKind::MaxPlus), 1U);
  EXPECT_EQ(notes(model::Algorithm::BinaryTree, model::EngineKind::Flow), 0U);
  EXPECT_EQ(notes(model::Algorithm::Ring, model::EngineKind::MaxPlus), 0U);
  EXPECT_EQ(notes(model::Algorithm::BinomialTree, model::EngineKind::MaxPlus), 0U);
}

}  // namespace
}  // namespace cox::simulate
