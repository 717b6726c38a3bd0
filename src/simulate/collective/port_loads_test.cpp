// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/port_loads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cox::simulate {
namespace {

/// Ranks on nodes of so many devices and cards, one switch between them.
model::Scenario job(model::Algorithm algorithm, int nodes, int devices, int cards) {
  model::Scenario s;
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = devices;
  s.cluster.nics_per_node = cards;
  s.cluster.scale_up.bandwidth = Bandwidth::gbyte_per_s(100);
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.inside = {.per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.across = {.per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  s.job.steps = 3;
  s.job.as<model::CollectiveJob>().collective = {.kind = model::Collective::AllReduce,
                                                 .algorithm = algorithm,
                                                 .ranks = nodes * devices,
                                                 .bytes = Bytes{1'000'003},
                                                 .chunks = 8};
  if (algorithm == model::Algorithm::Hierarchical2)
    s.job.as<model::CollectiveJob>().collective.group = devices;
  return s;
}

Outcome by(model::Scenario s, model::EngineKind engine) {
  s.engine = engine;
  const auto made = simulate(s, {});
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *made : Outcome{};
}

/// Bytes over the busiest link of a card (of a device, where there is one node).
double most_by_flow(const Outcome& o, bool cards) {
  double most = 0;
  for (const LinkLoad& link : o.links) {
    const bool of_switch = link.name.find("switch") != std::string::npos;
    if (of_switch == cards) most = std::max(most, static_cast<double>(link.bytes.count()));
  }
  return most;
}

TEST(PortLoads, AreThoseOfTheLinksByFlow) {
  using enum model::Algorithm;
  for (const auto algorithm : {Ring, BidirectionalRing, RecursiveDoubling, HalvingDoubling, DoubleBinaryTree,
                               BinomialTree, Hierarchical2})
    for (const auto& [nodes, devices, cards] :
         {std::tuple{8, 1, 1}, {4, 4, 2}, {4, 4, 1}, {4, 2, 2}, {1, 8, 1}}) {
      if (algorithm == Hierarchical2 && (devices == 1 || nodes == 1)) continue;
      const model::Scenario s = job(algorithm, nodes, devices, cards);
      const Outcome counted = by(s, model::EngineKind::MaxPlus);
      ASSERT_TRUE(counted.busiest_port) << name_of(algorithm);
      const Outcome played = by(s, model::EngineKind::Flow);
      EXPECT_FALSE(played.busiest_port);
      const double most = most_by_flow(played, nodes > 1);
      // Unequal chunks: a byte a message.
      EXPECT_NEAR(static_cast<double>(counted.busiest_port->bytes.count()), most, 2e-3 * most)
          << name_of(algorithm) << " " << nodes << " x " << devices << ", " << cards << " cards";
      EXPECT_EQ(counted.busiest_port->is_card, nodes > 1);
    }
}

TEST(PortLoads, OfARingByHand) {
  // 8 ranks send 2 x 7 / 8 of 8 MB a step over 1 GB/s and do nothing else: the cards never rest.
  model::Scenario s = job(model::Algorithm::Ring, 8, 1, 1);
  s.job.as<model::CollectiveJob>().collective.bytes = Bytes{8'000'000};
  const Outcome o = by(s, model::EngineKind::MaxPlus);
  ASSERT_TRUE(o.busiest_port);
  EXPECT_EQ(o.busiest_port->bytes, Bytes{3 * 14'000'000});
  EXPECT_NEAR(o.busiest_port->utilisation_ratio, 1, 1e-12);
  EXPECT_EQ(o.busiest_port->alike, 16);
  EXPECT_EQ(o.busiest_port->name, "n0");
}

TEST(PortLoads, AServerHasACardOfItsOwn) {
  model::Scenario s = job(model::Algorithm::ParameterServer, 8, 1, 1);
  s.job.as<model::CollectiveJob>().collective.servers = 1;
  const Outcome o = by(s, model::EngineKind::MaxPlus);
  ASSERT_TRUE(o.busiest_port);
  EXPECT_EQ(o.busiest_port->name, "server 0");
  EXPECT_EQ(o.busiest_port->bytes, Bytes{3 * 8 * 1'000'003});
}

// What the same devices send to their servers in two collectives meets at the same cards; another group has its own.
TEST(PortLoads, AGroupKeepsItsServers) {
  model::Scenario s = job(model::Algorithm::ParameterServer, 16, 1, 1);
  PortLoads loads(s);
  model::CollectiveSpec spec = s.job.as<model::CollectiveJob>().collective;
  spec.ranks = 8;
  spec.servers = 2;
  spec.bytes = Bytes{2'000'000};
  std::vector<int> devices(16);
  std::iota(devices.begin(), devices.end(), 0);
  const auto schedule = model::Schedule::make(spec);
  ASSERT_TRUE(schedule);
  loads.add(*schedule, devices, 1);
  EXPECT_EQ(loads.busiest(Seconds{1})->bytes, Bytes{8 * 1'000'000});
  loads.add_sets(*schedule, devices, 1);
  const auto busiest = loads.busiest(Seconds{1});
  EXPECT_EQ(busiest->name, "server 0");
  EXPECT_EQ(busiest->bytes, Bytes{2 * 8 * 1'000'000});
  EXPECT_EQ(busiest->alike, 2 * 2) << "two servers of the first group, in and out";
}

TEST(PortLoads, WhatIsTooMuchIsNotCounted) {
  model::Scenario s = job(model::Algorithm::Direct, 2100, 1, 1);
  s.job.as<model::CollectiveJob>().collective.kind = model::Collective::AllToAll;
  EXPECT_FALSE(by(s, model::EngineKind::MaxPlus).busiest_port);
}

}  // namespace
}  // namespace cox::simulate
