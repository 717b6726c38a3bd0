// SPDX-License-Identifier: Apache-2.0
// What the scenario says and the job does not meet is not on, costs nothing, and is said once.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/simulate/attribution.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/switches.hpp"

namespace cox::simulate {
namespace {

using Names = std::vector<std::string>;

/// A ring of 1 MB over all of four nodes, two below each leaf of a 2:1 tree in which others have half of each up-link.
model::Scenario ring() {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 2;
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.cluster.scale_up = s.cluster.nic;
  s.inside = s.across = {.latency = {}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.link = s.cluster.nic;
  s.fabric.hosts_per_leaf = 2;
  s.fabric.oversubscription = 2;
  s.fabric.background_load = 0.5;
  s.job.work = model::CollectiveJob{.collective = {.ranks = 0, .bytes = Bytes{1'000'000}}};
  return s;
}

Seconds total_of(const model::Scenario& s) {
  const auto out = simulate(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? out->total : Seconds{};
}

/// The screen's note, and none of it is attributed; the total is that of the scenario without it.
void expect_unmet(const model::Scenario& s, const Names& lines, const model::Scenario& without) {
  EXPECT_EQ(unmet_mechanisms(s), lines);
  EXPECT_EQ(total_of(s), total_of(without));
  const auto out = simulate(s, {});
  ASSERT_TRUE(out);
  for (const std::string& line : lines) EXPECT_EQ(std::ranges::count(out->notes, line), 1) << line;
  const auto a = attribute(s, {});
  ASSERT_TRUE(a) << a.error().to_string();
  EXPECT_TRUE(a->mechanisms.empty());
}

// By hand: 1 MB around two devices are two rounds of 0.5 MB; between the links of a node, too, each waits to be there as a whole.
TEST(Unmet, AJobOnOneNodeMeetsStoreAndForward) {
  model::Scenario s = ring();
  s.fabric.background_load = 0;
  s.fabric.oversubscription = 1;
  s.job.places.nodes = {2};
  const Seconds through = total_of(s);
  s.fabric.switching = model::Switching::StoreAndForward;
  EXPECT_EQ(mechanisms_of(s), (Names{"store and forward"}));
  EXPECT_TRUE(unmet_mechanisms(s).empty());
  EXPECT_NEAR(total_of(s) / through, 2, 1e-9);
}

// Which ranks share a rail is also a matter of one node.
TEST(Unmet, CardsAreMetByNoiseOnRails) {
  model::Scenario s = ring();
  s.cluster.nics_per_node = 2;
  s.cluster.nic_of = {0, 0};
  s.job.places.nodes = {2};
  EXPECT_FALSE(unmet_mechanisms(s).empty());
  model::NoiseSource noise;
  noise.scope = model::NoiseScope::Rail;
  s.noise = {noise};
  const Names on = mechanisms_of(s);
  EXPECT_TRUE(std::ranges::find(on, "cards that are not a device's own") != on.end());
}

TEST(Unmet, AJobOnOneNodeMeetsNoSwitches) {
  model::Scenario s = ring();
  EXPECT_EQ(mechanisms_of(s), (Names{"2:1 oversubscription", "background load 50 %"}));
  EXPECT_TRUE(unmet_mechanisms(s).empty());
  s.job.places.nodes = {2};
  s.fabric.pause = true;
  model::Scenario without = s;
  without.fabric.background_load = 0;
  without.fabric.oversubscription = 1;
  without.fabric.pause = false;
  expect_unmet(
      s,
      {"2:1 oversubscription, background load 50 %, pause frames change nothing, and are not switched on: all "
       "ranks are on one node"},
      without);
  s.job.places.nodes = {};
  s.job.as<model::CollectiveJob>().collective.ranks = 2;  // of eight devices: the first node
  without = s;
  without.fabric = {};
  expect_unmet(s, unmet_mechanisms(s), without);
  EXPECT_EQ(unmet_mechanisms(s).size(), 1U);
}

// What is above a leaf is not below it; pause frames and where a message has to be whole are.
TEST(Unmet, AJobBelowOneLeafMeetsNothingAboveIt) {
  model::Scenario s = ring();
  s.job.places.nodes = {2, 3};
  model::Scenario without = s;
  without.fabric.background_load = 0;
  without.fabric.oversubscription = 1;
  expect_unmet(
      s,
      {"2:1 oversubscription, background load 50 % change nothing, and are not switched on: all ranks are below "
       "one leaf switch"},
      without);
  s.fabric.switching = model::Switching::StoreAndForward;
  EXPECT_EQ(mechanisms_of(s), Names{"store and forward"});
  s.job.places.nodes = {1, 2};
  EXPECT_EQ(mechanisms_of(s).size(), 3U);
  EXPECT_TRUE(unmet_mechanisms(s).empty());
}

TEST(Unmet, AClassWithoutARankOfTheJobIsNotOn) {
  model::Scenario s = ring();
  s.fabric = {};
  s.cluster.classes = {{.name = "slow", .first = 2, .count = 2, .speed = 0.5}};
  s.job.as<model::CollectiveJob>().compute = Seconds{1e-3};
  EXPECT_EQ(mechanisms_of(s), Names{"class slow"});
  s.job.places.nodes = {0, 1};
  model::Scenario without = s;
  without.cluster.classes.clear();
  expect_unmet(s, {"class slow changes nothing, and is not switched on: no rank is on a node of the class"},
               without);
  // A neighbour may meet it, and be met.
  s.neighbours = {{.name = "there", .nodes = {1, 2}, .bytes = Bytes{1'000}}};
  EXPECT_TRUE(unmet_mechanisms(s).empty());
  EXPECT_EQ(mechanisms_of(s), (Names{"class slow", "neighbour there"}));
}

// Switches that add up may be above the nodes.
TEST(Unmet, SumsInSwitchesMayLeaveTheLeaf) {
  model::Scenario s = ring();
  s.job.places.nodes = {2, 3};
  s.job.as<model::CollectiveJob>().collective.algorithm = model::Algorithm::InNetwork;
  EXPECT_TRUE(unmet_mechanisms(s).empty());
}

}  // namespace
}  // namespace cox::simulate
