// SPDX-License-Identifier: Apache-2.0
#include "forecast/checkpoints/drawn_failures.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "cox/base/elementary.hpp"

namespace cox::forecast {
namespace {

constexpr double kOneOfTwenty = 1.6448536269514722;  ///< the normal's value that 5 % exceed

}  // namespace

void change_between(model::Failures& f, double factor) {
  f.node_mtbf *= factor;
  f.job_mtbf *= factor;
  for (model::FailureClass& c : f.classes) c.mtbf *= factor;
}

void change_checkpoints(model::Failures& f, double factor) {
  f.checkpoint *= factor;
  f.checkpoint_write *= factor;
  f.near_checkpoint *= factor;
  f.storage = f.storage * (1 / factor);
}

void change_restarts(model::Failures& f, double factor) {
  f.restart *= factor;
  f.restart_per_node *= factor;
  f.restart_per_pair *= factor;
  f.restart_spread *= factor;
  for (model::FailureClass& c : f.classes) c.restart *= factor;
}

void change_start(model::Startup& s, double factor) {
  s.fixed *= factor;
  s.per_rank *= factor;
  s.per_pair *= factor;
  s.spread *= factor;
  s.storage = s.storage * (1 / factor);
}

double FactorRange::at(double score) const {
  return score >= 0 ? power(high, score / kOneOfTwenty) : power(low, -score / kOneOfTwenty);
}

StatedRanges stated_ranges(const Prior& prior) {
  const auto within = [](double factor) { return FactorRange{.low = 1 / factor, .high = factor}; };
  return {.between = within(prior.failures),
          .restart = within(prior.restarts),
          .checkpoint = within(prior.checkpoints),
          .start = within(prior.start)};
}

void FailureDraw::apply(const StatedRanges& ranges, model::Failures& failures) const {
  change_between(failures, ranges.between.at(between));
  change_checkpoints(failures, ranges.checkpoint.at(checkpoint));
  const double longer = ranges.restart.at(restart);
  change_restarts(failures, longer);
  failures.repair *= longer;
  for (model::FailureClass& c : failures.classes) c.repair *= longer;
}

std::vector<FailureDraw> failure_draws(int count) {
  constexpr double kBase = 1.1127756842787055;
  constexpr std::size_t kAxes = 6;
  std::vector<FailureDraw> out;
  out.reserve(static_cast<std::size_t>(count));
  for (int k = 0; k < count; ++k) {
    std::array<double, kAxes> at{};
    double along = 1;
    for (double& x : at) {
      along /= kBase;
      x = 0.5 + (k + 1) * along;
      x -= std::floor(x);
    }
    const double grows = at.back();
    normal_quantiles(at);
    out.push_back({.between = at[0],
                   .restart = at[1],
                   .checkpoint = at[2],
                   .start = at[3],
                   .step = at[4],
                   .grows = grows});
  }
  return out;
}

}  // namespace cox::forecast
