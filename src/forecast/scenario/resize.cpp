// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/resize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cox/base/number_text.hpp"

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

/// Of a job whose batch is the same at any size; else nothing.
const model::TrainingJob* with_fixed_batch(const model::Scenario& s) {
  if (s.job.workload() != model::Workload::Training) return nullptr;
  const auto& job = s.job.as<model::TrainingJob>();
  return job.global_batch > 0 ? &job : nullptr;
}

std::int64_t replicas_of(const model::TrainingJob& job, std::int64_t ranks) {
  return ranks / (std::int64_t{job.layout.tensor} * job.layout.pipeline * job.layout.context);
}

/// What is left of a rank's own work, and of what goes with its sequences.
void divide_work(model::Scenario& s, double part) {
  if (s.job.workload() == model::Workload::Collective) s.job.as<model::CollectiveJob>().compute *= part;
  if (s.job.workload() != model::Workload::Training) return;
  auto& job = s.job.as<model::TrainingJob>();
  const auto part_of = [part](Bytes whole) {
    return Bytes{std::llround(part * static_cast<double>(whole.count()))};
  };
  for (model::Layer& layer : job.layers) {
    layer.forward *= part;
    layer.backward *= part;
    layer.activations = part_of(layer.activations);
  }
  job.input.prepare *= part;
  job.input.fetch = part_of(job.input.fetch);
  job.flops = Flops{part * job.flops.count()};
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

Status check_resizable(const model::Scenario& scenario, Scaling scaling) {
  const auto refused = [&](const std::string& why, std::string hint) {
    return fail(Error{.code = Errc::Unsupported,
                      .id = "forecast-004",
                      .message = scenario.name + ": " + why,
                      .hint = std::move(hint),
                      .where = {}});
  };
  if (const std::string why = obstacle(scenario); !why.empty())
    return refused(why, "`cox simulate FILE` simulates it as it is");
  if (scaling == Scaling::Weak && with_fixed_batch(scenario) != nullptr)
    return refused("its job.global_batch is the same at any size, which is no weak scaling",
                   "say --scaling strong, or leave --scaling out");
  return {};
}

std::string not_shared_out(const model::Scenario& scenario, std::int64_t ranks) {
  const model::TrainingJob* job = with_fixed_batch(scenario);
  if (job == nullptr) return {};
  const std::int64_t each = std::max<std::int64_t>(job->sequences, 1);
  const std::int64_t replicas = replicas_of(*job, ranks);
  if (replicas > 0 && job->global_batch % (each * replicas) == 0) return {};
  return fmt::format("job.global_batch = {} cannot be shared out among {} replicas in micro-batches of {}",
                     grouped(job->global_batch), grouped(replicas), grouped(each));
}

std::string no_such_size(const model::Scenario& scenario, std::int64_t ranks) {
  for (const model::NoiseSource& n : scenario.noise)
    for (const int rank : n.ranks)
      if (rank >= ranks)
        return fmt::format("{} names rank {}, expected 0 to {}", n.name.empty() ? "[[noise]]" : n.name, rank,
                           ranks - 1);
  return not_shared_out(scenario, ranks);
}

std::int64_t unit_of(const model::Scenario& scenario) {
  const std::int64_t unit = scenario.cluster.devices_per_node;
  if (scenario.job.workload() != model::Workload::Training) return unit;
  const model::TrainingJob& job = scenario.job.as<model::TrainingJob>();
  const model::Layout& l = job.layout;
  // Of experts and sets of shards one is a multiple of the other.
  return std::lcm(unit, std::int64_t{l.tensor} * l.pipeline * l.context * job.replicas_per_worker());
}

model::Scenario resized(model::Scenario s, std::int64_t ranks, Scaling scaling) {
  const std::int64_t stated = model::ranks_of(s.cluster, s.job.places);
  if (ranks == stated) return s;
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
    auto& job = s.job.as<model::TrainingJob>();
    job.layout.data = static_cast<int>(replicas_of(job, ranks));
    if (with_fixed_batch(s) != nullptr) {
      job.micro_batches = static_cast<int>(std::max<std::int64_t>(
          1, job.global_batch / (std::max<std::int64_t>(job.sequences, 1) * job.layout.data)));
      return s;
    }
  }
  if (scaling == Scaling::Strong) divide_work(s, static_cast<double>(stated) / static_cast<double>(ranks));
  return s;
}

}  // namespace cox::forecast
