// SPDX-License-Identifier: Apache-2.0
// Places that cannot be: the exact line and reason of each; and what of them is read back.
#include <gtest/gtest.h>

#include <string>

#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

std::string clash(const std::string& text) {
  const auto read = parse_scenario(text, "f.toml", "", {.set = {"job.steps=2"}});
  if (read) return "no error";
  EXPECT_EQ(read.error().id, "scenario-004") << read.error().to_string();
  EXPECT_EQ(read.error().code, Errc::InvalidInput) << "exit code 3";
  return read.error().to_string() + " | " + read.error().hint;
}

// Lines 1 to 7.
const std::string kFour =
    "[cluster]\nnodes = 4\ndevices_per_node = 2\nscale_up.bandwidth = \"100GB/s\"\nnics_per_node = 2\n"
    "nic.latency = \"1us\"\nnic.bandwidth = \"10GB/s\"\n";

TEST(ScenarioPlaces, OfJobs) {
  EXPECT_EQ(clash(kFour + "[job]\nnodes = [0, 4]\n"),
            "f.toml:9:1: job.nodes names node 4, expected 0 to 3 | ");
  EXPECT_EQ(clash(kFour + "[job]\nnodes = [1, 1]\n"),
            "f.toml:9:1: job.nodes names node 1 twice | a rank sits on each device of a node");
  EXPECT_EQ(clash(kFour + "[job]\nnodes = []\nsteps = 1\n"), "no error")
      << "all of them, on one switch as well";
  EXPECT_EQ(
      clash(kFour + "[job]\nplacement = \"file\"\n"),
      "f.toml:9:1: job.placement is \"file\" and job.placement_file is missing | name the file with a device for "
      "each rank");
  EXPECT_EQ(
      clash(kFour + "[job]\nplacement = \"random\"\nplacement_file = \"a\"\n"),
      "f.toml:10:1: job.placement_file has no meaning for job.placement \"random\" | only file has one: change "
      "job.placement, or leave job.placement_file out");
  EXPECT_EQ(
      clash("[cluster]\nnodes = 4\n" + kFour.substr(kFour.find("nic.latency")) +
            "[job]\nplacement = \"scattered\"\n"),
      "f.toml:6:1: job.placement = \"scattered\" is \"packed\" here: single devices fill a node | job.nodes says "
      "the order of the nodes; random and file move them, too");
  EXPECT_EQ(
      clash("engine = \"max-plus\"\n" + kFour + "[job]\nnodes = [0, 1]\n"),
      "f.toml:10:1: job.nodes has no meaning for engine \"max-plus\" | only the flow engine plays links: leave "
      "`engine` out, or say flow");
  EXPECT_EQ(
      clash(
          kFour +
          "[job]\nworkload = \"training\"\nplacement = \"random\"\n[policy]\nkind = \"backup\"\nbackups = 0\n"
          "[[job.layers]]\nforward = \"1ms\"\ngradients = \"1MB\"\n"),
      "no error");
  EXPECT_EQ(
      clash(kFour + "[job]\nnodes = [0, 1]\ncollective.ranks = 6\n"),
      "f.toml:10:12: job.collective.ranks = 6, but the cluster has 2 nodes of job.nodes x 2 devices = 4 ranks | ");
  EXPECT_EQ(clash(kFour + "[job]\nplacement = \"random\"\n[[noise]]\nscope = \"node\"\ncv = 0.1\ntarget = "
                          "\"message\"\n"),
            "no error");
  EXPECT_TRUE(parse_scenario(
      kFour + "[job]\nplacement = \"random\"\ncompute = \"1ms\"\n[[noise]]\nscope = \"node\"\ncv = 0.1\n",
      "f.toml", ""));
}

TEST(ScenarioPlaces, OfCards) {
  EXPECT_EQ(clash(kFour + "nic_of = [0]\n"),
            "f.toml:8:1: cluster.nic_of has 1 entries, expected one for each of 2 devices of a node | ");
  EXPECT_EQ(clash(kFour + "nic_of = [0, 2]\n"),
            "f.toml:8:1: cluster.nic_of names card 2, and such a node has cards 0 to 1 | ");
  EXPECT_EQ(clash(kFour + "nic_of = [0, 1]\n"),
            "f.toml:8:1: cluster.nic_of says the cards that the devices have without it | leave it out");
  EXPECT_EQ(
      clash(kFour + "bridge.latency = \"1us\"\n"),
      "f.toml:8:8: cluster.bridge.latency has no meaning for cluster.nic_of [] | each device has a card that it "
      "reaches without: give cluster.nic_of");
  EXPECT_EQ(
      clash(kFour + "nic_of = [1, 0]\nsocket.latency = \"1us\"\n"),
      "f.toml:9:8: cluster.socket.latency has no meaning for cluster.nic_of [1, 0] | each device has a card that "
      "it reaches without: give cluster.nic_of");
  EXPECT_EQ(clash(kFour + "nic_of = [1, 0]\nsockets = 2\nsocket.latency = \"1us\"\n"), "no error");
}

TEST(ScenarioPlaces, OfClasses) {
  const std::string one = kFour + "[[cluster.classes]]\n";
  EXPECT_EQ(clash(one + "count = 5\n"),
            "f.toml:9:1: cluster.classes[0] is nodes 0 to 4, but the cluster has 4 | the "
            "last node is cluster.nodes - 1");
  EXPECT_EQ(clash(one + "first = 4\n"),
            "f.toml:9:1: cluster.classes[0] is nodes 4 to 4, but the cluster has 4 | the "
            "last node is cluster.nodes - 1");
  EXPECT_EQ(clash(one + "count = 2\n[[cluster.classes]]\nfirst = 1\n"),
            "f.toml:11:1: cluster.classes[1] and cluster.classes[0] have nodes in common | ");
  EXPECT_EQ(clash(one + "speed = 0.5\n"),
            "f.toml:9:1: cluster.classes[0].speed, and nothing computes | give job.compute");
  EXPECT_EQ(clash(one + "memory = \"1GB\"\n"),
            "f.toml:9:1: cluster.classes[0].memory is of training only | leave it out");
  EXPECT_EQ(clash(one + "nics = 3\n"),
            "f.toml:9:1: cluster.classes[0].nics = 3 is more than cluster.nics_per_node = 2 "
            "| the cluster says the most that a node has, a class how many of them");
  EXPECT_EQ(
      clash("engine = \"max-plus\"\n" + one + "nic_bandwidth = \"1GB/s\"\n"),
      "f.toml:10:1: cluster.classes[0].nic_bandwidth has no meaning where links are not played | leave `engine` "
      "out, or say flow");
  EXPECT_EQ(
      clash("[cluster]\nnodes = 4\n[[cluster.classes]]\ncount = 1\n[job]\nworkload = \"iteration\"\n"),
      "f.toml:3:11: [[cluster.classes]] has no meaning for job.workload \"iteration\" | only collective or training "
      "has one: change job.workload, or leave [[cluster.classes]] out");
}

TEST(ScenarioPlaces, OfNeighbours) {
  const std::string one = kFour + "[[neighbour]]\n";
  EXPECT_EQ(clash(one + "bytes = \"1MB\"\n"),
            "f.toml:8:1: neighbour[0].nodes has 0 entries, expected at least 2 | say where it is");
  EXPECT_EQ(clash(one + "bytes = \"1MB\"\nnodes = [0, 1, 2]\n"),
            "f.toml:10:1: neighbour[0].nodes has 3 entries, expected pairs: from, to | ");
  EXPECT_EQ(clash(one + "bytes = \"1MB\"\nnodes = [0, 0]\n"),
            "f.toml:10:1: neighbour[0].nodes: a flow from node 0 to itself uses no link | ");
  EXPECT_EQ(clash(one + "bytes = \"1MB\"\nnodes = [0, 4]\n"),
            "f.toml:10:1: neighbour[0].nodes names node 4, expected 0 to 3 | ");
  EXPECT_EQ(clash(one + "bytes = \"10B\"\nnodes = [0, 1]\n"),
            "f.toml:9:1: neighbour[0].bytes is 10B, expected at least 1kB | ");
  EXPECT_EQ(
      clash(one + "bytes = \"1MB\"\nnodes = [0, 1]\ncompute = \"1ms\"\n"),
      "f.toml:11:1: neighbour[0].compute has no meaning for kind \"flows\" | only collective or training has one");
  EXPECT_EQ(clash(one + "bytes = \"1MB\"\nnodes = [0, 1]\nkind = \"collective\"\nperiod = \"1ms\"\n"),
            "f.toml:12:1: neighbour[0].period has no meaning for kind \"collective\" | only flows has one");
  EXPECT_EQ(
      clash(one +
            "bytes = \"1MB\"\nnodes = [0, 1]\nkind = \"collective\"\nalgorithm = \"parameter-server\"\n"),
      "f.toml:12:1: neighbour[0].algorithm = \"parameter-server\": a neighbour has neither servers nor switches | "
      "choose an algorithm among its ranks");
  EXPECT_EQ(
      clash("engine = \"max-plus\"\n" + one + "bytes = \"1MB\"\nnodes = [0, 1]\n"),
      "f.toml:9:3: [[neighbour]] has no meaning for engine \"max-plus\" | only the flow engine plays links: leave "
      "`engine` out, or say flow");
}

// What a scenario says of places is written as it was read.
TEST(ScenarioPlaces, OfNeighboursThatTrain) {
  const std::string one =
      kFour + "[job]\nnodes = [0, 1]\n[[neighbour]]\nkind = \"training\"\nnodes = [2, 3]\n";
  EXPECT_TRUE(parse_scenario(one + "bytes = \"1MB\"\nbackward = \"1ms\"\nbucket = \"1kB\"\n", "f.toml", ""));
  EXPECT_EQ(clash(one + "bytes = \"1MB\"\nrate = \"1GB/s\"\n"),
            "f.toml:14:1: neighbour[0].rate has no meaning for kind \"training\" | only flows has one");
  EXPECT_EQ(
      clash(one + "bytes = \"1MB\"\ncollective = \"all-gather\"\n"),
      "f.toml:14:1: neighbour[0].collective has no meaning for kind \"training\" | only collective has one");
  EXPECT_EQ(
      clash(one + "bytes = \"1GB\"\nbucket = \"10B\"\n"),
      "f.toml:14:1: neighbour[0].bucket = 10B makes more than 65536 buckets of 1GB | say a larger bucket");
}

TEST(ScenarioPlaces, DrawsOfClassesNeedThoseOfTheOthers) {
  const std::string one = kFour + "[[cluster.classes]]\ncount = 1\n";
  const std::string training =
      "[job]\nworkload = \"training\"\n[[job.layers]]\nforward = \"1ms\"\ngradients = \"1MB\"\n";
  EXPECT_EQ(
      clash(one + "power_busy = \"1kW\"\n" + training),
      "f.toml:10:1: cluster.classes[0].power_busy without power.busy: what the other nodes draw is not known | "
      "give power.busy");
  EXPECT_EQ(
      clash(one + "node_hour = 2\n" + training),
      "f.toml:10:1: cluster.classes[0].node_hour without price.node_hour: what the other nodes cost is not known "
      "| give price.node_hour");
  EXPECT_EQ(clash(one + "speed = 0.5\nnode_hour = 2\n[job]\ncompute = \"1ms\"\n"),
            "f.toml:11:1: cluster.classes[0].node_hour is of training only | leave it out");
  const auto read = parse_scenario(
      one + "power_busy = \"1kW\"\nnode_hour = 2\n" + training +
          "[power]\nbusy = \"3kW\"\n[price]\nnode_hour = 1\n[policy]\nkind = \"asynchronous\"\n",
      "f.toml", "");
  ASSERT_TRUE(read) << read.error().to_string();
  const NodeClass& c = read->scenario.cluster.classes[0];
  EXPECT_EQ(c.wait, Power::watts(500));
  EXPECT_EQ(c.transfer, Power::watts(500));
  EXPECT_EQ(c.idle, Power::watts(500));
}

TEST(ScenarioPlaces, AreWrittenAndReadBack) {
  const std::string text =
      kFour +
      "nic_of = [1, 0]\nbridge.latency = \"2us\"\n[job]\nnodes = [3, 1]\nplacement = \"random\"\n"
      "compute = \"1ms\"\n[[cluster.classes]]\ncount = 2\n[[cluster.classes]]\nname = \"old\"\n"
      "speed = 0.5\nnics = 1\nnic_bandwidth = \"5GB/s\"\n[[neighbour]]\nnodes = [0, 2]\n"
      "bytes = \"1MB\"\nperiod = \"2ms\"\nrate = \"1GB/s\"\n";
  const auto read = parse_scenario(text, "f.toml", "");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->scenario.cluster.classes.at(1).first, 2) << "behind the class before";
  EXPECT_EQ(read->scenario.job.as<CollectiveJob>().collective.ranks, 4) << "of the job's nodes";
  const std::string written = scenario_toml(read->scenario);
  const auto again = parse_scenario(written, "f.toml", "");
  ASSERT_TRUE(again) << again.error().to_string() << "\n" << written;
  EXPECT_EQ(scenario_toml(again->scenario), written);
  EXPECT_EQ(again->scenario.cluster.nic_of, (std::vector<int>{1, 0}));
  EXPECT_EQ(again->scenario.cluster.classes.at(1).nic.bandwidth, Bandwidth::gbyte_per_s(5));
  EXPECT_EQ(again->scenario.job.places.nodes, (std::vector<int>{3, 1}));
  EXPECT_EQ(again->scenario.neighbours.at(0).rate, Bandwidth::gbyte_per_s(1));
}

TEST(ScenarioPlaces, NeighboursOfBackupWorkersAreNotSimulated) {
  EXPECT_EQ(
      clash(kFour + "[[neighbour]]\nnodes = [0, 1]\nbytes = \"1MB\"\n[job]\nworkload = \"training\"\nlayers "
                    "= [{ gradients = \"1MB\" }]\n[policy]\nkind = \"backup\"\nbackups = 1\n"),
      "f.toml:8:3: [[neighbour]] is not simulated for policy.kind \"backup\" | only synchronous, local-sgd or a "
      "policy with servers is: change policy.kind, or leave [[neighbour]] out");
  EXPECT_EQ(
      clash(kFour +
            "classes = [{ count = 1, nic_bandwidth = \"1GB/s\" }]\n[job]\nworkload = "
            "\"training\"\nlayers = [{ gradients = \"1MB\" }]\n[policy]\nkind = \"backup\"\nbackups = 1\n"),
      "no error");
}

}  // namespace
}  // namespace cox::model
