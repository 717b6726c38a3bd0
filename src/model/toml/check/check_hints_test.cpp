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
