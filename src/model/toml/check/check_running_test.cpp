// SPDX-License-Identifier: Apache-2.0
// Failures, starts, input, power, price: what cannot go together, with the line and reason of each.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

const std::string kJob =
    "cluster.nodes = 16\ncluster.devices_per_node = 2\ncluster.nics_per_node = 2\ncluster.scale_up.bandwidth = \"100GB/s\"\n"
    "cluster.nic.bandwidth = \"10GB/s\"\njob.workload = \"training\"\njob.layers = [{ forward = \"1ms\" }]\n";  // 7 lines

/// Line and message of what refuses the job with these lines, which begin at line 8.
std::string refused(const std::string& lines) {
  const auto read = parse_scenario(kJob + lines, "f.toml", "");
  if (read) return "no error";
  const Error& e = read.error();
  EXPECT_EQ(e.id.substr(0, 9), "scenario-");
  return std::to_string(e.where ? e.where->line : 0) + ": " + e.message;
}

Scenario made(const std::string& lines) {
  const auto read = parse_scenario(kJob + lines, "f.toml", "");
  EXPECT_TRUE(read) << read.error().to_string();
  return read ? read->scenario : Scenario{};
}

TEST(ScenarioRunning, ClassesTakeWhatAllShare) {
  const Scenario s = made(
      "failures.restart = \"5s\"\nfailures.repair = \"1h\"\n"
      "failures.class = [{ mtbf = \"1d\", per = \"device\" }, { mtbf = \"2d\", per = \"job\", restart = \"7s\" }]\n");
  ASSERT_EQ(s.failures.classes.size(), 2U);
  EXPECT_EQ(s.failures.classes[0].restart, Seconds{5});
  EXPECT_EQ(s.failures.classes[0].repair, Seconds{3600});
  EXPECT_EQ(s.failures.classes[1].restart, Seconds{7});
  EXPECT_EQ(s.failures.classes[1].repair, Seconds{}) << "nothing is broken";
  const auto again = parse_scenario(scenario_toml(s), "again.toml", "");
  ASSERT_TRUE(again) << again.error().to_string() << scenario_toml(s);
  EXPECT_EQ(again->scenario.failures.classes[0].per, FailureUnit::Device);
  EXPECT_EQ(again->scenario.failures.classes[1].restart, Seconds{7});
}

TEST(ScenarioRunning, ClassesThatMakeNoSense) {
  EXPECT_EQ(refused("failures.class = [{ per = \"node\" }]\n"),
            "8: failures.class[0] has no mtbf: it never fails");
  EXPECT_EQ(refused("failures.class = [{ per = \"switch\", mtbf = \"1d\" }]\n"),
            "8: failures.class[0]: which nodes a switch takes down is known of trees only");
  EXPECT_EQ(refused("failures.class = [{ per = \"job\", mtbf = \"1d\", repair = \"1h\" }]\n"),
            "8: failures.class[0].repair takes no node down: there is nothing to repair");
  EXPECT_EQ(refused("failures.job_mtbf = \"1d\"\nfailures.repair = \"1h\"\n"),
            "9: failures.repair without failures.node_mtbf: no failure that takes nodes down reads it");
  EXPECT_EQ(refused("failures.node_mtbf = \"1d\"\nfailures.spares = 2\n"),
            "9: failures.spares has no meaning for failures.repair \"0s\"");
  EXPECT_EQ(refused("failures.class = [{ per = \"rack\", mtbf = \"1d\" }]\n"),
            "8: failures.class[0].per is \"rack\", expected one of node, device, link, switch, job");
}

TEST(ScenarioRunning, CheckpointsThatMakeNoSense) {
  const std::string failing = "failures.node_mtbf = \"1d\"\nfailures.checkpoint_interval = \"1h\"\n";
  EXPECT_EQ(refused(failing + "failures.full_every = 4\n"),
            "10: failures.full_every = 4 with deltas of 0B and full checkpoints of 0B");
  EXPECT_EQ(refused(failing + "failures.checkpoint_delta = \"1GB\"\n"),
            "10: failures.checkpoint_delta has no meaning for failures.full_every 1");
  EXPECT_EQ(refused(failing + "failures.near_survives = 0.5\n"),
            "10: failures.near_survives has no meaning for failures.near_interval \"0s\"");
  EXPECT_EQ(refused(failing + "failures.near_survives = 0.5\nfailures.near_interval = \"2h\"\n"),
            "11: failures.near_interval = 7200s is not below failures.checkpoint_interval = 3600s");
  EXPECT_EQ(refused("failures.node_mtbf = \"1d\"\nfailures.unreadable = 0.5\n"),
            "9: failures.unreadable has no meaning for failures.checkpoint_interval \"0s\"");
}

TEST(ScenarioRunning, StartsAndInputThatTakeNoTime) {
  EXPECT_EQ(refused("start.communicators = 4\n"),
            "8: start.communicators has no meaning for start.per_rank \"0s\"");
  EXPECT_EQ(refused("start.read = \"1GB\"\n"), "8: start.read without start.storage: it takes no time");
  EXPECT_EQ(refused("start.storage = \"1GB/s\"\n"), "8: start.storage has no meaning for start.read \"0B\"");
  EXPECT_EQ(refused("start.tail = 0.5\n"), "8: start.tail has no meaning for start.spread \"0s\"");
  EXPECT_EQ(refused("job.input.cores = 4\n"),
            "8: job.input.cores has no meaning for job.input.prepare \"0s\"");
  EXPECT_EQ(refused("job.input.fetch = \"1MB\"\n"),
            "8: job.input.fetch comes through nothing: it takes no time");
  EXPECT_EQ(refused("job.input.fetch = \"1MB\"\njob.input.link = \"1GB/s\"\njob.input.storage = \"1GB/s\"\n"),
            "10: job.input.link and job.input.storage: one of them is what the input comes through");
  EXPECT_EQ(made("policy.kind = \"asynchronous\"\njob.input.prepare = \"1ms\"\n").policy.kind,
            PolicyKind::Asynchronous);
}

TEST(ScenarioRunning, PowerFollowsFromOne) {
  const Scenario s = made("power.busy = \"8kW\"\n");
  EXPECT_EQ(s.power.wait, Power::watts(4000));
  EXPECT_EQ(s.power.transfer, Power::watts(4000));
  EXPECT_EQ(s.power.idle, Power::watts(4000));
  EXPECT_EQ(made("power.busy = \"8kW\"\npower.wait = \"3kW\"\n").power.idle, Power::watts(3000));
  EXPECT_FALSE(made("").power.known());
  EXPECT_EQ(refused("power.wait = \"3kW\"\n"), "8: power.wait has no meaning for power.busy \"0W\"");
  EXPECT_EQ(refused("power.busy = 8000\n"),
            "8: power.busy is 8000 without a unit, expected a power such as \"700W\"");
  EXPECT_EQ(refused("price.currency = \"EUR\"\n"), "8: price.currency has no meaning for price.node_hour 0");
  const auto iteration = parse_scenario("job.workload = \"iteration\"\nprice.node_hour = 3\n", "f.toml", "");
  ASSERT_FALSE(iteration);
  EXPECT_EQ(iteration.error().message, "price.node_hour has no meaning for job.workload \"iteration\"");
}

}  // namespace
}  // namespace cox::model
