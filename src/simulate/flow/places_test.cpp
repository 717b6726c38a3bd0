// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/places.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cox/simulate/flow.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {
namespace {

using model::PlaceRule;
using Devices = std::vector<int>;

model::Scenario two_by_four() {
  model::Scenario s;
  s.cluster.nodes = 2;
  s.cluster.devices_per_node = 4;
  s.cluster.nics_per_node = 2;
  return s;
}

Devices placed(model::Scenario s, PlaceRule rule, std::uint64_t seed = 1, int ranks = 8) {
  s.job.places.rule = rule;
  const auto made = devices_of_job(s, seed, ranks);
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *made : Devices{};
}

TEST(Places, OfEachRule) {
  model::Scenario s = two_by_four();
  EXPECT_EQ(placed(s, PlaceRule::Packed), (Devices{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(placed(s, PlaceRule::Scattered), (Devices{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(placed(s, PlaceRule::ByRail), (Devices{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(placed(s, PlaceRule::Scattered, 1, 3), (Devices{0, 4, 1}));
  const Devices random = placed(s, PlaceRule::Random);
  EXPECT_TRUE(std::ranges::is_permutation(random, placed(s, PlaceRule::Packed)));
  EXPECT_EQ(random, placed(s, PlaceRule::Random));
  EXPECT_NE(random, placed(s, PlaceRule::Random, 2));
  s.job.places.nodes = {1, 0};
  EXPECT_EQ(placed(s, PlaceRule::Packed), (Devices{4, 5, 6, 7, 0, 1, 2, 3}));
  EXPECT_EQ(placed(s, PlaceRule::Scattered), (Devices{4, 0, 5, 1, 6, 2, 7, 3}));
}

// Ranks that share layers stay on one node, in their order.
TEST(Places, UnitsMoveAsOne) {
  model::Scenario s = two_by_four();
  s.job.work = model::TrainingJob{};
  s.job.as<model::TrainingJob>().layout = {.data = 4, .tensor = 2};
  EXPECT_EQ(placed(s, PlaceRule::Scattered), (Devices{0, 1, 4, 5, 2, 3, 6, 7}));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Devices random = placed(s, PlaceRule::Random, seed);
    for (std::size_t r = 0; r < random.size(); r += 2) {
      EXPECT_EQ(random[r] % 2, 0);
      EXPECT_EQ(random[r + 1], random[r] + 1);
    }
  }
}

class PlacementFiles : public testing::Test {
 protected:
  PlacementFiles()
      : file_(std::filesystem::path(testing::TempDir()) / ("cox-places-" + std::to_string(getpid()))) {}
  ~PlacementFiles() override { std::filesystem::remove(file_); }

  Result<Devices> read(const std::string& text, model::Scenario s = two_by_four()) {
    std::ofstream(file_, std::ios::binary) << text;
    s.job.places.rule = PlaceRule::File;
    s.job.places.file = file_.string();
    return devices_of_job(s, 1, 8);
  }
  void refused(const std::string& text, std::int64_t line, const model::Scenario& s = two_by_four()) {
    const auto made = read(text, s);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().id, "simulate-005") << text;
    ASSERT_TRUE(made.error().where) << text;
    EXPECT_EQ(made.error().where->line, line) << made.error().to_string();
  }

  std::filesystem::path file_;
};

TEST_F(PlacementFiles, HoldADeviceALine) {
  const auto made = read("# reversed\n7\n6\n\n5 # and so on\n4\r\n3\n 2\t\n1\n0");
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(*made, (Devices{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST_F(PlacementFiles, AreRefusedWithTheirLine) {
  refused("0\n1\n2\n3\n4\n5\n6\n", 0);        // one rank has none
  refused("0\n1\n2\n3\n4\n5\n6\n7\n0\n", 9);  // one too many
  refused("0\n1\n2\n1\n4\n5\n6\n7\n", 4);     // twice
  refused("0\n8\n", 2);                       // is not there
  refused("0\n-1\n", 2);
  refused("0\n1 2\n", 2);
  refused("0\nn1\n", 2);
  refused("99999999999999999999\n", 1);
  refused("", 0);
  model::Scenario one_node = two_by_four();
  one_node.cluster.nodes = 3;
  one_node.job.places.nodes = {0, 1};
  refused("0\n8\n", 2, one_node);  // a node that the job is not on
  model::Scenario units = two_by_four();
  units.job.work = model::TrainingJob{};
  units.job.as<model::TrainingJob>().layout = {.data = 4, .tensor = 2};
  refused("0\n4\n", 2, units);  // a tensor group on two nodes
}

/// `nodes` of one device on a fat tree of 4:1, eight to a leaf, links of 1 GB/s.
model::Scenario tree(int nodes) {
  model::Scenario s;
  s.cluster.nodes = nodes;
  s.cluster.nic = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.link = s.cluster.nic;
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 8;
  s.fabric.oversubscription = 4;
  s.across = {.latency = Seconds{2e-6}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  s.job.as<model::CollectiveJob>().collective = {.kind = model::Collective::AllReduce,
                                                 .algorithm = model::Algorithm::Ring,
                                                 .ranks = nodes,
                                                 .bytes = Bytes{64'000'000}};
  return s;
}

// docs/concepts/places.md: of a ring in random order over N nodes, m a leaf, N (N - m) / (N - 1) edges leave their leaf.
TEST(Places, EdgesOfARandomRingThatLeaveTheirLeaf) {
  constexpr int kNodes = 64;
  constexpr int kLeaf = 8;
  constexpr int kSeeds = 400;
  double crossing = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Devices at = placed(tree(kNodes), PlaceRule::Random, static_cast<std::uint64_t>(seed), kNodes);
    for (std::size_t r = 0; r < at.size(); ++r)
      crossing += at[r] / kLeaf != at[(r + 1) % at.size()] / kLeaf ? 1 : 0;
  }
  EXPECT_NEAR(crossing / kSeeds, double{kNodes} * (kNodes - kLeaf) / (kNodes - 1), 0.5);
}

// In order one edge leaves each leaf, so that no link is shared: 2 (N - 1) rounds of 4 us and a chunk of 1 MB, of which
// the edges between leaves decide. At random about seven edges leave a leaf, over two up-links.
TEST(Places, ARingInOrderAndAtRandom) {
  model::Scenario s = tree(64);
  const auto in_order = simulate(s, {});
  ASSERT_TRUE(in_order) << in_order.error().to_string();
  EXPECT_NEAR(in_order->total.count(), 2 * 63 * (4e-6 + 1e-3), 1e-9);
  s.job.places.rule = PlaceRule::Random;
  const auto random = simulate(s, {});
  ASSERT_TRUE(random) << random.error().to_string();
  EXPECT_EQ(random->engine, model::EngineKind::Flow);
  EXPECT_GT(random->total.count(), 3 * in_order->total.count());
  EXPECT_LT(random->total.count(), 8 * in_order->total.count());
}

// A ring over two nodes of four: in order it crosses once each way, scattered with every message.
TEST(Places, AScatteredRingCrossesWithEveryMessage) {
  model::Scenario s = two_by_four();
  s.cluster.nics_per_node = 1;
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(100)};
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.inside = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(100).time_per_byte()};
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  s.job.as<model::CollectiveJob>().collective = {.kind = model::Collective::AllReduce,
                                                 .algorithm = model::Algorithm::Ring,
                                                 .ranks = 8,
                                                 .bytes = Bytes{8'000'000}};
  const auto packed = simulate(s, {});
  ASSERT_TRUE(packed);
  EXPECT_NEAR(packed->total.count(), 14 * 1e-3, 1e-9);  // rounds of 1 MB through a card of 1 GB/s
  s.job.places.rule = PlaceRule::Scattered;
  const auto scattered = simulate(s, {});
  ASSERT_TRUE(scattered) << scattered.error().to_string();
  EXPECT_NEAR(scattered->total.count(), 14 * 4e-3, 1e-9);  // four through each card at a time
}

}  // namespace
}  // namespace cox::simulate
