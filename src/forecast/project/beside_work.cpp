// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/beside_work.hpp"

#include <algorithm>

#include "forecast/calibrate/over_sizes.hpp"

namespace cox::forecast {

TimeEstimate rest_at(const Parts& parts, std::int64_t ranks, const ProjectOptions& options) {
  if (options.rest) return options.rest(ranks);
  TimeEstimate rest = parts.rest;
  if (const GrowthFit* fit = best_growth(parts.rest_growth)) {
    rest.value += fit->slope * growth_at(fit->growth, ranks, parts.ranks);
    return rest;
  }
  if (parts.rest_growth.empty() && ranks > parts.ranks) {
    rest.high = std::max(rest.high, 2 * rest.value);
    rest.origin = Origin::Range;
  }
  return rest;
}

double drawn_rest(const Parts& parts, std::int64_t ranks, const ProjectOptions& options, const DrawKey& key) {
  const TimeEstimate rest = rest_at(parts, ranks, options);
  if (!options.rest && !parts.rest_growth.empty()) {
    const GrowthFit fit = drawn_growth(parts.rest_growth, key, kRestGrowth);
    const Seconds here = at_seen(parts.rest, fit, normal_of(key, kRest));
    return std::max((here + fit.slope * growth_at(fit.growth, ranks, parts.ranks)).count(), 0.0);
  }
  if (rest.origin == Origin::Range) return rest.at_place(uniform_of(key, kRest)).count();
  return std::max(rest.value.count() + normal_of(key, kRest) * (rest.high - rest.low).count() / (2 * 1.645),
                  0.0);
}

double beyond_at(const Parts& parts, std::int64_t ranks) {
  const GrowthFit* fit = best_growth(parts.beyond_growth);
  const double grown = fit == nullptr ? 0 : fit->slope.count() * growth_at(fit->growth, ranks, parts.ranks);
  return parts.beyond.value.count() + grown;
}

double drawn_beyond(const Parts& parts, std::int64_t ranks, const DrawKey& key) {
  if (parts.beyond_growth.empty()) return 0;
  const GrowthFit fit = drawn_growth(parts.beyond_growth, key, kBeyondGrowth);
  return (at_seen(parts.beyond, fit, normal_of(key, kBeyond)) +
          fit.slope * growth_at(fit.growth, ranks, parts.ranks))
      .count();
}

}  // namespace cox::forecast
