// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/port_floor.hpp"

#include <algorithm>

namespace cox::forecast {
namespace {

struct Served {
  std::int64_t ranks = 0;
  int servers = 0;
  Bytes bytes{};  ///< of a rank in a step
};

Served served(const model::Scenario& s) {
  const auto by_servers = [](const model::CollectiveSpec& spec) {
    return spec.algorithm == model::Algorithm::ParameterServer ? std::max(spec.servers, 1) : 0;
  };
  if (s.job.workload() == model::Workload::Collective) {
    const auto& job = s.job.as<model::CollectiveJob>();
    if (job.compression.kind != model::Compressor::None) return {};
    return {model::ranks_of(s.cluster, s.job.places), by_servers(job.collective), job.collective.bytes};
  }
  if (s.job.workload() != model::Workload::Training) return {};
  const auto& job = s.job.as<model::TrainingJob>();
  const bool replicas = job.layout.tensor == 1 && job.layout.pipeline == 1 && job.layout.context == 1;
  if (!replicas || job.zero_stage > 0 || job.moe_layers > 0 ||
      job.compression.kind != model::Compressor::None)
    return {};
  Bytes all{};
  for (const model::Layer& layer : job.layers) all += layer.gradients;
  return {model::ranks_of(s.cluster, s.job.places), by_servers(job.collective), all};
}

}  // namespace

Seconds port_floor(const model::Scenario& s) {
  const bool by_messages = s.price == model::CollectivePrice::Rounds && s.cluster.classes.empty();
  if (!by_messages || s.cluster.nodes < 2 || s.policy.kind != model::PolicyKind::Synchronous ||
      !(s.cluster.nic.bandwidth > Bandwidth{}))
    return {};
  const Served job = served(s);
  if (job.servers == 0) return {};
  const std::int64_t sent = std::max<std::int64_t>(job.ranks - s.cluster.devices_per_node, 0);
  const double shard = static_cast<double>(job.bytes.count()) / job.servers;
  // Of more servers than nodes some node has so many behind all of its cards.
  const double crowded =
      static_cast<double>(job.servers) / (double(std::max(s.cluster.nics_per_node, 1)) * s.cluster.nodes);
  return static_cast<double>(sent) * shard * std::max(1.0, crowded) *
         s.cluster.nic.bandwidth.time_per_byte().in_seconds_per_byte() * Seconds{1};
}

}  // namespace cox::forecast
