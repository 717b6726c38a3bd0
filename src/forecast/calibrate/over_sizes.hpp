// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a time of several samples goes on with their sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

/// A time at a size, with its standard error.
struct SizedTime {
  std::int64_t ranks = 0;
  Seconds value{};
  Seconds error{};
};

/// One time a size, ascending: the mean of those that have it. Its error is theirs, or what they differ by where that is more.
/// Held by: OverSizes.RunsOfOneSizeAreOneTime
[[nodiscard]] std::vector<SizedTime> merged_by_size(const std::vector<SizedTime>& times);

/// What is thought of a time's growth before any is seen. Slopes by e-fold of ranks are exponential.
struct GrowthBelief {
  Seconds usual{};        ///< mean of the slope, as a rule
  Seconds shared{};       ///< where all ranks share something: by either law
  double never = 0.5;     ///< chance that it does not grow
  double as_rule = 0.46;  ///< by its logarithm, usually
  double tree = 0.02;     ///< by its logarithm, as fast as what is shared
  double line = 0.02;     ///< by a line
  double levelling = 0;   ///< less and less
  Seconds left{};         ///< then: mean of the slope
};

/// The laws of growth with their shares, best first, given what is thought and what was seen. Not growing is best where it has
/// half of the share, so it is no answer where errors hide growth: then a growing law keeps its share, and its slope a width.
///
/// Formula: least squares by 1 / error² about the pivot; evidence of a law is the integral of likelihood times prior over the slope,
///          closed for an exponential prior. Errors are at least 1e-9 of the largest time, and of three sizes and more as large as
///          the best law's misfit (Birge 1932). Of two sizes each growing law goes through both: the belief parts them.
/// `times` ascend by size, with errors that hold one draw of what lasts; empty for one size.
/// Held by: src/forecast/calibrate/over_sizes_test.cpp, bench/forecast_sizes.cpp
[[nodiscard]] std::vector<GrowthFit> fit_growth(const std::vector<SizedTime>& times,
                                                const GrowthBelief& belief);

/// A slope of the fit, at this place in (0, 1) of its law.
[[nodiscard]] Seconds slope_at(const GrowthFit& fit, double place);

/// A time at the ranks seen, where it is drawn with this slope: by its pivot, `score` deviations of it away; else by its interval.
[[nodiscard]] Seconds at_seen(const TimeEstimate& time, const GrowthFit& fit, double score);

/// The time at the ranks seen by the best law, with its interval; `time` itself where no law has a pivot.
[[nodiscard]] TimeEstimate by_best(TimeEstimate time, const std::vector<GrowthFit>& fits);

/// g(N) of the law: 0 at `seen`.
[[nodiscard]] double growth_at(Growth growth, std::int64_t ranks, std::int64_t seen);

/// d g / d ln N.
[[nodiscard]] double growth_by_fold(Growth growth, std::int64_t ranks, std::int64_t seen);

}  // namespace cox::forecast
