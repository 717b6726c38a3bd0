// SPDX-License-Identifier: Apache-2.0
/// \file
/// What stops a job, changed by factors, and drawn again within how well it is known.
#pragma once

#include <vector>

#include "cox/forecast/prior.hpp"
#include "cox/model/failures.hpp"

namespace cox::forecast {

/// Times between failures of every cause.
void change_between(model::Failures& failures, double factor);
/// What checkpoints take, and reading them: the storage is as much slower.
void change_checkpoints(model::Failures& failures, double factor);
/// What a restart takes, beside reading and the start.
void change_restarts(model::Failures& failures, double factor);
/// What a start takes.
void change_start(model::Startup& start, double factor);

/// A value times these is as small, or as large, as it is in one of twenty draws.
struct FactorRange {
  double low = 1;
  double high = 1;

  /// The factor of a standard normal's value: each side of 1 is half of a lognormal.
  [[nodiscard]] double at(double score) const;
};

/// How well times are known that somebody stated: a prior, since no input says it, of which each factor can be stated. Time between failures: as from 16 failures
/// that were counted, exp(1.645 / sqrt(16)) = 1.51.
struct StatedRanges {
  FactorRange between{.low = 1 / 1.5, .high = 1.5};
  FactorRange restart{.low = 1 / 1.25, .high = 1.25};  ///< and repair
  FactorRange checkpoint{.low = 1 / 1.25, .high = 1.25};
  FactorRange start{.low = 1 / 1.25, .high = 1.25};
};

[[nodiscard]] StatedRanges stated_ranges(const Prior& prior);

/// One draw, as standard normal values, and a uniform one.
struct FailureDraw {
  double between = 0;
  double restart = 0;
  double checkpoint = 0;
  double start = 0;
  double step = 0;
  double grows = 0.5;  ///< in (0, 1)

  /// Failures as they are in this draw.
  void apply(const StatedRanges& ranges, model::Failures& failures) const;
};

/// The same draws at each call: points that fill the cube evenly.
/// Source: Roberts' additive recurrence in six dimensions (2018), its base the root of x^7 = x + 1.
/// Held by: src/forecast/checkpoints/drawn_failures_test.cpp
[[nodiscard]] std::vector<FailureDraw> failure_draws(int count);

}  // namespace cox::forecast
