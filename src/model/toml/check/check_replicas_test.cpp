// SPDX-License-Identifier: Apache-2.0
// Words of a training step that nobody reads where a single replica runs, or where nothing is passed on.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

const std::string kMachines =
    "cluster.nodes = 4\ncluster.nic.bandwidth = \"10GB/s\"\njob.workload = \"training\"\n";  // 3 lines
const std::string kLayers = "job.layers = [{ count = 4, forward = \"1ms\" }]\n";
const std::string kOneReplica = kMachines + kLayers + "job.layout.pipeline = 4\n";  // 5 lines

/// Line and message of what refuses a file.
std::string refused(const std::string& text, const std::vector<std::string>& set = {}) {
  const auto read = parse_scenario(text, "f.toml", "", {.set = set});
  if (read) return "no error";
  EXPECT_EQ(read.error().id, "scenario-004");
  return std::to_string(read.error().where ? read.error().where->line : 0) + ": " + read.error().message;
}

TEST(ScenarioReplicas, ASingleOneReadsNoWordOfSums) {
  for (const std::string line :
       {"job.zero_stage = 3", "job.bucket = \"5MB\"", "job.overlap = false", "job.overlap_slowdown = 0.2",
        "job.collective.algorithm = \"halving-doubling\"", "cost.protocol = \"eager\""}) {
    const std::string key = line.substr(0, line.find(' '));
    EXPECT_EQ(refused(kOneReplica + line + "\n"), "6: " + key + " has no meaning for job.layout.data 1");
    EXPECT_EQ(refused(kOneReplica + line + "\n", {"cluster.nodes=8"}), "no error") << "two replicas";
    EXPECT_EQ(refused(kMachines + kLayers + line + "\n"), "no error") << "four replicas";
  }
  EXPECT_EQ(refused(kOneReplica + "job.overlap_threshold = \"1ms\"\n"),
            "6: job.overlap_threshold has no meaning for job.layout.data 1");
  EXPECT_EQ(refused(kOneReplica + "policy.kind = \"local-sgd\"\npolicy.local_steps = 4\n"),
            "7: policy.local_steps has no meaning for job.layout.data 1");
}

// Where an option made it so, the file's words are those of other sizes.
TEST(ScenarioReplicas, OneThatAnOptionMadeIsNotRefused) {
  const std::string file = kMachines + kLayers + "job.zero_stage = 3\njob.overlap = false\n";
  EXPECT_EQ(refused(file, {"cluster.nodes=1"}), "no error");
  EXPECT_EQ(refused(file, {"job.layout.pipeline=4"}), "no error");
  EXPECT_EQ(refused(kMachines + kLayers, {"cluster.nodes=1", "job.zero_stage=3"}),
            "0: --set job.zero_stage=3: job.zero_stage has no meaning for job.layout.data 1")
      << "said by an option itself";
}

TEST(ScenarioReplicas, AReductionNeedsSomebodyWhoAdds) {
  const std::string loggops = "cost.protocol = \"loggops\"\ncost.across.gap = \"1us\"\n";
  EXPECT_EQ(refused(kOneReplica + loggops), "no error") << "messages between stages read it";
  EXPECT_EQ(refused(kOneReplica + loggops + "cost.reduce = \"10ps/B\"\n"),
            "8: cost.reduce has no meaning for job.layout.data 1");
  EXPECT_EQ(refused(kMachines + kLayers + loggops + "cost.reduce = \"10ps/B\"\n"), "no error");
}

TEST(ScenarioReplicas, WhatIsPassedOnHasASize) {
  const std::string model =
      "cluster.device.peak = \"100TFLOP/s\"\njob.model.parameters = 1e8\njob.model.layers = 4\n"
      "job.model.sequence = 1024\n";  // lines 4 to 7
  EXPECT_EQ(refused(kMachines + model), "no error") << "no width is needed where nothing is passed on";
  EXPECT_EQ(refused(kMachines + model + "job.model.hidden = 1024\n"), "no error") << "noted by the outcome";
  EXPECT_EQ(refused(kMachines + model + "job.model.element = \"4B\"\n"),
            "8: job.model.element has no meaning for job.layout.pipeline 1");
  EXPECT_EQ(refused(kMachines + model + "job.layout.pipeline = 2\n"),
            "5: job.model.hidden is missing beside job.model.parameters");
  EXPECT_EQ(refused(kMachines + model +
                    "job.layout.pipeline = 2\njob.model.hidden = 1024\njob.model.element = \"4B\"\n"),
            "no error");
}

}  // namespace
}  // namespace cox::model
