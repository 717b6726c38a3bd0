// SPDX-License-Identifier: Apache-2.0
#include "forecast/checkpoints/slowest.hpp"

#include <algorithm>
#include <cmath>

namespace cox::forecast {

double over_slowest(std::int64_t n, Seconds scale, double shape, const std::function<double(Seconds)>& f) {
  constexpr int kPoints = 800;
  constexpr double kMost = 40;
  const double step = kMost / kPoints;
  double sum = 0;
  for (int i = 1; i <= kPoints; ++i) {
    const double v = i * step;
    const double beyond = -std::expm1(std::log1p(-std::exp(-v)) / static_cast<double>(n));
    const double x = shape == 0 ? -std::log(beyond) : std::expm1(-shape * std::log(beyond)) / shape;
    const double weight = i == kPoints ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * std::exp(-v) * f(scale * x);
  }
  return (sum + f(Seconds{})) * step / 3;  // at v = 0 the slowest is 0
}

double over_start(const model::Scenario& scenario, std::int64_t nodes,
                  const std::function<double(Seconds)>& f) {
  const model::Startup& start = scenario.start;
  if (!start.takes_time()) return f({});
  const double n = static_cast<double>(nodes) * scenario.cluster.devices_per_node;
  const Seconds control = start.fixed + (start.per_rank * n + start.per_pair * (n * n)) * start.communicators;
  Seconds read{};
  if (start.storage.in_bytes_per_s() > 0)
    read = Seconds{static_cast<double>(start.read.count()) * static_cast<double>(nodes) /
                   start.storage.in_bytes_per_s()};
  const auto whole = [&](Seconds slowest) { return f(control + std::max(slowest, read)); };
  if (start.spread <= Seconds{}) return whole({});
  return over_slowest(nodes, start.spread, start.tail, whole);
}

Seconds mean_start(const model::Scenario& scenario, std::int64_t nodes) {
  return Seconds{over_start(scenario, nodes, [](Seconds x) { return x.count(); })};
}

}  // namespace cox::forecast
