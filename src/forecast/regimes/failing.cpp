// SPDX-License-Identifier: Apache-2.0
#include "forecast/regimes/failing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "forecast/project/project.hpp"

namespace cox::forecast {

void take_failures(ThroughputPoint& point, double size, double apart, double least,
                   const std::function<double(double size)>& goodput) {
  const double low = std::max(size - apart, least);
  const double above = goodput(size + apart);
  const double below = goodput(low);
  point.throughput *= goodput(size);
  if (point.throughput > 0 && above > 0)
    point.elasticity += std::log(above / below) / std::log((size + apart) / low);
  else
    point.elasticity = -std::numeric_limits<double>::infinity();
}

Interruptions Failing::costs(double ranks, bool growing) const {
  model::Scenario with = scenario;
  if (!growing)
    with.failures.restart_per_node = with.failures.restart_per_pair = with.failures.restart_spread = {};
  const std::int64_t nodes = std::max<std::int64_t>(1, std::llround(ranks / per_node));
  Interruptions out = interruptions(with, nodes, step);
  out.between /= rate;
  return out;
}

Intervals Failing::intervals(const Interruptions& costs) const {
  const model::Failures& f = scenario.failures;
  if (f.checkpoint_interval > Seconds{}) return {.far = f.checkpoint_interval, .near = f.near_interval};
  if (writes_checkpoints(f)) return best_intervals(costs);
  return {.far = step * std::max<double>(scenario.job.steps, 1), .near = {}};
}

WallShares Failing::shares(double ranks, bool growing) const {
  const Interruptions at = costs(ranks, growing);
  return wall_shares(at, intervals(at));
}

double Failing::goodput(double ranks, bool growing) const {
  // Nodes are whole: between two numbers of them on a line, or throughput would rise and fall with each.
  const double below = std::max(std::floor(ranks / per_node), 1.0);
  const double part = std::clamp(ranks / per_node - below, 0.0, 1.0);
  const double here = shares(below * per_node, growing).work;
  return part > 0 ? here + part * (shares((below + 1) * per_node, growing).work - here) : here;
}

void Failing::apply(double ranks, bool growing, ThroughputPoint& point) const {
  take_failures(point, ranks, std::max(0.01 * ranks, per_node), per_node,
                [&](double size) { return goodput(size, growing); });
}

Failing failing_of(const Parts& parts, const model::Scenario& scenario) {
  return {.scenario = scenario,
          .per_node = static_cast<double>(std::max(parts.ranks_per_node, 1)),
          .step = project_one(parts, parts.ranks, {.replicates = 0}).mean.value};
}

bool restarts_grow(const model::Failures& f) {
  return f.restart_per_node > Seconds{} || f.restart_per_pair > Seconds{} || f.restart_spread > Seconds{};
}

}  // namespace cox::forecast
