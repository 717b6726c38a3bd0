// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which keys of a section have a meaning, and what all sections ask of a draft.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/toml/meaning/meaning.hpp"

namespace cox::model {

[[nodiscard]] inline bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

[[nodiscard]] inline std::optional<Unread> unless(bool reads, Unread reason) {
  if (reads) return std::nullopt;
  return reason;
}

[[nodiscard]] inline bool has_noise_of(const Draft& d, NoiseScope scope) {
  const auto& noise = d.scenario.noise;
  return std::any_of(noise.begin(), noise.end(), [&](const NoiseSource& n) { return n.scope == scope; });
}

[[nodiscard]] inline bool fails_per(const Draft& d, FailureUnit unit) {
  return std::ranges::any_of(d.scenario.failures.classes,
                             [&](const FailureClass& c) { return c.per == unit; });
}

[[nodiscard]] inline bool is_tree(const Draft& d) {
  return d.scenario.fabric.kind == FabricKind::FatTree || d.scenario.fabric.kind == FabricKind::RailOptimised;
}

/// Replicas keep one step.
[[nodiscard]] inline bool is_synchronous(const Draft& d) {
  return d.scenario.policy.in_step();
}

/// Gradients are summed within the step, which is what buckets beside the backward pass and sharding are about.
[[nodiscard]] inline bool sums_gradients(const Draft& d) {
  const PolicySpec& p = d.scenario.policy;
  return p.kind == PolicyKind::Synchronous || (p.kind == PolicyKind::LocalSgd && p.local_steps <= 1);
}

/// Or at least among the replicas of a worker, who hold a set of shards among them.
[[nodiscard]] inline bool sums_in_step(const Draft& d) {
  return sums_gradients(d) || (d.job.workload == Workload::Training && d.job.training.is_hybrid());
}

/// Where that is nobody's: what makes it so are the keys of the layout and the size of the cluster.
[[nodiscard]] inline Unread single_replica(std::string hint) {
  return {.chooses = "job.layout.data",
          .hint = std::move(hint),
          .others = {"cluster.nodes", "cluster.devices_per_node", "job.nodes", "job.layout.tensor",
                     "job.layout.pipeline", "job.layout.context"}};
}

[[nodiscard]] inline Unread one_node() {
  return {.chooses = "cluster.nodes", .hint = "no message leaves a single node: give cluster.nodes"};
}

/// Whether it is known what a device has to hold: parameters and states are counted from gradients.
[[nodiscard]] inline bool knows_memory(const TrainingJob& job) {
  return std::ranges::any_of(job.layers, [](const Layer& one) { return one.gradients > Bytes{}; });
}

[[nodiscard]] inline Unread nothing_to_hold() {
  return {.chooses = "job.model.parameters",
          .hint =
              "what a device holds is counted from gradients: give job.layers.gradients, or "
              "job.model.parameters",
          .others = {kLayerArray}};
}

/// The sections, as `why_unread`.
[[nodiscard]] std::optional<Unread> unread_in_cluster(std::string_view key, const Draft& d);
[[nodiscard]] std::optional<Unread> unread_in_fabric(std::string_view key, const Draft& d);
[[nodiscard]] std::optional<Unread> unread_in_cost(std::string_view key, const Draft& d);
[[nodiscard]] std::optional<Unread> unread_in_job(std::string_view key, const Draft& d);
/// Keys of failures, starts and time-outs that mean something beside others only.
[[nodiscard]] std::optional<Unread> unread_beside(std::string_view key, const Draft& d);
/// Devices and cards of a node, classes of nodes, where the job sits, neighbours.
[[nodiscard]] std::optional<Unread> unread_in_places(std::string_view key, const Draft& d);

}  // namespace cox::model
