// SPDX-License-Identifier: Apache-2.0
/// \file
/// What failures leave of a job at any size, as a factor on throughput and its derivative.
#pragma once

#include <functional>

#include "cox/base/units.hpp"
#include "cox/forecast/scaling_job.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/checkpoints/goodput.hpp"

namespace cox::forecast {

/// Takes what failures cost off a point that has none: throughput times goodput, d ln goodput / d ln size off a chord of
/// `apart` on either side, from `least` on. `goodput`: `wall_shares(...).work` at a size; 0 = the job gets nowhere.
/// Held by: src/forecast/regimes/scaling_job_test.cpp
void take_failures(ThroughputPoint& point, double size, double apart, double least,
                   const std::function<double(double size)>& goodput);

/// A scenario's failures. By `wall_shares`: at the interval of the scenario; where it says none, at the best one; where
/// nothing is written, at the whole job.
struct Failing {
  model::Scenario scenario;
  double per_node = 1;  ///< ranks
  Seconds step{};       ///< for cold steps, and for how long the whole job works
  double rate = 1;      ///< times as many failures

  [[nodiscard]] Interruptions costs(double ranks, bool growing = true) const;
  [[nodiscard]] Intervals intervals(const Interruptions& costs) const;
  [[nodiscard]] WallShares shares(double ranks, bool growing) const;  ///< of the wall time
  /// The one that is work; between whole numbers of nodes on a line. Held by: LeversByParts.MostNodesAreWholeNodes
  [[nodiscard]] double goodput(double ranks, bool growing) const;
  void apply(double ranks, bool growing, ThroughputPoint& point) const;
};

/// Steps as they are at the size where the parts were seen.
[[nodiscard]] Failing failing_of(const Parts& parts, const model::Scenario& scenario);

/// Restarts take longer the more nodes there are.
[[nodiscard]] bool restarts_grow(const model::Failures& failures);

}  // namespace cox::forecast
