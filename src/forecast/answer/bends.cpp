// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/bends.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace cox::forecast {
namespace {

/// What a mechanism is, as parts.
enum Part : std::size_t { OwnNoise, Persistent, NodeNoise, Communication, kParts };
constexpr std::array<const char*, kParts> kNames = {"noise of each rank",
                                                    "ranks and nodes that are slow for good",
                                                    "noise that a node's ranks share", "communication"};

void scale(TimeEstimate& t, double factor) {
  t.value *= factor;
  t.low *= factor;
  t.high *= factor;
}

void scale(Law& law, double factor) {
  if (!law.is_constant()) law = factor > 0 ? law.times(factor) : Law::constant(law.mean());
}

/// Deviations of a part times a factor, means left as they are.
void scale_noise(Parts& parts, Part which, double factor) {
  for (PositionParts& p : parts.positions) {
    if (which == OwnNoise) {
      scale(p.residual, factor);
      if (factor > 0) scale(p.residual_sd, factor);
    } else if (which == Persistent) {
      scale(p.rank, factor);
      scale(p.node, factor);
      p.slow.extra *= factor;
    } else if (which == NodeNoise) {
      scale(p.node_step, factor);
    }
  }
}

/// Parts and communication with each mechanism times its factor.
struct Changed {
  Parts parts;
  ProjectOptions options;
};

Changed changed(const Parts& parts, const ProjectOptions& options,
                const std::array<double, kParts>& factors) {
  Changed out{.parts = parts, .options = options};
  // One law for all has no parts to change: the nested model alone.
  for (PositionParts& p : out.parts.positions) p.pooled = Law();
  for (const Part p : {OwnNoise, Persistent, NodeNoise})
    if (factors[p] != 1) scale_noise(out.parts, p, factors[p]);
  if (const double f = factors[Communication]; f != 1) {
    scale(out.parts.rest, f);
    if (options.rest)
      out.options.rest = [rest = options.rest, f](std::int64_t ranks) {
        TimeEstimate t = rest(ranks);
        scale(t, f);
        return t;
      };
  }
  return out;
}

ThroughputPoint point_of(const Changed& job, std::int64_t ranks) {
  const SizePoint p = project_one(job.parts, ranks, job.options);
  const double share = job.options.scaling == Scaling::Weak ? static_cast<double>(ranks) : 1;
  return {.throughput = share / p.mean.value.count(), .elasticity = p.elasticity};
}

}  // namespace

ScalingJob scaling_job_of(const Parts& parts, const ProjectOptions& options) {
  ScalingJob job;
  for (const char* name : kNames) job.mechanisms.push_back({.name = name, .reach = Reach::Flattens});
  job.at = [parts, options](std::int64_t ranks, MechanismSet on) {
    std::array<double, kParts> factors{};
    for (std::size_t i = 0; i < kParts; ++i) factors[i] = (on >> i & 1) != 0 ? 1 : 0;
    return point_of(changed(parts, options, factors), ranks);
  };
  return job;
}

Regimes regimes_of_parts(const Parts& parts, const ProjectOptions& options, std::int64_t most) {
  const std::int64_t from = std::max<std::int64_t>(1, parts.ranks);
  const RegimeRange range{.from = from, .to = std::max(2 * from, most), .per_doubling = 2};
  return regimes_of(scaling_job_of(parts, options), range, options.scaling == Scaling::Weak, {},
                    options.threads);
}

Margins margins_of_parts(const Parts& parts, const ProjectOptions& options, std::int64_t ranks) {
  const double now = project_one(parts, ranks, options).elasticity;
  const double level = now >= kLinearAbove ? kLinearAbove : now >= kSublinearAbove ? kSublinearAbove : 0;
  std::vector<MarginParameter> parameters = {
      {.name = "ranks", .most = 1'048'576.0 / static_cast<double>(ranks), .worst = false}};
  for (const char* name : kNames) parameters.push_back({.name = name, .most = 100});
  const auto error_of = [](const TimeEstimate& t) {
    return t.low > Seconds{} && t.high > t.low ? std::log(t.high / t.low) / 2 : 0.0;
  };
  if (!parts.positions.empty()) {
    parameters[1 + OwnNoise].error = error_of(parts.positions.front().residual_sd);
    parameters[1 + Persistent].error = error_of(parts.positions.front().rank);
    parameters[1 + NodeNoise].error = error_of(parts.positions.front().node_step);
    parameters[1 + Communication].error = error_of(parts.rest);
  }
  return margins_of(
      parameters,
      [&](std::span<const double> f) {
        const auto n = static_cast<std::int64_t>(std::llround(static_cast<double>(ranks) * f[0]));
        return point_of(changed(parts, options, {f[1], f[2], f[3], f[4]}), std::max<std::int64_t>(1, n))
            .elasticity;
      },
      level);
}

}  // namespace cox::forecast
