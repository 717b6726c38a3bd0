// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/at_size.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/elementary.hpp"

#include "forecast/calibrate/over_sizes.hpp"

namespace cox::forecast {

std::int64_t ranks_of(const Parts& parts, const PositionParts& part, std::int64_t ranks) {
  if (part.fixed) return std::min(part.ranks, ranks);
  if (part.ranks <= 0 || part.ranks >= parts.ranks) return ranks;
  const double share = static_cast<double>(part.ranks) / static_cast<double>(parts.ranks);
  return std::max<std::int64_t>(std::llround(share * static_cast<double>(ranks)), 1);
}

double factor_at(const Parts& parts, std::int64_t ranks, Scaling scaling) {
  return scaling == Scaling::Strong ? static_cast<double>(parts.ranks) / static_cast<double>(ranks) : 1;
}

PositionLaws at_size(PositionLaws laws, const Parts& parts, std::int64_t ranks, double factor) {
  const Seconds seen = laws.level;
  laws.level = std::max(laws.level + laws.slope * growth_at(laws.growth, ranks, parts.ranks), Seconds{});
  if (factor == 1 || (laws.spread_power == 1 && laws.growth == Growth::None)) return laws;
  if (!(seen > Seconds{} && laws.level > Seconds{})) return laws;
  const double wider = power(factor * (laws.level / seen), laws.spread_power) / factor;
  for (Law* law : {&laws.residual, &laws.pooled, &laws.group_step}) *law = law->times(wider);
  for (Seconds* one : {&laws.rank, &laws.node, &laws.step, &laws.node_step}) *one *= wider;
  laws.slow_extra *= laws.level / seen;
  return laws;
}

}  // namespace cox::forecast
