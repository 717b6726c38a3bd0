// SPDX-License-Identifier: Apache-2.0
/// \file
/// When a rank is named, and when nobody is: docs/concepts/naming.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/diagnose/account.hpp"
#include "cox/diagnose/finding_kind.hpp"

#include "diagnose/match/matched.hpp"
#include "diagnose/naming/lost_time.hpp"

namespace cox::diagnose {

/// The bars to clear. All delays are parts of the usual step time, so that a Run in slow
/// motion gives the same names.
struct NamingRules {
  double least_delay = 0.04;        ///< usual delay per step
  double least_burst_delay = 0.08;  ///< the same within a window, and for a rotating culprit
  double spreads = 4;               ///< usual delay over the spread of the others' block medians
  double blocks_agree = 0.75;       ///< part of the blocks in which the delay shows
  double sign_test = 1e-3;          ///< probability by chance, over all ranks
  double burst_test = 1e-5;         ///< the same for windows and rotations, which are searched for
  double least_gain = 0.02;         ///< of the steps' time, for all named together
  double least_burst_gain = 0.01;   ///< of the steps' time, for something limited in time
  double least_window_gain = 0.04;  ///< of the window's own time
  double least_operations_gain = 0.01;  ///< of the Run's time, where operations are the repetitions
  std::int64_t least_steps = 10;    ///< below, only what is huge is named
  double huge_delay = 0.5;
};

/// Everything that naming looks at.
struct Evidenced {
  const Matched& matched;
  const std::vector<Duration>& step_times;
  const std::vector<RankAccount>& accounts;
  Duration typical_step{};
  Duration stepped{};  ///< sum of the step times
  NamingRules rules{};

  [[nodiscard]] std::size_t ranks() const { return matched.ranks(); }
  [[nodiscard]] const Skew& skew() const { return matched.skew(); }
  [[nodiscard]] const Steps& steps() const { return matched.steps(); }
  /// Self-delay of a rank in a step, as part of the usual step time.
  [[nodiscard]] double delay(std::size_t rank, std::size_t step) const {
    return ratio(skew().delay[rank][step], typical_step);
  }
};

/// Delays of all ranks in figures that one wild step does not move.
struct DelayFigures {
  std::vector<double> typical;              ///< per rank, median over steps
  std::vector<std::vector<double>> blocks;  ///< per rank, median over each block of consecutive steps
  std::vector<double> late_bars;  ///< delays that one in five, in twenty and in a hundred single steps exceed
  double step_noise = 0;          ///< scaled MAD of single delays, all ranks and steps
};
[[nodiscard]] DelayFigures figures_of(const Evidenced& x, int threads);

/// A named set, before it is put into words.
struct Named {
  FindingKind kind = FindingKind::SlowRank;
  Suspect suspect;
  Saving saving{};
  double typical_delay = 0;       ///< part of a usual step
  double others_spread = 0;       ///< what the typical delay was held against
  double agreement = 0;           ///< part of the blocks (steps of the window) that show it
  double chance = 0;              ///< upper bound of the probability by chance
  std::int64_t period_steps = 0;  ///< rotating: steps that one culprit lasts
};

/// Ranks that are late all along. Nodes whose ranks are late together come as one set.
[[nodiscard]] std::vector<Named> find_persistent(const Evidenced& x, const DelayFigures& figures);
/// A culprit that moves from rank to rank in an order that can be foretold.
[[nodiscard]] std::vector<Named> find_rotating(const Evidenced& x, const DelayFigures& figures);
/// Ranks that are late within one stretch of steps and not outside of it.
[[nodiscard]] std::vector<Named> find_transient(const Evidenced& x, const DelayFigures& figures,
                                                const std::vector<Named>& persistent);

/// All of it in order, most costly first. Ranks that cannot be compared (one rank, no step) name nobody.
[[nodiscard]] std::vector<Named> name_culprits(const Evidenced& x, int threads);

}  // namespace cox::diagnose
