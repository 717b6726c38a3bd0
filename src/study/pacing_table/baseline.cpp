// SPDX-License-Identifier: Apache-2.0
// Iterations without pacing.
#include <array>
#include <cmath>
#include <limits>

#include "cox/base/elementary.hpp"
#include "cox/base/stats.hpp"

#include "study/pacing_table/pacing_table.hpp"
#include "study/pacing_table/timeouts.hpp"

namespace cox::study {
namespace {

/// max(n x load, alone) for a lognormal load: with z where both are equal, the first two moments are
/// a Phi(z) + n Phi(s - z) and a^2 Phi(z) + n^2 exp(s^2) Phi(2 s - z).
IterationLaw shared_link(const TableParameters& p, int nodes) {
  const double n = nodes;
  const double variance = logarithm(1 + p.spread * p.spread);
  const double sigma = std::sqrt(variance);
  const double z = (logarithm(p.alone / n) + variance / 2) / sigma;
  std::array<double, 3> below = {z, sigma - z, 2 * sigma - z};
  normal_probabilities(below);
  const double first = p.alone * below[0] + n * below[1];
  const double second = p.alone * p.alone * below[0] + n * n * exponential(variance) * below[2];
  return {.mean = p.compute + p.per_node * first,
          .deviation = p.per_node * std::sqrt(std::max(0.0, second - first * first))};
}

IterationLaw ring(const TableParameters& p, int nodes) {
  constexpr std::uint64_t kSeed = 1;
  constexpr int kSteps = 4096;
  static const TimeoutDraws draws(kSeed, kSteps);
  const RingTimeouts timeouts(nodes, p.chance, draws);
  Welford chain;
  for (int step = 0; step < kSteps; ++step) chain.add(timeouts.longest_chain(step));
  return {.mean = p.compute + p.per_node * (nodes - 1) + p.timeout * chain.mean(),
          .deviation = p.timeout * chain.stddev()};
}

}  // namespace

std::string_view name_of(Mechanism m) {
  switch (m) {
    case Mechanism::Input:
      return "input";
    case Mechanism::Uplink:
      return "uplink";
    case Mechanism::Timeouts:
      return "timeouts";
  }
  return "?";
}

IterationLaw baseline_law(Mechanism m, const TableParameters& p, int nodes) {
  return m == Mechanism::Timeouts ? ring(p, nodes) : shared_link(p, nodes);
}

double least_paced_cv(const TableParameters& p, int nodes, double slow_factor, Seconds mean) {
  TableParameters bound = p;
  bound.compute = p.compute / slow_factor;
  double low = nodes * 1e-3;  // cut off where the load never is
  double high = nodes * 1e3;
  const auto law_at = [&](double alone) {
    bound.alone = alone;
    return shared_link(bound, nodes);
  };
  if (law_at(low).mean > mean) return std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (law_at(middle).mean > mean ? high : low) = middle;
  }
  return law_at(low).cv();
}

}  // namespace cox::study
