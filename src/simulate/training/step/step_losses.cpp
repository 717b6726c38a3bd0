// SPDX-License-Identifier: Apache-2.0
// Messages of a step that are lost, where they are priced alone. On a network the flow engine asks the same draws.
#include <algorithm>

#include "simulate/noise/lane_losses.hpp"
#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

/// Of a collective's copy on ranks `copy` of its units, for the draws.
std::int64_t StepEngine::number_of(const Gathering& g, int copies, int copy) const {
  const SharedNetwork::Key key{.of = g.of, .stage = g.stage, .group = g.group, .slot = g.slot};
  return draw_number(plan_, key, plan_.ranks_per_unit() / copies) + std::int64_t{2} * copy;
}

/// Whether a collective may lose a message. Of lists only its messages could tell.
bool StepEngine::loses(const model::Schedule& schedule, std::int64_t number) const {
  if (!timeouts_.happen()) return false;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    if (schedule.rounds(lane) == 0) continue;
    if (!schedule.regular(0, lane)) return true;
    const TimeoutDraws::Row row{.step = step_, .number = number, .lane = lane};
    if (!timeouts_.lost(row, schedule.rounds(lane) * schedule.participants()).empty()) return true;
  }
  return false;
}

bool StepEngine::loses(const Gathering& g, const model::Schedule& schedule, int copies) const {
  if (!timeouts_.happen()) return false;
  for (int copy = 0; copy < plan_.ranks_per_unit() / copies; ++copy)
    if (loses(schedule, number_of(g, copies, copy))) return true;
  return false;
}

/// Nodes of the places of a copy.
std::span<const int> StepEngine::nodes_of(const Gathering& g, int copies, int copy) {
  if (!timeouts_.happen()) return {};
  const SharedNetwork::Key key{.of = g.of, .stage = g.stage, .group = g.group};
  const std::size_t places = g.members.size() * static_cast<std::size_t>(copies);
  const auto [at, is_new] = nodes_.try_emplace(key);
  if (is_new) {
    at->second = devices_of(plan_, key, static_cast<int>(places), plan_.ranks_per_unit() / copies);
    for (int& device : at->second) device /= std::max(1, plan_.scenario().cluster.devices_per_node);
  }
  return std::span(at->second).subspan(static_cast<std::size_t>(copy) * places, places);
}

/// How much later a message between ranks of two stages arrives since it was lost. Draws are by the device.
Seconds StepEngine::late(int from, int to, std::int64_t number) const {
  const model::Cluster& cluster = plan_.scenario().cluster;
  const int nodes = std::max(1, cluster.devices_per_node);
  if (!timeouts_.happen() || plan_.device_of(from) / nodes == plan_.device_of(to) / nodes) return {};
  return lone_late(timeouts_, {.step = step_, .number = number}, plan_.device_of(to));
}

}  // namespace cox::simulate::training
