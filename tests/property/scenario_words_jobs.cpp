// SPDX-License-Identifier: Apache-2.0
// No word without effect: training, schedules, traces and iterations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/model/toml.hpp"

#include "property/scenario_words.hpp"

namespace cox::simulate::words {
namespace {

class TrainingWords : public Words {
 protected:
  Table layers_ = {{"count", "4"},
                   {"forward", "\"1ms\""},
                   {"backward", "\"2ms\""},
                   {"gradients", "\"20MB\""},
                   {"activations", "\"4MB\""}};
  Table training_ = {{"job.workload", "\"training\""},
                     {"job.steps", "3"},
                     {"job.optimizer", "\"1ms\""},
                     {"job.bucket", "\"15MB\""},
                     {"job.micro_batches", "2"}};

  void walk_step(const std::string& name, const Table& job, const std::set<std::string>& has = {},
                 const Table& noise = {}, std::string_view only = "") {
    const Table tree = {
        {"fabric.kind", "\"fat-tree\""}, {"fabric.hosts_per_leaf", "2"}, {"fabric.oversubscription", "2"}};
    for (const std::string e : {"auto", "max-plus", "flow"}) {
      walk({fmt::format("{} {} on one switch", e, name), kPairs + training_ + job + engine(e), layers_, noise,
            has},
           only);
      if (e != "max-plus")
        walk({fmt::format("{} {} on a tree", e, name), kPairs + tree + training_ + job + engine(e), layers_,
              noise, has},
             only);
    }
  }
};

TEST_F(TrainingWords, OfReplicas) {
  for (int zero = 0; zero <= 3; ++zero)
    for (const std::string overlap : {"true", "false"})
      walk_step(fmt::format("zero {} overlap {}", zero, overlap),
                {{"job.zero_stage", fmt::format("{}", zero)}, {"job.overlap", overlap}}, {"beside", "kinds"},
                {}, zero == 3 && overlap == "true" ? "" : "job.");
}

// What sums of gradients, local steps and what only meets in them would read is refused, whatever the engine.
TEST_F(TrainingWords, OfASingleReplica) {
  Table training = training_;
  std::erase_if(training, [](const auto& word) { return word.first == "job.bucket"; });
  const Table stages = kPairs + training + Table{{"cluster.nodes", "2"}, {"job.layout.pipeline", "4"}};
  for (const std::string e : {"auto", "max-plus", "flow"}) {
    walk({e + " one replica of stages", stages + engine(e), layers_});
    walk({e + " one replica of tensor groups and stages",
          stages + engine(e) + Table{{"job.layout.pipeline", "2"}, {"job.layout.tensor", "2"}}, layers_});
  }
  walk({"one replica, one tensor group", kNode + training + Table{{"job.layout.tensor", "8"}}, layers_});
  walk({"one replica, one device", training, layers_});
}

TEST_F(TrainingWords, OfAFixedBatch) {
  Table job = training_;
  std::erase_if(job, [](const auto& word) { return word.first == "job.micro_batches"; });
  walk({"a fixed batch", kPairs + job + Table{{"job.global_batch", "8"}}, layers_, {}, {}},
       "job.global_batch");
}

TEST_F(TrainingWords, OfMechanisms) {
  walk_step("feedback", {{"job.overlap_feedback", "0.5"}, {"job.overlap_threshold", "\"100ms\""}}, {}, {},
            "job.overlap_");
  walk_step("time-outs", {{"fabric.timeout.wait", "\"2ms\""}, {"fabric.timeout.loss", "0.1"}}, {"draws"}, {},
            "fabric.timeout.");
  walk_step(
      "time-outs of stages",
      {{"fabric.timeout.wait", "\"2ms\""}, {"fabric.timeout.loss", "0.3"}, {"job.layout.pipeline", "4"}},
      {"draws"}, {}, "fabric.timeout.");
}

TEST_F(TrainingWords, OfLayouts) {
  walk_step("tensor", {{"job.layout.tensor", "2"}}, {});
  walk_step("context", {{"job.layout.context", "2"}}, {});
  for (const std::string zero : {"1", "3"})
    walk_step("sets of shards, zero " + zero, {{"job.zero_stage", zero}, {"job.layout.shard", "2"}},
              {"beside", "kinds"});
  walk_step("experts", {{"job.layout.expert", "8"}, {"job.moe_layers", "2"}}, {"shares", "alike"});
  for (const std::string schedule : {"gpipe", "1f1b", "interleaved", "zero-bubble"})
    walk_step(
        "pipeline " + schedule,
        {{"job.layout.pipeline", "2"}, {"job.schedule", "\"" + schedule + "\""}, {"job.micro_batches", "4"}},
        {}, {}, schedule == "1f1b" ? "" : "job.");
}

TEST_F(TrainingWords, OfAModel) {
  layers_.clear();
  const Table model = {{"job.model.parameters", "1e8"},
                       {"job.model.layers", "4"},
                       {"job.model.hidden", "1024"},
                       {"job.model.sequence", "1024"},
                       {"cluster.device.peak", "\"100TFLOP/s\""}};
  walk_step("model, data", model);
  walk_step("model, tensor", model + Table{{"job.layout.tensor", "2"}}, {});
}

TEST_F(TrainingWords, OfPolicies) {
  for (const std::string kind : {"bounded-wait", "bounded-discard", "asynchronous", "local-sgd", "backup"})
    for (const std::string e : {"auto", "event", "max-plus"}) {
      const bool steps = kind == "local-sgd";
      if (e != "auto" && steps != (e == "max-plus")) continue;
      Table training = training_;
      if (!steps) std::erase_if(training, [](const auto& entry) { return entry.first == "job.bucket"; });
      Table policy = {{"policy.kind", "\"" + kind + "\""}, {"job.steps", "12"}};
      if (kind.starts_with("bounded")) say(policy, "policy.staleness", "1");
      if (kind == "backup") say(policy, "policy.backups", "1");
      if (steps) say(policy, "policy.local_steps", "3");
      const Table noise = {{"law", "\"lognormal\""}, {"cv", "0.5"}};
      walk({fmt::format("{} {}", e, kind), kPairs + training + policy + engine(e), layers_, noise,
            steps ? std::set<std::string>{"draws"} : std::set<std::string>{"draws", "outside"}});
      const Table experts = {{"job.layout.expert", "2"}, {"job.moe_layers", "2"}};
      walk({fmt::format("{} {} with experts", e, kind),
            kPairs + training + policy + experts + engine(e),
            layers_,
            noise,
            {"draws"}},
           "job.");
    }
}

/// What disturbs the messages of workers that have no common step.
TEST_F(TrainingWords, OfTroubleUnderPolicies) {
  Table training = training_;
  std::erase_if(training, [](const auto& entry) { return entry.first == "job.bucket"; });
  for (const std::string kind : {"bounded-wait", "asynchronous", "backup"})
    for (const bool tree : {false, true}) {
      Table policy = {{"policy.kind", "\"" + kind + "\""}, {"job.steps", "12"}};
      if (kind == "bounded-wait") say(policy, "policy.staleness", "1");
      if (kind == "backup") say(policy, "policy.backups", "1");
      if (kind != "backup") say(policy, "policy.servers", "2");
      const Table job = kPairs + training + policy + (tree ? kTree : Table{});
      const std::string name = kind + (tree ? " on a tree" : "");
      for (const std::string target : {"message", "bandwidth"})
        walk({name + ", noise on " + target,
              job,
              layers_,
              {{"law", "\"gaussian\""}, {"cv", "0.3"}, {"target", "\"" + target + "\""}},
              {"draws", "noise", "outside"}},
             "noise[]");
      walk({name + ", time-outs",
            job + Table{{"fabric.timeout.wait", "\"2ms\""}, {"fabric.timeout.loss", "0.1"}},
            layers_,
            {},
            {"draws", "outside"}},
           "fabric.timeout.");
      walk({name + ", input",
            job + Table{{"job.input.fetch", "\"4MB\""},
                        {"job.input.link", "\"2GB/s\""},
                        {"job.input.prepare", "\"6ms\""},
                        {"job.input.cores", "1"}},
            layers_,
            {},
            {"outside"}},
           "job.input.");
      if (kind != "backup")  // one message to a port at a time
        walk({name + ", full ports",
              job + Table{{"fabric.timeout.wait", "\"2ms\""}, {"fabric.timeout.flows", "2"}},
              layers_,
              {},
              {"crowds", "outside"}},
             "fabric.timeout.");
    }
}

TEST_F(TrainingWords, OfNoise) {
  for (const std::string target : {"compute", "message", "bandwidth"})
    walk_step("noise on " + target, {}, {"draws", "noise"},
              {{"law", "\"gaussian\""}, {"cv", "0.3"}, {"target", "\"" + target + "\""}}, "noise[]");
}

TEST_F(TrainingWords, OfFailures) {
  walk_step("failures",
            {{"failures.node_mtbf", "\"1s\""},
             {"failures.restart", "\"5ms\""},
             {"failures.checkpoint", "\"1ms\""},
             {"failures.checkpoint_interval", "\"20ms\""},
             {"job.steps", "20"}},
            {"draws"}, {}, "failures.");
  walk_step("restarts",
            {{"failures.node_mtbf", "\"1s\""},
             {"failures.job_mtbf", "\"2s\""},
             {"failures.restart", "\"5ms\""},
             {"failures.restart_per_node", "\"1ms\""},
             {"failures.restart_spread", "\"2ms\""},
             {"failures.restart_tail", "0.2"},
             {"failures.cold_steps", "2"},
             {"failures.cold_factor", "2"},
             {"failures.checkpoint_interval", "\"50ms\""},
             {"failures.checkpoint_size", "\"1GB\""},
             {"failures.storage", "\"100GB/s\""},
             {"job.steps", "40"}},
            {"draws"}, {}, "failures.");
}

TEST_F(TrainingWords, OfComponents) {
  const Table failing = {{"failures.node_mtbf", "\"4s\""},
                         {"failures.restart", "\"5ms\""},
                         {"failures.checkpoint", "\"1ms\""},
                         {"failures.checkpoint_interval", "\"150ms\""},
                         {"failures.checkpoint_size", "\"1GB\""},
                         {"failures.storage", "\"1000GB/s\""},
                         {"failures.checkpoint_delta", "\"100MB\""},
                         {"failures.full_every", "2"},
                         {"failures.unreadable", "0.2"},
                         {"failures.near_checkpoint", "\"100us\""},
                         {"failures.near_interval", "\"40ms\""},
                         {"failures.near_survives", "0.3"},
                         {"failures.repair", "\"200ms\""},
                         {"failures.spares", "1"},
                         {"job.steps", "150"}};
  for (const std::string per : {"node", "device", "link", "switch", "job"}) {
    Table one = {{"per", "\"" + per + "\""}, {"mtbf", "\"1s\""}, {"restart", "\"9ms\""}};
    if (per != "job") say(one, "repair", "\"150ms\"");
    walk({"a class per " + per, kPairs + kTree + training_ + failing, layers_, {}, {"draws"}, one},
         "failures.");
  }
}

TEST_F(TrainingWords, OfStartsInputAndPower) {
  const Table about = {
      {"start.fixed", "\"1ms\""},   {"start.per_rank", "\"10us\""}, {"start.per_pair", "\"1us\""},
      {"start.communicators", "2"}, {"start.read", "\"1MB\""},      {"start.storage", "\"10GB/s\""},
      {"start.spread", "\"1ms\""},  {"start.tail", "0.2"},          {"power.busy", "\"1kW\""},
      {"power.pue", "1.2"},         {"price.node_hour", "3"},       {"price.currency", "\"USD\""}};
  const Table input = {
      {"job.input.cores", "1"}, {"job.input.prepare", "\"2ms\""}, {"job.input.fetch", "\"2MB\""}};
  for (const char* section : {"start.", "power.", "price.", "failures.", "job."}) {
    walk_step("a link", about + input + Table{{"job.input.link", "\"2GB/s\""}}, {"draws", "beside", "kinds"},
              {}, section);
    walk_step("storage",
              about + input + Table{{"job.input.storage", "\"2GB/s\""}, {"job.input.ahead", "true"}},
              {"draws", "beside", "kinds"}, {}, section);
  }
}

// A slow node, and one storage for all: ranks that are early take from those that are late.
TEST_F(TrainingWords, OfPacing) {
  say(layers_, "gradients", "\"2MB\"");
  const Table job = {{"job.steps", "300"},
                     {"job.input.fetch", "\"1MB\""},
                     {"job.input.storage", "\"1GB/s\""},
                     {"job.micro_batches", "1"}};
  for (const std::string mode : {"observe", "paper", "auto", "always", "random"})
    walk({"training, pace " + mode,
          kPairs + training_ + job + Table{{"pace.mode", "\"" + mode + "\""}},
          layers_,
          {{"law", "\"lognormal\""}, {"cv", "0.03"}},
          {"draws"},
          {},
          {{"first", "1"}, {"count", "1"}, {"speed", "0.6"}}},
         "pace.");
}

TEST_F(Words, OfSchedules) {
  // There and back, and a receiver that is late.
  put("a.goal",
      "num_ranks 2\n"
      "rank 0 {\nl1: send 100b to 1 tag 1\nl2: send 100b to 1 tag 2\nl3: recv 8b from 1 tag 3\n}\n"
      "rank 1 {\nl1: recv 100b from 0 tag 1\nl2: recv 100b from 0 tag 2\nl3: send 8b to 0 tag 3\n"
      "l3 requires l1\nl3 requires l2\n}\n");
  put("late.goal",
      "num_ranks 2\n"
      "rank 0 {\nl1: send 100000b to 1 tag 1\nl2: calc 70000\nl2 requires l1\n}\n"
      "rank 1 {\nl0: calc 30000\nl1: recv 100000b from 0 tag 1\nl1 requires l0\n}\n");
  put("other", "num_ranks 2\nrank 0 {\nl1: send 9b to 1 tag 1\n}\nrank 1 {\nl1: recv 9b from 0 tag 1\n}\n");
  const Table file = {{"job.workload", "\"goal\""}, {"job.file", "\"a.goal\""}};
  const Table cost = {{"cost.across.latency", "\"3us\""},
                      {"cost.across.bandwidth", "\"5GB/s\""},
                      {"cost.across.overhead", "\"1us\""},
                      {"cost.across.gap", "\"2us\""}};
  const Table tree = {
      {"cluster.nodes", "32"}, {"fabric.kind", "\"fat-tree\""}, {"fabric.hosts_per_leaf", "2"}};
  for (const std::string e : {"auto", "event"}) {
    walk({e + " schedule, costs said", file + cost + engine(e)});
    walk({e + " schedule on a tree", kEight + tree + file + engine(e)});
    walk({e + " late receiver",
          file + cost + engine(e) + Table{{"job.file", "\"late.goal\""}},
          {},
          {},
          {"late"}},
         "cost.across.eager_limit");
  }
}

TEST_F(Words, OfTraces) {
  // A computation, then an all-reduce, on each rank; a folder for each, as files of one folder are parts of one job.
  for (const auto& [trace, bytes] : {std::pair{"trace", 4'000'000}, {"other", 1'000'000}})
    for (int r = 0; r < 8; ++r) {
      const std::string folder = fmt::format("{}/rank{}", trace, r);
      std::filesystem::create_directories(dir_.path() / folder);
      put(folder + "/trace.json", fmt::format(R"({{"rank": {}, "ngpus": 8, "workload_graph": [
                      {{"id": 1, "name": "c", "type": 4, "durationMicros": {}}},
                      {{"id": 2, "name": "r", "type": 7, "dataDeps": [1], "comm_type": 0, "comm_size": {}}}]}})",
                                              r, 50 + r, bytes));
    }
  const Table file = {{"job.workload", "\"chakra\""}, {"job.file", "\"trace\""}};
  for (const std::string e : {"auto", "event", "flow"}) {
    walk({e + " trace on one switch", kPairs + file + engine(e), {}, {}, {"idle"}});
    if (e != "event") walk({e + " trace on a tree", kEight + kTree + file + engine(e), {}, {}, {"idle"}});
  }
  walk({"trace, costs said",
        Table{{"cluster.nodes", "4"}, {"cluster.devices_per_node", "2"}} + kCosts + file,
        {},
        {},
        {"idle"}});
}

TEST_F(Words, OfIterations) {
  const Table job = {{"cluster.nodes", "2"},
                     {"cluster.devices_per_node", "4"},
                     {"job.workload", "\"iteration\""},
                     {"job.steps", "300"},
                     {"iteration.prepare", "\"1ms\""},
                     {"iteration.fetch", "\"100kB\""},
                     {"iteration.link", "\"1GB/s\""},
                     {"iteration.compute", "\"5ms\""},
                     {"iteration.jitter", "\"lognormal\""},
                     {"iteration.spread", "0.1"},
                     {"iteration.imbalance", "\"rotating\""},
                     {"iteration.slow_ranks", "1"},
                     {"iteration.slow_factor", "1.5"},
                     {"iteration.reduce", "\"1MB\""}};
  for (const std::string e : {"auto", "event"}) walk({e + " iteration", job + engine(e), {}, {}, {"draws"}});
  walk({"iteration on a preset",
        Table{{"cluster.preset", "\"dgx-h100\""},
              {"job.workload", "\"iteration\""},
              {"iteration.compute", "\"1ms\""},
              {"iteration.prepare", "\"1ms\""}},
        {},
        {},
        {"bare"}});
  walk({"iteration, time slices",
        job + Table{{"iteration.time_slice", "\"500us\""}, {"iteration.compute_on_cores", "true"}},
        {},
        {},
        {"draws", "contended"}});
  for (const std::string mode : {"observe", "paper", "auto", "always", "random"})
    walk({"pace " + mode,
          job + Table{{"pace.mode", "\"" + mode + "\""}, {"iteration.imbalance", "\"persistent\""}},
          {},
          {},
          {"draws"}});
  Table alike = job;
  std::erase_if(alike, [](const auto& entry) {
    return entry.first == "iteration.imbalance" || entry.first.starts_with("iteration.slow_");
  });
  walk({"pace paper about its threshold",
        alike + Table{{"pace.mode", "\"paper\""}, {"pace.activate", "0.25"}, {"pace.window", "8"}},
        {},
        {},
        {"draws", "wavers"}},
       "pace.release");
  walk({"pace auto for energy",
        job + Table{{"pace.mode", "\"auto\""},
                    {"pace.objective", "\"energy\""},
                    {"iteration.imbalance", "\"persistent\""}},
        {},
        {},
        {"draws"}});
}

}  // namespace
}  // namespace cox::simulate::words
