// SPDX-License-Identifier: Apache-2.0
// What cannot go together: the exact line and reason of each.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cox/model/toml.hpp"

namespace cox::model {
namespace {

/// The error of a scenario whose first line is line 1; the id is always scenario-004. That something runs is said
/// beside the text.
std::string clash(const std::string& text) {
  const auto read = parse_scenario(text, "f.toml", "", {.set = {"job.steps=2"}});
  if (read) return "no error";
  EXPECT_EQ(read.error().id, "scenario-004") << read.error().to_string();
  EXPECT_EQ(read.error().code, Errc::InvalidInput) << "exit code 3";
  return read.error().to_string() + " | " + read.error().hint;
}

const std::string kNodes = "[cluster]\npreset = \"dgx-h100\"\n";  // lines 1 and 2

TEST(ScenarioCheck, TooManyRanks) {
  EXPECT_EQ(clash("[cluster]\nnodes = 2097152\ndevices_per_node = 8\n"),
            "f.toml:2:1: 2097152 nodes x 8 devices = 16777216 ranks, expected at most 2097152 | "
            "simulate a part of the cluster that repeats");
}

TEST(ScenarioCheck, TorusAndDragonflyHoldTheNodes) {
  EXPECT_EQ(clash("[cluster]\npreset = \"tpu-v4\"\nnodes = 64\n[fabric]\ntorus = [4, 4, 2]\n"),
            "f.toml:5:1: fabric.torus = [4, 4, 2] does not hold cluster.nodes = 64 | "
            "the product of the extents is the number of nodes");
  EXPECT_EQ(
      clash(
          "[cluster]\npreset = \"tpu-v4\"\nnodes = 64\n[fabric]\ntorus = [2097152, 2097152, 2097152, 2097152]\n"),
      "f.toml:5:1: fabric.torus = [2097152, 2097152, 2097152, 2097152] does not hold cluster.nodes = 64 | "
      "the product of the extents is the number of nodes");
  EXPECT_EQ(clash("[cluster]\nnodes = 1\n[fabric]\nkind = \"torus\"\ntorus = [1,1,1,1,1,1,1]\n"),
            "f.toml:5:1: fabric.torus has 7 dimensions, expected 1 to 6 | ");
  EXPECT_EQ(clash("[cluster]\nnodes = 64\n[fabric]\nkind = \"dragonfly\"\n"),
            "f.toml:4:1: fabric.dragonfly has 0 groups x 0 routers x 0 hosts, which do not hold "
            "cluster.nodes = 64 | "
            "say all three of fabric.dragonfly.groups, routers and hosts");
  EXPECT_EQ(
      clash("[fabric]\nkind = \"graph\"\n"),
      "f.toml:2:1: fabric.kind is \"graph\" and fabric.graph_file is missing | name the file with the links");
}

TEST(ScenarioCheck, ChannelsAreOfRings) {
  EXPECT_EQ(
      clash(kNodes + "nodes = 2\n[job.collective]\nalgorithm = \"hierarchical\"\nchannels = 8\n"),
      "f.toml:6:1: job.collective.channels has no meaning for job.collective.algorithm \"hierarchical\" | "
      "only ring has one: change job.collective.algorithm, or leave job.collective.channels out");
  EXPECT_EQ(clash(kNodes + "nodes = 2\n[job.collective]\nranks = 12\nchannels = 8\n"),
            "f.toml:6:1: job.collective.group = 8 does not divide 12 ranks (ring) | "
            "choose a group that divides, or another number of ranks");
  EXPECT_EQ(clash(kNodes + "nodes = 2\n[job.collective]\nchannels = 8\n"), "no error");
}

TEST(ScenarioCheck, CardsAreDividedAmongWhatCrossesTogether) {
  const auto four = [](const std::string& top, const std::string& more) {
    return clash(top + "fabric.kind = \"full-bisection\"\n" + kNodes + "nodes = 2\nnics_per_node = 4\n" +
                 more);
  };
  EXPECT_NE(four("engine = \"max-plus\"\n", "[job.collective]\nalgorithm = \"ring\"\n"), "no error")
      << "one ring, one card";
  EXPECT_EQ(four("", "[job.collective]\nchannels = 8\n"), "no error");
  EXPECT_EQ(clash("cost.form = \"nccl\"\n" + kNodes + "nodes = 2\nnics_per_node = 4\n[job]\nsteps = 1\n"),
            "no error");
  const std::string layers = "[[job.layers]]\nforward = \"1ms\"\nbackward = \"2ms\"\ngradients = \"8MB\"\n";
  const std::string training = "[job]\nworkload = \"training\"\n";
  EXPECT_EQ(four("", training + "collective.algorithm = \"hierarchical\"\n" + layers), "no error");
  EXPECT_NE(four("engine = \"max-plus\"\n", training + layers), "no error");
  EXPECT_EQ(four("", training + layers), "no error") << "links are played where it matters";
}

TEST(ScenarioCheck, NcclHasWholeCollectivesOnly) {
  const auto form = [&](const std::string& more) {
    return clash("cost.form = \"nccl\"\n" + kNodes + "nodes = 2\n" + more);
  };
  EXPECT_EQ(form(""), "no error");
  EXPECT_EQ(form("[cost.nccl]\nprotocol = \"ll128\"\nalgorithm = \"ring\"\n"), "no error");
  EXPECT_EQ(clash("[cost.across]\nform = \"nccl\"\n"),
            "f.toml:2:1: cost.across.form = \"nccl\": NCCL has no price of one message | "
            "write cost.form = \"nccl\" to have whole collectives priced by NCCL's tuning model");
  EXPECT_EQ(clash("[cost.nccl]\nchannels = 8\n"),
            "f.toml:2:1: cost.nccl.channels has no meaning for cost.form \"rounds\" | "
            "only nccl has one: change cost.form, or leave cost.nccl.channels out");
  EXPECT_EQ(form("[job.collective]\nalgorithm = \"binary-tree\"\n"),
            "f.toml:6:1: job.collective.algorithm has no meaning for cost.form \"nccl\" | "
            "only rounds has one: change cost.form, or leave job.collective.algorithm out");
  EXPECT_EQ(
      form("[job.collective]\nkind = \"all-to-all\"\n"),
      "f.toml:6:1: NCCL has no AllToAll of 16 ranks with what cost.nccl and the cluster say | all-reduce, "
      "reduce-scatter, all-gather, broadcast and reduce have one; cost.nccl.inside and across are not zero");
  EXPECT_EQ(form("[[noise]]\ntarget = \"message\"\ncv = 0.1\n"),
            "f.toml:5:3: noise on messages, and cost.form = \"nccl\" knows collectives as a whole | "
            "disturb the computation, or leave cost.form out");
  EXPECT_EQ(clash("engine = \"flow\"\ncost.form = \"nccl\"\n" + kNodes + "nodes = 2\n"),
            "f.toml:1:1: engine \"flow\" plays rounds, and cost.form = \"nccl\" has none | leave engine out");
}

TEST(ScenarioCheck, SomeBandwidthIsKnown) {
  EXPECT_EQ(clash("[cluster]\nnodes = 2\n"),
            "f.toml:2:1: no bandwidth between nodes is given | "
            "name a cluster.preset, or write cluster.nic.bandwidth or cost.across.bandwidth");
  EXPECT_EQ(clash("[cluster]\ndevices_per_node = 2\n"),
            "f.toml:2:1: no bandwidth inside a node is given | "
            "name a cluster.preset, or write cluster.scale_up.bandwidth or cost.inside.bandwidth");
  EXPECT_EQ(clash("engine = \"flow\"\n[cluster]\nnodes = 2\n[cost.across]\nbandwidth = \"1GB/s\"\n"),
            "f.toml:1:1: engine \"flow\" shares links, and their bandwidth is not given | "
            "write cluster.nic.bandwidth and fabric.link.bandwidth");
  EXPECT_EQ(clash("[cluster]\nnodes = 2\n[cost.across]\nbandwidth = \"0s/B\"\n"), "no error");
}

TEST(ScenarioCheck, Collectives) {
  EXPECT_EQ(clash(kNodes + "[job.collective]\nranks = 9\n"),
            "f.toml:4:1: job.collective.ranks = 9, but the cluster has 1 nodes x 8 devices = 8 ranks | ");
  EXPECT_EQ(clash(kNodes + "[job.collective]\nroot = 8\n"),
            "f.toml:4:1: job.collective.root = 8, expected 0 to 7 | ");
  EXPECT_EQ(clash(kNodes + "[job.collective]\nalgorithm = \"hierarchical\"\ngroup = 3\n"),
            "f.toml:5:1: job.collective.group = 3 does not divide 8 ranks (hierarchical) | "
            "choose a group that divides, or another number of ranks");
  EXPECT_EQ(clash(kNodes + "[job.collective]\nalgorithm = \"hierarchical-3\"\ngroup = 2\ngroup2 = 3\n"),
            "f.toml:6:1: job.collective.group2 = 3 does not divide 4 groups of 2 ranks | ");
  EXPECT_EQ(
      clash(kNodes + "[job.collective]\nbytes = \"4096PiB\"\n"),
      "f.toml:4:1: job.collective.bytes = 4096PiB on 8 ranks is more than 64 bits count | at most 256PiB");
  const std::string mismatch = clash(kNodes + "[job.collective]\nkind = \"barrier\"\nalgorithm = \"ring\"\n");
  EXPECT_EQ(mismatch.substr(0, 36), "f.toml:5:1: job.collective: `ring` d") << mismatch;
}

// 6 lines
const std::string kTraining = kNodes + "nodes = 4\n[job]\nworkload = \"training\"\nlayers = [{count = 12}]\n";

TEST(ScenarioCheck, Layouts) {
  EXPECT_EQ(clash(kTraining), "no error");
  EXPECT_EQ(
      clash(kTraining + "[job.layout]\ndata = 2\ntensor = 8\npipeline = 4\n"),
      "f.toml:8:1: job.layout is data 2 x tensor 8 x pipeline 4 x context 1 = 64 ranks, but the cluster has "
      "4 nodes x 8 devices = 32 ranks | leave job.layout.data out to have it derived");
  EXPECT_EQ(
      clash(kTraining + "[job.layout]\npipeline = 5\n"),
      "f.toml:8:1: job.layout is data 1 x tensor 1 x pipeline 5 x context 1 = 5 ranks, but the cluster has "
      "4 nodes x 8 devices = 32 ranks | leave job.layout.data out to have it derived");
  EXPECT_EQ(clash(kTraining + "[job.layout]\ntensor = 2097152\npipeline = 2097152\ncontext = 2097152\n"),
            "f.toml:8:1: job.layout is data 1 x tensor 2097152 x pipeline 2097152 x context "
            "2097152 = too many ranks, but the cluster has 4 nodes x 8 devices = 32 ranks | leave "
            "job.layout.data out to have it derived");
  EXPECT_EQ(clash(kTraining + "[job.layout]\ntensor = 16\n"),
            "f.toml:8:1: job.layout.tensor = 16 on nodes of 8 devices: a tensor group would leave "
            "its node, and only the devices of a node share a scale-up fabric | choose a divisor of "
            "cluster.devices_per_node, or describe the scale-up domain as one node");
  EXPECT_EQ(clash(kTraining + "[job.layout]\ndata = 8\npipeline = 4\nexpert = 3\n"),
            "f.toml:10:1: job.layout.expert = 3 does not divide job.layout.data = 8 | "
            "experts are spread over data-parallel ranks");
}

TEST(ScenarioCheck, SetsOfShardsAreWhole) {
  const std::string zero = kTraining + "zero_stage = 3\n";
  EXPECT_EQ(clash(zero + "[job.layout]\nshard = 8\n"), "no error");
  const std::string local = "[policy]\nkind = \"local-sgd\"\nlocal_steps = 4\n";
  EXPECT_EQ(clash(zero + "[job.layout]\nshard = 8\n" + local), "no error");
  const std::string all = clash(zero + local);
  EXPECT_EQ(
      all.find(
          "f.toml:7:1: job.zero_stage has no meaning for policy.kind \"local-sgd\" | in a local step each "
          "replica updates all of its parameters by itself: leave job.zero_stage out, or say with "
          "job.layout.shard"),
      0U)
      << all;
  EXPECT_EQ(
      clash(zero + "[job.layout]\nshard = 5\n"),
      "f.toml:9:1: job.layout.shard = 5 does not divide job.layout.data = 32 | each set of shards is held by as "
      "many replicas; 0 spreads one set over all");
  EXPECT_EQ(
      clash(zero + "[job.layout]\nshard = 1\n"),
      "f.toml:9:1: job.layout.shard = 1: a replica holds all shards by itself | leave job.zero_stage out, or let "
      "several replicas share");
  EXPECT_EQ(clash(zero + "moe_layers = 1\n[job.layout]\nexpert = 4\nshard = 2\n"), "no error");
  EXPECT_EQ(
      clash("[cluster]\npreset = \"dgx-h100\"\nnodes = 3\n[job]\nworkload = \"training\"\n"
            "layers = [{count = 12}]\nzero_stage = 3\nmoe_layers = 1\n[job.layout]\nexpert = 4\nshard = 6\n"),
      "f.toml:11:1: job.layout.shard = 6 and job.layout.expert = 4: groups of replicas that cut through each other "
      "| let one be a multiple of the other");
}

TEST(ScenarioCheck, TensorParallelMayLeaveTheNodeOnATorus) {
  EXPECT_EQ(
      clash("[cluster]\npreset = \"tpu-v4\"\nnodes = 16\n[job]\nworkload = \"training\"\nlayers = [{}]\n"
            "[job.layout]\ntensor = 16\n"),
      "no error");
}

TEST(ScenarioCheck, Training) {
  EXPECT_EQ(clash("[job]\nworkload = \"training\"\n"),
            "f.toml:2:1: training needs layers, and none are given | "
            "write [[job.layers]], or [job.model] to have them derived");
  EXPECT_EQ(clash("[job]\nworkload = \"training\"\nlayers = [{count = 65536}, {count = 1}]\n"),
            "f.toml:3:1: job.layers has more than 65536 layers | ");
  EXPECT_EQ(
      clash(kTraining + "interleave = 2\n"),
      "f.toml:7:1: job.interleave = 2 has a meaning for schedule \"interleaved\" only, which is \"1f1b\" | "
      "write job.schedule = \"interleaved\"");
  EXPECT_EQ(clash(kTraining + "schedule = \"interleaved\"\ninterleave = 5\nlayout.pipeline = 4\n"),
            "f.toml:8:1: 12 layers do not split into pipeline 4 x interleave 5 = 20 equal chunks | "
            "choose a pipeline and an interleave whose product divides the layers");
  EXPECT_EQ(
      clash(kTraining + "layout.pipeline = 16\n"),
      "f.toml:7:8: 12 layers do not split into pipeline 16 x interleave 1 = 16 chunks | use fewer stages");
  EXPECT_EQ(clash(kTraining +
                  "schedule = \"interleaved\"\ninterleave = 3\nlayout.pipeline = 4\nmicro_batches = 6\n"),
            "f.toml:10:1: job.micro_batches = 6 is no multiple of job.layout.pipeline = 4, which schedule "
            "\"interleaved\" needs | ");
  EXPECT_EQ(clash(kTraining + "moe_layers = 13\n"),
            "f.toml:7:1: job.moe_layers = 13, but there are 12 layers | ");
  EXPECT_EQ(clash("[job]\nworkload = \"training\"\nlayers = [{gradients = \"2PiB\"}]\n"),
            "f.toml:3:1: a layer of more than 1PiB, expected at most that | ");
  EXPECT_EQ(clash("[job]\nworkload = \"goal\"\n"),
            "f.toml:2:1: job.workload is \"goal\" and job.file is missing | name the file to replay");
}

TEST(ScenarioCheck, ModelsAreWhole) {
  const std::string model = kNodes + "[job]\nworkload = \"training\"\n[job.model]\n";
  EXPECT_EQ(clash(model + "parameters = 8e9\nlayers = 32\nhidden = 4096\n"),
            "f.toml:6:1: job.model.sequence is missing beside job.model.parameters | "
            "layers are derived from parameters, layers and sequence together");
  EXPECT_EQ(clash("[job]\nworkload = \"training\"\n[job.model]\nparameters = 8e9\nlayers = 32\nhidden = "
                  "4096\nsequence = 1\n"),
            "f.toml:4:1: job.model needs cluster.device.peak, which is not given | "
            "name a cluster.preset, or write the peak such as \"312TFLOP/s\"");
  EXPECT_EQ(
      clash(model +
            "parameters = 8e9\nlayers = 32\nhidden = 4096\nsequence = 4095\n[job.layout]\ncontext = 2\n"),
      "f.toml:11:1: job.layout.context = 2 does not divide job.model.sequence = 4095 | ");
  EXPECT_EQ(
      clash(model +
            "parameters = 8e9\nlayers = 2\nhidden = 1000000000\nsequence = 1000000000\nmicro_batch = 1000\n"),
      "f.toml:6:1: job.model gives more bytes than 64 bits count | ");
  EXPECT_EQ(clash(model + "parameters = 8e9\n[[job.layers]]\n"),
            "f.toml:7:7: both job.layers and job.model are given | job.model derives the layers; keep one");
}

std::string noise(const std::string& lines) {
  return clash("[[noise]]\n" + lines);
}

TEST(ScenarioCheck, Noise) {
  EXPECT_EQ(noise("law = \"pareto\"\nshape = 1.5\ncv = 0.3\n"),
            "f.toml:4:1: noise[0].cv with shape 1.5: a Pareto law of shape 2 or less has no variance | "
            "leave cv out; the shape alone says how heavy the tail is");
  EXPECT_EQ(noise("law = \"pareto\"\nshape = 3\ncv = 0.3\n"),
            "f.toml:4:1: noise[0].cv: a Pareto law is given by its mean and shape | "
            "leave cv out; the shape alone says how heavy the tail is");
  EXPECT_EQ(
      noise("law = \"pareto\"\nshape = 1\n"),
      "f.toml:3:1: noise[0].shape = 1: a Pareto law of shape 1 or less has no mean | give a shape above 1, or a cv");
  EXPECT_EQ(noise("law = \"weibull\"\n"),
            "f.toml:2:1: noise[0].shape = 0, expected above 0 for law \"weibull\" | ");
  EXPECT_EQ(noise("mean = \"1ms\"\nmean_ratio = 0.1\n"),
            "f.toml:3:1: noise[0] has both mean and mean_ratio | one is a time, the other a part");
  EXPECT_EQ(noise("law = \"exponential\"\ncv = 1\n"),
            "f.toml:3:1: noise[0].cv has no meaning for law \"exponential\" | "
            "gaussian, lognormal, pareto and uniform have one");
  EXPECT_EQ(noise("law = \"gaussian\"\nshape = 1\n"),
            "f.toml:3:1: noise[0].shape has no meaning for law \"gaussian\" | pareto and weibull have one");
  EXPECT_EQ(noise("cv = 0.1\nprobability = 0.5\n"), "no error");
  EXPECT_EQ(
      noise("cv = 0.1\nburst_steps = 4\n"),
      "f.toml:3:1: noise[0].burst_steps = 4 with calm_steps = 0, expected both, and 1 / burst_steps + 1 / "
      "calm_steps at most 1 | for single steps give a probability");
  EXPECT_EQ(noise("law = \"constant\"\nmean = \"1ms\"\npattern = \"once\"\nstep = 7\n"),
            "f.toml:5:1: noise[0].step = 7, and the job's steps are 0 to 1 | it would never happen");
  EXPECT_EQ(
      noise("cv = 0.1\npattern = \"once\"\n"),
      "f.toml:3:1: noise[0].pattern has no meaning for law \"gaussian\" | what happens once is known: law = "
      "\"constant\", with mean or mean_ratio");
  EXPECT_EQ(
      noise("cv = 0.1\nscope = \"stage\"\n"),
      "f.toml:3:1: noise[0].scope is \"stage\", and the job is no pipeline | job.layout.pipeline gives it "
      "stages");
  EXPECT_EQ(
      noise("cv = 0.1\npattern = \"recurring\"\n"),
      "f.toml:3:1: noise[0] recurs every step, expected period_steps of 2 or more | pattern \"every-step\" has "
      "no phase");
}

TEST(ScenarioCheck, Quantiles) {
  const auto quantiles = [](const std::string& lines) { return noise("law = \"quantiles\"\n" + lines); };
  EXPECT_EQ(quantiles("quantiles = [-0.1, 0, 0.2]\ntail_probability = 0.1\ntail_scale = 0.3\n"), "no error");
  EXPECT_EQ(quantiles("file = \"q.txt\"\nunit = \"1ms\"\n"), "no error");
  EXPECT_EQ(quantiles(""), "f.toml:2:1: noise[0] has no quantiles | give one of `quantiles` and `file`");
  EXPECT_EQ(quantiles("quantiles = [0, 1]\nfile = \"q.txt\"\n"),
            "f.toml:4:1: noise[0] has quantiles and a file of them | give one of `quantiles` and `file`");
  EXPECT_EQ(quantiles("quantiles = [0, 2, 1]\n"),
            "f.toml:3:1: noise[0].quantiles has 2 before 1, expected them ascending | ");
  EXPECT_EQ(
      quantiles("quantiles = [0, 1]\ntail_scale = 1\n"),
      "f.toml:4:1: noise[0].tail_probability = 0 with tail_scale = 1 | a tail has both; without it, give "
      "neither");
  EXPECT_EQ(quantiles("quantiles = [0, 1]\nmean_ratio = 1\n"),
            "f.toml:4:1: noise[0].mean_ratio has no meaning for law \"quantiles\" | quantiles say how much");
  EXPECT_EQ(
      quantiles("quantiles = [0, 1]\nunit = \"0s\"\n"),
      "f.toml:4:1: noise[0].unit = 0s, expected above 0s | leave unit out where quantiles are parts of the "
      "undisturbed time");
  EXPECT_EQ(quantiles("quantiles = [0, 1]\nunit = \"1s\"\ntarget = \"bandwidth\"\n"),
            "f.toml:4:1: noise[0].unit is a time, and bandwidth changes by a ratio | leave unit out");
}

TEST(ScenarioCheck, NoiseOfDrawsAndPatterns) {
  EXPECT_EQ(
      noise("law = \"trace\"\nfile = \"steps.csv\"\nprobability = 0.5\n"),
      "f.toml:4:1: noise[0].probability has no meaning for law \"trace\" | a trace happens as it was recorded");
  EXPECT_EQ(noise("cv = 0.1\nperiod = \"1s\"\n"),
            "f.toml:3:1: noise[0].period has no meaning for pattern \"every-step\" | periodic has one");
  EXPECT_EQ(noise("cv = 0.1\npattern = \"drift\"\ncorrelation = 0.5\n"),
            "f.toml:4:1: noise[0].correlation has no meaning for pattern \"drift\" | every-step has one");
  EXPECT_EQ(
      noise("law = \"constant\"\nmean = \"1ms\"\nscope = \"node\"\n"),
      "f.toml:4:1: noise[0].scope has no meaning for law \"constant\" | nothing is drawn that ranks could "
      "share: leave it out, or limit the source by `ranks`");
  EXPECT_EQ(noise("law = \"uniform\"\ncv = 0.6\n"),
            "f.toml:3:1: noise[0].cv = 0.6: a uniform law would reach below 0 | at most 1 / sqrt(3), 0.577");
  EXPECT_EQ(noise("mean = \"1ms\"\ntarget = \"bandwidth\"\n"),
            "f.toml:2:1: noise[0].mean is a time, and bandwidth changes by a ratio | give mean_ratio, or cv");
  EXPECT_EQ(noise("law = \"trace\"\n"),
            "f.toml:2:1: noise[0].law is \"trace\" and noise[0].file is missing | ");
  EXPECT_EQ(noise("law = \"constant\"\npattern = \"periodic\"\nmean = \"2ms\"\nperiod = \"1ms\"\n"),
            "f.toml:5:1: noise[0].period = 1ms with mean = 2ms: it would never stop | "
            "a period is longer than what happens in it");
  EXPECT_EQ(noise("ranks = [0, 1]\n"), "f.toml:2:1: noise[0].ranks has 1, expected 0 to 0 | ");
  EXPECT_EQ(noise("law = \"bimodal\"\nprobability = 0.5\nmean = \"1s\"\n"), "no error");
}

TEST(ScenarioCheck, Policies) {
  EXPECT_EQ(clash(kTraining + "[policy]\nstaleness = 3\n"),
            "f.toml:8:1: policy.staleness has no meaning for policy.kind \"synchronous\" | "
            "only bounded-wait or bounded-discard has one");
  EXPECT_EQ(
      clash(kTraining + "[policy]\nlocal_steps = 3\n"),
      "f.toml:8:1: policy.local_steps has no meaning for policy.kind \"synchronous\" | only local-sgd has one");
  EXPECT_EQ(
      clash(kTraining + "[policy]\nkind = \"backup\"\n"),
      "f.toml:8:1: policy.kind is \"backup\" and policy.backups is missing | say how many of the slowest "
      "workers are not waited for; 0 waits for all");
  EXPECT_EQ(clash(kTraining + "[policy]\nkind = \"backup\"\nbackups = 0\n"), "no error");
  EXPECT_EQ(clash(kTraining + "[policy]\nkind = \"backup\"\nbackups = 32\n"),
            "f.toml:9:1: policy.backups = 32 of 32 workers: nobody is left | ");
  EXPECT_EQ(
      clash(kTraining +
            "[job.collective]\nalgorithm = \"hierarchical\"\n[policy]\nkind = \"backup\"\nbackups = 1\n")
          .rfind("f.toml:8:1: job.collective.algorithm is not simulated for policy.kind \"backup\"", 0),
      0U)
      << clash(kTraining +
               "[job.collective]\nalgorithm = \"hierarchical\"\n[policy]\nkind = \"backup\"\nbackups = 1\n");
  EXPECT_EQ(clash("[policy]\nkind = \"backup\"\n"),
            "f.toml:2:1: policy.kind has no meaning for job.workload \"collective\" | "
            "only training has one: change job.workload, or leave policy.kind out");
  EXPECT_EQ(clash(kTraining + "[failures]\nrestart = \"1min\"\n"),
            "f.toml:8:1: failures.restart has no meaning for failures.node_mtbf \"0s\" | "
            "nothing ever fails: give the mean time between failures of one node, or failures.job_mtbf");
}

TEST(ScenarioCheck, KeysWithoutMeaning) {
  EXPECT_EQ(clash("[fabric]\ntorus = [2, 2]\n"),
            "f.toml:2:1: fabric.torus has no meaning for fabric.kind \"full-bisection\" | "
            "only torus has one: change fabric.kind, or leave fabric.torus out");
  EXPECT_EQ(clash(kNodes + "[fabric]\ndragonfly.hosts = 2\n"),
            "f.toml:4:11: fabric.dragonfly.hosts has no meaning for fabric.kind \"rail-optimised\" | "
            "only dragonfly has one: change fabric.kind, or leave fabric.dragonfly.hosts out");
  EXPECT_EQ(clash("[job]\nmicro_batches = 4\n"),
            "f.toml:2:1: job.micro_batches has no meaning for job.workload \"collective\" | "
            "only training has one: change job.workload, or leave job.micro_batches out");
  EXPECT_EQ(clash(kTraining + "compute = \"1ms\"\n"),
            "f.toml:7:1: job.compute has no meaning for job.workload \"training\" | "
            "only collective has one: change job.workload, or leave job.compute out");
  EXPECT_EQ(clash(kTraining + "[policy]\nservers = 2\n"),
            "f.toml:8:1: policy.servers has no meaning for policy.kind \"synchronous\" | "
            "only asynchronous, bounded-wait or bounded-discard has one");
  EXPECT_EQ(
      clash(
          "[cluster]\nnodes = 2\nnic.bandwidth = \"1GB/s\"\n[fabric]\nhosts_per_leaf = 4\n[[noise]]\ncv = 0.1\nscope = \"switch\"\n"),
      "no error");
}

TEST(ScenarioCheck, PacedIterations) {
  const std::string job = "job.workload = \"iteration\"\n";
  EXPECT_EQ(clash(job + "[iteration]\nfetch = \"1MB\"\n"),
            "f.toml:3:1: iteration.fetch is 1MB, and there is no link to carry it | "
            "give iteration.link a bandwidth");
  EXPECT_EQ(
      clash(job +
            "[cluster]\ndevices_per_node = 8\n[iteration]\nimbalance = \"persistent\"\nslow_ranks = 9\n"),
      "f.toml:6:1: iteration.slow_ranks = 9, but the cluster has 1 nodes x 8 devices = 8 ranks | ");
  EXPECT_EQ(clash(job + "[iteration]\njitter = \"exponential\"\nspread = 2\n"),
            "f.toml:4:1: iteration.spread = 2 with jitter \"exponential\", expected at most 1 | "
            "lognormal can be wider");
  EXPECT_EQ(clash(job + "[iteration]\nspread = 0.1\n"),
            "f.toml:3:1: iteration.spread has no meaning for iteration.jitter \"none\" | "
            "say lognormal or exponential");
  EXPECT_EQ(
      clash(job + "[iteration]\nimbalance = \"persistent\"\nslow_ranks = 1\nslow_factor = 2\nepisode = 5\n"),
      "f.toml:6:1: iteration.episode has no meaning for iteration.imbalance \"persistent\" | "
      "only rotating has one");
  EXPECT_EQ(clash(job + "[[noise]]\ncv = 0.1\n"),
            "f.toml:2:3: [[noise]] has no meaning for job.workload \"iteration\" | "
            "iteration.jitter and iteration.imbalance say what disturbs it");
  EXPECT_EQ(clash(kNodes + "[pace]\nmode = \"auto\"\n"),
            "f.toml:4:1: pace.mode has no meaning for job.workload \"collective\" | "
            "only iteration or training has one: change job.workload, or leave pace.mode out");
}

TEST(ScenarioCheck, TrainingIsPacedWhereAllEndAStep) {
  const std::string training =
      "[cluster]\nnodes = 4\nnic.bandwidth = \"1GB/s\"\n[job]\nworkload = \"training\"\n[[job.layers]]\nforward = "
      "\"1ms\"\ngradients = \"1MB\"\n";
  const auto good = parse_scenario(training + "[pace]\nmode = \"auto\"\nwindow = 32\n", "f.toml", "");
  ASSERT_TRUE(good) << good.error().to_string();
  const std::map<std::string, std::string> wanted = {{"mode", "auto"}, {"window", "32"}};
  EXPECT_EQ(good->scenario.job.as<TrainingJob>().pace, wanted);
  const auto again = parse_scenario(scenario_toml(good->scenario), "f.toml", "");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->scenario.job.as<TrainingJob>().pace, wanted);
  EXPECT_EQ(
      clash(training + "[policy]\nkind = \"asynchronous\"\n[pace]\nmode = \"auto\"\n"),
      "f.toml:12:1: pace.mode has no meaning for policy.kind \"asynchronous\" | ranks are held back by what "
      "they wait for at the end of a step, which all of them end together: say synchronous or local-sgd");
  EXPECT_EQ(clash(training + "[pace]\nmode = \"auto\"\nplacement = \"collective\"\n"),
            "f.toml:11:1: pace.placement has no meaning for job.workload \"training\" | a step has many "
            "collectives, beside its computation: ranks are held back before it");
  EXPECT_EQ(clash(training + "[job.layout]\ncontext = 4\n[pace]\nmode = \"auto\"\n"),
            "f.toml:12:1: pace.mode with a single replica: nobody waits for another one | "
            "leave [pace] out, or give job.layout.data");
}

TEST(ScenarioCheck, ParametersOfTheControllerAreThoseOfItsTable) {
  const std::string job = "job.workload = \"iteration\"\n[pace]\n";
  const auto good =
      parse_scenario(job + "mode = \"auto\"\nwindow = 32\nshare = 0.5\nmax_delay = \"5 ms\"\n", "f.toml", "");
  ASSERT_TRUE(good) << good.error().to_string();
  const std::map<std::string, std::string> wanted = {
      {"mode", "auto"}, {"window", "32"}, {"share", "0.5"}, {"max_delay", "5ms"}};
  EXPECT_EQ(good->scenario.job.as<IterationJob>().pace, wanted);
  const auto again = parse_scenario(scenario_toml(good->scenario), "f.toml", "");
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->scenario.job.as<IterationJob>().pace, wanted);
  for (const std::string bad : {"window = 1000", "window = \"32\"", "mode = \"fast\"", "max_delay = 5",
                                "max_delay = \"1h\"", "share = 2", "seed = -1", "block = 2.5", "mode = 3"}) {
    const auto made = parse_scenario(job + bad + "\n", "f.toml", "");
    ASSERT_FALSE(made) << bad;
    EXPECT_EQ(made.error().id, "scenario-003") << bad;
    EXPECT_EQ(made.error().where->line, 3) << bad;
  }
}

TEST(ScenarioCheck, SetMayTakeTheMeaningOfKeysOfTheFile) {
  const std::string tree = kNodes + "nodes = 4\n[fabric]\nkind = \"fat-tree\"\noversubscription = 4\n";
  EXPECT_TRUE(parse_scenario(tree, "f.toml", "", {.set = {"fabric.kind=full-bisection", "job.steps=2"}}));
  const auto given = parse_scenario(kNodes, "f.toml", "", {.set = {"fabric.torus=[1]"}});
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().id, "scenario-004");
}

TEST(ScenarioCheck, SwitchesThatNobodyKnowsShareNoDraws) {
  const std::string four = "cluster.nodes = 4\n";
  const std::string card = "cluster.nic.bandwidth = \"1GB/s\"\n";
  const std::string by_switch = "[[noise]]\ncv = 0.1\nscope = \"switch\"\n";
  for (const std::string& fabric :
       {card, std::string("fabric = { kind = \"torus\", link.bandwidth = \"1GB/s\" }\n"),
        card + "fabric = { kind = \"dragonfly\", dragonfly = { groups = 2, routers = 2, hosts = 1 } }\n"}) {
    const std::string said = clash(four + fabric + by_switch);
    EXPECT_NE(
        said.find("noise[0].scope is \"switch\", and which nodes share a switch is known of trees only"),
        std::string::npos)
        << said;
  }
  EXPECT_EQ(clash(four + card + "fabric.kind = \"fat-tree\"\n" + by_switch), "no error");
  EXPECT_EQ(clash(four + card + "fabric.hosts_per_leaf = 2\n" + by_switch), "no error")
      << "the file says how many";
}

TEST(ScenarioCheck, MessagesBetweenStagesMayBeDisturbed) {
  const std::string job =
      "cluster.nodes = 2\ncluster.nic.bandwidth = \"1GB/s\"\njob.workload = \"training\"\n"
      "job.layers = [{ count = 2, forward = \"1ms\", activations = \"1MB\" }]\n";
  const std::string noise = "[[noise]]\ntarget = \"message\"\ncv = 0.1\n";
  EXPECT_EQ(clash(job + "job.layout.pipeline = 2\n" + noise), "no error");
  EXPECT_NE(
      clash("cluster.devices_per_node = 2\ncluster.scale_up.bandwidth = \"1GB/s\"\njob.layout.tensor = 2\n" +
            job.substr(job.find("job.workload")) + noise)
          .find("neither a collective of replicas nor a message between stages"),
      std::string::npos);
}

// What NCCL's model does not look at.
TEST(ScenarioCheck, KeysOfMessagesHaveNoMeaningForNccl) {
  const std::string nodes =
      "cluster.nodes = 2\ncluster.devices_per_node = 2\ncluster.scale_up.bandwidth = \"9GB/s\"\n"
      "cluster.nic.bandwidth = \"1GB/s\"\n"
      "cost.form = \"nccl\"\n";
  const std::string one = nodes + "job.collective.bytes = \"1MB\"\n";
  const std::string step =
      nodes + "job.workload = \"training\"\njob.layers = [{ count = 2, gradients = \"1MB\" }]\n";
  for (const char* key : {"cluster.nic.latency = \"1us\"", "cluster.scale_up.latency = \"1us\"",
                          "cluster.pcie.bandwidth = \"9GB/s\"", "cluster.pcie.latency = \"1us\"",
                          "fabric.kind = \"fat-tree\"", "cost.protocol = \"eager\""})
    for (const std::string& base : {one, step}) {
      const std::string line = std::string(key) + "\n";
      const std::string said = clash(line + base);
      EXPECT_EQ(said.rfind("f.toml:1:", 0), 0U) << said;
      EXPECT_NE(said.find(" has no meaning for cost.form \"nccl\""), std::string::npos)
          << key << base << said;
    }
  EXPECT_EQ(clash(one), "no error");
  EXPECT_EQ(clash("cluster.nics_per_node = 2\n" + step), "no error");
  const std::string stages = "job.layout.pipeline = 2\n" + step;
  EXPECT_EQ(clash("cluster.scale_up.latency = \"1us\"\n" + stages), "no error")
      << "between stages, inside a node";
  EXPECT_NE(clash("cluster.nic.latency = \"1us\"\n" + stages), "no error") << "no stage is in another node";
}

// Sharded gradients are scattered and gathered, which NCCL's trees do not do.
TEST(ScenarioCheck, ProcessorsAtBothEndsNeedTheirProtocol) {
  const auto with = [](const std::string& top, const std::string& more) {
    return clash(top + "cost.protocol = \"loggops\"\n" + kNodes + "nodes = 2\n" + more);
  };
  const std::string words = "[cost.across]\noverhead = \"1us\"\ngap = \"2us\"\neager_limit = \"8KiB\"\n";
  EXPECT_EQ(with("cost.reduce = \"1ps/B\"\n", words + "[cost.inside]\noverhead_per_byte = \"1ps/B\"\n"),
            "no error");
  EXPECT_EQ(with("engine = \"max-plus\"\n", words), "no error");
  EXPECT_EQ(clash(kNodes + "nodes = 2\n" + words),
            "f.toml:5:1: cost.across.overhead has no meaning for cost.protocol \"rendezvous\" | "
            "only loggops has one: change cost.protocol, or leave cost.across.overhead out");
  EXPECT_EQ(with("engine = \"flow\"\n", words),
            "f.toml:2:6: cost.protocol \"loggops\" has no meaning for engine \"flow\" | "
            "there is no processor at either end: leave `engine` out, or say max-plus");
  EXPECT_EQ(with("", "[job.collective]\nalgorithm = \"in-network\"\n"),
            "f.toml:1:6: cost.protocol \"loggops\" beside job.collective.algorithm \"in-network\" | "
            "switches have no processor that a message would take time of: say another algorithm");
  EXPECT_EQ(
      with("cost.reduce = \"1ps/B\"\n", "[job.collective]\nkind = \"all-to-all\"\nalgorithm = \"direct\"\n"),
      "f.toml:1:6: cost.reduce has no meaning for job.collective.kind \"all-to-all\" | only all-reduce, "
      "reduce-scatter or reduce has one: change job.collective.kind, or leave cost.reduce out");
  EXPECT_EQ(
      with("", "[fabric]\nrouting = \"ecmp\"\n"),
      "f.toml:6:1: fabric.routing has no meaning for cost.protocol \"loggops\" | under loggops each message "
      "has its way to itself: say another protocol, and links are played");
}

TEST(ScenarioCheck, NcclIsAskedForTheCollectivesOfTheStep) {
  const std::string tree =
      "cost.nccl.algorithm = \"tree\"\ncost.form = \"nccl\"\ncluster.nodes = 4\ncluster.nic.bandwidth = \"1GB/s\"\n"
      "job.workload = \"training\"\njob.layers = [{ gradients = \"1MB\" }]\n";
  EXPECT_EQ(clash(tree), "no error");
  EXPECT_EQ(
      clash(tree + "job.zero_stage = 3\n").rfind("f.toml:1:11: NCCL has no ReduceScatter of 4 ranks", 0), 0U);
}

TEST(ScenarioCheck, APriceOfCollectivesNeedsOne) {
  const std::string job =
      "cluster.nodes = 4\ncluster.nic.bandwidth = \"1GB/s\"\njob.workload = \"training\"\n"
      "job.layers = [{ count = 4, gradients = \"1MB\" }]\n";
  EXPECT_EQ(clash("cost.form = \"nccl\"\n" + job), "no error");
  EXPECT_EQ(
      clash("cost.form = \"nccl\"\npolicy.kind = \"asynchronous\"\n" + job),
      "f.toml:1:6: cost.form = \"nccl\", and the job has no collective that it would price | workers send messages "
      "to servers: say what these cost, or another policy");
  EXPECT_EQ(clash("cost.form = \"nccl\"\nengine = \"flow\"\npolicy.kind = \"asynchronous\"\n" + job)
                .rfind("f.toml:1:6: cost.form", 0),
            0U);
  EXPECT_EQ(
      clash("cost.form = \"nccl\"\nengine = \"flow\"\npolicy.kind = \"backup\"\npolicy.backups = 1\n" + job)
          .rfind("f.toml:2:1: engine \"flow\" plays rounds", 0),
      0U);
  EXPECT_EQ(clash("cost.form = \"nccl\"\njob.layout.pipeline = 4\n" + job).rfind("f.toml:1:6: cost.form", 0),
            0U);
}

TEST(ScenarioCheck, GroupsOfATraceAreNotKnown) {
  const auto said = [](const std::string& algorithm) {
    const auto read = parse_scenario(
        "job = { workload = \"chakra\", file = \"trace\", collective.algorithm = \"" + algorithm + "\" }\n",
        "f.toml", "");
    return read ? std::string("no error") : read.error().to_string();
  };
  for (const char* algorithm : {"hierarchical", "hierarchical-3", "two-level"})
    EXPECT_NE(said(algorithm).find("of a trace, whose collectives have no groups"), std::string::npos)
        << said(algorithm);
  EXPECT_EQ(said("direct"), "no error");
}

}  // namespace
}  // namespace cox::model
