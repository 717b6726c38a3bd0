// SPDX-License-Identifier: Apache-2.0
// Hints that can be followed, and refusals that have a line.
#include <gtest/gtest.h>

#include <string>

#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

/// The error as the command line prints it, with the hint behind it.
std::string clash(const std::string& text) {
  const auto read = parse_scenario(text, "f.toml", "");
  if (read) return "no error";
  EXPECT_EQ(read.error().id, "scenario-004");
  return read.error().to_string() + " | " + read.error().hint;
}

// What the hint says is taken: it does not lead to another refusal.
TEST(ScenarioHints, HintsUnderServersCanBeFollowed) {
  const std::string job =
      "cluster.nodes = 4\ncluster.nic.bandwidth = \"1GB/s\"\njob.workload = \"training\"\n"
      "job.layers = [{ gradients = \"1MB\" }]\npolicy.kind = \"asynchronous\"\n";
  EXPECT_EQ(clash("cost.reduce = \"1ps/B\"\n" + job),
            "f.toml:1:6: cost.reduce has no meaning for policy.kind \"asynchronous\" | only synchronous, "
            "local-sgd or backup has one: change policy.kind, or leave cost.reduce out");
  EXPECT_EQ(
      clash("engine = \"flow\"\ncost.across.latency = \"1us\"\n" + job),
      "f.toml:2:13: cost.across.latency has no meaning for engine \"flow\" | messages cost what the links on "
      "their way say: write cluster.scale_up, cluster.nic and fabric.link, or engine = \"event\"");
  EXPECT_EQ(clash("engine = \"event\"\ncost.across.latency = \"1us\"\n" + job), "no error");
}

// Flow knows no processors: it is no way out of loggops.
TEST(ScenarioHints, LoggopsIsNotSentToFlow) {
  const std::string job =
      "cluster.nodes = 4\ncluster.nic.bandwidth = \"1GB/s\"\nfabric.kind = \"fat-tree\"\nfabric.hosts_per_leaf = 2\n"
      "fabric.oversubscription = 2\ncost.across.overhead = \"1us\"\njob.collective.bytes = \"1MB\"\n";
  const std::string loggops = "cost.protocol = \"loggops\"\n";
  EXPECT_EQ(
      clash("engine = \"max-plus\"\n" + loggops + job),
      "f.toml:7:8: fabric.oversubscription has no meaning for cost.protocol \"loggops\" | under loggops each "
      "message has its way to itself: say another protocol, and leave `engine` out, or say flow");
  // An engine that has links, without their rate: what is in the way is said first.
  EXPECT_EQ(
      clash("engine = \"flow\"\n" + loggops +
            "cluster.nodes = 4\ncost.across.bandwidth = \"1GB/s\"\ncost.across.overhead = \"1us\"\n"
            "job.collective.bytes = \"1MB\"\n"),
      "f.toml:2:6: cost.protocol \"loggops\" has no meaning for engine \"flow\" | there is no processor at "
      "either end: leave `engine` out, or say max-plus");
  const std::string no_overhead = job.substr(0, job.find("cost.")) + job.substr(job.find("job."));
  EXPECT_EQ(clash("cost.protocol = \"rendezvous\"\n" + no_overhead), "no error");
}

// What serves in turn is not played on links, whoever asks for these.
TEST(ScenarioHints, EagerGapIsNotPlayedOnLinks) {
  const std::string gap = "cost.protocol = \"eager-gap\"\n";
  const std::string job =
      "cluster.nodes = 4\ncluster.nic.bandwidth = \"1GB/s\"\njob.collective.bytes = \"1MB\"\n";
  const std::string tree = "fabric.kind = \"fat-tree\"\nfabric.hosts_per_leaf = 2\n";
  const std::string what =
      "f.toml:1:6: cost.protocol \"eager-gap\" has no meaning where messages are played on links, which this fabric, these "
      "places or these neighbours ask for | there the links are the ports: say eager";
  EXPECT_EQ(clash(gap + job), "no error");
  EXPECT_EQ(clash(gap + job + tree), what);
  EXPECT_EQ(clash(gap + job + "neighbour = [{ nodes = [0, 1], bytes = \"1MB\" }]\n"), what);
}

// A node of one device: what its ranks would share, nobody shares.
TEST(ScenarioHints, ADeviceANodeSharesNothing) {
  const std::string job =
      "cluster.nic.bandwidth = \"1GB/s\"\njob.workload = \"training\"\njob.layers = [{ gradients = \"1MB\" }]\n"
      "cluster.nodes = 4\n";
  const std::string cores = "job.input.cores = 4\njob.input.prepare = \"1ms\"\n";
  EXPECT_EQ(clash(cores + job),
            "f.toml:1:11: job.input.cores has no meaning for cluster.devices_per_node 1 | input of a rank is "
            "prepared on one core, and a single rank shares it with nobody: leave job.input.cores out");
  const std::string cards = "cluster.nics_per_node = 2\n";
  EXPECT_EQ(
      clash(cards + job),
      "f.toml:1:9: cluster.nics_per_node has no meaning for cluster.devices_per_node 1 | a device sends through "
      "one card, and the others of its node lie idle: say the rate of all in cluster.nic.bandwidth where messages "
      "are striped over them");
  for (const char* who :
       {"cost.form = \"nccl\"\n", "failures.class = [{ per = \"link\", mtbf = \"1d\" }]\n",
        "fabric.kind = \"fat-tree\"\nfabric.hosts_per_leaf = 2\nfabric.oversubscription = 2\n"
        "fabric.link.bandwidth = \"1GB/s\"\n",
        "cluster.nic_of = [1]\nengine = \"flow\"\n"})
    EXPECT_EQ(clash(cards + who + job), "no error") << who;
  const std::string inside = "cluster.scale_up.bandwidth = \"9GB/s\"\ncluster.devices_per_node = 2\n";
  EXPECT_EQ(clash(cores + cards + inside + job), "no error");
  // An option that makes nodes smaller takes what they shared along.
  EXPECT_TRUE(
      parse_scenario(cores + cards + inside + job, "f.toml", "", {.set = {"cluster.devices_per_node=1"}}));
}

// The ranks of a collective, which may be fewer than the cluster's.
TEST(ScenarioHints, NoiseOfRanksThatAreNoneHasItsLine) {
  const std::string job =
      "cluster.nodes = 8\ncluster.nic.bandwidth = \"1GB/s\"\njob.compute = \"1ms\"\n"
      "job.collective = { ranks = 4, bytes = \"1MB\" }\n";
  EXPECT_EQ(clash(job + "noise = [{ cv = 0.1, ranks = [4] }]\n"),
            "f.toml:5:22: noise[0].ranks has 4, expected 0 to 3 | ");
  EXPECT_EQ(clash(job + "noise = [{ cv = 0.1, ranks = [3] }]\n"), "no error");
}

TEST(ScenarioHints, MemoryIsOfWhatHasGradients) {
  const std::string job =
      "cluster.device.memory = \"80GB\"\ncluster.nodes = 4\ncluster.nic.bandwidth = \"1GB/s\"\n"
      "job.workload = \"training\"\n";
  const std::string none = "job.layers = [{ forward = \"1ms\" }]\n";
  EXPECT_EQ(
      clash(job + none),
      "f.toml:1:16: cluster.device.memory has no meaning for job.model.parameters 0 | what a device holds is "
      "counted from gradients: give job.layers.gradients, or job.model.parameters");
  EXPECT_EQ(clash(job + "job.layers = [{ gradients = \"1MB\" }]\n"), "no error");
  EXPECT_EQ(
      clash(
          job +
          "cluster.device.peak = \"1PFLOP/s\"\njob.model.parameters = 1000000\njob.model.layers = 4\njob.model.sequence = 64\n"
          "job.model.hidden = 64\n"),
      "no error");
  EXPECT_EQ(
      clash("cluster.classes = [{ memory = \"1GB\" }]\n" + job.substr(job.find('\n') + 1) + none),
      "f.toml:1:22: cluster.classes[0].memory, and no layer says its gradients | what a device holds is counted "
      "from gradients: give job.layers.gradients, or job.model.parameters");
}

TEST(ScenarioHints, LinksThatArePlayedHaveARate) {
  const std::string job = "job.collective.bytes = \"1MB\"\n";
  EXPECT_EQ(
      clash(
          "cluster.nodes = 4\nfabric.kind = \"fat-tree\"\nfabric.hosts_per_leaf = 2\nfabric.link.bandwidth = \"1GB/s\"\n" +
          job),
      "f.toml:2:8: the job's messages share links, and their bandwidth is not given | "
      "write cluster.nic.bandwidth and fabric.link.bandwidth");
  EXPECT_EQ(
      clash("cluster.nodes = 4\ncluster.nic.bandwidth = \"1GB/s\"\ncluster.devices_per_node = 2\n"
            "cost.inside.bandwidth = \"9GB/s\"\nfabric.oversubscription = 2\nfabric.kind = \"fat-tree\"\n" +
            job)
          .rfind("f.toml:3:9: links are played, and none between devices of a node has a bandwidth", 0),
      0U);
}

}  // namespace
}  // namespace cox::model
