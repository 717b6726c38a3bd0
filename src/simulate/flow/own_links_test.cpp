// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/own_links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "cox/base/random.hpp"
#include "cox/simulate/flow.hpp"
#include "cox/simulate/max_plus.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Collective;
using model::FabricKind;

model::Link link(double latency, double rate) {
  return {.latency = Seconds{latency}, .bandwidth = Bandwidth::bytes_per_s(rate)};
}

struct Setting {
  std::string name;
  model::Cluster cluster;
  model::Fabric fabric;
};

Setting dgx(int nodes) {
  Setting s{.name = "dgx", .cluster = {}, .fabric = {}};
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = s.cluster.nics_per_node = 8;
  s.cluster.scale_up = link(0.6e-6, 450e9);
  s.cluster.nic = link(1.35e-6, 50e9);
  s.cluster.pcie = link(0, 63e9);
  s.fabric.kind = FabricKind::RailOptimised;
  s.fabric.link = link(130e-9, 50e9);
  s.fabric.hosts_per_leaf = 4;
  return s;
}

Setting tree(int hosts, double oversubscription) {
  Setting s{.name = "tree", .cluster = {}, .fabric = {}};
  s.cluster.nodes = hosts;
  s.cluster.nic = link(1e-6, 12.5e9);
  s.fabric.kind = FabricKind::FatTree;
  s.fabric.link = link(0.5e-6, 12.5e9);
  s.fabric.hosts_per_leaf = 4;
  s.fabric.oversubscription = oversubscription;
  return s;
}

Setting torus(std::vector<int> extents) {
  Setting s{.name = "torus", .cluster = {}, .fabric = {}};
  s.cluster.nodes = std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>());
  s.fabric.kind = FabricKind::Torus;
  s.fabric.link = link(1e-6, 50e9);
  s.fabric.torus = std::move(extents);
  return s;
}

std::vector<int> in_order(int n) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> shuffled(int n, std::uint64_t seed) {
  std::vector<int> order = in_order(n);
  const RandomStream draw(seed, 2);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.bits(0, i) % i]);
  return order;
}

/// Whether it is said that no link is shared; then the answers are compared, for equal arrivals and others.
bool compare(const Setting& s, const model::CollectiveSpec& spec, const std::vector<int>& order) {
  const std::string what = s.name + ' ' + std::string(name_of(spec.kind)) + ' ' +
                           std::string(name_of(spec.algorithm)) + ' ' + std::to_string(spec.ranks) + ' ' +
                           std::to_string(spec.bytes.count());
  const auto network = Network::make(s.cluster, s.fabric);
  const auto schedule = model::Schedule::make(spec);
  if (!network || !schedule) {
    ADD_FAILURE() << what << ' ' << (network ? schedule.error() : network.error()).to_string();
    return false;
  }
  OwnLinks own(*network, s.fabric, 1);
  const int team = own.add_team(order, 1);
  if (!own.add(team, *schedule)) return false;
  const auto costs = own.costs(team);
  if (!costs) return false;
  std::vector<double> carried(network->links().size());
  own.carry(team, *schedule, 1, carried);
  for (const double spread : {0.0, 1e-5, 3e-3}) {
    std::vector<double> draws(static_cast<std::size_t>(spec.ranks));
    RandomStream(9, 1).uniforms(0, 0, draws);
    std::vector<Seconds> flows;
    flows.reserve(draws.size());
    for (const double d : draws) flows.emplace_back(spread * d);
    std::vector<Seconds> swept = flows;
    std::vector<Seconds> closed = flows;
    const FlowOutcome outcome = run_flows(*schedule, *network, s.fabric, order, {}, flows);
    (void)run_collective(*schedule, *costs, {.closure = false}, swept);
    (void)run_collective(*schedule, *costs, {}, closed);
    for (std::size_t r = 0; r < flows.size(); ++r) {
      EXPECT_NEAR(swept[r].count(), flows[r].count(), 1e-9 * flows[r].count()) << what << " rank " << r;
      EXPECT_NEAR(closed[r].count(), swept[r].count(), 1e-12 * swept[r].count()) << what << " rank " << r;
      if (testing::Test::HasFailure()) return true;
    }
    for (std::size_t l = 0; l < carried.size(); ++l)
      EXPECT_DOUBLE_EQ(carried[l], outcome.link_bytes[l]) << what << ' ' << network->links()[l].name;
  }
  return true;
}

const std::vector<model::CollectiveSpec> kCollectives = {
    {.kind = Collective::AllReduce, .algorithm = Algorithm::Ring},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::BidirectionalRing},
    {.kind = Collective::AllGather, .algorithm = Algorithm::Ring},
    {.kind = Collective::ReduceScatter, .algorithm = Algorithm::Ring},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::RecursiveDoubling},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::HalvingDoubling},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::Hierarchical2, .group = 8},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::BinomialTree},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::BinaryTree, .chunks = 3},
    {.kind = Collective::AllReduce, .algorithm = Algorithm::DoubleBinaryTree, .chunks = 3},
    {.kind = Collective::Broadcast, .algorithm = Algorithm::Chain, .chunks = 5},
    {.kind = Collective::AllToAll, .algorithm = Algorithm::Direct},
    {.kind = Collective::Barrier, .algorithm = Algorithm::Dissemination}};

// Whatever is said to share nothing does what the flow engine says, to nine digits, and every algorithm's
// answer is one or the other. Which do is written down, so that a predicate that always refuses fails.
TEST(OwnLinks, WhatSharesNothingIsMaxPlus) {
  int alone = 0;
  for (const Setting& s :
       {dgx(2), dgx(8), tree(16, 1), tree(16, 4), torus({16}), torus({4, 4}), torus({2, 8})})
    for (model::CollectiveSpec spec : kCollectives)
      for (const std::int64_t bytes : {0, 1000, 1'000'003, 64'000'000}) {
        spec.ranks = static_cast<int>(s.cluster.ranks());
        spec.bytes = Bytes{bytes};
        for (const bool random : {false, true})
          alone += compare(s, spec, random ? shuffled(spec.ranks, 5) : in_order(spec.ranks)) ? 1 : 0;
        if (testing::Test::HasFailure()) return;
      }
  EXPECT_GE(alone, 100);
}

TEST(OwnLinks, RingsOfADgxShareNothing) {
  for (const int nodes : {1, 2, 4, 5, 16})
    for (const std::int64_t bytes : {1'000'000, 430'000'000})
      for (const Collective kind :
           {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter}) {
        const model::CollectiveSpec spec{
            .kind = kind, .algorithm = Algorithm::Ring, .ranks = 8 * nodes, .bytes = Bytes{bytes}};
        EXPECT_TRUE(compare(dgx(nodes), spec, in_order(spec.ranks))) << nodes;
      }
}

// Rings inside nodes, then one per rail across them; those between leaves take longer than those inside one.
TEST(OwnLinks, HierarchicalOnRailsSharesNothing) {
  for (const int nodes : {2, 4, 8, 16})
    for (const std::int64_t bytes : {1'000'000, 64'000'000})
      EXPECT_TRUE(compare(
          dgx(nodes),
          {.algorithm = Algorithm::Hierarchical2, .ranks = 8 * nodes, .bytes = Bytes{bytes}, .group = 8},
          in_order(8 * nodes)))
          << nodes;
}

// A rank of a list goes on when it has got its message, and sends the next by another port, or another cable.
TEST(OwnLinks, WhoGoesOnDoesNotWaitForAPortThatItDoesNotUse) {
  Setting pairs = dgx(6);
  pairs.cluster.devices_per_node = pairs.cluster.nics_per_node = 2;
  int alone = 0;
  for (const Setting& s : {pairs, torus({8}), torus({2, 4})})
    for (const int ranks : {3, 5, 6, 7})
      for (const Collective kind : {Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce})
        for (const Algorithm a : {Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling}) {
          const model::CollectiveSpec spec{
              .kind = kind, .algorithm = a, .ranks = ranks, .bytes = Bytes{1'000'000}};
          if (!model::Schedule::make(spec)) continue;
          alone += compare(s, spec, in_order(ranks)) ? 1 : 0;
        }
  EXPECT_GE(alone, 1);
}

TEST(OwnLinks, RefusesWhereLinksMeet) {
  const auto ring = [](int ranks) {
    return model::CollectiveSpec{.algorithm = Algorithm::Ring, .ranks = ranks, .bytes = Bytes{1 << 20}};
  };
  EXPECT_TRUE(compare(tree(16, 4), ring(16), in_order(16)));  // one message leaves each leaf
  EXPECT_FALSE(compare(tree(16, 4), ring(16), shuffled(16, 5)));
  // Two lanes of one device meet on its NIC; rings of two directions have a cable each in a torus.
  const model::CollectiveSpec both{
      .algorithm = Algorithm::BidirectionalRing, .ranks = 16, .bytes = Bytes{1 << 20}};
  EXPECT_FALSE(compare(tree(16, 1), both, in_order(16)));
  EXPECT_TRUE(compare(torus({16}), both, in_order(16)));
  // What leaves a place for one may be under way when the next begins.
  const model::CollectiveSpec all{
      .kind = Collective::AllToAll, .algorithm = Algorithm::Direct, .ranks = 16, .bytes = Bytes{1 << 20}};
  EXPECT_FALSE(compare(tree(16, 1), all, in_order(16)));
  const Setting s = tree(16, 1);
  const auto network = Network::make(s.cluster, s.fabric);
  ASSERT_TRUE(network);
  // A server is on somebody's device.
  const auto served = model::Schedule::make(
      {.algorithm = Algorithm::ParameterServer, .ranks = 16, .bytes = Bytes{1000}, .servers = 2});
  ASSERT_TRUE(served);
  OwnLinks own(*network, s.fabric, 1);
  EXPECT_FALSE(own.add(own.add_team(in_order(16), 1), *served));
  // Two teams, each alone, on the same devices.
  OwnLinks two(*network, s.fabric, 1);
  const auto schedule = model::Schedule::make(ring(16));
  ASSERT_TRUE(schedule);
  EXPECT_TRUE(two.add(two.add_team(in_order(16), 1), *schedule));
  EXPECT_FALSE(two.add(two.add_team(in_order(16), 1), *schedule));
}

TEST(OwnLinks, PairsThatLeaveTogetherShareNothing) {
  Setting s = tree(16, 1);
  s.fabric.hosts_per_leaf = 16;
  for (const Algorithm algorithm : {Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling})
    EXPECT_TRUE(compare(s, {.algorithm = algorithm, .ranks = 16, .bytes = Bytes{1 << 20}}, shuffled(16, 5)));
  // Not so where one gives a byte more than it gets.
  EXPECT_FALSE(compare(s, {.algorithm = Algorithm::HalvingDoubling, .ranks = 16, .bytes = Bytes{1'000'003}},
                       in_order(16)));
}

// Tensor ranks are groups beside each other, one on each rail.
TEST(OwnLinks, GroupsBesideEachOther) {
  const Setting s = dgx(8);
  const auto network = Network::make(s.cluster, s.fabric);
  const auto schedule =
      model::Schedule::make({.algorithm = Algorithm::Ring, .ranks = 8, .bytes = Bytes{80'000'001}});
  ASSERT_TRUE(network && schedule);
  std::vector<int> devices;
  for (int g = 0; g < 8; ++g)
    for (int node = 0; node < 8; ++node) devices.push_back(node * 8 + g);
  OwnLinks own(*network, s.fabric, 1);
  const int team = own.add_team(devices, 8);
  ASSERT_TRUE(own.add(team, *schedule));
  const auto costs = own.costs(team);
  ASSERT_TRUE(costs);
  std::vector<Seconds> flows(8);
  std::vector<Seconds> swept(8);
  (void)run_flows(*schedule, *network, s.fabric, std::span(devices).subspan(24, 8), {}, flows);
  (void)run_collective(*schedule, *costs, {}, swept);
  for (std::size_t r = 0; r < 8; ++r)
    EXPECT_NEAR(swept[r].count(), flows[r].count(), 1e-9 * flows[r].count());
}

}  // namespace
}  // namespace cox::simulate
