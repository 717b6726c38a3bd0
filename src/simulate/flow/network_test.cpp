// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/network.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace cox::simulate {
namespace {

const model::Link kCable{.latency = Seconds{250e-9}, .bandwidth = Bandwidth::gbit_per_s(400)};

model::Cluster hosts(int nodes) {
  model::Cluster c;
  c.nodes = nodes;
  c.nic = kCable;
  return c;
}

model::Cluster pods(int nodes) {
  model::Cluster c = hosts(nodes);
  c.devices_per_node = 4;
  c.nics_per_node = 2;
  c.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
  c.pcie = {.latency = Seconds{0.5e-6}, .bandwidth = Bandwidth::gbyte_per_s(32)};
  return c;
}

model::Fabric fabric(model::FabricKind kind) {
  model::Fabric f;
  f.kind = kind;
  f.link = kCable;
  return f;
}

// `n3.nic0` and `n3.d1` are in node n3.
std::string place(const std::string& end) {
  return end.substr(0, end.find('.'));
}

// Every way of every pair leads from the one to the other without a gap or a loop.
void expect_ways_lead(const Network& network) {
  std::vector<LinkIndex> way;
  for (int from = 0; from < network.ranks(); ++from)
    for (int to = 0; to < network.ranks(); ++to) {
      const int paths = network.paths(from, to);
      ASSERT_GE(paths, 1);
      ASSERT_LT(network.static_choice(from, to), paths);
      std::set<std::vector<LinkIndex>> different;
      for (int choice = 0; choice < paths; ++choice) {
        network.route(from, to, choice, way);
        if (from == to) {
          ASSERT_TRUE(way.empty());
          different.insert(way);
          continue;
        }
        std::string at = "n" + std::to_string(network.node_of(from));
        for (const LinkIndex link : way) {
          const std::string& name = network.links().at(link).name;
          const std::size_t arrow = name.find("->");
          ASSERT_EQ(place(name.substr(0, arrow)), at) << name << " on the way from " << from << " to " << to;
          at = place(name.substr(arrow + 2));
        }
        ASSERT_EQ(at, "n" + std::to_string(network.node_of(to)));
        ASSERT_EQ(std::set<LinkIndex>(way.begin(), way.end()).size(), way.size());
        different.insert(way);
      }
      ASSERT_EQ(different.size(), static_cast<std::size_t>(paths));
    }
}

Network make(const model::Cluster& c, const model::Fabric& f) {
  auto made = Network::make(c, f);
  EXPECT_TRUE(made) << made.error().to_string();
  return std::move(*made);
}

std::string refusal(const model::Cluster& c, const model::Fabric& f) {
  const auto made = Network::make(c, f);
  if (made) return "made";
  EXPECT_EQ(made.error().id, "simulate-005");
  return made.error().to_string();
}

TEST(Network, FullBisectionIsUpAndDown) {
  const Network n = make(hosts(3), fabric(model::FabricKind::FullBisection));
  expect_ways_lead(n);
  std::vector<LinkIndex> way;
  n.route(0, 2, 0, way);
  ASSERT_EQ(way.size(), 2U);
  EXPECT_EQ(n.links()[way[0]].name, "n0->switch");
  EXPECT_TRUE(n.into_node(way[1]));
  EXPECT_FALSE(n.into_node(way[0]));
  EXPECT_FALSE(n.between_switches(way[0]));
}

TEST(Network, FatTreeHasUpLinksByItsRatioAndPicksThemByDestination) {
  model::Fabric f = fabric(model::FabricKind::FatTree);
  f.oversubscription = 4;
  const Network n = make(hosts(64), f);
  expect_ways_lead(n);
  EXPECT_EQ(n.links().size(), 64U * 2 + 8 * 2 * 2);
  EXPECT_EQ(n.paths(0, 1), 1);
  EXPECT_EQ(n.paths(0, 8), 2);
  EXPECT_EQ(n.static_choice(0, 8), 0);
  EXPECT_EQ(n.static_choice(0, 9), 1);
  std::vector<LinkIndex> way;
  n.route(0, 9, n.static_choice(0, 9), way);
  ASSERT_EQ(way.size(), 4U);
  EXPECT_EQ(n.links()[way[1]].name, "leaf0->spine1");
  EXPECT_EQ(n.links()[way[2]].name, "spine1->leaf1");
  EXPECT_TRUE(n.between_switches(way[1]));
}

TEST(Network, ThreeTiersMeetAtCoresOnlyBetweenPods) {
  model::Fabric f = fabric(model::FabricKind::FatTree);
  f.tiers = 3;
  f.hosts_per_leaf = 2;
  f.leaves_per_pod = 3;
  const Network n = make(hosts(20), f);  // the last pod is not full
  expect_ways_lead(n);
  EXPECT_EQ(n.paths(0, 2), 2);
  EXPECT_EQ(n.paths(0, 6), 6);
  std::vector<LinkIndex> way;
  n.route(0, 6, 5, way);
  EXPECT_EQ(way.size(), 6U);
}

TEST(Network, RailsKeepEqualDevicesOnOneSwitch) {
  model::Fabric f = fabric(model::FabricKind::RailOptimised);
  f.hosts_per_leaf = 4;
  const Network n = make(pods(8), f);
  expect_ways_lead(n);
  EXPECT_EQ(n.paths(0, 4), 1);   // device 0 of node 0 and of node 1: one rail switch
  EXPECT_EQ(n.paths(0, 6), 4);   // another rail: over the spines
  EXPECT_EQ(n.paths(0, 16), 4);  // another group of nodes
}

TEST(Network, DevicesShareNicsAndBuses) {
  model::Fabric f = fabric(model::FabricKind::FatTree);
  f.hosts_per_leaf = 2;
  const Network n = make(pods(4), f);
  expect_ways_lead(n);
  std::vector<LinkIndex> a;
  std::vector<LinkIndex> b;
  n.route(0, 4, 0, a);
  n.route(1, 4, 0, b);
  EXPECT_EQ(n.links()[a[0]].name, "n0.d0->n0.pcie");
  EXPECT_EQ(n.links()[a[1]].name, "n0.nic0->leaf0");
  EXPECT_NE(a[0], b[0]);
  EXPECT_EQ(a[1], b[1]);  // devices 0 and 1 share a NIC
  n.route(2, 4, 0, b);
  EXPECT_EQ(n.links()[b[1]].name, "n0.nic1->leaf0");
  n.route(0, 3, 0, a);
  ASSERT_EQ(a.size(), 2U);  // NVLink: half of the latency each way
  EXPECT_DOUBLE_EQ(n.links()[a[0]].latency.count() + n.links()[a[1]].latency.count(), 1e-6);
}

TEST(Network, TorusGoesTheShorterWayDimensionByDimension) {
  model::Fabric f = fabric(model::FabricKind::Torus);
  f.torus = {5, 1, 4, 2};
  const Network n = make(hosts(40), f);
  expect_ways_lead(n);
  EXPECT_EQ(n.links().size(), 40U * (2 + 0 + 2 + 1));
  std::vector<LinkIndex> way;
  for (int from = 0; from < 40; ++from)
    for (int to = 0; to < 40; ++to) {
      n.route(from, to, 0, way);
      const auto around = [](int a, int b, int extent) {
        const int d = (b - a + extent) % extent;
        return static_cast<std::size_t>(std::min(d, extent - d));
      };
      EXPECT_EQ(way.size(), around(from % 5, to % 5, 5) + around(from / 5 % 4, to / 5 % 4, 4) +
                                around(from / 20, to / 20, 2));
    }
  n.route(0, 7, 0, way);  // x first: 0 -> 1 -> 2, then +z
  EXPECT_EQ(n.links()[way[0]].name, "n0->n1");
  n.route(0, 7, 1, way);
  EXPECT_EQ(n.links()[way[0]].name, "n0->n5");
}

TEST(Network, DragonflyCrossesOneGlobalCableAndDetoursAreAdaptive) {
  model::Fabric f = fabric(model::FabricKind::Dragonfly);
  f.dragonfly_groups = 5;
  f.dragonfly_routers = 3;
  f.dragonfly_hosts = 2;
  const Network direct = make(hosts(30), f);
  expect_ways_lead(direct);
  EXPECT_EQ(direct.paths(0, 29), 1);
  f.routing = model::Routing::Adaptive;
  const Network n = make(hosts(30), f);
  expect_ways_lead(n);
  EXPECT_EQ(n.paths(0, 29), 4);
  std::vector<LinkIndex> way;
  n.route(0, 29, 0, way);
  EXPECT_LE(way.size(), 5U);
}

TEST(Network, LinksGrowLinearlyAndRoutesAreNotKept) {
  model::Fabric f = fabric(model::FabricKind::FatTree);
  f.oversubscription = 4;
  const Network n = make(hosts(65536), f);
  EXPECT_EQ(n.links().size(), 65536U * 2 + 8192 * 4);
}

class GraphFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::string path = testing::TempDir() + "cox_graph_" +
                       testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
    std::ofstream(path) << text;
    paths_.push_back(path);
    return path;
  }
  model::Fabric graph(const std::string& text) {
    model::Fabric f;
    f.kind = model::FabricKind::Graph;
    f.graph_file = write(text);
    return f;
  }
  void TearDown() override {
    for (const std::string& p : paths_) std::filesystem::remove(p);
  }
  std::vector<std::string> paths_;
};

TEST_F(GraphFile, AllShortestPathsAreFound) {
  // Two ways of two switches each, one of them with two parallel cables in the middle.
  const Network n = make(hosts(2), graph("# two leaves\n"
                                         "n0 a 250ns 400Gbps\n"
                                         "n1 b 250ns 400Gbps  # the other\n"
                                         "\n"
                                         "a b 1us 100Gbps\n"
                                         "a b 1us 100Gbps\n"));
  expect_ways_lead(n);
  EXPECT_EQ(n.paths(0, 1), 2);
  EXPECT_EQ(n.links().size(), 8U);
  EXPECT_DOUBLE_EQ(n.links()[4].bandwidth.in_bytes_per_s(), 12.5e9);
  EXPECT_TRUE(n.into_node(3));  // b->n1 is the second cable's other direction
  EXPECT_FALSE(n.into_node(2));
}

TEST_F(GraphFile, ErrorsNameFileAndLine) {
  const auto says = [&](const std::string& text, const std::string& wanted) {
    const model::Fabric f = graph(text);
    const std::string said = refusal(hosts(2), f);
    EXPECT_NE(said.find(wanted), std::string::npos) << said;
    EXPECT_NE(said.find(f.graph_file), std::string::npos) << said;
  };
  says("n0 n1 250ns 400Gbps\nn0 a 250ns\n", ":2: a cable has four words");
  says("n0 n1 250ns 400Gbps extra\n", ":1: a cable has four words");
  says("n0 n2 250ns 400Gbps\n", ":1: node n2, but the cluster has nodes n0 to n1");
  says("n0 n1 250 400Gbps\n", ":1: ");
  says("n0 n1 250ns 400\n", ":1: ");
  says("n0 n1 250ns 0Gbps\n", ":1: bandwidth is 0Gbps, wanted more than 0");
  says("n0 n0 250ns 1Gbps\n", ":1: a cable from n0 to itself");
  says("n0 " + std::string(65, 'x') + " 250ns 1Gbps\n", ":1: a name of 65 characters");
  says("n0 a 250ns 400Gbps\n", "n1 cannot be reached from n0");
  says("", "n1 cannot be reached from n0");
}

TEST(Network, WhatDoesNotFitIsRefused) {
  model::Fabric f = fabric(model::FabricKind::FatTree);
  f.oversubscription = 3;
  EXPECT_NE(refusal(hosts(16), f).find("8 down-links of a leaf at 3:1"), std::string::npos);
  EXPECT_TRUE(Network::make(hosts(8), f));  // one leaf has no up-links
  f.tiers = 4;
  EXPECT_NE(refusal(hosts(16), f).find("a tree of 4 tiers"), std::string::npos);
  f = fabric(model::FabricKind::Torus);
  f.torus = {4, 4};
  EXPECT_NE(refusal(hosts(15), f).find("16 routers for 15 nodes"), std::string::npos);
  f.torus = {-1, 4};
  EXPECT_NE(refusal(hosts(15), f).find("dimension of -1"), std::string::npos);
  f.torus = {65536, 65536, 65536, 65536};
  EXPECT_NE(refusal(hosts(15), f).find("for 15 nodes"), std::string::npos);
  f = fabric(model::FabricKind::Dragonfly);
  EXPECT_NE(refusal(hosts(15), f).find("a dragonfly of 0 groups"), std::string::npos);
  model::Cluster c = hosts(4);
  c.nic = {};
  EXPECT_NE(refusal(c, fabric(model::FabricKind::FullBisection)).find("no NIC"), std::string::npos);
  c = hosts(4);
  c.devices_per_node = 2;
  EXPECT_NE(refusal(c, fabric(model::FabricKind::FullBisection)).find("no link between them"),
            std::string::npos);
  EXPECT_NE(refusal(hosts(1 << 23), fabric(model::FabricKind::FullBisection)).find("links, at most"),
            std::string::npos);
}

}  // namespace
}  // namespace cox::simulate
