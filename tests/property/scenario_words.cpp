// SPDX-License-Identifier: Apache-2.0
// No word without effect: collectives, and noise.
#include "property/scenario_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/model/toml.hpp"

namespace cox::simulate::words {
namespace {

/// Where all walks are of one process: each key of the reference has had an effect in some base, and so has each word of a
/// key with named choices that any base accepts. A key that is refused everywhere, or has no base, is found by this alone.
class EveryKey : public testing::Environment {
 public:
  void TearDown() override {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it meanwhile
    if (std::getenv("COX_EVERY_KEY") == nullptr) return;
    std::vector<std::string> never;
    for (const model::ScenarioKey& key : model::scenario_keys())
      if (!kTitles.contains(key.key) && !kFixed.contains(key.key) && !effective().contains(key.key))
        never.push_back(key.key);
    EXPECT_TRUE(never.empty()) << never.size() << " keys without effect in any base:\n"
                               << fmt::format("{}", fmt::join(never, "\n"));
    std::vector<std::string> idle;
    std::ranges::set_difference(named_choices().accepted, named_choices().effective,
                                std::back_inserter(idle));
    EXPECT_TRUE(idle.empty()) << idle.size() << " words that are accepted and change nothing in any base:\n"
                              << fmt::format("{}", fmt::join(idle, "\n"));
  }
};
const auto* const kEveryKey = testing::AddGlobalTestEnvironment(new EveryKey);

class CollectiveWords : public Words {};

TEST_F(CollectiveWords, OnOneSwitch) {
  for (const std::string e : {"auto", "max-plus"}) {
    walk({e + " ring, 8 x 1", kEight + kRing + engine(e)});
    walk({e + " ring, 4 x 2", kPairs + kRing + engine(e), {}, {}, {"kinds"}});
    walk({e + " ring, 1 x 8", kNode + kRing + engine(e), {}, {}, {"inside"}});
    walk({e + " costs said",
          Table{{"cluster.nodes", "4"}, {"cluster.devices_per_node", "2"}} + kRing + kCosts + engine(e)});
  }
  walk({"closed-form ring, 8 x 1", kEight + kRing + engine("closed-form")});
  walk({"flow all-to-all, 4 x 2", kPairs + kExchange + engine("flow"), {}, {}, {"cards"}});
  walk({"a preset",
        Table{{"cluster.nodes", "16"}, {"cluster.preset", "\"dgx-h100\""}} + kRing,
        {},
        {},
        {"bare", "kinds", "fabrics"}});
}

TEST_F(CollectiveWords, OnFabrics) {
  const Table random = {{"job.order", "\"random\""}};
  const Table cards = {{"cluster.nics_per_node", "2"}};
  const Table links = {{"fabric.link.latency", "\"1us\""}, {"fabric.link.bandwidth", "\"5GB/s\""}};
  const Table nodes = {{"cluster.nodes", "8"}};
  for (const std::string e : {"auto", "flow"}) {
    const Table tree = kEight + kTree + kExchange + engine(e);
    walk({e + " fat tree", tree});
    walk({e + " fat tree of pairs",
          kPairs + kTree + kExchange + cards + engine(e),
          {},
          {},
          {"fabrics", "shares", "cards"}});
    walk({e + " fat tree, random ring", kEight + kTree + kRing + random + engine(e), {}, {}, {"draws"}});
    walk({e + " fat tree, ecmp",
          tree + Table{{"fabric.routing", "\"ecmp\""}, {"fabric.oversubscription", "1"}},
          {},
          {},
          {"draws", "paths"}});
    walk({e + " fat tree, three tiers", tree + Table{{"fabric.tiers", "3"}, {"fabric.leaves_per_pod", "2"}}});
    walk({e + " rails", kPairs + kExchange + cards + engine(e) +
                            Table{{"fabric.kind", "\"rail-optimised\""}, {"fabric.hosts_per_leaf", "2"}}});
    walk({e + " torus", nodes + links + kExchange + engine(e) +
                            Table{{"fabric.kind", "\"torus\""}, {"fabric.torus", "[2, 2, 2]"}}});
    walk({e + " dragonfly", kEight + links + kExchange + engine(e) +
                                Table{{"fabric.kind", "\"dragonfly\""},
                                      {"fabric.routing", "\"spray\""},
                                      {"fabric.dragonfly.groups", "2"},
                                      {"fabric.dragonfly.routers", "2"},
                                      {"fabric.dragonfly.hosts", "2"}}});
    walk({e + " graph", nodes + kExchange + engine(e) +
                            Table{{"fabric.kind", "\"graph\""}, {"fabric.graph_file", "\"fast.txt\""}}});
    walk({e + " crowd",
          kEight + kTree + engine(e) +
              Table{{"cluster.nodes", "16"},
                    {"job.collective.kind", "\"all-reduce\""},
                    {"job.collective.algorithm", "\"parameter-server\""},
                    {"job.collective.servers", "3"},
                    {"job.collective.bytes", "\"8MB\""}},
          {},
          {},
          {"crowds"}});
  }
  const Table losses = {{"fabric.timeout.wait", "\"1ms\""}, {"fabric.timeout.loss", "0.1"}};
  for (const std::string e : {"auto", "flow"}) {
    walk({e + " time-outs on a tree", kEight + kTree + kExchange + losses + engine(e), {}, {}, {"draws"}},
         "fabric.");
    walk({e + " full ports",
          kEight + kTree + kExchange + engine(e) +
              Table{{"fabric.oversubscription", "2"},
                    {"fabric.timeout.wait", "\"1ms\""},
                    {"fabric.timeout.flows", "1"}},
          {},
          {},
          {"crowds"}},
         "fabric.timeout.");
  }
  for (const std::string e : {"auto", "max-plus", "flow"})
    walk({e + " time-outs of a ring", kPairs + kRing + losses + engine(e), {}, {}, {"draws"}}, "fabric.");
  walk({"time-outs of a ring, seed", kPairs + kRing + losses, {}, {}, {"draws"}}, "seed");
  for (const std::string e : {"max-plus", "closed-form"})
    walk({e + " fat tree",
          kEight + kRing + engine(e) +
              Table{
                  {"cluster.nodes", "32"}, {"fabric.kind", "\"fat-tree\""}, {"fabric.hosts_per_leaf", "2"}}});
}

// Every collective by every algorithm that does it.
TEST_F(CollectiveWords, OfAlgorithms) {
  std::set<std::string> done;
  const auto words = [](const std::string& name) {
    for (const model::ScenarioKey& key : model::scenario_keys())
      if (key.key == name) return key.words;
    return std::vector<std::string_view>{};
  };
  for (const std::string_view kind : words("job.collective.kind"))
    for (const std::string_view algorithm : words("job.collective.algorithm")) {
      Base base{fmt::format("{} by {}", kind, algorithm),
                kPairs + Table{{"job.collective.kind", fmt::format("\"{}\"", kind)},
                               {"job.collective.algorithm", fmt::format("\"{}\"", algorithm)},
                               {"job.collective.bytes", "\"8MB\""},
                               {"job.steps", "3"},
                               {"job.compute", "\"1ms\""}},
                {},
                {{"law", "\"uniform\""}, {"cv", "0.5"}},
                {"draws"}};
      if (answer(base).refused) continue;  // collectives.md lists what does what
      done.insert(std::string(algorithm));
      const bool served = algorithm == "parameter-server" || algorithm == "in-network";
      base.has.insert(served ? "outside" : "meets");
      for (const char* part : {"job.", "cost.", "engine", "replicas"}) walk(base, part);
    }
  EXPECT_EQ(done.size(), words("job.collective.algorithm").size());
}

// Every law in every pattern that takes it, on what it disturbs.
TEST_F(CollectiveWords, OfNoise) {
  put("steps.csv", "step,rank,compute_s\n0,0,0.010\n0,1,0.012\n1,0,0.011\n1,1,0.009\n");
  put("other.csv", "step,rank,compute_s\n0,0,0.010\n0,1,0.019\n1,0,0.014\n1,1,0.009\n");
  const Table job = kPairs + kRing + Table{{"seed", "2"}, {"job.compute", "\"5ms\""}, {"job.steps", "8"}};
  std::set<std::string> laws;
  for (const std::string law : {"constant", "gaussian", "lognormal", "exponential", "pareto", "weibull",
                                "bimodal", "uniform", "trace", "quantiles"})
    for (const std::string pattern :
         {"every-step", "persistent", "rotating", "periodic", "drift", "recurring", "once", "bursts"})
      for (const std::string target : {"compute", "message", "bandwidth"}) {
        Table noise = {{"law", "\"" + law + "\""}, {"target", "\"" + target + "\""}};
        if (pattern != "bursts") say(noise, "pattern", "\"" + pattern + "\"");
        if (pattern == "bursts")
          for (const char* key : {"burst_steps", "calm_steps"}) say(noise, key, "2");
        if (pattern == "once") say(noise, "step", "1");
        if (pattern == "recurring") say(noise, "period_steps", "3");
        if (law == "quantiles")
          for (const auto& [key, value] :
               {std::pair{"quantiles", "[-0.1, 0, 0.1]"}, {"tail_probability", "0.6"}, {"tail_scale", "0.1"}})
            say(noise, key, value);
        else if (law == "trace")
          say(noise, "file", "\"steps.csv\"");
        else
          say(noise, pattern == "periodic" ? "mean" : "mean_ratio",
              pattern == "periodic" ? "\"1ms\"" : "0.1");
        if (pattern == "periodic") say(noise, "period", "\"7ms\"");
        if (law == "pareto" || law == "weibull") say(noise, "shape", "3");
        if (law == "gaussian" || law == "lognormal") say(noise, "cv", "0.3");
        if (law == "bimodal") say(noise, "probability", "0.5");
        Base base{fmt::format("noise {} {} on {}", law, pattern, target), job, {}, noise, {}};
        if (answer(base).refused) continue;
        laws.insert(law);
        // What one of few holds for the whole job may be the same for another.
        const bool often = pattern != "once" && (law != "bimodal" || pattern == "every-step");
        if (often) base.has.insert("noise");
        walk(base, "noise[]");
        const bool phases = pattern == "periodic" || pattern == "recurring" || pattern == "bursts";
        if (often && law != "trace" && (law != "constant" || phases)) base.has.insert("draws");
        walk(base, "seed");
      }
  EXPECT_EQ(laws.size(), 10U);
}

}  // namespace
}  // namespace cox::simulate::words
