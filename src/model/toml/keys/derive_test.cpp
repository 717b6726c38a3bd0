// SPDX-License-Identifier: Apache-2.0
// Defaults that depend on other values, against the formulas written out by hand.
#include <gtest/gtest.h>

#include <string>

#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

/// The kind of a fabric is given as an option, so that keys of the others are none of its business.
ReadScenario read(const std::string& text) {
  ScenarioOptions options{.set = {"job.steps=1"}};
  const auto at = text.find("\nkind = \"");
  if (text.find("[fabric]") != std::string::npos)
    options.set.push_back("fabric.kind=" + (at == std::string::npos
                                                ? "full-bisection"
                                                : text.substr(at + 9, text.find('"', at + 9) - at - 9)));
  auto made = parse_scenario(text, "f.toml", "", options);
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *std::move(made) : ReadScenario{};
}

Explained explained(const ReadScenario& made, const std::string& key) {
  for (const Explained& e : made.explained)
    if (e.key == key) return e;
  ADD_FAILURE() << key;
  return {};
}

// nic 1 us and 10 GB/s, link 100 ns and 5 GB/s, pcie 10 ns
std::string cluster(int nodes) {
  return "[cluster]\nnodes = " + std::to_string(nodes) +
         "\nnic.latency = \"1us\"\nnic.bandwidth = \"10GB/s\"\npcie.latency = \"10ns\"\n"
         "[fabric]\nlink.latency = \"100ns\"\nlink.bandwidth = \"5GB/s\"\n";
}

double across_ns(const std::string& text) {
  return read(text).scenario.across.latency.count() * 1e9;
}

TEST(ScenarioDerive, LatencyOfThePathBetweenNodes) {
  EXPECT_NEAR(across_ns(cluster(64)), 2020, 1e-9);
  EXPECT_NEAR(across_ns(cluster(8) + "kind = \"fat-tree\"\n"), 2020, 1e-9) << "one leaf";
  EXPECT_NEAR(across_ns(cluster(9) + "kind = \"fat-tree\"\n"), 2220, 1e-9);
  EXPECT_NEAR(across_ns(cluster(64) + "kind = \"fat-tree\"\ntiers = 3\n"), 2220, 1e-9) << "one pod";
  EXPECT_NEAR(across_ns(cluster(65) + "kind = \"fat-tree\"\ntiers = 3\n"), 2420, 1e-9);
  EXPECT_NEAR(across_ns(cluster(8) + "kind = \"rail-optimised\"\n"), 2020, 1e-9);
  EXPECT_NEAR(across_ns(cluster(64) + "kind = \"rail-optimised\"\n"), 2220, 1e-9);
  EXPECT_NEAR(across_ns(cluster(64) + "kind = \"torus\"\n"), 120, 1e-9);
  EXPECT_NEAR(
      across_ns(cluster(72) + "kind = \"dragonfly\"\ndragonfly = {groups = 9, routers = 4, hosts = 2}\n"),
      2320, 1e-9);
  EXPECT_NEAR(
      across_ns(cluster(8) + "kind = \"dragonfly\"\ndragonfly = {groups = 1, routers = 4, hosts = 2}\n"),
      2120, 1e-9);
}

TEST(ScenarioDerive, BandwidthOfTheSlowestLink) {
  const auto slowest = [](const std::string& text) {
    return 1e-9 / read(text).scenario.across.per_byte.in_seconds_per_byte();
  };
  EXPECT_NEAR(slowest(cluster(64)), 10, 1e-9) << "no fabric link is crossed";
  EXPECT_NEAR(slowest(cluster(64) + "kind = \"fat-tree\"\n"), 5, 1e-9);
  const ReadScenario bus =
      read("[cluster]\nnodes = 2\nnic.bandwidth = \"10GB/s\"\npcie.bandwidth = \"3GB/s\"\n");
  EXPECT_NEAR(1e-9 / bus.scenario.across.per_byte.in_seconds_per_byte(), 3, 1e-9);
  EXPECT_EQ(explained(bus, "cost.across.bandwidth").origin, Origin::Derived);
  EXPECT_EQ(explained(bus, "cost.across.bandwidth").why, "of the slowest on the path, cluster.pcie");
  EXPECT_EQ(bus.scenario.fabric.link.bandwidth, bus.scenario.cluster.nic.bandwidth);
}

TEST(ScenarioDerive, InsideANode) {
  const Scenario up = read(
                          "[cluster]\nnodes = 2\ndevices_per_node = 2\nscale_up.latency = \"1us\"\n"
                          "scale_up.bandwidth = \"300GB/s\"\npcie.bandwidth = \"30GB/s\"\n")
                          .scenario;
  EXPECT_EQ(up.inside.latency, Seconds{1e-6});
  EXPECT_EQ(up.inside.per_byte, Bandwidth::gbyte_per_s(300).time_per_byte());
  const Scenario bus =
      read("[cluster]\ndevices_per_node = 2\npcie.latency = \"1us\"\npcie.bandwidth = \"30GB/s\"\n").scenario;
  EXPECT_EQ(bus.inside.latency, Seconds{2e-6});
  EXPECT_EQ(bus.inside.per_byte, Bandwidth::gbyte_per_s(30).time_per_byte());
}

TEST(ScenarioDerive, WhatTheFileSaysStays) {
  const Scenario s =
      read("[cluster]\nnodes = 64\n[cost.across]\nlatency = \"7us\"\nbandwidth = \"20ps/B\"\n").scenario;
  EXPECT_EQ(s.across.latency, Seconds{7e-6});
  EXPECT_EQ(s.across.per_byte, TimePerByte::seconds_per_byte(20e-12));
}

TEST(ScenarioDerive, TorusOfLeastExtent) {
  const auto torus = [](int nodes) {
    return read("[cluster]\npreset = \"tpu-v4\"\nnodes = " + std::to_string(nodes) + "\n")
        .scenario.fabric.torus;
  };
  EXPECT_EQ(torus(64), (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(torus(4096), (std::vector<int>{16, 16, 16}));
  EXPECT_EQ(torus(24), (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(torus(7), (std::vector<int>{1, 1, 7}));
  EXPECT_EQ(torus(1), (std::vector<int>{1, 1, 1}));
}

TEST(ScenarioDerive, RanksGroupsAndReplicas) {
  const std::string nodes = "[cluster]\npreset = \"dgx-a100\"\nnodes = 6\n";
  const Scenario c = read(nodes + "[job.collective]\nalgorithm = \"hierarchical\"\n").scenario;
  EXPECT_EQ(c.job.as<CollectiveJob>().collective.ranks, 48);
  EXPECT_EQ(c.job.as<CollectiveJob>().collective.group, 8);
  const ReadScenario t = read(
      nodes +
      "[job]\nworkload = \"training\"\nlayers = [{count = 3}]\nlayout.tensor = 8\nlayout.pipeline = 3\n");
  EXPECT_EQ(t.scenario.job.as<TrainingJob>().layout.data, 2);
  EXPECT_EQ(explained(t, "job.layout.data").why, "48 ranks / (tensor x pipeline x context = 24)");
}

TEST(ScenarioDerive, LayersOfAModel) {
  const ReadScenario made = read(R"(
[cluster]
devices_per_node = 4
device.peak = "100TFLOP/s"
scale_up.bandwidth = "100GB/s"
[job]
workload = "training"
layout.tensor = 2
layout.context = 2
[job.model]
parameters = 1_000_000_001
layers = 10
hidden = 1000
sequence = 2000
micro_batch = 3
utilisation = 0.5
)");
  const std::vector<Layer>& layers = made.scenario.job.as<TrainingJob>().layers;
  ASSERT_EQ(layers.size(), 10U);
  // 2 x 1e8 parameters x (3 x 2000 / 2) tokens / (100e12 x 0.5 x 2)
  EXPECT_NEAR(layers[0].forward.count(), 2 * 1.000000001e8 * 3000 / 1e14, 1e-15);
  EXPECT_NEAR(layers[0].backward.count(), 2 * layers[0].forward.count(), 1e-15);
  EXPECT_EQ(layers[0].gradients, Bytes{200'000'002});
  EXPECT_EQ(layers[9].gradients, Bytes{200'000'000}) << "all layers together have every parameter once";
  EXPECT_EQ(layers[0].activations, Bytes{3LL * 2000 * 1000 * 2}) << "of the whole micro-batch";
  const Explained forward = explained(made, "job.layers[0].forward");
  EXPECT_EQ(forward.origin, Origin::Derived);
  EXPECT_EQ(forward.why,
            "2 x parameters / layers x 3000 tokens of a device / (peak x utilisation x tensor); Kaplan et "
            "al. 2020, section 2.1; attention over the sequence is not counted");
  EXPECT_EQ(explained(made, "job.layers[0].count").value, "10");
}

TEST(Derive, AFixedBatchIsSharedOutAmongReplicas) {
  const std::string job = cluster(8) + "[job]\nworkload = \"training\"\nglobal_batch = ";
  const std::string layers = "\n[[job.layers]]\nforward = \"1ms\"\n";
  const auto made = read(job + "48" + layers);
  EXPECT_EQ(made.scenario.job.as<TrainingJob>().micro_batches, 6);
  EXPECT_EQ(explained(made, "job.micro_batches").why, "job.global_batch / (8 replicas x 1)");
  const auto error = [&](const std::string& text) {
    const auto wrong = parse_scenario(text, "f.toml", "", {});
    return wrong ? std::string("read") : wrong.error().message + " | " + wrong.error().hint;
  };
  EXPECT_EQ(
      error(job + "12" + layers),
      "job.global_batch = 12 cannot be shared out among 8 replicas in micro-batches of 1 | choose a batch that is "
      "a multiple of replicas x micro-batch");
  EXPECT_EQ(
      error(job + "4" + layers),
      "job.global_batch = 4 cannot be shared out among 8 replicas in micro-batches of 1 | use fewer replicas: more "
      "devices for each by tensor, pipeline or context");
  EXPECT_EQ(
      error(job + "8000008" + layers),
      "job.global_batch = 8000008 are 1000001 micro-batches for each of 8 replicas, at most 1000000 are "
      "simulated | make micro-batches larger (job.model.micro_batch)");
  EXPECT_EQ(error(job + "16\nlayout.tensor = 3" + layers).find("job.global_batch"), std::string::npos)
      << "the layout is what does not fit";
  EXPECT_EQ(
      error(job + "16\nmicro_batches = 2" + layers),
      "both job.global_batch and job.micro_batches are given | a fixed batch says how many micro-batches a replica "
      "has; keep one");
}

}  // namespace
}  // namespace cox::model
