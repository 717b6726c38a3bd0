// SPDX-License-Identifier: Apache-2.0
/// \file
/// A sample of a job whose parts are known.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cox/base/random.hpp"

#include "forecast/sample/sample.hpp"

namespace cox::test {

/// Deviations of what a job is made of; its level is 100, and 7 pass beside own work. All normal but the node's part in a step.
struct KnownJob {
  double rank = 0;
  double node = 0;
  double step = 0;
  double node_step = 0;  ///< exponential
  double residual = 1;
  double correlation = 0;
  double drift = 0;
};

/// Steps of one seed begin alike, however many there are.
inline forecast::Sample sample_of(const KnownJob& job, int nodes, int per_node, int steps,
                                  std::uint64_t seed) {
  constexpr std::uint64_t kLasting = 2'000'000;
  const auto ranks = static_cast<std::size_t>(nodes) * static_cast<std::size_t>(per_node);
  const RandomStream random(seed, 11);
  forecast::Sample sample;
  sample.name = "test";
  sample.positions.resize(1);
  std::vector<double> state(ranks);
  std::vector<double> fresh(ranks);
  random.normals(kLasting + 2, 0, state);
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto rank = static_cast<std::int32_t>(r);
    sample.ranks.push_back({.rank = rank, .node = rank / per_node});
  }
  for (int k = 0; k < steps; ++k) {
    const auto at = static_cast<std::uint64_t>(k);
    const double phi = job.correlation;
    random.normals(at, 0, fresh);
    double slowest = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::uint64_t node = r / static_cast<std::size_t>(per_node);
      if (k > 0) state[r] = phi * state[r] + std::sqrt(1 - phi * phi) * fresh[r];
      const double x =
          100 + job.drift * k / steps + job.rank * random.normal(kLasting, r) +
          job.node * random.normal(kLasting + 1, node) + job.step * random.normal(at, 1'000'000) +
          job.node_step * (-std::log(random.uniform(at, 2'000'000 + node)) - 1) + job.residual * state[r];
      sample.positions[0].own.push_back(Seconds{x});
      slowest = std::max(slowest, x);
    }
    sample.steps.push_back({.number = k, .begin = Seconds{}, .length = Seconds{slowest + 7}});
  }
  return sample;
}

}  // namespace cox::test
