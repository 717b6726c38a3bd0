// SPDX-License-Identifier: Apache-2.0
// Reading: every kind of value, the errors of a single value, unknown keys, --set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "cox/base/units_text.hpp"
#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

/// The error as the command line prints it, with the hint behind it.
std::string error_of(const std::string& text, const ScenarioOptions& options = {}) {
  const auto read = parse_scenario(text, "f.toml", "", options);
  if (read) return "no error";
  EXPECT_EQ(read.error().code, Errc::InvalidInput);
  return read.error().id + " " + read.error().to_string() + " | " + read.error().hint;
}

Scenario scenario_of(const std::string& text, const ScenarioOptions& options = {}) {
  ScenarioOptions with = options;
  if (text.find("job") == std::string::npos) with.set.emplace_back("job.steps=1");
  const auto read = parse_scenario(text, "dir/f.toml", "dir", with);
  EXPECT_TRUE(read) << read.error().to_string();
  return read ? read->scenario : Scenario{};
}

TEST(ScenarioReader, ReadsEveryKindOfValue) {
  const Scenario s = scenario_of(R"(
name = "all kinds"
seed = 7
engine = "flow"
[cluster]
nodes = 4
devices_per_node = 2
device = { name = "toy" }
scale_up.latency = "0.25ps"
scale_up.bandwidth = "300GB/s"
pcie.bandwidth = "400Gbps"
[fabric]
kind = "graph"
graph_file = "wires/../graph.txt"
background_load = 0.5
pause = true
[job.collective]
kind = "reduce-scatter"
algorithm = "halving-doubling"
bytes = "256 MiB"
[[noise]]
law = "pareto"
shape = 2.5
mean = "1ms"
ranks = [0, 7]
[[noise]]
law = "trace"
file = "/data/steps.csv"
)");
  EXPECT_EQ(s.name, "all kinds");
  EXPECT_EQ(s.seed, 7U);
  EXPECT_EQ(s.engine, EngineKind::Flow);
  EXPECT_EQ(s.cluster.device_name, "toy");
  EXPECT_EQ(s.cluster.scale_up.latency, Seconds{0.25e-12}) << "not rounded to picoseconds";
  EXPECT_EQ(s.cluster.pcie.bandwidth, Bandwidth::gbyte_per_s(50));
  EXPECT_EQ(s.fabric.kind, FabricKind::Graph);
  EXPECT_EQ(s.fabric.graph_file, "dir/graph.txt");
  EXPECT_EQ(s.fabric.background_load, 0.5);
  EXPECT_TRUE(s.fabric.pause);
  EXPECT_EQ(s.job.as<CollectiveJob>().collective.kind, Collective::ReduceScatter);
  EXPECT_EQ(s.job.as<CollectiveJob>().collective.algorithm, Algorithm::HalvingDoubling);
  EXPECT_EQ(s.job.as<CollectiveJob>().collective.bytes, Bytes{256 << 20});
  EXPECT_EQ(s.job.as<CollectiveJob>().collective.ranks, 8);
  ASSERT_EQ(s.noise.size(), 2U);
  EXPECT_EQ(s.noise[0].law, NoiseLaw::Pareto);
  EXPECT_EQ(s.noise[0].mean, Seconds{1e-3});
  EXPECT_FALSE(s.noise[0].relative);
  EXPECT_EQ(s.noise[0].ranks, (std::vector<int>{0, 7}));
  EXPECT_EQ(s.noise[1].file, "/data/steps.csv");
  EXPECT_TRUE(s.noise[1].relative);
}

TEST(ScenarioReader, ReadsTheKindsOfTrainingAndSchedules) {
  const Scenario s = scenario_of(R"(
[cluster]
nodes = 4
nic.bandwidth = "400Gbps"
device = { peak = "312TFLOP/s", memory = "80GB" }
[job]
workload = "training"
model = { parameters = 175e6, layers = 2, hidden = 64, sequence = 64 }
)");
  EXPECT_EQ(s.cluster.device_peak, FlopRate::flops_per_s(312e12));
  EXPECT_EQ(s.cluster.device_memory, Bytes{80'000'000'000});
  const Scenario goal = scenario_of(R"(
[job]
workload = "goal"
file = "a.goal"
[cost.across]
bandwidth = "20ps/B"
overhead_per_byte = "1ps/B"
eager_limit = "64KiB"
)");
  EXPECT_EQ(goal.across.per_byte, TimePerByte::seconds_per_byte(20e-12));
  EXPECT_EQ(goal.across.overhead_per_byte, TimePerByte::seconds_per_byte(1e-12));
  EXPECT_EQ(goal.across.eager_limit, Bytes{65536});
}

TEST(ScenarioReader, AnEmptyFileIsAnError) {
  const std::string wanted =
      "scenario-005 f.toml: nothing says what runs: there is no [job] | "
      "write [job.collective], or [job] with another workload";
  for (const std::string text : {"", "# nothing\n", "seed = 3\n[cluster]\nnodes = 1\n"})
    EXPECT_EQ(error_of(text), wanted) << text;
  const std::string hint = " | write [job.collective], or [job] with another workload";
  EXPECT_EQ(error_of("[job]\n"), "scenario-005 f.toml:1:2: nothing says what runs: [job] is empty" + hint);
  EXPECT_EQ(error_of("[cluster]\nnodes = 1\n\n[job.layout]\n"),
            "scenario-005 f.toml:4:6: nothing says what runs: [job.layout] is empty" + hint);
  const Scenario s = scenario_of("[job]\nsteps = 1\n");
  EXPECT_EQ(s.cluster.ranks(), 1);
  EXPECT_EQ(s.name, "f");
  EXPECT_EQ(s.job.as<CollectiveJob>().collective.ranks, 1);
}

TEST(ScenarioReader, LayersInGroupsAndAsOneTable) {
  const Scenario s = scenario_of(R"(
job.workload = "training"
[[job.layers]]
count = 3
forward = "1ms"
[[job.layers]]
forward = "2ms"
gradients = "10MB"
)");
  ASSERT_EQ(s.job.as<TrainingJob>().layers.size(), 4U);
  EXPECT_EQ(s.job.as<TrainingJob>().layers[2].forward, Seconds{1e-3});
  EXPECT_EQ(s.job.as<TrainingJob>().layers[3].gradients, Bytes{10'000'000});
  EXPECT_EQ(scenario_of("job.workload = \"training\"\n[job.layers]\ncount = 5\n")
                .job.as<TrainingJob>()
                .layers.size(),
            5U);
}

TEST(ScenarioReader, NotToml) {
  EXPECT_EQ(error_of("[cluster]\nnodes 4\n"),
            "scenario-001 f.toml:2:7: not TOML: error while parsing key-value pair: expected '=', saw '4' | "
            "see docs/reference/scenario.md for what a scenario looks like");
  std::string blanks;
  blanks.resize(16'000'001, ' ');
  EXPECT_EQ(error_of(blanks),
            "scenario-001 f.toml: 16000001 bytes of text, expected at most 16000000 | "
            "a scenario is a page of text; traces belong in files of their own");
}

TEST(ScenarioReader, UnknownKeysGetTheNearest) {
  EXPECT_EQ(
      error_of("[fabric]\nkind = \"fat-tree\"\noversubscripton = 4\n"),
      "scenario-002 f.toml:3:1: unknown key fabric.oversubscripton | did you mean fabric.oversubscription");
  EXPECT_EQ(error_of("[clutser]\nnodes = 4\n"),
            "scenario-002 f.toml:1:2: unknown key clutser | did you mean cluster");
  EXPECT_EQ(error_of("[cluster]\nnic.latencey = \"1us\"\n"),
            "scenario-002 f.toml:2:5: unknown key cluster.nic.latencey | did you mean cluster.nic.latency");
  EXPECT_EQ(error_of("[cluster]\nalgorithm = \"ring\"\n"),
            "scenario-002 f.toml:2:1: unknown key cluster.algorithm | did you mean job.collective.algorithm")
      << "a key of the right name in the wrong section";
  EXPECT_EQ(
      error_of("[failures]\nzzz = 1\n"),
      "scenario-002 f.toml:2:1: unknown key failures.zzz | "
      "there are: checkpoint, checkpoint_delta, checkpoint_interval, checkpoint_size, checkpoint_write, class, "
      "cold_factor, cold_steps, full_every, job_mtbf, near_checkpoint, near_interval, near_survives, node_mtbf, "
      "repair, restart, restart_per_node, restart_per_pair, restart_spread, restart_tail, spares, storage, "
      "unreadable, weibull_shape");
  EXPECT_EQ(error_of("[[noise]]\nlaw = \"constant\"\n[[noise]]\nlow = \"pareto\"\n"),
            "scenario-002 f.toml:4:1: unknown key noise[1].low | did you mean law");
  EXPECT_EQ(error_of("[job.layers]\nforwards = \"1s\"\n"),
            "scenario-002 f.toml:2:1: unknown key job.layers[0].forwards | did you mean forward");
  EXPECT_EQ(error_of("\"a\\u001b[31m\" = 1\n").substr(0, 49),
            "scenario-002 f.toml:1:1: unknown key a?[31m | the")
      << "nothing that a terminal would obey";
}

// A file that is read without it is not to blame.
TEST(ScenarioReader, WhatAnOptionBreaksNamesTheOption) {
  const std::string file =
      "[cluster]\nnodes = 8\nnic.bandwidth = \"10GB/s\"\n[fabric]\nkind = \"fat-tree\"\n[job]\nplacement = \"random\"\n"
      "compute = \"1ms\"\n[[cluster.classes]]\nfirst = 7\nspeed = 0.5\n";
  EXPECT_EQ(
      error_of(file, {.set = {"job.steps=3", "cluster.nodes=4"}}),
      "scenario-004 f.toml:10:1: --set cluster.nodes=4: cluster.classes[0] is nodes 7 to 7, but the cluster has 4 | "
      "the last node is cluster.nodes - 1");
  EXPECT_EQ(
      error_of(file, {.set = {"fabric.pod_oversubscription=1"}}),
      "scenario-004 f.toml: --set fabric.pod_oversubscription=1: fabric.pod_oversubscription has no meaning for "
      "fabric.tiers 2 | a tree of two tiers has no pods");
  EXPECT_EQ(
      error_of(file, {.set = {"--engine=max-plus"}}),
      "scenario-004 f.toml:7:1: --engine max-plus: job.placement needs links that are played, and here none are | "
      "leave `engine` out, or say flow");
  // Of two mistakes the one that is told names its own option, whichever comes first.
  EXPECT_EQ(error_of(file, {.set = {"--engine=max-plus", "cluster.nodes=4"}}).substr(0, 78),
            "scenario-004 f.toml:10:1: --set cluster.nodes=4: cluster.classes[0] is nodes 7");
  const std::string training =
      "[cluster]\nnodes = 4\nnic.bandwidth = \"1GB/s\"\n[job]\nworkload = \"training\"\n"
      "[job.layers]\nforward = \"1ms\"\ngradients = \"1MB\"\n";
  for (const std::vector<std::string>& set :
       {std::vector<std::string>{"policy.staleness=2", "job.steps=0"}, {"job.steps=0", "policy.staleness=2"}})
    EXPECT_EQ(error_of(training, {.set = set}).substr(0, 63),
              "scenario-003 f.toml: --set job.steps=0: job.steps is 0, expecte");
  EXPECT_EQ(error_of(training, {.set = {"replicas=0"}}).substr(0, 39),
            "scenario-003 f.toml: --set replicas=0: ")
      << "nobody typed --replicas";
  EXPECT_EQ(error_of("[cluster]\nnodes = 4\n[job]\nsteps = 0\n", {.set = {"--seed=3"}}).substr(0, 43),
            "scenario-003 f.toml:4:9: job.steps is 0, ex")
      << "the file's own mistake";
}

TEST(ScenarioReader, OneOfSeveralIsSetByItsNumber) {
  const std::string file = "job.compute = \"1ms\"\n[[noise]]\ncv = 0.1\n[[noise]]\ncv = 0.2\n";
  for (const std::string set : {"noise.1.cv=0.5", "noise[1].cv=0.5", "noise[1].cv = 0.5"}) {
    const Scenario s = scenario_of(file, {.set = {set}});
    EXPECT_EQ(s.noise[0].cv, 0.1) << set;
    EXPECT_EQ(s.noise[1].cv, 0.5) << set;
  }
  EXPECT_EQ(
      error_of(file, {.set = {"noise[2].cv=0.5"}}),
      "scenario-002 --set names item 2, expected one from 0 to 1 | items of an array are counted from 0: "
      "noise.0.cv=0.1");
}

TEST(ScenarioReader, TheFirstErrorOfTheFileIsReported) {
  EXPECT_EQ(error_of("[job]\nzzz = 1\n[cluster]\naaa = 1\n").substr(0, 36),
            "scenario-002 f.toml:2:1: unknown key");
}

TEST(ScenarioReader, QuantitiesNeedUnits) {
  EXPECT_EQ(
      error_of("[cluster]\nnic.latency = 25\n"),
      "scenario-003 f.toml:2:15: cluster.nic.latency is 25 without a unit, expected a time such as "
      "\"25us\" | write the number and its unit between quotes; docs/reference/units.md lists the units");
  EXPECT_EQ(error_of("[cluster]\nnic.bandwidth = \"25\"\n"),
            "scenario-003 f.toml:2:17: cluster.nic.bandwidth: 25 has no unit, expected a rate such as "
            "100Gbps | write a number and one of bps kbps Mbps Gbps Tbps (bits), or B/s kB/s MB/s GB/s "
            "TB/s KiB/s MiB/s GiB/s TiB/s (bytes)");
  EXPECT_EQ(error_of("[job]\ncompute = \"-1ms\"\n"),
            "scenario-003 f.toml:2:11: job.compute: -1ms is negative, expected a time such as 10us | "
            "write a number and one of ps ns us µs ms s min h d");
  EXPECT_EQ(error_of("[job]\nbucket = true\n"),
            "scenario-003 f.toml:2:10: job.bucket is true, expected a size such as \"256MiB\" | "
            "write the number and its unit between quotes");
  EXPECT_EQ(error_of("[job]\nbucket = \"0B\"\n"),
            "scenario-003 f.toml:2:10: job.bucket is \"0B\", expected at least 1B | ");
  EXPECT_EQ(error_of("[job.model]\nelement = \"1kB\"\n"),
            "scenario-003 f.toml:2:11: job.model.element is \"1kB\", expected at most 16B | ");
  EXPECT_EQ(
      error_of("[cluster]\ndevice.peak = 312e12\n"),
      "scenario-003 f.toml:2:15: cluster.device.peak is 312000000000000 without a unit, expected a rate of "
      "operations such as \"312TFLOP/s\" | "
      "write the number and its unit between quotes; docs/reference/units.md lists the units");
  EXPECT_EQ(
      error_of("[cost.across]\nbandwidth = \"0GB/s\"\n"),
      "scenario-003 f.toml:2:13: cost.across.bandwidth: 0GB/s never ends, expected a rate such as 50GB/s | "
      "for a message whose bytes cost nothing write \"0s/B\"");
}

TEST(ScenarioReader, NumbersHaveRanges) {
  EXPECT_EQ(error_of("[cluster]\nnodes = 0\n"),
            "scenario-003 f.toml:2:9: cluster.nodes is 0, expected a whole number from 1 to 2097152 | ");
  EXPECT_EQ(error_of("[cluster]\nnodes = \"16\"\n"),
            "scenario-003 f.toml:2:9: cluster.nodes is \"16\", expected a whole number from 1 to 2097152 | "
            "write it without quotes");
  EXPECT_EQ(error_of("[cluster]\nnodes = 1.5\n"),
            "scenario-003 f.toml:2:9: cluster.nodes is 1.5, expected a whole number from 1 to 2097152 | ");
  EXPECT_EQ(error_of("[job]\nsteps = 9223372036854775807\n"),
            "scenario-003 f.toml:2:9: job.steps is 9223372036854775807, expected a whole "
            "number from 1 to 100000000 | ");
  EXPECT_EQ(
      error_of("[fabric]\noversubscription = 0.5\n"),
      "scenario-003 f.toml:2:20: fabric.oversubscription is 0.5, expected a number from 1 to 2097152 | ");
  EXPECT_EQ(error_of("[[noise]]\ncv = nan\n"),
            "scenario-003 f.toml:2:6: noise[0].cv is nan, expected a number from 0 to 1000000 | ");
  EXPECT_EQ(error_of("[fabric]\ntorus = [4, 0]\n"),
            "scenario-003 f.toml:2:13: fabric.torus[1] is 0, expected a whole number from 1 to 2097152 | ");
  EXPECT_EQ(
      error_of("[fabric]\ntorus = 4\n"),
      "scenario-003 f.toml:2:9: fabric.torus is 4, expected an array of whole numbers such as [4, 4, 2] | ");
  EXPECT_EQ(error_of("[fabric]\npause = 1\n"),
            "scenario-003 f.toml:2:9: fabric.pause is 1, expected true or false | ");
  const Scenario real = scenario_of("[cluster]\nnodes = 1e3\n[cost.across]\nbandwidth = \"1GB/s\"\n");
  EXPECT_EQ(real.cluster.nodes, 1000) << "a whole number that TOML calls a float";
}

TEST(ScenarioReader, WordsAreListed) {
  EXPECT_EQ(error_of("[fabric]\nkind = \"fattree\"\n"),
            "scenario-003 f.toml:2:8: fabric.kind is \"fattree\", expected one of full-bisection, fat-tree, "
            "rail-optimised, torus, dragonfly, graph | did you mean \"fat-tree\"");
  EXPECT_EQ(
      error_of("[job]\nschedule = 1\n"),
      "scenario-003 f.toml:2:12: job.schedule is 1, expected one of gpipe, 1f1b, interleaved, zero-bubble | ");
  EXPECT_EQ(
      error_of("[cluster]\npreset = \"dgx-h200\"\n"),
      "scenario-003 f.toml:2:10: cluster.preset is \"dgx-h200\", expected one of none, dgx-a100, dgx-h100, "
      "dgx-b200, tpu-v4, cloud-100g | did you mean \"dgx-h100\"");
}

TEST(ScenarioReader, ShapesOfSections) {
  EXPECT_EQ(error_of("fabric = 3\n"),
            "scenario-003 f.toml:1:1: fabric is 3, expected a table | begin it with [fabric]");
  EXPECT_EQ(error_of("noise = [3]\n"),
            "scenario-003 f.toml:1:10: noise[0] is 3, expected a table | begin each with [[noise]]");
  EXPECT_EQ(error_of("name = \"a\\nb\"\n"),
            "scenario-003 f.toml:1:8: name is \"a?b\", expected one line of text of at most 200 bytes | ");
  // U+009B begins a sequence as ESC [ does, U+007F erases.
  for (const char* name : {"a\xc2\x9b"
                           "2Jb",
                           "a\x7f"
                           "b"})
    EXPECT_TRUE(error_of(fmt::format("name = \"{}\"\n", name)).starts_with("scenario-00")) << name;
  EXPECT_EQ(error_of("[job]\nfile = \"\"\n"),
            "scenario-003 f.toml:2:8: job.file is \"\", expected the path of a file | "
            "it is looked for from the folder of the scenario");
  std::string many;
  for (int i = 0; i < 257; ++i) many += "[[noise]]\n";
  EXPECT_EQ(error_of(many), "scenario-003 f.toml:1:3: noise has 257 tables, expected at most 256 | ");
}

TEST(ScenarioReader, SetReplacesValues) {
  const std::string file = "[cluster]\npreset = \"dgx-h100\"\nnodes = 2\n[[noise]]\ncv = 0.05\n";
  const Scenario s =
      scenario_of(file, {.set = {"cluster.nodes=4", "job.compute=5ms", "fabric.kind = fat-tree",
                                 "noise.0.cv=0.1", "cluster.nic.latency=\"2us\"", "name=a=b"}});
  EXPECT_EQ(s.cluster.nodes, 4);
  EXPECT_EQ(s.job.as<CollectiveJob>().compute, Seconds{5e-3});
  EXPECT_EQ(s.fabric.kind, FabricKind::FatTree);
  EXPECT_EQ(s.noise.at(0).cv, 0.1);
  EXPECT_EQ(s.cluster.nic.latency, Seconds{2e-6});
  EXPECT_EQ(s.cluster.nic.bandwidth, Bandwidth::gbyte_per_s(50)) << "the preset's";
  EXPECT_EQ(s.name, "a=b");
}

TEST(ScenarioReader, SetRefusesWhatAFileCouldNotSay) {
  EXPECT_EQ(error_of("", {.set = {"cluster.nodes"}}),
            "scenario-003 --set is \"cluster.nodes\", expected key=value | for instance "
            "--set fabric.oversubscription=2");
  EXPECT_EQ(error_of("", {.set = {"cluster.node=4"}}),
            "scenario-002 f.toml: unknown key cluster.node | did you mean cluster.nodes");
  EXPECT_EQ(error_of("[cluster]\nnodes = 2\n", {.set = {"cluster.nodes=0"}}),
            "scenario-003 f.toml: cluster.nodes is 0, expected a whole number from 1 to 2097152 | ");
  EXPECT_EQ(error_of("[[noise]]\ncv = 0.1\n", {.set = {"noise.1.cv=0.1"}}),
            "scenario-002 --set names item 1, expected one from 0 to 0 | items of an array are "
            "counted from 0: noise.0.cv=0.1");
  EXPECT_EQ(error_of("", {.set = {"=1"}}).substr(0, 12), "scenario-001");
}

TEST(ScenarioReader, AFileThatIsNotThere) {
  const auto read = read_scenario("/nowhere/at/all.toml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().id, "base-002");
}

TEST(ScenarioReader, AFileThatItNamesIsToldWithTheLine) {
  const std::filesystem::path file = COX_TREE "/examples/scenarios/placement-file.toml";
  EXPECT_TRUE(read_scenario(file));
  const auto read = read_scenario(file, {.set = {"job.placement_file=nowhere.txt"}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().id, "base-002");
  EXPECT_EQ(read.error().where->file, file.string());
  EXPECT_NE(read.error().message.find("job.placement_file is \""), std::string::npos) << read.error().message;
  EXPECT_TRUE(parse_scenario("[job]\nworkload = \"goal\"\nfile = \"nowhere.goal\"\n", "f.toml", "/"))
      << "text alone touches no file";
}

}  // namespace
}  // namespace cox::model
