// SPDX-License-Identifier: Apache-2.0
// No word without effect: compressed gradients, measured times, servers on links.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "property/scenario_words.hpp"

namespace cox::simulate::words {
namespace {

class PriceWords : public Words {
 protected:
  PriceWords() {
    for (const auto& [file, unit] : {std::pair{"one.table", "us"}, {"other.table", "ms"}}) {
      std::string text;
      for (const char* kind :
           {"all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all"})
        text += fmt::format("{0} * 1kB 20{1}\n{0} * 1GB 30000{1} 60000{1} 0.3\n", kind, unit);
      put(file, text);
    }
  }

  Table layers_ = {{"count", "4"},
                   {"forward", "\"1ms\""},
                   {"backward", "\"2ms\""},
                   {"gradients", "\"20MB\""},
                   {"activations", "\"4MB\""}};
  Table training_ = {{"job.workload", "\"training\""},
                     {"job.steps", "6"},
                     {"job.optimizer", "\"1ms\""},
                     {"job.bucket", "\"15MB\""},
                     {"job.micro_batches", "2"}};
  /// With workers that are not waited for, who sum after the backward pass.
  [[nodiscard]] Table backups() const {
    Table all = training_ + Table{{"policy.kind", "\"backup\""}, {"policy.backups", "1"}};
    std::erase_if(all, [](const auto& entry) { return entry.first == "job.bucket"; });
    return all;
  }
  /// Two devices on each of four nodes: all that NCCL's model asks of them.
  Table lines_ = {{"cluster.nodes", "4"},
                  {"cluster.devices_per_node", "2"},
                  {"cluster.scale_up.bandwidth", "\"100GB/s\""},
                  {"cluster.nic.bandwidth", "\"10GB/s\""}};
  Table packing_ = {{"job.compression.encode", "\"20GB/s\""}, {"job.compression.decode", "\"20GB/s\""}};
};

TEST_F(PriceWords, OfCompression) {
  for (const std::string kind : {"quantised", "sparse"}) {
    const Table packed = packing_ + Table{{"job.compression.kind", "\"" + kind + "\""}};
    for (const std::string e : {"auto", "max-plus", "flow"}) {
      walk({e + " " + kind + " collective", kPairs + kRing + packed + engine(e), {}, {}, {}}, "job.");
      walk({e + " " + kind + " step", kPairs + training_ + packed + engine(e), layers_, {}, {"beside"}},
           e == "auto" ? "" : "job.");
      if (e != "max-plus")
        walk({e + " " + kind + " step on a tree",
              kEight + kTree + training_ + packed + engine(e),
              layers_,
              {},
              {"cards", "outside"}},
             "job.");
    }
  }
}

TEST_F(PriceWords, OfNccl) {
  const Table nccl = {{"cost.form", "\"nccl\""}};
  const auto sum_of = [](const char* bytes) {
    return Table{{"job.collective.kind", "\"all-reduce\""},
                 {"job.collective.bytes", fmt::format("\"{}\"", bytes)}};
  };
  for (const char* bytes : {"8MB", "1GB"})  // below, nobody takes NVLS
    walk({std::string("NCCL's model of ") + bytes, lines_ + nccl + sum_of(bytes), {}, {}, {"choices"}},
         "cost.nccl.");
  // So few that a tree under LL is taken: a ring is another, and Simple too.
  for (const char* key : {"cost.nccl.algorithm", "cost.nccl.protocol"})
    walk({"NCCL's model of 8kB",
          lines_ + Table{{"cluster.nodes", "32"}} + nccl + sum_of("8kB"),
          {},
          {},
          {"choices"}},
         key);
  // What is about messages is refused, all else acts.
  walk({"NCCL's model of a collective", lines_ + nccl + sum_of("8MB"), {}, {}, {"choices"}});
  walk({"NCCL's model of a step", lines_ + nccl + training_, layers_, {}, {"beside"}});
  walk({"NCCL's model of a step, tensor",
        lines_ + nccl + training_ + Table{{"job.layout.tensor", "2"}, {"job.zero_stage", "3"}},
        layers_,
        {},
        {"beside"}});
  walk({"NCCL's model of a step, stages",
        lines_ + nccl + training_ + Table{{"job.layout.pipeline", "2"}},
        layers_,
        {},
        {"beside"}});
  walk({"NCCL's model with backups", kPairs + nccl + backups(), layers_, {}}, "policy.");
}

// What messages take of processors and ports at both ends.
TEST_F(PriceWords, OfProcessors) {
  const Table loggops = {{"cost.protocol", "\"loggops\""}, {"cost.across.overhead", "\"1us\""},
                         {"cost.across.gap", "\"2us\""},   {"cost.inside.overhead", "\"500ns\""},
                         {"cost.inside.gap", "\"300ns\""}, {"cost.reduce", "\"10ps/B\""}};
  for (const std::string e : {"auto", "max-plus"}) {
    walk({e + " ring by processors", kPairs + kRing + loggops + engine(e)}, e == "auto" ? "" : "cost.");
    walk({e + " step by processors", kPairs + training_ + loggops + engine(e), layers_}, "cost.");
  }
  walk({"step with backups by processors", kPairs + backups() + loggops, layers_, {}, {"outside"}}, "cost.");
  // Between stages that are far apart: the next message is there to be sent before the one before is taken.
  Table training = training_;
  std::erase_if(training, [](const auto& word) { return word.first == "job.bucket"; });
  const Table stages = kPairs + training + loggops +
                       Table{{"cluster.nodes", "2"},
                             {"cluster.nic.latency", "\"50ms\""},
                             {"cluster.scale_up.latency", "\"50ms\""}};
  for (const std::string e : {"auto", "max-plus"}) {
    Table one = stages + Table{{"job.layout.pipeline", "4"}} + engine(e);
    std::erase_if(one, [](const auto& word) { return word.first == "cost.reduce"; });
    for (const char* section : {"cost.", "job."})
      walk({e + " stages by processors", one, layers_, {}, {"late", "meets"}}, section);
    walk({e + " stages of replicas by processors",
          stages + Table{{"job.layout.pipeline", "4"}, {"cluster.nodes", "4"}} + engine(e),
          layers_,
          {},
          {"late", "meets"}},
         "cost.");
  }
  // The root sends the next piece when the one before was taken, which is longer than its port is busy.
  const Table chain = {{"job.collective.kind", "\"broadcast\""},
                       {"job.collective.algorithm", "\"chain\""},
                       {"job.collective.bytes", "\"1kB\""},
                       {"job.collective.chunks", "4"},
                       {"cost.protocol", "\"loggops\""}};
  walk({"late receivers across", kEight + chain, {}, {}, {"late"}}, "cost.across.eager_limit");
  Table node = kPairs + chain;
  say(node, "cluster.nodes", "1");
  say(node, "cluster.devices_per_node", "8");
  std::erase_if(node, [](const auto& entry) { return entry.first.starts_with("cluster.nic."); });
  walk({"late receivers inside", node, {}, {}, {"late"}}, "cost.inside.eager_limit");
}

TEST_F(PriceWords, OfMeasuredTimes) {
  const Table table = {{"cost.form", "\"table\""}, {"cost.table", "\"one.table\""}};
  const Table machines = {{"cluster.nodes", "4"}, {"cluster.devices_per_node", "2"}};
  walk({"measured collective",
        machines + table + Table{{"job.collective.bytes", "\"8MB\""}, {"job.steps", "9"}},
        {},
        {},
        {"draws"}});
  walk({"measured step", machines + table + training_, layers_, {}, {"draws", "beside"}});
  walk({"measured step, tensor",
        machines + table + training_ + Table{{"job.layout.tensor", "2"}, {"job.zero_stage", "3"}},
        layers_,
        {},
        {"draws", "beside"}});
  walk({"measured step, stages",
        machines + table + training_ +
            Table{{"job.layout.pipeline", "2"},
                  {"cluster.scale_up.latency", "\"1us\""},
                  {"cluster.scale_up.bandwidth", "\"100GB/s\""}},
        layers_,
        {},
        {"draws", "beside"}});
}

// Those that are waited for are looked up.
TEST_F(PriceWords, OfMeasuredTimesWithBackups) {
  walk({"measured step with backups",
        kPairs + backups() + Table{{"cost.form", "\"table\""}, {"cost.table", "\"one.table\""}},
        layers_,
        {{"law", "\"lognormal\""}, {"cv", "0.5"}},
        {"draws"}},
       "policy.");
}

// Only what is between stages costs what links say.
TEST_F(PriceWords, OfMeasuredTimesAcross) {
  const Table table = {{"cost.form", "\"table\""}, {"cost.table", "\"one.table\""}};
  walk({"measured step, stages across",
        kEight + table + training_ + Table{{"job.layout.pipeline", "2"}},
        layers_,
        {},
        {"draws", "beside", "outside"}});
}

TEST_F(PriceWords, OfIterationsOnLinks) {
  const Table job = {{"job.workload", "\"iteration\""}, {"job.steps", "30"},
                     {"iteration.compute", "\"5ms\""},  {"iteration.jitter", "\"lognormal\""},
                     {"iteration.spread", "0.1"},       {"iteration.reduce", "\"8MB\""}};
  for (const char* section : {"cluster.", "fabric.", "cost.", "iteration.reduce", "iteration.link"}) {
    walk({"iteration on one switch", kEight + job, {}, {}, {"draws", "outside"}}, section);
    walk({"iteration on a tree", kEight + kTree + job, {}, {}, {"draws", "outside"}}, section);
    walk({"iteration, costs said",
          Table{{"cluster.nodes", "4"}, {"cluster.devices_per_node", "2"}} + kCosts + job,
          {},
          {},
          {"draws"}},
         section);
  }
}

TEST_F(PriceWords, OfServersOnLinks) {
  for (const std::string kind : {"bounded-wait", "bounded-discard", "asynchronous"})
    for (const std::string e : {"auto", "flow"}) {
      Table training = training_;
      std::erase_if(training, [](const auto& entry) { return entry.first == "job.bucket"; });
      Table policy = {{"policy.kind", "\"" + kind + "\""}, {"job.steps", "12"}, {"policy.servers", "2"}};
      if (kind.starts_with("bounded")) say(policy, "policy.staleness", "1");
      const Table noise = {{"law", "\"lognormal\""}, {"cv", "0.5"}};
      walk({e + " " + kind + " on a tree",
            kEight + kTree + training + policy + engine(e),
            layers_,
            noise,
            {"draws", "outside", "cards"}});
      if (e == "flow")
        walk({e + " " + kind + " on one switch",
              kPairs + training + policy + engine(e),
              layers_,
              noise,
              {"draws", "outside", "cards"}},
             "policy.");
    }
}

TEST_F(PriceWords, OfBackupsOnLinks) {
  for (const std::string e : {"auto", "flow"}) {
    Table training = training_;
    std::erase_if(training, [](const auto& entry) { return entry.first == "job.bucket"; });
    const Table policy = {{"policy.kind", "\"backup\""}, {"job.steps", "12"}, {"policy.backups", "1"}};
    walk({e + " backups on a tree",
          kEight + kTree + training + policy + engine(e),
          layers_,
          {{"law", "\"lognormal\""}, {"cv", "0.5"}},
          {"draws", "outside", "cards", "meets"}});
  }
}

}  // namespace
}  // namespace cox::simulate::words
