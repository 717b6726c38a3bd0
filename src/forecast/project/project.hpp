// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts at other sizes: how long a step takes, how sure that is, and when no answer is given.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/forecast/prior.hpp"
#include "cox/forecast/project.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// What a step has beside own work, at a size: a price with its range.
using RestAt = std::function<TimeEstimate(std::int64_t ranks)>;

/// The same where links pass so many times the bytes.
using RestWithLinks = std::function<TimeEstimate(std::int64_t ranks, double bandwidth)>;

/// Of a size that is beyond all that are simulated the largest that is.
using KnownUpTo = std::function<std::optional<std::int64_t>(std::int64_t ranks)>;

/// Units of which a few are slow for good, and that need not have been seen.
struct UnseenPrior {
  double alpha = 0.5;  ///< Beta(alpha, beta) on the share of slow nodes
  double beta = 60;
  double least = 0.02;  ///< slow-down, log-uniform between these, as a part of own work
  double most = 0.5;
};

/// How a step may grow with the size by what one size does not show: as a power of the ranks over those seen. Not below it.
struct GrowthPrior {
  double usual = 0;  ///< mean of the power, exponential, in every band; 0 = growth is told, or there is none
  double most = 0;   ///< where all ranks share something: the power is uniform up to this, in `with_shared`
  /// Strong scaling: what of own work at the ranks seen is not divided; mean, exponential, in every band.
  double undivided = 0;
  double most_undivided = 0;  ///< uniform up to this, in `with_shared`
};

/// As it is stated: Beta(1/2, beta) whose mean is the share of slow nodes.
[[nodiscard]] UnseenPrior unseen_prior(const Prior& stated);

/// How long a step takes over what its parts say, at a size.
using OverPartsAt = std::function<double(std::int64_t ranks)>;
/// 1 where there is none.
[[nodiscard]] inline double over_parts_at(const OverPartsAt& over, std::int64_t ranks) {
  return over ? over(ranks) : 1;
}

struct ProjectOptions {
  Scaling scaling = Scaling::Weak;
  RestAt rest{};             ///< empty = the measured one, as a range up to twice, at all sizes
  OverPartsAt over_parts{};  ///< of Scenarios whose steps were simulated; empty = 1 everywhere
  UnseenPrior prior{};
  GrowthPrior growth{};
  std::optional<GrowthPrior>
      of_one_size{};  ///< what `growth` becomes where one size was seen; empty = the usual one
  int replicates = 200;
  /// half the points of each integral in `project_one`: for draws, which differ by more than that
  bool coarse = false;
  double widening = 1;     ///< of the bands; what simulated jobs want is in docs/accuracy.md
  std::int64_t steps = 0;  ///< of the run whose mean is forecast; 0 = as many as were seen
  std::uint64_t seed = 1;
  int threads = 1;
};

/// Parts at these sizes. The mean is that of two models: nodes and ranks with parts of their own, and one law for all; how far
/// they are apart is in the band. A size beyond 1 to 1,048,576 is refused, as is one that rests on what was not seen.
///
/// Formula: means of maxima add over positions; deviations of quantiles by their squares, with what lasts counted between
///          positions. Source: docs/concepts/forecasting.md.
/// Cost:    up to 2.5 ms a size, position and replicate, where every part is there. Threads: same result for any number.
/// Held by: src/forecast/project/project_test.cpp, bench/forecast_accuracy.cpp
[[nodiscard]] Projection project(const Parts& parts, const std::vector<std::int64_t>& sizes,
                                 const ProjectOptions& options = {});

/// Fills `beyond` and `beyond_growth` of parts that were calibrated from these samples, where they have several sizes: what
/// recorded steps take on average beyond what the parts, with this rest, say at each size. Weak scaling only.
/// Cost: 0.5 ms a size and position. Held by: src/forecast/project/project_test.cpp
void compare_sizes(Parts& parts, std::span<const Sample> samples, const RestAt& rest = {});

/// One draw of what a job may be beyond what was seen of it.
struct Unseen {
  double slow_share =
      0;  ///< of nodes that are slow, given that none of those seen is; 0 = some are, or there is no prior
  double slow_down = 0;         ///< of these, as a part of own work
  double usual = 0;             ///< power of the ranks by which a step grows
  double shared = 0;            ///< the same where all share something
  double undivided = 0;         ///< strong scaling: what of own work at the ranks seen is not divided
  double shared_undivided = 0;  ///< the same in the second band
};
/// The draw that `project` takes for this replicate: one for sizes, bends, margins and levers. Cost: a Beta's quantile.
/// Held by: src/forecast/regimes/parts_job_test.cpp
[[nodiscard]] Unseen unseen_of(const Parts& parts, const ProjectOptions& options, std::uint64_t replicate);

/// The same without bands, at one size: what levers and margins are computed from. Cost: up to 3 ms a position.
[[nodiscard]] SizePoint project_one(const Parts& parts, std::int64_t ranks, const ProjectOptions& options);

/// Its mean over runs, and between which means nine in ten runs lie by what lasts and is not normal; value alone where there is none.
/// Cost: 5 ms a position. Held by: src/forecast/scenario/scenario_parts_test.cpp
[[nodiscard]] TimeBand mean_of_one_run(const Parts& parts, std::int64_t ranks, const ProjectOptions& options);

}  // namespace cox::forecast
