// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/shared_ports.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cox/simulate/flow.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {
namespace {

using enum model::Algorithm;

// Nodes of eight devices of 400 GB/s, cards of 50 GB/s, 1 us inside and 3 us across.
model::Cluster cluster(int nodes, int cards) {
  model::Cluster c;
  c.nodes = nodes;
  c.devices_per_node = 8;
  c.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(400)};
  c.nics_per_node = cards;
  c.nic = {.latency = Seconds{1.5e-6}, .bandwidth = Bandwidth::gbyte_per_s(50)};
  return c;
}

LinkCosts costs() {
  return {.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(400).time_per_byte()},
          .across = {.latency = Seconds{3e-6}, .per_byte = Bandwidth::gbyte_per_s(50).time_per_byte()},
          .ranks_per_node = 8,
          .into = {}};
}

struct Share {
  double inside = 0;  // messages at a device's port
  double across = 0;  // and at a card
};
Share share(const model::CollectiveSpec& spec, int cards) {
  const model::Cluster c = cluster(spec.ranks / 8, cards);
  std::vector<int> ranks(static_cast<std::size_t>(spec.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  const LinkCosts got = with_shared_ports(costs(), *model::Schedule::make(spec), c, ranks);
  return {got.inside.per_byte.in_seconds_per_byte() * 400e9,
          got.across.per_byte.in_seconds_per_byte() * 50e9};
}

TEST(SharedPorts, CountsWhatMeetsAtAPort) {
  const auto expect = [](Share got, double inside, double across) {
    EXPECT_NEAR(got.inside, inside, 1e-9);
    EXPECT_NEAR(got.across, across, 1e-9);
  };
  // Of eight channels each device sends seven inside and one out; with half of the cards two leave by each.
  expect(share({.ranks = 32, .group = 8, .channels = 8}, 8), 7, 1);
  expect(share({.ranks = 32, .group = 8, .channels = 8}, 4), 7, 2);
  expect(share({.ranks = 32, .group = 8, .channels = 4}, 4), 4, 1);
  expect(share({.ranks = 32, .group = 8, .channels = 16}, 8), 14, 2);
  expect(share({.ranks = 32}, 1), 1, 1);
  // Inside one node a channel more divides the same port.
  expect(share({.ranks = 8, .group = 8, .channels = 8}, 8), 8, 1);
  // All ranks of a node cross at once.
  expect(share({.algorithm = Hierarchical2, .ranks = 32, .group = 8}, 8), 1, 1);
  expect(share({.algorithm = Hierarchical2, .ranks = 32, .group = 8}, 2), 1, 4);
  expect(share({.kind = model::Collective::AllToAll, .algorithm = TwoLevel, .ranks = 32, .group = 8}, 1), 1,
         8);
  // Rounds that are lists are left alone.
  expect(share({.algorithm = BinaryTree, .ranks = 32}, 1), 1, 1);
}

// 20 GB/s from a device to a card of 25: alone it is the device's way that counts, of two the card.
TEST(SharedPorts, ADevicesOwnWayToTheCardIsNotDivided) {
  const auto schedule = *model::Schedule::make({.algorithm = Hierarchical2, .ranks = 32, .group = 8});
  std::vector<int> ranks(32);
  std::iota(ranks.begin(), ranks.end(), 0);
  LinkCosts slow = costs();
  slow.across.per_byte = Bandwidth::gbyte_per_s(20).time_per_byte();
  for (const auto& [cards, rate] : {std::pair{8, 20.0}, {4, 12.5}, {2, 6.25}}) {
    model::Cluster c = cluster(4, cards);
    c.nic.bandwidth = Bandwidth::gbyte_per_s(25);
    const LinkCosts got = with_shared_ports(slow, schedule, c, ranks);
    EXPECT_NEAR(1e-9 / got.across.per_byte.in_seconds_per_byte(), rate, 1e-9) << cards;
  }
}

// 2 (P - 1) rounds of n / (8 P) at the speed of a card: the flow engine, in which eight channels meet at the devices'
// ports, and max-plus with its parts of them end together. An odd number of nodes crosses between rails once.
TEST(SharedPorts, ChannelsTakeWhatTheFlowEngineSays) {
  for (const int nodes : {2, 3, 4, 8}) {
    const model::CollectiveSpec spec{
        .ranks = 8 * nodes, .bytes = Bytes{64'000} * 64 * nodes, .group = 8, .channels = 8};
    const auto schedule = *model::Schedule::make(spec);
    const model::Cluster c = cluster(nodes, 8);
    std::vector<int> ranks(static_cast<std::size_t>(spec.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<Seconds> flow(ranks.size());
    std::vector<Seconds> swept(ranks.size());
    const auto network = *Network::make(c, {});
    (void)run_flows(schedule, network, {}, ranks, {}, flow);
    (void)run_collective(schedule, with_shared_ports(costs(), schedule, c, ranks), {}, swept);
    const double by_hand = 2 * (spec.ranks - 1) * (3e-6 + 64'000 / 50e9);
    EXPECT_NEAR(std::max_element(flow.begin(), flow.end())->count(), by_hand, 1e-9 * by_hand) << nodes;
    EXPECT_NEAR(std::max_element(swept.begin(), swept.end())->count(), by_hand, 1e-9 * by_hand) << nodes;
    for (std::size_t r = 0; r < flow.size(); ++r) EXPECT_GE(swept[r].count(), flow[r].count() * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace cox::simulate
