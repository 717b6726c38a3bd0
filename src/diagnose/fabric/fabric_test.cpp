// SPDX-License-Identifier: Apache-2.0
#include "diagnose/fabric/fabric.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "diagnose/fabric/json.hpp"
#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

constexpr int kHosts = 8;
constexpr int kPerHost = 4;

int host_of(int rank) {
  return rank / kPerHost;
}
int port_of(int rank) {
  return rank % kPerHost;
}

/// Hosts with four ranks each; which groups there are and how long transfers take is the test's.
struct Cluster {
  std::vector<std::vector<int>> groups;
  std::function<Duration(const std::vector<int>& group, int op)> transfer = [](const auto&, int) {
    return 1ms;
  };
  std::function<Duration(int rank, int op)> late = [](int, int) { return Duration::zero(); };
  int ops = 40;
  std::uint64_t seed = 0;
  double jitter = 0.03;
};

trace::Run play(const Cluster& c) {
  trace::Run run = testing::empty_run(kHosts * kPerHost, kHosts);
  for (int r = 0; r < kHosts * kPerHost; ++r)
    run.ranks[static_cast<std::size_t>(r)].local_rank = LocalRank{port_of(r)};
  run.communicators.clear();
  Duration at = 1ms;
  for (std::size_t g = 0; g < c.groups.size(); ++g) {
    trace::Communicator comm;
    comm.id = CommId{static_cast<int>(g)};
    comm.name = "group" + std::to_string(g);
    comm.size = static_cast<int>(c.groups[g].size());
    for (const int r : c.groups[g]) comm.ranks.emplace_back(r);
    run.communicators.push_back(comm);
  }
  for (int op = 0; op < c.ops; ++op)
    for (std::size_t g = 0; g < c.groups.size(); ++g) {
      const Duration transfer =
          testing::lognormal_work(g + 1000 * c.seed, 0, op, c.transfer(c.groups[g], op), c.jitter);
      Duration latest{};
      for (const int r : c.groups[g]) latest = std::max(latest, at + c.late(r, op));
      for (const int r : c.groups[g])
        testing::add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::AllReduce,
                          at + c.late(r, op), latest + transfer, 64'000'000, static_cast<std::uint32_t>(op),
                          static_cast<int>(g));
      at = latest + transfer + 1ms;
    }
  return run;
}

/// A group for each port and each pair of hosts.
std::vector<std::vector<int>> all_pairs() {
  std::vector<std::vector<int>> groups;
  for (int a = 0; a < kHosts; ++a)
    for (int b = a + 1; b < kHosts; ++b)
      for (int l = 0; l < kPerHost; ++l) groups.push_back({a * kPerHost + l, b * kPerHost + l});
  return groups;
}

/// A group of all ranks of each host.
std::vector<std::vector<int>> within_hosts() {
  std::vector<std::vector<int>> groups;
  groups.reserve(kHosts);
  for (int h = 0; h < kHosts; ++h)
    groups.push_back({h * kPerHost, h * kPerHost + 1, h * kPerHost + 2, h * kPerHost + 3});
  return groups;
}

bool touches(const std::vector<int>& group, const std::function<bool(int)>& what) {
  return std::any_of(group.begin(), group.end(), what);
}
bool crosses(const std::vector<int>& group) {
  return host_of(group.front()) != host_of(group.back());
}

Fabric understand(const Cluster& c) {
  const trace::Run input = play(c);
  auto f = understand_fabric(input);
  EXPECT_TRUE(f.has_value());
  return *std::move(f);
}

TEST(Fabric, AllEqualNamesNothing) {
  for (const double jitter : {0.0, 0.03, 0.1, 0.13, 0.15, 0.18, 0.22, 0.3, 0.8}) {
    Cluster c{.groups = all_pairs()};
    c.jitter = jitter;
    c.seed = static_cast<std::uint64_t>(1000 * jitter);
    c.ops = jitter < 0.15 ? 20 : 60;
    const Fabric f = understand(c);
    EXPECT_EQ(f.verdict, FabricVerdict::Healthy) << jitter << " " << describe(f).front();
    EXPECT_EQ(f.crossing, 112);
    EXPECT_TRUE(f.slow_groups.empty());
  }
}

TEST(Fabric, NamesASlowLink) {
  Cluster c{.groups = all_pairs()};
  c.transfer = [](const std::vector<int>& g, int) { return g == std::vector<int>{5, 13} ? 2ms : 1ms; };
  const Fabric f = understand(c);
  ASSERT_EQ(f.verdict, FabricVerdict::Located) << describe(f).front();
  ASSERT_EQ(f.components.size(), 1U);
  EXPECT_EQ(f.components[0].kind, ComponentKind::Link);
  EXPECT_EQ(f.components[0].hosts, (std::vector<NodeId>{NodeId{1}, NodeId{3}}));
  EXPECT_EQ(f.components[0].local, (std::vector<LocalRank>{LocalRank{1}, LocalRank{1}}));
  EXPECT_NEAR(f.slow_ratio, 2, 0.1);
}

TEST(Fabric, NamesAPairOfHosts) {
  Cluster c{.groups = all_pairs()};
  c.transfer = [](const std::vector<int>& g, int) {
    return host_of(g[0]) == 2 && host_of(g[1]) == 6 ? 2ms : 1ms;
  };
  const Fabric f = understand(c);
  ASSERT_EQ(f.verdict, FabricVerdict::Located) << describe(f).front();
  EXPECT_EQ(f.components[0].kind, ComponentKind::HostPair);
  EXPECT_EQ(name_of(f.components[0]), "between hosts node2 and node6");
}

TEST(Fabric, NamesThePortOfAHost) {
  Cluster c{.groups = all_pairs()};
  for (auto& g : within_hosts()) c.groups.push_back(g);
  c.transfer = [](const std::vector<int>& g, int) {
    return crosses(g) && touches(g, [](int r) { return r == 14; }) ? 1600us : 1000us;
  };
  const Fabric f = understand(c);
  ASSERT_EQ(f.verdict, FabricVerdict::Located) << describe(f).front();
  ASSERT_EQ(f.components.size(), 1U);
  EXPECT_EQ(f.components[0].kind, ComponentKind::Nic);
  EXPECT_EQ(name_of(f.components[0]), "port 2 of host node3");
  EXPECT_EQ(f.slow_groups.size(), 7U);
  EXPECT_EQ(f.member_test, MemberTest::Refuted);
}

TEST(Fabric, NamesAHostAndARail) {
  Cluster c{.groups = all_pairs()};
  c.transfer = [](const std::vector<int>& g, int) {
    return touches(g, [](int r) { return host_of(r) == 4; }) ? 2ms : 1ms;
  };
  const Fabric host = understand(c);
  ASSERT_EQ(host.verdict, FabricVerdict::Located) << describe(host).front();
  EXPECT_EQ(name_of(host.components[0]), "host node4");
  EXPECT_EQ(host.member_test, MemberTest::NoData);
  c.transfer = [](const std::vector<int>& g, int) { return port_of(g[0]) == 3 ? 2ms : 1ms; };
  const Fabric rail = understand(c);
  ASSERT_EQ(rail.verdict, FabricVerdict::Located) << describe(rail).front();
  EXPECT_EQ(rail.components[0].kind, ComponentKind::Rail);
  EXPECT_EQ(rail.components[0].local, std::vector<LocalRank>{LocalRank{3}});
}

TEST(Fabric, TwoBrokenPortsAreASetOfTwo) {
  Cluster c{.groups = all_pairs()};
  c.transfer = [](const std::vector<int>& g, int) {
    return touches(g, [](int r) { return r == 9 || r == 30; }) ? 2ms : 1ms;
  };
  const Fabric f = understand(c);
  ASSERT_EQ(f.verdict, FabricVerdict::Located) << describe(f).front();
  EXPECT_EQ(f.components.size(), 2U);
  EXPECT_EQ(f.slow_groups.size(), 14U);
}

TEST(Fabric, DipsAreFoundWhereTheCeilingIsWhole) {
  Cluster c{.groups = all_pairs()};
  c.transfer = [](const std::vector<int>& g, int op) {
    return touches(g, [](int r) { return r == 14; }) && op % 5 == 0 ? 4ms : 1ms;
  };
  const Fabric f = understand(c);
  ASSERT_EQ(f.verdict, FabricVerdict::Located) << describe(f).front();
  EXPECT_EQ(name_of(f.components[0]), "port 2 of host node3");
  for (const GroupTransfer& g : f.groups) {
    EXPECT_FALSE(g.slow_always);
    if (!g.slow()) continue;
    EXPECT_NEAR(g.dip_ratio, 0.2, 0.03);
    EXPECT_NEAR(g.dip_depth, 4, 0.3);
  }
}

TEST(Fabric, ARankThatIsLateInItsOwnWorkIsNotTheFabric) {
  Cluster c{.groups = all_pairs()};
  c.late = [](int r, int) { return r == 14 ? 5ms : 0ms; };
  EXPECT_EQ(understand(c).verdict, FabricVerdict::Healthy);
}

TEST(Fabric, ARankThatIsAsSlowWithinItsHostIsNotTheFabric) {
  Cluster c{.groups = all_pairs()};
  for (auto& g : within_hosts()) c.groups.push_back(g);
  c.transfer = [](const std::vector<int>& g, int) {
    return touches(g, [](int r) { return r == 14; }) ? 2ms : 1ms;
  };
  const Fabric f = understand(c);
  EXPECT_EQ(f.verdict, FabricVerdict::SlowMember) << describe(f).front();
  EXPECT_EQ(f.slow_members, std::vector<Rank>{Rank{14}});
  EXPECT_EQ(f.member_test, MemberTest::Supported);
}

TEST(Fabric, OneGroupCannotBeLocated) {
  Cluster c{.groups = {{0, 4, 8, 12}}};
  c.transfer = [](const auto&, int op) { return op % 4 == 0 ? 5ms : 1ms; };
  const Fabric f = understand(c);
  EXPECT_EQ(f.verdict, FabricVerdict::Alone);
  EXPECT_NE(describe(f).front().find("cannot be located"), std::string::npos);
  EXPECT_NEAR(f.groups[0].dip_ratio, 0.23, 0.03);
}

TEST(Fabric, WhatCannotBeToldApartIsSaid) {
  Cluster c;  // one group per rail, over all hosts: a broken rail and a broken port on it look the same
  for (int l = 0; l < kPerHost; ++l) {
    c.groups.emplace_back();
    for (int h = 0; h < kHosts; ++h) c.groups.back().push_back(h * kPerHost + l);
  }
  c.transfer = [](const std::vector<int>& g, int) { return port_of(g[0]) == 1 ? 2ms : 1ms; };
  const Fabric f = understand(c);
  EXPECT_EQ(f.verdict, FabricVerdict::Ambiguous) << describe(f).front();
  EXPECT_EQ(f.alternatives.size(), 9U);
  EXPECT_TRUE(f.components.empty());
}

TEST(Fabric, GroupsWithinHostsSayNothing) {
  Cluster c{.groups = within_hosts()};
  c.transfer = [](const std::vector<int>& g, int) { return g[0] == 4 ? 3ms : 1ms; };
  const Fabric f = understand(c);
  EXPECT_EQ(f.verdict, FabricVerdict::NoData);
  const trace::Run input = trace::Run{};
  EXPECT_FALSE(understand_fabric(input).has_value());
}

TEST(Fabric, JsonNamesTheComponent) {
  Cluster c{.groups = all_pairs()};
  c.transfer = [](const std::vector<int>& g, int) { return g == std::vector<int>{5, 13} ? 2ms : 1ms; };
  const trace::Run run = play(c);
  nlohmann::ordered_json j;
  write_json(*understand_fabric(run), run, j);
  EXPECT_EQ(j["verdict"], "located");
  EXPECT_EQ(j["components"][0]["hosts"], (std::vector<std::string>{"node1", "node3"}));
  EXPECT_EQ(j["groups"].size(), 112U);
}

}  // namespace
}  // namespace cox::diagnose
