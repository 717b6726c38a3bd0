// SPDX-License-Identifier: Apache-2.0
// Jobs of collectives through `simulate`: what the engines agree on, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cox/model/closed_form.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/flow/places.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Collective;
using model::EngineKind;

constexpr double kAlpha = 2e-6;
constexpr double kBeta = 1e-9;

/// Nodes of one device on one switch.
model::Scenario switched(int nodes) {
  model::Scenario s;
  s.cluster.nodes = nodes;
  s.cluster.nic = {.latency = Seconds{kAlpha / 2}, .bandwidth = Bandwidth::bytes_per_s(1 / kBeta)};
  s.fabric.link = s.cluster.nic;
  s.across = {.latency = Seconds{kAlpha}, .per_byte = TimePerByte::seconds_per_byte(kBeta)};
  return s;
}

double total(model::Scenario s, EngineKind engine) {
  s.engine = engine;
  const auto made = simulate(s, {});
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? made->total.count() : -1;
}

std::string refused(const model::Scenario& s) {
  const auto made = simulate(s, {});
  if (made) return "no error";
  EXPECT_EQ(made.error().id, "simulate-003");
  return made.error().message;
}

// The server is behind its ranks: a push is over when it has everything, also where the ranks leave as soon
// as they have sent (eager).
TEST(CollectiveJob, APushEndsWhenItsServerHasEverything) {
  for (const int ranks : {2, 3, 8, 13})
    for (const model::Protocol protocol : {model::Protocol::Rendezvous, model::Protocol::Eager}) {
      model::Scenario s = switched(ranks);
      s.protocol = protocol;
      s.job.as<model::CollectiveJob>().collective = {.kind = Collective::Reduce,
                                                     .algorithm = Algorithm::ParameterServer,
                                                     .ranks = ranks,
                                                     .bytes = Bytes{1000}};
      const double bytes = 1000 * kBeta;
      EXPECT_NEAR(total(s, EngineKind::MaxPlus), kAlpha + ranks * bytes, 1e-15) << ranks;
      // the flow engine has the server on the device of rank 0, whose push crosses no link
      EXPECT_NEAR(total(s, EngineKind::Flow), kAlpha + (ranks - 1) * bytes, 1e-15) << ranks;
    }
}

TEST(CollectiveJob, NoBytesToAServerCostTheirLatencyUnderEveryProtocol) {
  for (const model::Protocol protocol :
       {model::Protocol::Rendezvous, model::Protocol::Eager, model::Protocol::EagerGap}) {
    model::Scenario s = switched(4);
    s.protocol = protocol;
    s.job.as<model::CollectiveJob>().collective = {
        .kind = Collective::Reduce, .algorithm = Algorithm::ParameterServer, .ranks = 4};
    EXPECT_NEAR(total(s, EngineKind::MaxPlus), kAlpha, 1e-18);
    EXPECT_NEAR(total(s, EngineKind::Flow), kAlpha, 1e-18);
  }
}

TEST(CollectiveJob, OnOneNodeServersAreInside) {
  model::Scenario s;
  s.cluster.devices_per_node = 4;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-10)};
  s.job.as<model::CollectiveJob>().collective = {
      .algorithm = Algorithm::ParameterServer, .ranks = 4, .bytes = Bytes{1000}};
  const double want = model::closed_form(s.job.as<model::CollectiveJob>().collective, s.inside)->count();
  EXPECT_NEAR(total(s, EngineKind::MaxPlus), want, 1e-9 * want);
  EXPECT_NEAR(total(s, EngineKind::ClosedForm), want, 1e-9 * want);
}

TEST(CollectiveJob, RanksOfOneNodeOfManyAreInsideIt) {
  model::Scenario s = switched(4);
  s.cluster.devices_per_node = 4;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-10)};
  s.job.as<model::CollectiveJob>().collective = {.ranks = 4, .bytes = Bytes{1000}};
  const double want = model::closed_form(s.job.as<model::CollectiveJob>().collective, s.inside)->count();
  EXPECT_NEAR(total(s, EngineKind::MaxPlus), want, 1e-9 * want);
  EXPECT_NEAR(total(s, EngineKind::ClosedForm), want, 1e-9 * want);
}

// A card that four devices share is as busy under every engine. By hand, all-reduce of 16 MB over 16 ranks: hierarchical sends 2 x 3/4
// x 4 MB of each of four devices through a card; doubling sends 16 MB of each in two of its four rounds.
TEST(CollectiveJob, DevicesThatShareACardShareItUnderEveryEngine) {
  model::Scenario s = switched(4);
  s.cluster.devices_per_node = 4;
  s.cluster.nics_per_node = 1;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-12)};
  s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::bytes_per_s(1e12)};
  const double card = 16e6 * kBeta;
  for (const auto& [algorithm, least] :
       {std::pair{Algorithm::Hierarchical2, 1.5 * card}, std::pair{Algorithm::RecursiveDoubling, 8 * card},
        std::pair{Algorithm::HalvingDoubling, 6 * card}}) {
    s.job.as<model::CollectiveJob>().collective = {.kind = Collective::AllReduce,
                                                   .algorithm = algorithm,
                                                   .ranks = 16,
                                                   .bytes = Bytes{16'000'000},
                                                   .group = 4};
    EXPECT_NEAR(total(s, EngineKind::MaxPlus), least, 0.01 * least);
    EXPECT_NEAR(total(s, EngineKind::MaxPlus), total(s, EngineKind::Flow), 0.01 * least);
  }
}

TEST(CollectiveJob, TheClosedFormIsOfRendezvous) {
  model::Scenario s = switched(4);
  s.job.as<model::CollectiveJob>().collective = {.ranks = 4, .bytes = Bytes{1000}};
  s.engine = EngineKind::ClosedForm;
  EXPECT_EQ(refused(s), "no error");
  s.protocol = model::Protocol::Eager;
  EXPECT_EQ(refused(s), "the closed form cannot do this: its messages are rendezvous, not eager");
}

TEST(CollectiveJob, AGraphWithoutACostNeedsTheFlowEngine) {
  model::Scenario s = switched(4);
  s.across = {};
  s.job.as<model::CollectiveJob>().collective = {.ranks = 4, .bytes = Bytes{1000}};
  s.fabric.kind = model::FabricKind::Graph;
  for (const EngineKind engine : {EngineKind::MaxPlus, EngineKind::ClosedForm}) {
    s.engine = engine;
    EXPECT_EQ(refused(s), "what a message through the graph file costs is not known without the flow engine");
    s.across.per_byte = TimePerByte::seconds_per_byte(kBeta);
    EXPECT_EQ(refused(s), "no error");
    s.across = {};
  }
  s.job.work = model::TrainingJob{};
  s.engine = EngineKind::MaxPlus;
  EXPECT_EQ(refused(s), "what a message through the graph file costs is not known without the flow engine");
  s.engine = EngineKind::Auto;
  s.policy.kind = model::PolicyKind::Asynchronous;  // has no step to play on a network
  EXPECT_EQ(refused(s), "what a message through the graph file costs is not known without the flow engine");
}

// Servers go on devices of the ranks, wherever these are.
TEST(CollectiveJob, ServersAreSpreadOverTheDevicesOfRanks) {
  std::vector<int> rank_of = {4, 9, 1, 7};
  add_servers(rank_of, 6);
  EXPECT_EQ(rank_of, (std::vector<int>{4, 9, 1, 7, 4, 1}));
  add_servers(rank_of, 6);
  EXPECT_EQ(rank_of.size(), 6u);
}

// One seed disturbs the same rank's same step alike in both engines. In a ring a rank's messages go to one
// neighbour and never meet; elsewhere a disturbed send may still hold its port when the next round begins,
// which only the flow engine sees.
TEST(CollectiveJob, NoiseIsThatOfTheSeedRankAndStepWhateverTheEngine) {
  model::Scenario s = switched(8);
  s.seed = 42;
  s.job.steps = 5;
  s.job.as<model::CollectiveJob>().compute = Seconds{1e-3};
  s.job.as<model::CollectiveJob>().collective = {.ranks = 8, .bytes = Bytes{80000}};
  s.noise = {{.name = "work", .law = model::NoiseLaw::Lognormal, .cv = 0.2},
             {.name = "wire",
              .target = model::NoiseTarget::Message,
              .law = model::NoiseLaw::Exponential,
              .mean_ratio = 0.3},
             {.name = "rate",
              .target = model::NoiseTarget::Bandwidth,
              .law = model::NoiseLaw::Uniform,
              .mean_ratio = 0.2}};
  s.engine = EngineKind::MaxPlus;
  const auto a = simulate(s, {});
  s.engine = EngineKind::Flow;
  const auto b = simulate(s, {});
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->step_ends.size(), 5u);
  for (std::size_t k = 0; k < 5; ++k)
    EXPECT_NEAR(b->step_ends[k].count(), a->step_ends[k].count(), 1e-9 * a->step_ends[k].count()) << k;
  s.seed = 43;
  EXPECT_GT(std::abs(simulate(s, {})->total.count() - b->total.count()), 1e-6);
}

// NCCL's model: all leave that time after the last one has come; the result says what it chose.
TEST(CollectiveJob, NcclsModelPricesTheWhole) {
  model::Scenario s = switched(4);
  s.price = model::CollectivePrice::Nccl;
  s.nccl.ranks_per_node = 1;
  s.nccl.across = Bandwidth::gbyte_per_s(1);
  s.job.steps = 3;
  auto& job = s.job.as<model::CollectiveJob>();
  job.compute = Seconds{1e-3};
  job.collective = {.ranks = 4, .bytes = Bytes{1'000'000}};
  for (const Collective kind : {Collective::AllReduce, Collective::Broadcast}) {
    job.collective.kind = kind;
    const auto alone = *model::nccl_time(job.collective, s.nccl);
    const auto made = simulate(s, {});
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_EQ(made->engine, EngineKind::ClosedForm);
    EXPECT_NEAR(made->total.count(), 3 * (1e-3 + alone.time.count()), 1e-12);
    ASSERT_EQ(made->notes.size(), 1U);
    EXPECT_NE(made->notes[0].find(std::string(name_of(alone.algorithm)) + ", " +
                                  std::string(name_of(alone.protocol))),
              std::string::npos)
        << made->notes[0];
  }
  job.collective.kind = Collective::AllToAll;
  EXPECT_EQ(refused(s), "NCCL has no AllToAll of 4 ranks here");
}

TEST(CollectiveJob, ProgressIsToldWithinALongCollective) {
  for (const bool noisy : {false, true}) {
    model::Scenario s;
    s.cluster.nodes = noisy ? 3000 : 64;
    s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
    s.across = {.per_byte = s.cluster.nic.bandwidth.time_per_byte()};
    s.engine = noisy ? model::EngineKind::MaxPlus : model::EngineKind::Flow;
    if (noisy)
      s.noise = {
          {.name = "n", .target = model::NoiseTarget::Message, .law = model::NoiseLaw::Gaussian, .cv = 0.1}};
    s.job.as<model::CollectiveJob>().collective = {.ranks = s.cluster.nodes, .bytes = Bytes{1'000'003}};
    std::vector<double> done;
    ASSERT_TRUE(simulate(s, {.memo = false, .closure = false, .progress = [&](double k, double all) {
                               done.push_back(k);
                               EXPECT_EQ(all, 1);
                             }}));
    EXPECT_GE(done.size(), 2U) << noisy;
    EXPECT_TRUE(std::ranges::is_sorted(done));
    EXPECT_GT(done.front(), 0);
    EXPECT_LT(done.front(), 0.9);
    EXPECT_EQ(done.back(), 1);
  }
}

// A chain over nodes 0, 2, 1, 3 of two leaves with one up-link each: rank 0 is in the next step while node 1 still sends up the same
// link, so that two steps take more than one step and the 8 ms by which the second sets out later.
TEST(CollectiveJob, StepsThatFollowEachOtherShareTheirLinks) {
  model::Scenario s = switched(4);
  s.engine = EngineKind::Flow;
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 2;
  s.fabric.oversubscription = 2;
  s.job.places.nodes = {0, 2, 1, 3};
  s.job.as<model::CollectiveJob>().collective = {
      .kind = Collective::Broadcast, .algorithm = Algorithm::Chain, .ranks = 4, .bytes = Bytes{8'000'000}};
  s.job.steps = 1;
  const auto one = simulate(s, {});
  s.job.steps = 2;
  const auto two = simulate(s, {});
  ASSERT_TRUE(one && two);
  EXPECT_NEAR(one->total.count(), 24e-3, 1e-4);
  EXPECT_GT(two->total.count(), one->total.count() + 8e-3 + 1e-3);
}

// Two ranks in a ring of 2 MB at 1 GB/s, 1 ms a message without latency. What rank 0 receives takes 1 ms more, wherever it sits: round one
// 2 ms there and 1 at rank 1, and round two begins when rank 0 is there, 2 ms more. The node that rank 0 sits on is as good a name for it.
TEST(CollectiveJob, NoiseOfMessagesFollowsTheRanksToTheirNodes) {
  model::Scenario s = switched(8);
  s.across.latency = s.cluster.nic.latency = s.fabric.link.latency = Seconds{};
  s.job.steps = 1;
  s.job.as<model::CollectiveJob>().collective = {.ranks = 2, .bytes = Bytes{2'000'000}};
  s.noise = {{.name = "late",
              .target = model::NoiseTarget::Message,
              .law = model::NoiseLaw::Constant,
              .relative = false,
              .mean = Seconds{1e-3}}};
  const std::vector<std::vector<int>> places = {{}, {0, 1}, {5, 3}, {6, 7}};
  for (const std::vector<int>& nodes : places) {
    s.job.places.nodes = nodes;
    for (const int rank : {0, 1}) {
      s.noise[0].ranks = {rank};
      EXPECT_NEAR(total(s, EngineKind::Flow), 4e-3, 1e-9) << rank << " of " << nodes.size();
    }
    s.noise[0].ranks.clear();
    s.noise[0].scope = model::NoiseScope::Node;
    s.noise[0].pattern = model::NoisePattern::Rotating;
    EXPECT_NEAR(total(s, EngineKind::Flow), 4e-3, 1e-9) << nodes.size();
    s.noise[0].scope = model::NoiseScope::Rank;
    s.noise[0].pattern = model::NoisePattern::EveryStep;
  }
}

// A server on the device of the first of nine ranks sends 1 MB to each of the other eight, at 1 GB/s: ten steps are 80 ms of its card,
// however early some of them leave.
TEST(CollectiveJob, StepsThroughAServerShareItsCard) {
  model::Scenario s = switched(9);
  s.across.latency = s.cluster.nic.latency = s.fabric.link.latency = Seconds{};
  s.job.steps = 10;
  auto& spec = s.job.as<model::CollectiveJob>().collective;
  spec = {.kind = Collective::Broadcast,
          .algorithm = Algorithm::ParameterServer,
          .ranks = 9,
          .bytes = Bytes{1'000'000}};
  EXPECT_NEAR(total(s, EngineKind::Flow), 80e-3, 1e-9);
  EXPECT_NEAR(total(s, EngineKind::Auto), 80e-3, 1e-9);
  // by max-plus the server has a card of its own, which is as busy: 9 MB a step, one step after the other
  EXPECT_NEAR(total(s, EngineKind::MaxPlus), 90e-3, 1e-9);
  spec.kind = Collective::Reduce;
  EXPECT_NEAR(total(s, EngineKind::Flow), 80e-3, 1e-9);
  EXPECT_NEAR(total(s, EngineKind::MaxPlus), 90e-3, 1e-9);
}

// Packed before each, unpacked behind it, on one network for all steps: as by max-plus, where no two messages of a ring meet.
TEST(CollectiveJob, CompressedStepsGoOnOnOneNetwork) {
  model::Scenario s = switched(4);
  s.job.steps = 3;
  auto& job = s.job.as<model::CollectiveJob>();
  job.compute = Seconds{1e-3};
  job.collective = {.ranks = 4, .bytes = Bytes{4'000'000}};
  job.compression.kind = model::Compressor::Quantised;
  job.compression.bits = 8;
  job.compression.encode = job.compression.decode = Bandwidth::gbyte_per_s(2);
  const double packed = total(s, EngineKind::MaxPlus);
  EXPECT_GT(packed, 3 * (1e-3 + 2e-3));
  EXPECT_NEAR(total(s, EngineKind::Flow), packed, 1e-9 * packed);
  s.engine = EngineKind::MaxPlus;
  const auto a = simulate(s, {});
  s.engine = EngineKind::Flow;
  const auto b = simulate(s, {});
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(a->groups[0].busy.count(), 1e-3, 1e-12);
  EXPECT_NEAR(b->groups[0].busy.count(), 1e-3, 1e-12);
  EXPECT_NEAR(b->groups[0].exposed.count(), a->groups[0].exposed.count(), 1e-12);
  EXPECT_NEAR(b->groups[0].waiting.count(), a->groups[0].waiting.count(), 1e-12);
}

// Packing is part of the sum, however many steps there are: nine ranks compute 1 ms of each.
TEST(CollectiveJob, PackingForAServerIsNotWork) {
  model::Scenario s = switched(9);
  auto& job = s.job.as<model::CollectiveJob>();
  job.compute = Seconds{1e-3};
  job.collective = {.algorithm = Algorithm::ParameterServer, .ranks = 9, .bytes = Bytes{8'000'000}};
  job.compression.kind = model::Compressor::Quantised;
  job.compression.bits = 8;
  job.compression.encode = job.compression.decode = Bandwidth::gbyte_per_s(2);
  s.engine = EngineKind::Flow;
  for (const int steps : {1, 4}) {
    s.job.steps = steps;
    const auto made = simulate(s, {});
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_NEAR(made->groups[0].busy.count(), 1e-3, 1e-12) << steps;
    EXPECT_GT(made->groups[0].exposed.count(), 4e-3) << steps;
  }
}

// A factor has mean 1: two ranks, 1 MB at 1 GB/s, 1,000 steps, uniform with cv 0.5, so 1 s to three standard errors under every
// engine. Were messages cut at the rate of the wire, it would be E[max(1, U)] = 1.2165 s.
TEST(CollectiveJob, AFactorOfMeanOneIsThatOfEveryEngine) {
  model::Scenario s = switched(2);
  s.across.latency = s.cluster.nic.latency = s.fabric.link.latency = Seconds{};
  s.job.steps = 1000;
  s.job.as<model::CollectiveJob>().collective = {.kind = Collective::Broadcast,
                                                 .algorithm = Algorithm::BinomialTree,
                                                 .ranks = 2,
                                                 .bytes = Bytes{1'000'000}};
  for (const model::NoiseTarget target : {model::NoiseTarget::Bandwidth, model::NoiseTarget::Message}) {
    s.noise = {{.name = "rate", .target = target, .law = model::NoiseLaw::Uniform, .cv = 0.5}};
    const double swept = total(s, EngineKind::MaxPlus);
    EXPECT_NEAR(swept, 1, 3 * 0.5 / std::sqrt(1000));
    EXPECT_NEAR(total(s, EngineKind::Flow), swept, 1e-9);
    EXPECT_NEAR(total(s, EngineKind::Auto), swept, 1e-9);
  }
}

// The rate is then the mean's, so half of the time is no fault of an engine: noted, not left out. Without noise it is.
TEST(CollectiveJob, MessagesThatNoiseMakesShorterAreNoted) {
  model::Scenario s = switched(2);
  s.across.latency = s.cluster.nic.latency = s.fabric.link.latency = Seconds{};
  s.job.as<model::CollectiveJob>().collective = {
      .kind = Collective::Broadcast, .algorithm = Algorithm::Chain, .ranks = 2, .bytes = Bytes{1'000'000}};
  s.noise = {{.name = "half",
              .target = model::NoiseTarget::Message,
              .law = model::NoiseLaw::Quantiles,
              .quantiles = {-0.5, -0.5}}};
  for (const EngineKind engine : {EngineKind::Auto, EngineKind::Flow, EngineKind::MaxPlus}) {
    s.engine = engine;
    const auto out = simulate(s, {});
    ASSERT_TRUE(out) << out.error().to_string();
    EXPECT_NEAR(out->total.count(), 0.5e-3, 1e-12);
    EXPECT_TRUE(out->not_modelled.empty());
    ASSERT_FALSE(out->notes.empty());
    EXPECT_NE(out->notes.back().find("200 % of the time"), std::string::npos) << out->notes.back();
  }
}

// Of messages with a latency, too, and those that are left no byte.
TEST(CollectiveJob, MessagesThatAreShorterThanTheirWayAreThatUnderEveryEngine) {
  model::Scenario s = switched(8);
  s.job.steps = 5;
  s.job.as<model::CollectiveJob>().collective = {.ranks = 8, .bytes = Bytes{80'000}};
  for (const double cv : {0.05, 0.3, 0.9}) {
    s.noise = {
        {.name = "wire", .target = model::NoiseTarget::Message, .law = model::NoiseLaw::Gaussian, .cv = cv}};
    const double swept = total(s, EngineKind::MaxPlus);
    EXPECT_NEAR(total(s, EngineKind::Flow), swept, 1e-9 * swept) << cv;
  }
}

}  // namespace
}  // namespace cox::simulate
