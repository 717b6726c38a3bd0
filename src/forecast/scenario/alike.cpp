// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/alike.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "cox/base/assert.hpp"

#include "forecast/scenario/law_through.hpp"

namespace cox::forecast {
namespace {

constexpr double kMinor = 0.05;     ///< of own work: less before a synchronisation is not played as one
constexpr int kBody = 400;          ///< quantiles of a mean of laws
constexpr double kTailFrom = 0.01;  ///< where its tail begins

using Positions = std::vector<const PositionParts*>;

TimeEstimate mean_of(const Positions& of, TimeEstimate PositionParts::*which) {
  TimeEstimate out = of.front()->*which;
  out.value = out.low = out.high = {};
  const auto n = static_cast<double>(of.size());
  for (const PositionParts* p : of) {
    out.value += (p->*which).value / n;
    out.low += (p->*which).low / n;
    out.high += (p->*which).high / n;
  }
  return out;
}

void set_residual(PositionParts& out, const Positions& of) {
  const auto n = static_cast<double>(of.size());
  const ThroughQuantiles mean = law_through(
      [&](double p) {
        Seconds sum{};
        for (const PositionParts* one : of) sum += one->residual.upper_quantile(std::max(p, 1e-12)) / n;
        return sum;
      },
      kBody, kTailFrom);
  out.residual = mean.law.plus(-mean.law.mean());
  out.residual_sd.value = out.residual.deviation();
  out.tail_probability = mean.tail.probability;
  out.tail_shape.value = mean.tail.shape;
}

/// The mean of several positions of one role.
PositionParts mean_position(const Positions& of) {
  PositionParts out = *of.front();
  if (of.size() == 1) return out;
  const auto n = static_cast<double>(of.size());
  for (const auto which : {&PositionParts::level, &PositionParts::rank, &PositionParts::node,
                           &PositionParts::node_step, &PositionParts::drift})
    out.*which = mean_of(of, which);
  double squares = 0;
  out.node_step_skewness = 0;
  for (const PositionParts* p : of) {
    squares += p->step.value.count() * p->step.value.count() / n;
    out.node_step_skewness += p->node_step_skewness / n;
    if (p->slow.seen > out.slow.seen) out.slow = p->slow;
  }
  out.step.value = Seconds{std::sqrt(squares)};
  // One draw a step and rank is no draw of the next synchronisation.
  out.correlation.value = 0;
  if (std::any_of(of.begin(), of.end(), [](const PositionParts* p) { return !p->residual.is_constant(); }))
    set_residual(out, of);
  return out;
}

}  // namespace

AlikeStep alike_step(const Parts& parts) {
  COX_ASSERT(!parts.positions.empty(), "a step has work");
  std::map<std::string, Seconds> by_name;  // the most of any role
  for (const PositionParts& p : parts.positions) by_name[p.name] = std::max(by_name[p.name], p.level.value);
  Seconds all{};
  Seconds most{};
  for (const auto& [name, level] : by_name) {
    all += level;
    most = std::max(most, level);
  }
  std::map<std::int32_t, Positions> majors;
  std::map<std::int32_t, Seconds> minors;
  std::size_t times = 0;
  for (const PositionParts& p : parts.positions) {
    const Seconds level = by_name[p.name];
    Positions& major = majors[p.role];
    if (level == most || level > kMinor * all)
      major.push_back(&p);
    else
      minors[p.role] += p.level.value;
    times = std::max(times, major.size());
  }
  AlikeStep out{.roles = {}, .times = static_cast<int>(times)};
  for (const auto& [role, major] : majors) {
    PositionParts mean = mean_position(major);
    mean.level.value += minors[role] / static_cast<double>(times);
    out.roles.push_back(std::move(mean));
  }
  return out;
}

}  // namespace cox::forecast
