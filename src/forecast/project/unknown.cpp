// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/unknown.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "forecast/calibrate/over_sizes.hpp"

namespace cox::forecast {
namespace {

Seconds width(const TimeEstimate& e) {
  return std::max(e.high - e.low, Seconds{});
}

/// How far apart the ends of the tail's shape put what one rank in N exceeds, of one scale.
Seconds tail_width(const PositionParts& p, double ranks) {
  const double rare = ranks * p.tail_probability;
  if (!(rare > 1) || p.residual.is_constant()) return {};
  const Seconds threshold = p.residual.upper_quantile(p.tail_probability);
  const Seconds e_fold = p.residual.upper_quantile(p.tail_probability / std::exp(1.0)) - threshold;
  const auto reach = [&](double shape) {
    return std::abs(shape) < 1e-9 ? std::log(rare) : std::expm1(shape * std::log(rare)) / std::expm1(shape);
  };
  return e_fold * std::max(reach(p.tail_shape.high) - reach(p.tail_shape.low), 0.0);
}

}  // namespace

std::string largest_unknown(const Parts& parts, std::int64_t ranks, const TimeEstimate& rest) {
  const auto n = static_cast<double>(std::max<std::int64_t>(ranks, 2));
  const double scores = std::sqrt(2 * std::log(n));
  std::pair<Seconds, const char*> largest{Seconds{}, ""};
  const auto consider = [&](Seconds by, const char* what) {
    if (by > largest.first) largest = {by, what};
  };
  for (const PositionParts& p : parts.positions) {
    consider(width(p.level), "the mean of own work");
    consider(scores * width(p.rank), "what ranks differ by for good");
    consider(scores * width(p.node), "what nodes differ by for good");
    consider(scores * width(p.node_step), "what the ranks of a node share in a step");
    consider(tail_width(p, n), "the tail of own work");
    if (!p.growth.empty()) {
      const GrowthFit& fit = p.growth.front();
      const double grown = growth_at(fit.growth, ranks, std::max<std::int64_t>(parts.ranks, 1));
      consider(2 * 1.645 * std::abs(grown) * fit.error, "how own work grows with the job");
    }
  }
  consider(width(rest), "what communication takes");
  return largest.second;
}

}  // namespace cox::forecast
