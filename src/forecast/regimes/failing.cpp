// SPDX-License-Identifier: Apache-2.0
#include "forecast/regimes/failing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cox/forecast/checkpoints.hpp"

namespace cox::forecast {

double Failing::goodput(double ranks, bool growing) const {
  model::Scenario with = scenario;
  if (!growing)
    with.failures.restart_per_node = with.failures.restart_per_pair = with.failures.restart_spread = {};
  const std::int64_t nodes = std::max<std::int64_t>(1, std::llround(ranks / per_node));
  Interruptions costs = interruptions(with, nodes, step);
  costs.between /= rate;
  const Seconds far = scenario.failures.checkpoint_interval;
  const Intervals intervals = far > Seconds{} ? Intervals{.far = far, .near = scenario.failures.near_interval}
                                              : best_intervals(costs);
  return wall_shares(costs, intervals).work;
}

void Failing::apply(double ranks, bool growing, ThroughputPoint& point) const {
  const double here = goodput(ranks, growing);
  const double apart = std::max(0.01 * ranks, per_node);
  const double low = std::max(ranks - apart, per_node);
  const double above = goodput(ranks + apart, growing);
  const double below = goodput(low, growing);
  point.throughput *= here;
  if (here > 0 && above > 0)
    point.elasticity += std::log(above / below) / std::log((ranks + apart) / low);
  else
    point.elasticity = -std::numeric_limits<double>::infinity();
}

bool restarts_grow(const model::Failures& f) {
  return f.restart_per_node > Seconds{} || f.restart_per_pair > Seconds{} || f.restart_spread > Seconds{};
}

}  // namespace cox::forecast
