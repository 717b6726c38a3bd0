// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/locality.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace cox::diagnose {
namespace {

/// A machine of two packages, each a NUMA node with two cores of two threads: CPUs n and n+4 are one core.
std::vector<trace::LocalityFact> machine() {
  const std::string cpu = "/sys/devices/system/cpu/";
  const std::string node = "/sys/devices/system/node/";
  std::vector<trace::LocalityFact> facts = {
      {cpu + "online", "0-7"},           {cpu + "possible", "0-7"},     {node + "online", "0-1"},
      {node + "node0/cpumap", "33"},     {node + "node1/cpumap", "cc"}, {node + "node0/distance", "10 20"},
      {node + "node1/distance", "20 10"}};
  for (int i = 0; i < 8; ++i) {
    const int package = i % 4 / 2;
    const std::string topology = fmt::format("{}cpu{}/topology/", cpu, i);
    facts.push_back({topology + "physical_package_id", std::to_string(package)});
    facts.push_back({topology + "core_id", std::to_string(i % 2)});
    facts.push_back({topology + "thread_siblings", fmt::format("{:02x}", 0x11 << (i % 4))});
    facts.push_back({topology + "core_siblings", package == 0 ? "33" : "cc"});
  }
  return facts;
}

/// One node; rank 0 recorded the machine, all of them where they may run.
trace::Run run_of(const std::vector<std::string>& affinities, bool with_machine = true) {
  trace::Run run;
  run.nodes.push_back({.id = NodeId{0}, .host = "n0", .boot_id = "b"});
  for (std::size_t r = 0; r < affinities.size(); ++r) {
    trace::RankTrack track;
    track.rank = Rank{static_cast<std::int32_t>(r)};
    track.node = NodeId{0};
    track.locality = r == 0 && with_machine ? machine() : std::vector<trace::LocalityFact>{};
    track.locality.push_back({"affinity", affinities[r]});
    run.ranks.push_back(std::move(track));
  }
  return run;
}

TEST(Locality, HwlocUnderstandsTheCopy) {
  const trace::Run input = run_of({"0,4", "1,5", "2,6", "3,7"});
  const auto all = understand_locality(input);
  ASSERT_EQ(all.size(), 1U);
  const NodeLocality& n = all[0];
  EXPECT_EQ(n.source, "hwloc");
  EXPECT_EQ(n.host, "n0");
  EXPECT_EQ(n.packages, 2);
  EXPECT_EQ(n.numa_nodes, 2);
  EXPECT_EQ(n.cores, 4);
  EXPECT_EQ(n.cpus, 8);
  EXPECT_EQ(n.ranks, 4);
  EXPECT_EQ(n.bound, 4);
  EXPECT_EQ(n.sharing_cores, 0);
  EXPECT_EQ(n.across_numa_nodes, 0);
}

TEST(Locality, ThreadsOfOneCoreAreShared) {
  const trace::Run input = run_of({"0", "4", "2", "1,3"});
  const NodeLocality n = understand_locality(input).at(0);
  EXPECT_EQ(n.sharing_cores, 2);      // 0 and 4 are one core
  EXPECT_EQ(n.across_numa_nodes, 1);  // 1 and 3
}

TEST(Locality, DevicesAreAtNodesAndWhoIsBoundToAnotherIsAway) {
  trace::Run input = run_of({"0,4", "1,5", "2,6", "0-7"});
  auto& facts = input.ranks[0].locality;
  const auto pci = [&](const std::string& at, const char* kind, const char* vendor, const char* node) {
    const std::string folder = "/sys/bus/pci/devices/" + at;
    facts.push_back({folder + "/class", kind});
    facts.push_back({folder + "/vendor", vendor});
    facts.push_back({folder + "/numa_node", node});
  };
  pci("0000:17:00.0", "0x030200", "0x10de", "0");
  pci("0000:03:00.0", "0x030000", "0x1a03", "1");  // the server's console
  facts.push_back({"/sys/class/net/eth0/device/numa_node", "0"});
  facts.push_back({"/sys/class/infiniband/mlx5_0/device/numa_node", "1"});
  const NodeLocality n = understand_locality(input).at(0);
  EXPECT_EQ(n.gpus.nodes, std::vector<int>{0});
  EXPECT_EQ(n.gpus.away, std::vector<Rank>{Rank{2}}) << "who is not bound is not away";
  EXPECT_EQ(n.ports.nodes, std::vector<int>{1});
  EXPECT_EQ(n.ports.away, (std::vector<Rank>{Rank{0}, Rank{1}}));
}

TEST(Locality, ADeviceThatIsNowhereSaysNothingOfItsKind) {
  trace::Run input = run_of({"0,4", "2,6"});
  input.ranks[0].locality.push_back({"/sys/class/net/eth0/device/numa_node", "0"});
  input.ranks[0].locality.push_back({"/sys/class/net/eth1/device/numa_node", "-1"});
  const NodeLocality n = understand_locality(input).at(0);
  EXPECT_TRUE(n.ports.nodes.empty());
  EXPECT_TRUE(n.ports.away.empty());
}

TEST(Locality, UnboundRanksShareNothingThatWasBound) {
  const trace::Run input = run_of({"0-7", "0-7"});
  const NodeLocality n = understand_locality(input).at(0);
  EXPECT_EQ(n.bound, 0);
  EXPECT_EQ(n.sharing_cores, 0);
}

TEST(Locality, WithoutTheMachineOnlyAffinitiesAreKnown) {
  const trace::Run input = run_of({"0-1", "1-2"}, false);
  const NodeLocality n = understand_locality(input).at(0);
  EXPECT_EQ(n.source, "affinity");
  EXPECT_EQ(n.cores, 0);
  EXPECT_EQ(n.ranks, 2);
}

TEST(Locality, HostileFactsAreRefused) {
  for (const char* text : {"", "0-", "0-99999999", "x", "-1", "0,,,9999999999999", "../../etc"}) {
    trace::Run run = run_of({text});
    run.ranks[0].locality.push_back({"/sys/devices/system/cpu/../../../../tmp/cox-escaped", "x"});
    EXPECT_EQ(understand_locality(run).at(0).ranks, 0) << text;
  }
  EXPECT_EQ(std::getenv("HWLOC_FSROOT"), nullptr);
}

TEST(Locality, NothingRecordedNothingSaid) {
  trace::Run run = run_of({"0"});
  run.ranks[0].locality.clear();
  EXPECT_TRUE(understand_locality(run).empty());
}

}  // namespace
}  // namespace cox::diagnose
