// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/striped_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cox/simulate/flow.hpp"

namespace cox::simulate {
namespace {

struct Machine {
  model::Cluster cluster;
  model::Fabric fabric;
};

/// DGX H100: rails over switches of `hosts` nodes.
Machine rails(int nodes, int hosts) {
  Machine m;
  m.cluster.nodes = nodes;
  m.cluster.devices_per_node = 8;
  m.cluster.scale_up = {.latency = Seconds{0.6e-6}, .bandwidth = Bandwidth::gbyte_per_s(450)};
  m.cluster.nics_per_node = 8;
  m.cluster.nic = {.latency = Seconds{1.35e-6}, .bandwidth = Bandwidth::gbyte_per_s(50)};
  m.cluster.pcie = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(63)};
  m.fabric.kind = model::FabricKind::RailOptimised;
  m.fabric.hosts_per_leaf = hosts;
  m.fabric.link = {.latency = Seconds{130e-9}, .bandwidth = Bandwidth::gbyte_per_s(50)};
  return m;
}

std::vector<int> in_order(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(StripedRing, EndsWhenTheFlowEngineSays) {
  for (const int nodes : {2, 4, 5, 8})
    for (const int hosts : {2, 8})
      for (const model::Collective kind : {model::Collective::AllReduce, model::Collective::AllGather})
        for (const Bytes bytes : {Bytes{8'000}, Bytes{50'000'001}}) {
          const Machine m = rails(nodes, hosts);
          const auto network = *Network::make(m.cluster, m.fabric);
          const model::CollectiveSpec spec{
              .kind = kind, .ranks = 8 * nodes, .bytes = bytes, .group = 8, .channels = 8};
          const auto schedule = *model::Schedule::make(spec);
          const auto costs = striped_costs(network, m.fabric, schedule, in_order(spec.ranks), 1);
          ASSERT_TRUE(costs) << nodes << " " << hosts;
          std::vector<Seconds> flow(static_cast<std::size_t>(spec.ranks));
          // Somebody is late: the wave goes through the hops inside nodes, too.
          flow[3] = Seconds{1e-4};
          std::vector<Seconds> swept = flow;
          (void)run_flows(schedule, network, m.fabric, in_order(spec.ranks), {}, flow);
          (void)run_collective(schedule, *costs, {}, swept);
          const double end = std::max_element(flow.begin(), flow.end())->count();
          EXPECT_NEAR(std::max_element(swept.begin(), swept.end())->count(), end, 5e-3 * end)
              << nodes << " nodes, " << hosts << " a switch, " << bytes.count();
          for (std::size_t r = 0; r < flow.size(); ++r)
            EXPECT_GE(swept[r].count(), flow[r].count() * (1 - 1e-9)) << r;
        }
}

TEST(StripedRing, NothingWhereChannelsMeetBetweenNodes) {
  const model::CollectiveSpec spec{.ranks = 32, .bytes = Bytes{1'000'000}, .group = 8, .channels = 8};
  const auto striped = [&](const Machine& m, const model::CollectiveSpec& s) {
    return striped_costs(*Network::make(m.cluster, m.fabric), m.fabric, *model::Schedule::make(s),
                         in_order(s.ranks), 1)
        .has_value();
  };
  EXPECT_TRUE(striped(rails(4, 8), spec));
  model::CollectiveSpec more = spec;
  more.channels = 16;
  EXPECT_FALSE(striped(rails(4, 8), more)) << "two channels a card";
  more.channels = 1;
  EXPECT_FALSE(striped(rails(4, 8), more)) << "one ring is no stripe";
  Machine m = rails(4, 8);
  m.cluster.nics_per_node = 4;
  EXPECT_FALSE(striped(m, spec)) << "two channels a card";
  m = rails(4, 2);
  m.fabric.oversubscription = 2;
  EXPECT_TRUE(striped(m, spec)) << "one message a switch leaves it";
  m = rails(4, 8);
  m.cluster.scale_up.bandwidth = Bandwidth::gbyte_per_s(300);
  EXPECT_FALSE(striped(m, spec)) << "seven at a port of 300 GB/s are slower than a card";
  m = rails(4, 8);
  m.fabric.routing = model::Routing::Ecmp;
  EXPECT_FALSE(striped(m, spec));
}

}  // namespace
}  // namespace cox::simulate
