// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/nests.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"

#include "forecast/calibrate/over_sizes.hpp"
#include "forecast/calibrate/tail.hpp"
#include "forecast/law/special.hpp"

namespace cox::forecast {
namespace {

constexpr std::uint32_t kStream = 0xF0;
constexpr int kBody = 201;
enum class Parameter : std::uint64_t {
  Level,
  Rank,
  Node,
  Step,
  NodeStep,
  Threshold,
  Shape,
  Scale,
  Slow,
  Slope
};
constexpr std::uint64_t kParameters = 10;

double uniform_of(const DrawKey& key, Parameter parameter) {
  return forecast::uniform_of(key, static_cast<std::uint64_t>(parameter));
}
double normal_of(const DrawKey& key, Parameter parameter) {
  return forecast::normal_of(key, static_cast<std::uint64_t>(parameter));
}

/// A deviation from its chi-square interval; uniform over a range where there is no freedom. At most five times what was seen:
/// one degree of freedom alone would allow any.
Seconds draw_deviation(const TimeEstimate& e, const DrawKey& key, Parameter parameter) {
  const double u = uniform_of(key, parameter);
  if (e.origin == Origin::Range) return e.low + u * (e.high - e.low);
  if (e.freedom <= 0) return e.value;
  const double noise = e.noise.count() * e.noise.count();
  const double seen =
      e.spread > Seconds{} ? e.spread.count() * e.spread.count() : e.value.count() * e.value.count() + noise;
  const double factor = std::min(e.freedom / chi_square_upper_quantile(e.freedom, u), 25.0);
  return Seconds{std::sqrt(std::max(seen * factor - noise, 0.0))};
}

/// The body of a law below the tail's threshold, and that tail above it.
Law with_tail(const Law& law, const Tail& tail) {
  std::vector<Seconds> body;
  body.reserve(kBody);
  for (int i = 0; i < kBody; ++i) {
    body.push_back(std::min(law.quantile((1 - tail.probability) * i / (kBody - 1)), tail.threshold));
  }
  const Law made = Law::quantiles(body, tail);
  return std::isfinite(made.mean().count()) ? made.plus(law.mean() - made.mean()) : made;
}

/// Another tail that the data allow: one of the thresholds, and shape and scale by their covariance.
/// Source: Smith 1987: Var(xi) = (1 + xi)² / n, Var(ln sigma) = 2 (1 + xi) / n, Cov = -(1 + xi) / n.
Law draw_tail(const TailedLaw& of, const DrawKey& key) {
  if (of.probability <= 0 || of.law.is_constant() || of.seen <= 0) return of.law;
  Tail tail;
  double n = 0;
  if (of.tails.empty()) {
    tail.probability = of.probability;
    tail.threshold = of.law.upper_quantile(tail.probability);
    tail.scale = of.law.upper_quantile(tail.probability / 2.718281828459045) - tail.threshold;
    tail.shape = of.shape.low + uniform_of(key, Parameter::Shape) * (of.shape.high - of.shape.low);
    n = std::max(of.probability * of.seen, 4.0);
  } else {
    const auto pick = static_cast<std::size_t>(uniform_of(key, Parameter::Threshold) *
                                               static_cast<double>(of.tails.size()));
    const TailFit& fit = of.tails[std::min(pick, of.tails.size() - 1)];
    tail = fit.tail;
    tail.threshold = of.law.upper_quantile(tail.probability);
    n = fit.exceedances;
    const double shape = std::max(1 + tail.shape, 0.3);
    const double z = normal_of(key, Parameter::Shape);
    tail.shape += shape / std::sqrt(n) * z;
    // ln sigma given xi: slope -1 / (1 + xi), what is left has variance (1 + xi) (2 - 1) / n about.
    tail.scale *= exponential(-z / std::sqrt(n));
  }
  tail.scale *= exponential(std::sqrt(1 / n) * normal_of(key, Parameter::Scale));
  tail.shape = std::clamp(tail.shape, -0.5, 0.95);
  if (!(tail.scale.count() > 0)) return of.law;
  return with_tail(of.law, tail);
}

/// Of two modes each, and the share of the longer one: Beta of those seen. A longer mode that has a gap itself keeps its law.
Law draw_residual(const PositionParts& part, const DrawKey& key) {
  if (!part.detours)
    return draw_tail({.law = part.residual,
                      .tails = part.tails,
                      .probability = part.tail_probability,
                      .shape = part.tail_shape,
                      .seen = part.residual_sd.freedom},
                     key);
  LongerMode modes = *part.detours;
  const double share =
      beta_quantile(modes.longer.seen + 0.5, modes.usual.seen + 0.5, uniform_of(key, Parameter::Threshold));
  for (TailedLaw* mode : {&modes.usual, &modes.longer})
    if (mode->law.breaks().empty()) mode->law = draw_tail(*mode, key);
  return law_of(modes, std::clamp(share, 1e-12, 1 - 1e-12));
}

}  // namespace

double uniform_of(const DrawKey& key, std::uint64_t parameter) {
  return RandomStream(key.seed, kStream).uniform(key.replicate, key.position * kParameters + parameter);
}

double normal_of(const DrawKey& key, std::uint64_t parameter) {
  return RandomStream(key.seed, kStream).normal(key.replicate, key.position * kParameters + parameter);
}

const GrowthFit* best_growth(const std::vector<GrowthFit>& fits) {
  return fits.empty() || fits.front().growth == Growth::None ? nullptr : &fits.front();
}

GrowthFit drawn_growth(const std::vector<GrowthFit>& fits, const DrawKey& key, std::uint64_t parameter) {
  if (fits.empty()) return {};
  double left = uniform_of(key, parameter);
  GrowthFit chosen = fits.front();
  for (const GrowthFit& fit : fits) {
    left -= fit.share;
    if (left > 0) continue;
    chosen = fit;
    break;
  }
  chosen.slope = slope_at(chosen, uniform_of(key, parameter + 1));
  return chosen;
}

Law lasting_law(Seconds deviation, const Law& stated) {
  if (stated.is_constant() || !(deviation > Seconds{})) return Law::normal(Seconds{}, deviation);
  const Seconds as_stated = stated.deviation();
  return std::isfinite(as_stated.count()) ? stated.times(deviation / as_stated) : stated;
}

PositionLaws as_estimated(const PositionParts& part) {
  PositionLaws laws{.residual = part.residual,
                    .pooled = part.pooled,
                    .group_step = part.group_step,
                    .level = part.level.value,
                    .rank = part.rank.value,
                    .node = part.node.value,
                    .rank_law = part.rank_law,
                    .node_law = part.node_law,
                    .step = part.step.value,
                    .node_step = part.node_step.value,
                    .skewness = part.node_step_skewness,
                    .slow_share = part.slow.share,
                    .slow_extra = part.slow.extra,
                    .spread_power = part.spread_power};
  if (part.slow.seen > 0) {
    laws.slow_share = (static_cast<double>(part.slow.seen) + 0.5) / (static_cast<double>(part.slow.of) + 1);
  }
  if (const GrowthFit* fit = best_growth(part.growth)) {
    laws.growth = fit->growth;
    laws.slope = fit->slope;
  }
  return laws;
}

PositionLaws drawn(const PositionParts& part, const DrawKey& key) {
  PositionLaws laws = as_estimated(part);
  laws.residual = draw_residual(part, key);
  const GrowthFit fit = drawn_growth(part.growth, {key.seed, key.replicate, key.position + 1000},
                                     static_cast<std::uint64_t>(Parameter::Slope));
  laws.growth = fit.growth;
  laws.slope = fit.slope;
  laws.level = at_seen(part.level, fit, normal_of(key, Parameter::Level));
  // Of two ranks that differ much the interval reaches below: no work takes less.
  laws.level = std::max(laws.level, Seconds{});
  laws.rank = draw_deviation(part.rank, key, Parameter::Rank);
  laws.node = draw_deviation(part.node, key, Parameter::Node);
  laws.step = draw_deviation(part.step, key, Parameter::Step);
  laws.node_step = draw_deviation(part.node_step, key, Parameter::NodeStep);
  if (part.slow.seen > 0) {
    const auto k = static_cast<double>(part.slow.seen);
    laws.slow_share =
        beta_quantile(k + 0.5, static_cast<double>(part.slow.of) - k + 0.5, uniform_of(key, Parameter::Slow));
  }
  return laws;
}

bool may_have_no_mean(const PositionParts& part) {
  return part.tail_shape.origin == Origin::Measured && part.tail_shape.high >= 1 && part.tail_probability > 0;
}

Nest nested(const PositionLaws& laws, const Parts& parts, double factor) {
  // What is a hundredth of the residual moves the slowest by less than a part in 10,000 of its spread.
  const double least = 0.01 * laws.residual.deviation().count();
  const auto counted = [least](Seconds s) {
    return s.count() > least || !std::isfinite(least) ? s : Seconds{};
  };
  const bool stated_node = !laws.node_law.is_constant();
  const Seconds lasting = stated_node ? Seconds{} : laws.node;
  const double node = counted(Seconds{std::hypot(lasting.count(), laws.node_step.count())}).count();
  const double part = node > 0 ? laws.node_step.count() / node : 0;
  Nest nest{.own = laws.residual.plus(laws.level).times(factor),
            .node = Law::shifted_gamma(Seconds{}, Seconds{factor * node}, laws.skewness * part * part * part),
            .group = laws.group_step.times(factor),
            .common = Law::normal(Seconds{}, factor * laws.step),
            .ranks_per_node = parts.ranks_per_node,
            .nodes_per_group = parts.nodes_per_group,
            .rank = lasting_law(factor * counted(laws.rank), laws.rank_law)};
  if (stated_node && laws.node > Seconds{})
    nest.lasting_node = lasting_law(factor * laws.node, laws.node_law);
  if (laws.slow_share > 0) nest.slow_node = Law::detour(factor * laws.slow_extra, laws.slow_share);
  return nest;
}

Nest pooled(const PositionLaws& laws, const Parts& parts, double factor) {
  Nest nest{.own = laws.pooled.plus(laws.level).times(factor),
            .common = Law::normal(Seconds{}, factor * laws.step),
            .ranks_per_node = parts.ranks_per_node};
  if (laws.slow_share > 0) nest.slow_node = Law::detour(factor * laws.slow_extra, laws.slow_share);
  return nest;
}

}  // namespace cox::forecast
