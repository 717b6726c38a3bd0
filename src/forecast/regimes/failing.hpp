// SPDX-License-Identifier: Apache-2.0
/// \file
/// What failures leave of a job at any size, as a factor on throughput and its derivative.
#pragma once

#include "cox/base/units.hpp"
#include "cox/forecast/scaling_job.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// By `wall_shares`: at the interval of the scenario, else the best one.
struct Failing {
  model::Scenario scenario;
  double per_node = 1;  ///< ranks
  Seconds step{};       ///< for cold steps
  double rate = 1;      ///< times as many failures

  [[nodiscard]] double goodput(double ranks, bool growing) const;
  /// Takes what failures cost off a point that has none.
  void apply(double ranks, bool growing, ThroughputPoint& point) const;
};

/// Restarts take longer the more nodes there are.
[[nodiscard]] bool restarts_grow(const model::Failures& failures);

}  // namespace cox::forecast
