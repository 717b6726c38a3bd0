// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/told_tail.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "forecast/calibrate/tail.hpp"

namespace cox::forecast {
namespace {

constexpr std::int64_t kFewest = 200;  ///< times that stand for a law
constexpr std::int64_t kMost = 50'000;
constexpr double kFurther = 100;  ///< how much rarer the quantiles are that tell a tail's shape

/// What a run of so many ranks and steps would record of the law, without chance.
std::vector<double> as_recorded(const Law& law, std::int64_t times) {
  const auto n = static_cast<std::size_t>(std::clamp(times, kFewest, kMost));
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = law.quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n)).count();
  return out;
}

/// Generalised Pareto above this share.
double shape_above(const Law& law, double share) {
  const Seconds q1 = law.upper_quantile(share);
  const Seconds q2 = law.upper_quantile(share / kFurther);
  const Seconds q3 = law.upper_quantile(share / (kFurther * kFurther));
  if (!(q2 > q1) || !(q3 > q2)) return 0;
  return std::clamp(std::log((q3 - q2) / (q2 - q1)) / std::log(kFurther), -0.9, 0.95);
}

void tell(PositionParts& p, std::int64_t ranks, std::int64_t steps) {
  const std::vector<double> times = as_recorded(p.residual, ranks * steps);
  const double c = std::clamp(p.correlation.value, 0.0, 0.99);
  const double independent = (1 - c) / (1 + c);
  if (const std::optional<std::size_t> gap = gap_in(times)) {
    p.detours = modes_of(times, independent);
    p.tail_probability = p.residual.above(Seconds{(times[*gap - 1] + times[*gap]) / 2});
    return;
  }
  p.tail_probability = probability_of(fit_tails(times, independent));
  p.tail_shape.value = shape_above(p.residual, p.tail_probability);
}

}  // namespace

Parts with_told_tails(Parts parts) {
  for (PositionParts& p : parts.positions) {
    if (p.level.origin != Origin::Stated || p.residual.is_constant() || p.tail_probability > 0) continue;
    tell(p, p.ranks > 0 ? p.ranks : parts.ranks, parts.steps);
  }
  return parts;
}

}  // namespace cox::forecast
