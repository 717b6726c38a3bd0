// SPDX-License-Identifier: Apache-2.0
// Left to choose the engine, Coxswain says what the flow engine says, or what it leaves out; and it does not say that it leaves
// something out where it does not.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {
namespace {

/// A job on at most 64 devices, as a file; empty where the parts do not fit.
std::string any_job() {
  const int tensor = *rc::gen::element(1, 1, 2, 3, 4);
  const int stages = *rc::gen::element(1, 1, 2, 3, 4);
  const int context = *rc::gen::element(1, 1, 1, 2, 3);
  const int data = *rc::gen::element(1, 2, 3, 4, 5, 6, 7, 8);
  const int devices = *rc::gen::element(1, 2, 3, 4, 6, 8);
  const int cards = *rc::gen::element(1, 2, 4, devices);
  const int ranks = tensor * stages * context * data;
  if (ranks > 64 || ranks < 2 || ranks % devices != 0 || devices % tensor != 0 || devices % cards != 0)
    return {};
  const int zero = *rc::gen::inRange(0, 4);
  const auto algorithm = *rc::gen::element<std::string>(
      "ring", "ring", "ring", "hierarchical", "hierarchical-3", "halving-doubling", "recursive-doubling",
      "bidirectional-ring", "binomial-tree", "double-binary-tree");
  const int shard = *rc::gen::element(0, 0, 2, 4);
  const int expert = *rc::gen::element(1, 1, 2, 4);
  if (data % expert != 0 || (shard > 0 && (data % shard != 0 || shard == data || zero == 0))) return {};
  const int nodes = ranks / devices;
  std::string text = fmt::format("[cluster]\nnodes = {}\ndevices_per_node = {}\n", nodes, devices);
  if (nodes > 1)
    text += fmt::format("nic.bandwidth = \"1GB/s\"\nnic.latency = \"{}\"\n",
                        *rc::gen::element<std::string>("0s", "5us"));
  const bool pcie = *rc::gen::inRange(0, 3) == 0;  // and no other way inside a node
  if (devices > 1)
    text += fmt::format("{}.bandwidth = \"{}GB/s\"\n", pcie ? "pcie" : "scale_up",
                        pcie ? *rc::gen::element(1, 10) : *rc::gen::element(10, 100));
  if (devices > 1 && nodes > 1) text += fmt::format("nics_per_node = {}\n", cards);
  text += fmt::format(
      "[job]\nworkload = \"training\"\nsteps = 2\nmicro_batches = {}\nzero_stage = {}\nbucket = \"{}MB\"\n"
      "collective.algorithm = \"{}\"\n",
      *rc::gen::element(1, 2, 4, 8), zero, *rc::gen::element(1, 8, 100), algorithm);
  if (algorithm == "ring" && *rc::gen::inRange(0, 3) == 0) text += "collective.channels = 2\n";
  if (stages > 1)
    text +=
        fmt::format("schedule = \"{}\"\n", *rc::gen::element<std::string>("gpipe", "1f1b", "zero-bubble"));
  if (expert > 1) text += "moe_layers = 2\n";
  text += fmt::format("[job.layout]\ntensor = {}\npipeline = {}\ncontext = {}\n", tensor, stages, context);
  if (expert > 1) text += fmt::format("expert = {}\n", expert);
  if (shard > 0) text += fmt::format("shard = {}\n", shard);
  if (*rc::gen::inRange(0, 4) == 0) text += "[cost]\nprotocol = \"eager\"\n";
  const int noise = *rc::gen::inRange(0, 8);
  if (noise == 1) text += "[[noise]]\ntarget = \"message\"\nlaw = \"exponential\"\nmean = \"1ps\"\n";
  if (noise == 2) text += "[[noise]]\ntarget = \"message\"\nlaw = \"exponential\"\nmean_ratio = 0.3\n";
  if (noise == 3) text += "[[noise]]\ntarget = \"bandwidth\"\nlaw = \"uniform\"\nmean_ratio = 0.3\n";
  if (noise == 4) text += "[[noise]]\nlaw = \"exponential\"\nmean = \"200us\"\n";
  if (noise == 5)
    text += "[[noise]]\ntarget = \"message\"\nlaw = \"exponential\"\nmean = \"10us\"\noff = true\n";
  return text + fmt::format(
                    "[[job.layers]]\ncount = 4\nforward = \"1ms\"\nbackward = \"2ms\"\ngradients = \"{}MB\"\n"
                    "activations = \"{}MB\"\n",
                    *rc::gen::element(1, 8, 32), *rc::gen::element(0, 1, 4));
}

/// A scenario left to choose and by flow.
struct Both {
  Result<Outcome> ours, flow;
};
Both play(model::Scenario s) {
  auto ours = simulate(s, {});
  s.engine = model::EngineKind::Flow;
  return {.ours = std::move(ours), .flow = simulate(s, {})};
}

RC_GTEST_PROP(TrainingLaws, AutoIsWhatFlowSays, ()) {
  const std::string text = any_job();
  RC_PRE(!text.empty());
  const auto read = model::parse_scenario(text, "generated.toml", "", {});
  RC_PRE(read.has_value());  // else words that mean nothing here
  const auto [ours, flow] = play(read->scenario);
  RC_ASSERT(ours.has_value() && flow.has_value());
  const bool told = std::ranges::any_of(ours->not_modelled, [](const std::string& line) {
    return line.find("engine flow") != std::string::npos;
  });
  const bool same = std::abs(ours->total / flow->total - 1) < 1e-6;
  if (same == told)
    RC_FAIL(fmt::format("{} s by {}, {} by flow, {}:\n{}", ours->total.count(), model::name_of(ours->engine),
                        flow->total.count(), told ? "told that it may differ" : "nothing told", text));
}

// Asked for, max-plus says that it leaves something out wherever flow says something else; eager senders on one node as well.
RC_GTEST_PROP(TrainingLaws, MaxPlusIsWhatFlowSaysOrLeavesSomethingOut, ()) {
  const std::string text = any_job();
  RC_PRE(!text.empty());
  auto read = model::parse_scenario(text, "generated.toml", "", {});
  RC_PRE(read.has_value());
  const auto flow = play(read->scenario).flow;
  read->scenario.engine = model::EngineKind::MaxPlus;
  const auto ours = simulate(read->scenario, {});
  RC_ASSERT(ours.has_value() && flow.has_value());
  if (std::abs(ours->total / flow->total - 1) > 1e-6 && ours->not_modelled.empty())
    RC_FAIL(fmt::format("{} s by max-plus, {} by flow, nothing told:\n{}", ours->total.count(),
                        flow->total.count(), text));
}

// As it was found, by max-plus: 27.0 ms, 23.0 by flow. Two devices a node: a rank's last message of a round leaves by its card while the
// first of the next round goes over the scale-up port.
TEST(TrainingLaws, AutoIsWhatFlowSaysOfListsOverCardsAndPorts) {
  for (const char* zero : {"0", "1", "3"})
    for (const char* algorithm : {"recursive-doubling", "halving-doubling"}) {
      const auto read = model::parse_scenario(
          fmt::format(
              "[cluster]\nnodes = 3\ndevices_per_node = 2\nnics_per_node = 2\nnic.bandwidth = \"1GB/s\"\n"
              "scale_up.bandwidth = \"2GB/s\"\n[job]\nworkload = \"training\"\nsteps = 2\nzero_stage = {}\n"
              "collective.algorithm = \"{}\"\n[[job.layers]]\ncount = 2\nforward = \"1ms\"\nbackward = \"2ms\"\n"
              "gradients = \"6MB\"\n",
              zero, algorithm),
          "found.toml", "", {});
      ASSERT_TRUE(read) << read.error().to_string();
      const auto [ours, flow] = play(read->scenario);
      ASSERT_TRUE(ours && flow);
      EXPECT_NEAR(ours->total / flow->total, 1, 1e-9) << zero << " " << algorithm;
      EXPECT_TRUE(ours->not_modelled.empty()) << ours->not_modelled.front();
    }
}

/// Workers without a common step on one switch, on nodes of one to four devices.
std::string any_workers() {
  const int devices = *rc::gen::element(1, 2, 4), nodes = *rc::gen::element(1, 2, 3, 4);
  const int tensor = devices > 1 ? *rc::gen::element(1, 1, 2) : 1;
  const int context = devices > 1 ? *rc::gen::element(1, 1, 2) : 1;
  const int stages = *rc::gen::element(1, 1, 1, 2);
  const int workers = devices * nodes / tensor / context / stages;
  if (workers < 3 || devices * nodes % (tensor * context * stages) != 0) return {};
  std::string text = fmt::format("[cluster]\nnodes = {}\ndevices_per_node = {}\n", nodes, devices);
  if (nodes > 1)
    text += fmt::format("nic.latency = \"1us\"\nnic.bandwidth = \"{}GB/s\"\n", *rc::gen::element(1, 10, 50));
  if (nodes > 1 && devices > 1) text += fmt::format("nics_per_node = {}\n", *rc::gen::element(1, devices));
  if (devices > 1)
    text += fmt::format("scale_up.latency = \"700ns\"\nscale_up.bandwidth = \"{}GB/s\"\n",
                        *rc::gen::element(1, 20, 100));
  if (nodes > 1)
    text += *rc::gen::element<std::string>(
        "", "", "", "[fabric]\nswitching = \"store-and-forward\"\n",
        "[fabric]\nkind = \"fat-tree\"\nhosts_per_leaf = 1\nbackground_load = 0.5\n");
  text += fmt::format("[job]\nworkload = \"training\"\nsteps = {}\n", *rc::gen::element(1, 3, 8));
  const auto kind =
      *rc::gen::element<std::string>("backup", "backup", "asynchronous", "bounded-wait", "bounded-discard");
  if (kind == "backup")
    text +=
        fmt::format("collective.algorithm = \"{}\"\n",
                    *rc::gen::element<std::string>("ring", "ring", "halving-doubling", "recursive-doubling",
                                                   "binomial-tree", "double-binary-tree"));
  if (tensor > 1 || context > 1 || stages > 1)
    text += fmt::format("[job.layout]\ntensor = {}\npipeline = {}\ncontext = {}\n", tensor, stages, context);
  text += fmt::format(
      "[[job.layers]]\ncount = 4\nforward = \"1ms\"\nbackward = \"2ms\"\ngradients = \"{}MB\"\n{}",
      *rc::gen::element(1, 10, 40), tensor * context * stages > 1 ? "activations = \"1MB\"\n" : "");
  text += fmt::format("[policy]\nkind = \"{}\"\n", kind);
  text += kind == "backup" ? "backups = 1\n" : fmt::format("servers = {}\n", *rc::gen::element(1, 2));
  if (kind.starts_with("bounded")) text += fmt::format("staleness = {}\n", *rc::gen::element(1, 4));
  if (kind == "backup" && *rc::gen::element(0, 0, 1) == 1) text += "[cost]\nprotocol = \"eager\"\n";
  return text +
         *rc::gen::element<std::string>("", "[[noise]]\nlaw = \"gaussian\"\ncv = 0.1\n",
                                        "[[noise]]\ntarget = \"message\"\nlaw = \"lognormal\"\ncv = 0.3\n");
}

// Or it says that links may take up to three times as long, or less where few meet: half, where two workers have a server beside one
// of them, or each has one beside itself. Nobody prices NVLink as a card: where workers share a node it is flow.
RC_GTEST_PROP(TrainingLaws, AutoIsWhatFlowSaysOfWorkersWithoutACommonStep, ()) {
  const std::string text = any_workers();
  RC_PRE(!text.empty());
  const auto read = model::parse_scenario(text, "generated.toml", "", {});
  RC_PRE(read.has_value());  // else words that mean nothing here
  const model::Scenario& s = read->scenario;
  const auto [ours, flow] = play(s);
  RC_ASSERT(ours.has_value() && flow.has_value());
  const model::Layout& layout = s.job.as<model::TrainingJob>().layout;
  const bool inside = s.cluster.devices_per_node > 1 && s.policy.has_servers();
  if (s.cluster.devices_per_node > layout.tensor * layout.context * layout.pipeline || inside)
    RC_ASSERT(ours->engine == model::EngineKind::Flow);
  const bool told = std::ranges::any_of(
      ours->notes, [](const std::string& line) { return line.find("engine flow") != std::string::npos; });
  const double longer = flow->total / ours->total;
  RC_ASSERT(longer > 0.5 - 1e-6 && longer < 3);
  if (std::abs(longer - 1) > 1e-6 && !told)
    RC_FAIL(fmt::format("{} s by {}, {} by flow, nothing told:\n{}", ours->total.count(),
                        model::name_of(ours->engine), flow->total.count(), text));
}

/// The job's step in milliseconds, left to choose and by flow, which say the same.
double alike_ms(const std::string& text) {
  const auto read = model::parse_scenario(text, "found.toml", "", {});
  EXPECT_TRUE(read) << read.error().to_string();
  if (!read) return 0;
  const auto [ours, flow] = play(read->scenario);
  EXPECT_TRUE(ours && flow);
  if (!ours || !flow) return 0;
  EXPECT_EQ(ours->engine, model::EngineKind::Flow);
  EXPECT_NEAR(ours->total / flow->total, 1, 1e-9);
  return ours->total.count() * 1e3;
}

// Two layers, forward 1 ms and 2 of context, backward 2 and 4: the first bucket leaves at 12 ms, is alone for 2 of its 4 ms, and shares the
// port with context from 14 on: it ends at 18, the context at 20, the last bucket at 24. As it was found: 22 by every engine.
TEST(TrainingLaws, ContextSharesItsPortsWithItsOwnSums) {
  const std::string job =
      "[job]\nworkload = \"training\"\n[job.layout]\ncontext = 2\n[[job.layers]]\ncount = 2\nforward = \"1ms\"\n"
      "backward = \"2ms\"\ngradients = \"40MB\"\nactivations = \"20MB\"\n";
  for (const char* inside : {"devices_per_node = 2\nscale_up.bandwidth",
                             "devices_per_node = 2\npcie.bandwidth", "nodes = 2\nnic.bandwidth"})
    EXPECT_NEAR(alike_ms(std::string("[cluster]\n") + inside + " = \"10GB/s\"\n" + job), 24, 1e-6) << inside;
}

// As they were found, by arithmetic: 8.00 ms, 131 and 195.
TEST(TrainingLaws, SumsOfBackupsMeetInPortsAndCards) {
  const std::string work = "[[job.layers]]\nforward = \"1ms\"\nbackward = \"2ms\"\nactivations = \"0B\"\n";
  const std::string backup = "[policy]\nkind = \"backup\"\nbackups = 1\n";
  // Two ranks of each worker on a node, three workers of four: ten rounds of 10 MB through ports of 2 GB/s.
  EXPECT_NEAR(
      alike_ms(
          "[cluster]\nnodes = 4\ndevices_per_node = 2\nnics_per_node = 2\nscale_up.bandwidth = \"2GB/s\"\n"
          "nic.bandwidth = \"20GB/s\"\n[job]\nworkload = \"training\"\n[job.layout]\ncontext = 2\n" +
          work + "gradients = \"60MB\"\n" + backup),
      3 + 50, 1e-6);
  // Three of four, each with 64 MB at 1 GB/s. Doubling: 0 and 1 exchange all, 2 gives all to 0 before and takes all after it, and eager
  // senders do not wait, but share their card.
  const auto eager = [&](const char* algorithm) {
    return alike_ms(
        std::string("[cluster]\nnodes = 4\nnic.bandwidth = \"1GB/s\"\n[job]\nworkload = \"training\"\n"
                    "collective.algorithm = \"") +
        algorithm + "\"\n" + work + "gradients = \"64MB\"\n" + backup + "[cost]\nprotocol = \"eager\"\n");
  };
  EXPECT_NEAR(eager("recursive-doubling"), 3 + 256, 1e-6);
  EXPECT_GT(eager("binomial-tree"), 250);
}

}  // namespace
}  // namespace cox::simulate
