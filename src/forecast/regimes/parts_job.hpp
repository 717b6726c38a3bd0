// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job made of its parts, at any size by quadrature: its regimes and margins.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cox/forecast/scaling_job.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/checkpoints/drawn_failures.hpp"
#include "forecast/project/project.hpp"
#include "forecast/regimes/margin.hpp"

namespace cox::forecast {

struct PartsJobOptions {
  ProjectOptions project{};
  std::optional<model::Scenario> failing{};  ///< whose failures and checkpoints it has; empty = nothing fails
  /// Of a Scenario: communication where links are slower or faster. Empty = what nothing hides takes as much longer as they are slower.
  RestWithLinks links{};
  RestWithLinks
      exact_links{};  ///< the same, each factor simulated: what a collapse with other links rests on; empty = `links` is
  std::int64_t simulated_to =
      0;  ///< the largest size that `links` simulates: no collapse is said of what rises up to it; 0 = all are known
  /// How well what is stated of `failing` is known: in each draw it is other; empty = exactly.
  std::optional<StatedRanges> stated{};
  WorkSources sources{};  ///< what a Scenario names; empty = mechanisms are kinds of parts
  int replicates = 30;    ///< parameters drawn again, for bands
  /// Draws have slow nodes that were not seen, and the growth that one size does not show: a Run's, by `project`'s priors.
  bool unseen = false;
  bool bands =
      true;  ///< of margins; without, of unseen jobs only the share that is on the other side is counted: a call each
  bool worst = true;  ///< margins also along the worst combination, which costs more than all others
};

struct PartsJob {
  ScalingJob job{};
  std::vector<ScalingJob> replicates{};
  std::vector<ScalingJob>
      shared{};  ///< the same where all ranks share something; empty = sizes tell, or none is asked
};

/// Mechanisms: the sources of a Scenario under their own names; else, as far as the parts have them, jitter of ranks, what a node's
/// ranks share in a step, ranks, and nodes, that are slow for good. Beside these own work that grows with the job; communication that grows (off: as at the measured size); failures and
/// restarts that grow. Steps by `project_one` with nodes and ranks of their own; goodput by `wall_shares`.
/// Growth that is linear in the ranks is at most as fast as the job, so no part of a step lowers throughput in weak scaling; what is simulated
/// (`links`) may. Sizes between those that are simulated have a slope of a smooth curve: eps is below 0 only where half the ranks do more, or
/// twice as many less, by one per cent, and none of 2, 4, ... times as many up to `simulated_to` does as much; not where that slope alone says so.
/// Cost: 0.4 ms a position and call of the job. Threads: the job may be called by several.
/// Held by: src/forecast/regimes/parts_job_test.cpp
[[nodiscard]] PartsJob job_of_parts(const Parts& parts, const PartsJobOptions& options);

/// How long a step takes in a draw of `options`, over the estimate, at a number of ranks: the draws of `job_of_parts`. May be called by several threads.
/// Pre: 0 <= draw < replicates. Cost: two calls of the job. Held by: src/forecast/regimes/parts_job_test.cpp
[[nodiscard]] std::function<double(std::int64_t ranks, int draw)> drawn_steps_of(
    const Parts& parts, const PartsJobOptions& options);

/// How far `ranks` is from `level` in: ranks, jitter, tail index, what is slow for good, communication (its bandwidth), drift,
/// failure rate. A parameter that the parts do not have is left out; the error of each is that of its estimate.
/// Cost: 80 calls a parameter and replicate. Held by: src/forecast/regimes/parts_job_test.cpp
[[nodiscard]] Margins margins_of_parts(const Parts& parts, std::int64_t ranks, double level,
                                       const PartsJobOptions& options);

/// The nearest of them in each draw of `options` (`nearest_like`), as a factor of at least 1, where `found` is what `margins_of_parts` says. Draws are
/// those of `job_of_parts`. Empty = nothing is drawn, or none crosses. Cost: 40 calls a draw.
/// Held by: src/forecast/regimes/parts_job_test.cpp
[[nodiscard]] std::vector<double> drawn_margins(const Parts& parts, std::int64_t ranks, const Margins& found,
                                                const PartsJobOptions& options);

/// ln of the factor on jitter that makes eps fall to `level` at `ranks`; 0 = it is below already, nothing = no factor up to
/// 1,000 does, or there is no jitter. Cost: 60 calls. Held by: src/forecast/regimes/parts_job_test.cpp
[[nodiscard]] std::optional<double> jitter_margin(const Parts& parts, std::int64_t ranks, double level,
                                                  const PartsJobOptions& options);

}  // namespace cox::forecast
