// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/resize.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace cox::forecast {
namespace {

using model::FabricKind;

/// So many whole extents, ascending, whose product is `nodes` and whose sum is the smallest.
std::vector<int> extents(int nodes, std::size_t dimensions, int least = 1) {
  if (dimensions <= 1) return {nodes};
  std::vector<int> best;
  int smallest = std::numeric_limits<int>::max();
  for (int x = least; std::int64_t{x} * x <= nodes; ++x) {
    if (nodes % x != 0) continue;
    std::vector<int> rest = extents(nodes / x, dimensions - 1, x);
    if (rest.empty() || rest.front() < x) continue;
    const int sum = x + std::accumulate(rest.begin(), rest.end(), 0);
    if (sum > smallest) continue;
    smallest = sum;
    best = std::move(rest);
    best.insert(best.begin(), x);
  }
  return best;
}

/// Why not; empty where it can be.
std::string obstacle(const model::Scenario& s) {
  if (!s.job.places.nodes.empty() || s.job.places.rule == model::PlaceRule::File)
    return "it names the nodes that its ranks are on, which other sizes have not";
  if (!s.neighbours.empty()) return "its neighbours are on named nodes, which other sizes have not";
  if (s.fabric.kind == FabricKind::Graph) return "its fabric is a file of cables, which is of one size";
  if (s.fabric.kind == FabricKind::Torus) {
    std::vector<int> own = s.fabric.torus;
    std::ranges::sort(own);
    if (own != extents(s.cluster.nodes, own.size()))
      return "its torus is longer one way than another: which way it grows is not said";
  }
  const bool training = s.job.workload() == model::Workload::Training;
  if (training && s.job.as<model::TrainingJob>().global_batch > 0)
    return "its job.global_batch is fixed, so that ranks have less to do at another size (`cox simulate FILE --scaling` plays it)";
  if (!s.cluster.classes.empty() && training && s.job.as<model::TrainingJob>().layout.pipeline > 1)
    return "which stages are on which class of nodes changes with the size";
  return {};
}

void resize_classes(model::Cluster& cluster, int nodes) {
  const std::int64_t before = cluster.nodes;
  int taken = 0;
  for (model::NodeClass& of : cluster.classes) {
    const std::int64_t part = (std::int64_t{of.count} * nodes + before - 1) / before;
    of.count = static_cast<int>(std::clamp<std::int64_t>(part, 0, nodes - taken));
    of.first = taken;
    taken += of.count;
  }
  std::erase_if(cluster.classes, [](const model::NodeClass& of) { return of.count == 0; });
}

}  // namespace

Status check_resizable(const model::Scenario& scenario) {
  const std::string why = obstacle(scenario);
  if (why.empty()) return {};
  return fail(Error{.code = Errc::Unsupported,
                    .id = "forecast-004",
                    .message = scenario.name + ": " + why,
                    .hint = "`cox simulate FILE` simulates it as it is",
                    .where = {}});
}

std::int64_t unit_of(const model::Scenario& scenario) {
  const std::int64_t unit = scenario.cluster.devices_per_node;
  if (scenario.job.workload() != model::Workload::Training) return unit;
  const model::TrainingJob& job = scenario.job.as<model::TrainingJob>();
  const model::Layout& l = job.layout;
  // Of experts and sets of shards one is a multiple of the other.
  return std::lcm(unit, std::int64_t{l.tensor} * l.pipeline * l.context * job.replicas_per_worker());
}

model::Scenario resized(model::Scenario s, std::int64_t ranks) {
  if (ranks == model::ranks_of(s.cluster, s.job.places)) return s;
  const int nodes = static_cast<int>(ranks / s.cluster.devices_per_node);
  resize_classes(s.cluster, nodes);
  s.cluster.nodes = nodes;
  if (s.fabric.kind == FabricKind::Torus) s.fabric.torus = extents(nodes, s.fabric.torus.size());
  if (s.fabric.kind == FabricKind::Dragonfly) {
    const int group = s.fabric.dragonfly_routers * s.fabric.dragonfly_hosts;
    s.fabric.dragonfly_groups = (nodes + group - 1) / group;
  }
  if (s.job.workload() == model::Workload::Collective)
    s.job.as<model::CollectiveJob>().collective.ranks = static_cast<int>(ranks);
  if (s.job.workload() == model::Workload::Training) {
    model::Layout& l = s.job.as<model::TrainingJob>().layout;
    l.data = static_cast<int>(ranks / (std::int64_t{l.tensor} * l.pipeline * l.context));
  }
  return s;
}

}  // namespace cox::forecast
