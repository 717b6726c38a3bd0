// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "forecast/structure/structure.hpp"

namespace cox::forecast {

Proportion wilson(double successes, double trials) {
  if (!(trials > 0)) return {.value = 0, .low = 0, .high = 1};
  constexpr double kZ = 1.6448536269514722;  // 5 % on either side
  const double p = std::clamp(successes / trials, 0.0, 1.0);
  const double by = kZ * kZ / trials;
  const double centre = (p + by / 2) / (1 + by);
  const double half = kZ * std::sqrt((p * (1 - p) + by / 4) / trials) / (1 + by);
  // 0 and 1 are ends exactly; rounding would leave 1e-17.
  return {.value = p,
          .low = p > 0 ? std::max(0.0, centre - half) : 0,
          .high = p < 1 ? std::min(1.0, centre + half) : 1};
}

Concentration concentration_of(std::span<const double> shares, double counted) {
  Concentration out;
  int seen = 0;
  double squares = 0;
  for (const double p : shares) {
    if (!(p > 0)) continue;
    ++seen;
    out.plug_in -= p * std::log(p);
    squares += p * p;
  }
  const auto units = static_cast<double>(shares.size());
  const double most = std::log(std::max(units, 1.0));
  out.entropy = std::min(counted > 0 ? out.plug_in + (seen - 1) / (2 * counted) : out.plug_in, most);
  out.effective = std::min(std::exp(out.entropy), units);
  out.normalised = most > 0 ? out.entropy / most : 0;
  if (counted > 0 && counted < units && most > 0) out.at_most = std::max(0.0, std::log(counted)) / most;
  out.moves_if_free = std::max(0.0, 1 - squares);
  return out;
}

}  // namespace cox::forecast
