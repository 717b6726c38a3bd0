// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/refused.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cox/base/number_text.hpp"

#include "forecast/project/nests.hpp"
#include "forecast/project/unknown.hpp"

namespace cox::forecast {

std::string SeenStep::times(Seconds low, Seconds high) const {
  return fmt::format("between {:.2g}x and {:.2g}x of the step at {}", low / mean, high / mean, size());
}

std::string SeenStep::size() const {
  return fmt::format("{} rank{}", grouped(ranks), ranks == 1 ? "" : "s");
}

std::string no_finite(const SizePoint& point) {
  const auto is_told = [](const TimeBand& b) {
    return std::isfinite(b.value.count()) && std::isfinite(b.low.count()) && std::isfinite(b.high.count());
  };
  for (const TimeBand* b : {&point.mean, &point.median, &point.p95, &point.p99, &point.p999,
                            &point.with_unseen, &point.with_shared})
    if (!is_told(*b))
      return "the laws of its parts give no finite time here: the tail of own work is not told";
  if (!(point.mean.value > Seconds{}))
    return "its parts add up to no time at all: they are not those of one job";
  if (!std::isfinite(point.elasticity) || !std::isfinite(point.efficiency))
    return "how the step grows with the ranks has no finite value here";
  return {};
}

double widest_band(const SizePoint& point, const TimeEstimate& rest) {
  constexpr double kWidest = 2;
  constexpr double kOfWhatSurfaces = 8;
  const bool surfaces = rest.split && rest.high - rest.low > (point.mean.high - point.mean.low) / 2;
  return surfaces ? kOfWhatSurfaces : kWidest;
}

std::string refusal(const Parts& parts, const SizePoint& point, Seconds alone, const TimeEstimate& rest,
                    const SeenStep& step) {
  const std::string unknown = largest_unknown(parts, point.ranks, rest);
  const std::string between =
      step.times(point.mean.low, point.mean.high) + (unknown.empty() ? "" : ", most of it from " + unknown);
  const std::string seen = point.rests_on.empty() ? std::string("stated, not seen") : point.rests_on;
  for (const PositionParts& p : parts.positions) {
    if (may_have_no_mean(p)) {
      const double median = point.median.value / step.mean;
      return fmt::format("the tail may be so heavy that there is no mean (shape up to {:.2f}){}",
                         p.tail_shape.high,
                         std::isfinite(median)
                             ? fmt::format(": the median is {:.2g}x of the step at {}", median, step.size())
                             : "");
    }
  }
  if (std::string none = no_finite(point); !none.empty()) return none;
  const double asked = static_cast<double>(point.ranks) / 0.56;
  for (const PositionParts& p : parts.positions) {
    if (p.tails.empty() && p.tail_probability > 0 && p.residual_sd.freedom > 0 &&
        asked > 10 * p.residual_sd.freedom) {
      return fmt::format("{}, and no tail could be fitted: {}", seen, between);
    }
  }
  const Seconds low = point.mean.low;
  const Seconds high = point.mean.high;
  const double widest = widest_band(point, rest);
  if (high > widest * low) return fmt::format("{}: {}", seen, between);
  if (widest == 2 && low > alone && high - alone > 4 * (low - alone) && high > 1.2 * low) {
    return fmt::format("{}; what {} ranks add to one is not known within a factor of four: {}", seen,
                       grouped(point.ranks), between);
  }
  return {};
}

}  // namespace cox::forecast
