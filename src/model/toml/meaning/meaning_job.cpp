// SPDX-License-Identifier: Apache-2.0
// Which keys of a job have a meaning.
#include <string>
#include <utility>

#include "model/toml/meaning/sections.hpp"

namespace cox::model {
namespace {

/// Of a step: of replicas, or of a tensor group, which is inside a node and so has one channel.
bool has_collectives(const TrainingJob& job, std::string_view key) {
  return sums_with_others(job) || (job.layout.tensor > 1 && key != "job.collective.channels");
}

std::optional<Unread> unread_in_collective(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const bool training = w == Workload::Training;
  const bool whole = d.scenario.price != CollectivePrice::Rounds && (training || w == Workload::Collective);
  if (whole && !is_one_of(key, {"job.collective.kind", "job.collective.ranks", "job.collective.bytes"}))
    return Unread{.chooses = "cost.form", .whose = "rounds"};
  if (key == "job.collective.algorithm" && w == Workload::Chakra) return std::nullopt;
  const bool shared =
      is_one_of(key, {"job.collective.algorithm", "job.collective.group", "job.collective.group2",
                      "job.collective.channels", "job.collective.servers", "job.collective.chunks"});
  if (w != Workload::Collective && !(training && shared))
    return Unread{.chooses = "job.workload",
                  .whose = !shared                             ? "collective"
                           : key == "job.collective.algorithm" ? "collective, training or chakra"
                                                               : "collective or training"};
  // Workers that do not meet in a step have no collectives. Where some are not waited for, nodes have unlike numbers of members.
  const bool backup = training && d.scenario.policy.kind == PolicyKind::Backup;
  if (training && !is_synchronous(d) && !backup && !sums_in_step(d))
    return Unread{.chooses = "policy.kind", .whose = "synchronous or local-sgd"};
  if (training && !has_collectives(d.job.training, key))
    return single_replica("a single replica sums no gradients, and nothing else asks for it");
  const Unread by_nodes{.chooses = "policy.kind", .whose = "synchronous or local-sgd", .not_simulated = true};
  if (backup && key == "job.collective.channels" && !sums_in_step(d)) return by_nodes;
  using enum Algorithm;
  const Algorithm a = d.job.collective.algorithm;
  const bool by_node = a == Hierarchical2 || a == Hierarchical3 || a == TwoLevel;
  if (backup && by_node) return by_nodes;
  const auto of = [](bool reads, std::string whose) {
    return unless(reads, {.chooses = "job.collective.algorithm", .whose = std::move(whose)});
  };
  if (key == "job.collective.group")
    return of(a == Hierarchical2 || a == Hierarchical3 || a == TwoLevel || a == InNetwork ||
                  (a == Ring && d.job.collective.channels > 1),
              "hierarchical, hierarchical-3, two-level, in-network or a ring of several channels");
  if (key == "job.collective.channels") return of(a == Ring, "ring");
  if (key == "job.collective.group2") return of(a == Hierarchical3, "hierarchical-3");
  if (key == "job.collective.servers") return of(a == ParameterServer, "parameter-server");
  if (key == "job.collective.chunks")
    return of(a == BinaryTree || a == DoubleBinaryTree || a == Chain || a == InNetwork,
              "binary-tree, double-binary-tree, chain or in-network");
  if (key == "job.collective.root")
    return of(a == BinomialTree || a == BinaryTree || a == Chain, "binomial-tree, binary-tree or chain");
  return std::nullopt;
}

/// What is sent with fewer bytes: gradients, and what local steps changed.
std::optional<Unread> unread_in_compression(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  if (w != Workload::Collective && w != Workload::Training)
    return Unread{.chooses = "job.workload", .whose = "collective or training"};
  const Compressor kind = d.job.compression.kind;
  if (key == "job.compression.kind") return std::nullopt;
  const auto only = [](bool reads, std::string whose) {
    return unless(reads, {.chooses = "job.compression.kind", .whose = std::move(whose)});
  };
  if (key == "job.compression.bits") return only(kind == Compressor::Quantised, "quantised");
  if (is_one_of(key, {"job.compression.density", "job.compression.index"}))
    return only(kind == Compressor::Sparse, "sparse");
  return only(kind != Compressor::None, "quantised or sparse");
}

/// Shards over all replicas, beside a policy under which these do not meet in every step:
/// docs/concepts/synchronisation-policies.md.
Unread why_no_shards(const PolicySpec& policy) {
  const auto why = [](std::string reason) {
    return Unread{
        .chooses = "policy.kind",
        .hint = std::move(reason) +
                ": leave job.zero_stage out, or say with job.layout.shard how many replicas hold a set "
                "of shards and are a worker"};
  };
  if (policy.has_servers())
    return why("a worker goes on alone, and shards over all replicas would hold it up in every layer");
  if (policy.kind == PolicyKind::Backup)
    return why("the shard of a worker that is not waited for would not be updated");
  return why("in a local step each replica updates all of its parameters by itself");
}

/// Keys of a training step, beyond that they are about training.
std::optional<Unread> unread_in_training(std::string_view key, const Draft& d) {
  const TrainingJob& t = d.job.training;
  if (!sums_with_others(t) && !d.scenario.policy.has_servers() &&
      is_one_of(key, {"job.zero_stage", "job.bucket", "job.overlap", "job.overlap_slowdown",
                      "job.overlap_feedback", "job.overlap_threshold"}))
    return single_replica("a single replica sums no gradients: leave it out");
  if (key == "job.bucket")
    return unless(is_synchronous(d) || sums_in_step(d),
                  {.chooses = "policy.kind", .whose = "synchronous or local-sgd", .not_simulated = true});
  if (key == "job.zero_stage" && !sums_in_step(d)) return why_no_shards(d.scenario.policy);
  if (key == "job.layout.shard")
    return unless(t.zero_stage > 0, {.chooses = "job.zero_stage",
                                     .hint = "nothing is in shards: give job.zero_stage, 3 for FSDP"});
  if (is_one_of(key,
                {"job.overlap", "job.overlap_slowdown", "job.overlap_feedback", "job.overlap_threshold"}) &&
      !sums_in_step(d))
    return Unread{.chooses = "policy.kind", .whose = "synchronous", .not_simulated = true};
  if (key == "job.overlap_threshold")
    return unless(t.overlap_feedback > 0,
                  {.chooses = "job.overlap_feedback",
                   .hint = "say how much longer the next step waits, per time below it"});
  if (key == "job.overlap_feedback")
    return unless(
        t.overlap_threshold > Seconds{} || t.overlap_feedback == 0,
        {.chooses = "job.overlap_threshold",
         .hint =
             "no step is below it: say from how much exposed communication on the next step is not disturbed"});
  if (key == "job.overlap_slowdown")
    return unless(t.overlap, {.chooses = "job.overlap", .hint = "nothing computes beside communication"});
  if (key == "job.moe_layers" || key == "job.layout.expert") {
    if (key == "job.moe_layers" && t.layout.expert == 1)
      return Unread{.chooses = "job.layout.expert",
                    .hint = "experts that no other device has exchange nothing"};
    if (key == "job.layout.expert" && t.moe_layers == 0)
      return Unread{.chooses = "job.moe_layers", .hint = "no layer has experts: give job.moe_layers"};
  }
  if (key == "job.schedule" || key == "job.interleave")
    return unless(t.layout.pipeline > 1,
                  {.chooses = "job.layout.pipeline", .hint = "a single stage has no order of stages"});
  return std::nullopt;
}

/// What a step waits for before it begins.
std::optional<Unread> unread_in_input(std::string_view key, const Draft& d) {
  const StepInput& in = d.job.training.input;
  if (key == "job.input.cores") {
    if (in.prepare == Seconds{})
      return Unread{.chooses = "job.input.prepare",
                    .hint = "nothing is done on the cores: give job.input.prepare"};
    return unless(
        d.scenario.cluster.devices_per_node > 1,
        {.chooses = "cluster.devices_per_node",
         .hint = "input of a rank is prepared on one core, and a single rank shares it with nobody: "
                 "leave job.input.cores out"});
  }
  if (key == "job.input.link" || key == "job.input.storage")
    return unless(in.fetch > Bytes{},
                  {.chooses = "job.input.fetch", .hint = "nothing is fetched: give job.input.fetch"});
  if (key == "job.input.ahead")
    return unless(
        in.takes_time(),
        {.chooses = "job.input.prepare", .hint = "no input takes any time", .others = {"job.input.fetch"}});
  return std::nullopt;
}

}  // namespace

std::optional<Unread> unread_in_job(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const auto only = [](bool reads, std::string whose) {
    return unless(reads, {.chooses = "job.workload", .whose = std::move(whose)});
  };
  if (key == "job.workload") return std::nullopt;
  if (key == "job.steps")
    return unless(w != Workload::Goal && w != Workload::Chakra,
                  {.chooses = "job.workload", .hint = "the file is played once: leave job.steps out"});
  if (key == "job.compute") return only(w == Workload::Collective, "collective");
  if (key == "job.order") {
    if (w != Workload::Collective) return only(false, "collective");
    return unless(plays_links(d), no_links(d));
  }
  if (key == "job.file") return only(w == Workload::Goal || w == Workload::Chakra, "goal or chakra");
  if (key.starts_with("job.collective.")) return unread_in_collective(key, d);
  if (key.starts_with("job.compression.")) return unread_in_compression(key, d);
  if (w != Workload::Training) return only(false, "training");
  if (key == "job.model.element" && d.size.parameters > 0)
    return unless(
        passes_activations(d.job.training),
        {.chooses = "job.layout.pipeline",
         .hint = "nothing passes activations on: stages, tensor and context groups and experts do",
         .others = {"job.layout.tensor", "job.layout.context", "job.layout.expert", "job.moe_layers"}});
  if (key.starts_with("job.model.") && key != "job.model.parameters")
    return unless(d.size.parameters > 0,
                  {.chooses = "job.model.parameters", .hint = "layers are derived from it: give it, too"});
  if (key.starts_with("job.input.")) return unread_in_input(key, d);
  return unread_in_training(key, d);
}

}  // namespace cox::model
