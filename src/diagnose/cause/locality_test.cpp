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
