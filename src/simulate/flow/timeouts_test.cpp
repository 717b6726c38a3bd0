// SPDX-License-Identifier: Apache-2.0
// Messages that are lost: at a port without room, and by chance as in the max-plus engine. And flows that hashes put
// on one link.
#include "cox/simulate/timeouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "cox/simulate/flow.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/flow/engine.hpp"

namespace cox::simulate {
namespace {

constexpr double kMs = 1e-3;

struct Place {
  model::Cluster cluster;
  model::Fabric fabric;
};

/// Hosts on one switch; links of 1 GB/s, so that 1 MB takes 1 ms.
Place on_switch(int hosts) {
  Place p;
  p.cluster.nodes = hosts;
  p.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  p.fabric.link = p.cluster.nic;
  return p;
}

Place on_tree(int hosts, int per_leaf, double oversubscription) {
  Place p = on_switch(hosts);
  p.fabric.kind = model::FabricKind::FatTree;
  p.fabric.hosts_per_leaf = per_leaf;
  p.fabric.oversubscription = oversubscription;
  return p;
}

struct Message {
  int from;
  int to;
};

/// When each of messages of 1 MB that begin together has arrived, in ms.
std::vector<double> arrivals(const Place& p, const std::vector<Message>& messages, std::uint64_t seed = 1) {
  const auto network = Network::make(p.cluster, p.fabric);
  EXPECT_TRUE(network) << network.error().to_string();
  const auto schedule = model::Schedule::make({.kind = model::Collective::SendRecv,
                                               .algorithm = model::Algorithm::Chain,
                                               .ranks = 2,
                                               .bytes = Bytes{1'000'000}});
  FlowEngine engine(*network, p.fabric, {.seed = seed}, Seconds{});
  for (const Message& m : messages) {
    const FlowCourseId id = engine.begin({.schedule = &*schedule, .rank_of = {m.from, m.to}});
    engine.arrive(id, 0, Seconds{});
    engine.arrive(id, 1, Seconds{});
  }
  std::vector<double> out(messages.size());
  while (const auto one = engine.next())
    if (one->place == 1) out[one->course] = one->at.count() / kMs;
  return out;
}

std::vector<Message> all_to(int to, int senders) {
  std::vector<Message> all;
  for (int i = 1; i <= senders; ++i) all.push_back({to + i, to});
  return all;
}

void expect_near(std::vector<double> made, const std::vector<double>& wanted) {
  std::ranges::sort(made);
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], wanted[i], 1e-9) << i;
}

// Room for two: they share the link and take 2 ms. The others come again after 10 ms; those that find no room then,
// after 20 ms more.
TEST(FullPorts, SendersBeyondTheRoomWaitForTheTimer) {
  Place p = on_switch(7);
  p.fabric.timeouts = {.wait = Seconds{10 * kMs}, .flows = 2};
  expect_near(arrivals(p, all_to(0, 6)), {2, 2, 12, 12, 32, 32});
  p.fabric.timeouts.flows = 6;
  expect_near(arrivals(p, all_to(0, 6)), {6, 6, 6, 6, 6, 6});
  p.fabric.timeouts = {.wait = Seconds{10 * kMs}, .flows = 1};
  expect_near(arrivals(p, all_to(0, 3)), {1, 11, 31});
}

// A short timer: whoever comes while the port is still full is lost again.
TEST(FullPorts, AreFullUntilSomebodyIsDone) {
  Place p = on_switch(4);
  p.fabric.timeouts = {.wait = Seconds{0.4 * kMs}, .flows = 1};
  // 0.4 ms: lost again; 0.4 + 0.8 = 1.2 ms: free, of the two only for one; the other again after 1.6 ms more.
  expect_near(arrivals(p, all_to(0, 3)), {1, 2.2, 3.8});
}

// Ports of switches only: what leaves one host for many waits in the host, and devices of a node meet nowhere.
TEST(FullPorts, AreThoseOfSwitches) {
  Place p = on_switch(4);
  p.fabric.timeouts = {.wait = Seconds{10 * kMs}, .flows = 1};
  expect_near(arrivals(p, {{0, 1}, {0, 2}, {0, 3}}), {3, 3, 3});
  // Two hosts of a leaf share one way up: 2:1.
  Place tree = on_tree(4, 2, 2);
  tree.fabric.timeouts = {.wait = Seconds{10 * kMs}, .flows = 1};
  expect_near(arrivals(tree, {{0, 2}, {1, 3}}), {1, 11});
  tree.fabric.timeouts.flows = 2;
  expect_near(arrivals(tree, {{0, 2}, {1, 3}}), {2, 2});
}

// By chance: whatever engine, the same messages are lost. On links of their own both say when that ends.
TEST(Losses, AreThoseOfTheMaxPlusEngine) {
  using enum model::Algorithm;
  int disturbed = 0;
  for (const model::Algorithm algorithm :
       {Ring, BidirectionalRing, RecursiveDoubling, HalvingDoubling, BinomialTree})
    for (std::int64_t step = 0; step < 8; ++step) {
      // Both directions of a ring share a card here, and have ports of their own there.
      const double bytes = algorithm == BidirectionalRing ? 0 : 8e6;
      const model::CollectiveSpec spec{
          .algorithm = algorithm, .ranks = 8, .bytes = Bytes{static_cast<std::int64_t>(bytes)}};
      const auto schedule = model::Schedule::make(spec);
      ASSERT_TRUE(schedule);
      Place p = on_switch(8);
      p.cluster.nic.latency = Seconds{1e-5};
      const auto network = Network::make(p.cluster, p.fabric);
      const TimeoutDraws law({.wait = Seconds{50 * kMs}, .loss = 0.01}, 9);
      std::vector<int> places(static_cast<std::size_t>(schedule->participants()));
      std::iota(places.begin(), places.end(), 0);
      std::vector<Seconds> flow(8);
      (void)run_flows(*schedule, *network, p.fabric, places, {.timeouts = &law, .step = step, .number = 4},
                      flow);
      const LinkCosts costs{
          .inside = {},
          .across = {.latency = Seconds{2e-5}, .per_byte = TimePerByte::seconds_per_byte(1e-9)}};
      std::vector<Seconds> max_plus(8);
      CollectiveOptions options;
      options.step = step;
      options.number = 4;
      options.timeouts = &law;
      (void)run_collective(*schedule, costs, options, max_plus);
      for (std::size_t r = 0; r < 8; ++r)
        EXPECT_NEAR(flow[r].count(), max_plus[r].count(), 1e-9 * flow[r].count())
            << name_of(algorithm) << " " << step << " " << r;
      disturbed += flow[0] > Seconds{50 * kMs} ? 1 : 0;
    }
  EXPECT_GT(disturbed, 8);
}

// Within a node nothing is lost.
TEST(Losses, AreBetweenNodes) {
  Place p = on_switch(2);
  p.cluster.devices_per_node = 2;
  p.cluster.scale_up = p.cluster.nic;
  const auto network = Network::make(p.cluster, p.fabric);
  const auto schedule = model::Schedule::make({.ranks = 2, .bytes = Bytes{1000}});
  const TimeoutDraws law({.wait = Seconds{1}, .loss = 0.4}, 9);
  bool lost = false;
  for (std::int64_t step = 0; step < 20; ++step) {
    std::vector<Seconds> times(2);
    (void)run_flows(*schedule, *network, p.fabric, std::vector<int>{0, 1}, {.timeouts = &law, .step = step},
                    times);
    EXPECT_LT(times[0], Seconds{1});
    times.assign(2, Seconds{});
    (void)run_flows(*schedule, *network, p.fabric, std::vector<int>{1, 2}, {.timeouts = &law, .step = step},
                    times);
    lost = lost || times[0] > Seconds{1};
  }
  EXPECT_TRUE(lost);
}

// By hand: three ranks reach each other, 1 ms a message, while 3 sends to 1 until 0.7 ms; from 0.5 ms on 0 -> 1 finds no room, and is back
// 10 ms later. Meanwhile the port of 0 is free: 2 has what 0 and 1 send at 2.5 ms.
TEST(FullPorts, WhatIsSentInVainLeavesAnEagerPortFree) {
  Place p = on_switch(4);
  p.fabric.timeouts = {.wait = Seconds{10 * kMs}, .flows = 1};
  const auto network = Network::make(p.cluster, p.fabric);
  const auto all = model::Schedule::make({.kind = model::Collective::AllGather,
                                          .algorithm = model::Algorithm::Direct,
                                          .ranks = 3,
                                          .bytes = Bytes{3'000'000}});
  const auto one = model::Schedule::make({.kind = model::Collective::SendRecv,
                                          .algorithm = model::Algorithm::Chain,
                                          .ranks = 2,
                                          .bytes = Bytes{700'000}});
  ASSERT_TRUE(network && all && one);
  FlowEngine engine(*network, p.fabric, {.protocol = model::Protocol::Eager}, Seconds{});
  const FlowCourseId beside = engine.begin({.schedule = &*one, .rank_of = {3, 1}});
  const FlowCourseId ours = engine.begin({.schedule = &*all, .rank_of = {0, 1, 2}});
  for (const int place : {0, 1}) engine.arrive(beside, place, Seconds{});
  for (const int place : {0, 1, 2}) engine.arrive(ours, place, Seconds{0.5 * kMs});
  std::vector<double> left(3);
  while (const auto gone = engine.next())
    if (gone->course == ours) left[static_cast<std::size_t>(gone->place)] = gone->at.count() / kMs;
  EXPECT_NEAR(left[2], 2.5, 1e-9);
  expect_near(left, {2.5, 11.5, 12.5});
}

// By hand: 15 messages of 1 ms each from one port, some of them lost once, twice or more, which is drawn. Each time as many as come to
// the port leave it one after the other: those not lost until their number in ms, those lost once from 50 ms on, then 150 ms.
TEST(Losses, LeaveAnEagerPortFree) {
  const Place p = on_switch(16);
  const auto network = Network::make(p.cluster, p.fabric);
  const auto schedule = model::Schedule::make({.kind = model::Collective::Broadcast,
                                               .algorithm = model::Algorithm::ParameterServer,
                                               .ranks = 16,
                                               .bytes = Bytes{1'000'000},
                                               .servers = 1});
  ASSERT_TRUE(network && schedule);
  const TimeoutDraws law({.wait = Seconds{50 * kMs}, .loss = 0.4}, 9);
  std::vector<int> devices(16);
  std::iota(devices.begin(), devices.end(), 0);
  devices.push_back(0);
  int lost = 0;
  for (std::int64_t step = 0; step < 20; ++step) {
    std::vector<Seconds> times(16);
    (void)run_flows(*schedule, *network, p.fabric, devices,
                    {.timeouts = &law, .step = step, .protocol = model::Protocol::Eager}, times);
    std::map<int, int> behind;  // messages that came to the port at once
    std::sort(times.begin() + 1, times.end());
    for (std::size_t r = 1; r < times.size(); ++r) {
      const double ms = times[r].count() / kMs;
      const int base = static_cast<int>(std::lround(ms)) / 50 * 50;
      EXPECT_NEAR(ms, base + ++behind[base], 1e-9) << step;
      lost += base > 0 ? 1 : 0;
    }
  }
  EXPECT_NEAR(lost, 300 * 0.4, 4 * std::sqrt(300 * 0.4 * 0.6));  // no more are late than are lost
}

/// P(no one of `links` equal links gets more than `most` of `flows`): flows!/links^flows times the coefficient of
/// z^flows in (sum over i <= most of z^i / i!)^links. Here without factorials: one link after the other.
double none_above(int flows, int links, int most) {
  std::vector<double> chance(static_cast<std::size_t>(flows) + 1, 0);  // of so many flows on the links so far
  chance[0] = 1;
  for (int l = 0; l < links; ++l) {
    std::vector<double> next(chance.size(), 0);
    const double each = 1.0 / (links - l);  // of a flow that is left, to be on this link
    for (int placed = 0; placed <= flows; ++placed) {
      const int left = flows - placed;
      double here = std::pow(1 - each, left);  // binomial, i = 0
      if (l + 1 == links) here = left == 0 ? 1 : 0;
      for (int i = 0; i <= std::min(left, most); ++i) {
        if (l + 1 == links)
          here = i == left ? 1 : 0;
        else if (i > 0)
          here *= static_cast<double>(left - i + 1) / i * each / (1 - each);
        next[static_cast<std::size_t>(placed) + static_cast<std::size_t>(i)] +=
            chance[static_cast<std::size_t>(placed)] * here;
      }
    }
    chance = next;
  }
  return chance[static_cast<std::size_t>(flows)];
}

double mean_of_fullest(int flows, int links) {
  double mean = 0;
  for (int j = 0; j < flows; ++j) mean += 1 - none_above(flows, links, j);
  return mean;
}

// Eight hosts of a leaf send to eight of another over eight spines. All are done when the fullest link is.
TEST(Collisions, FollowTheLawOfTheFullestLink) {
  EXPECT_NEAR(mean_of_fullest(8, 8), 2.60, 0.005);  // published
  EXPECT_NEAR(mean_of_fullest(32, 8) / 4, 1.76, 0.005);
  std::vector<Message> all;
  all.reserve(8);
  for (int i = 0; i < 8; ++i) all.push_back({i, 8 + i});
  Place p = on_tree(16, 8, 1);
  p.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(100);  // links between switches decide
  p.fabric.routing = model::Routing::Ecmp;
  for (const int parts : {1, 4, 16}) {
    p.fabric.flows_per_connection = parts;
    double sum = 0;
    double squares = 0;
    constexpr int kSeeds = 1000;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      const double end = std::ranges::max(arrivals(p, all, static_cast<std::uint64_t>(seed)));
      sum += end;
      squares += end * end;
    }
    const double mean = sum / kSeeds;
    const double error = std::sqrt((squares / kSeeds - mean * mean) / kSeeds);
    EXPECT_NEAR(mean, mean_of_fullest(8 * parts, 8) / parts, 4 * error) << parts << " flows per connection";
    EXPECT_LT(error, 0.03);
  }
}

// Above the pods, too: two leaves of one host each, four ways up for four leaves, or one.
TEST(Pods, HaveAnOversubscriptionOfTheirOwn) {
  Place p = on_tree(8, 1, 1);
  p.fabric.tiers = 3;
  p.fabric.leaves_per_pod = 4;
  const std::vector<Message> across = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  const std::vector<Message> inside = {{0, 1}, {2, 3}};
  expect_near(arrivals(p, across), {1, 1, 1, 1});
  p.fabric.pod_oversubscription = 4;
  expect_near(arrivals(p, across), {4, 4, 4, 4});
  expect_near(arrivals(p, inside), {1, 1});
  p.fabric.pod_oversubscription = 3;
  EXPECT_FALSE(Network::make(p.cluster, p.fabric));
}

}  // namespace
}  // namespace cox::simulate
