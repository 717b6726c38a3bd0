// SPDX-License-Identifier: Apache-2.0
/// \file
/// When a rank is named, and when nobody is: docs/concepts/naming.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cox/diagnose/account.hpp"
#include "cox/diagnose/finding_kind.hpp"

#include "diagnose/match/matched.hpp"
#include "diagnose/naming/lost_time.hpp"
#include "diagnose/naming/positions.hpp"

namespace cox::diagnose {

/// The bars to clear. All delays are parts of the usual step time, so that a Run in slow motion gives the same names; where
/// ranks that poll share CPUs the least ones are raised to a time (verdict/shared_cpus.hpp).
struct NamingRules {
  double least_delay = 0.04;            ///< usual delay per step
  double least_burst_delay = 0.08;      ///< the same within a window, and of a pause
  double spreads = 4;                   ///< usual delay over the spread of the others' block medians
  double blocks_agree = 0.75;           ///< part of the blocks in which the delay shows
  double sign_test = 1e-3;              ///< probability by chance, over all ranks
  double burst_test = 1e-5;             ///< the same for windows and rotations, which are searched for
  double scatter_test = 0.01;           ///< the same where one step says something of the next one
  double least_gain = 0.02;             ///< of the steps' time, for all named together
  double least_burst_gain = 0.01;       ///< of the steps' time, for something limited in time
  double least_window_gain = 0.04;      ///< of the window's own time
  double least_operations_gain = 0.01;  ///< of the Run's time, where operations are the repetitions
  std::int64_t least_steps = 10;        ///< below, only what is huge is named
  double huge_delay = 0.5;
};

/// Everything that naming looks at.
struct Evidenced {
  const Matched& matched;
  const std::vector<Duration>& step_times;
  const std::vector<RankAccount>& accounts;
  const StepTable& delays;
  Duration typical_step{};
  Duration stepped{};     ///< sum of the step times
  Duration resolution{};  ///< of times: `resolution_of`
  NamingRules rules{};

  [[nodiscard]] std::size_t ranks() const { return matched.ranks(); }
  [[nodiscard]] const Skew& skew() const { return matched.skew(); }
  [[nodiscard]] const Steps& steps() const { return matched.steps(); }
  /// Self-delay of a rank in a step, as part of the usual step time.
  [[nodiscard]] double delay(std::size_t rank, std::size_t step) const {
    return ratio(delays[rank][step], typical_step);
  }
  /// The resolution, as part of the usual step time.
  [[nodiscard]] double least_told() const { return ratio(resolution, typical_step); }
};

/// First step in which members were compared: what was done before the first synchronisation is carried in.
[[nodiscard]] std::int64_t first_measured_step(const Evidenced& x);
/// Whether so many places in so few steps leave a sign test no way to tell lateness from chance: then only what is
/// huge is named.
[[nodiscard]] bool too_few_steps(const Evidenced& x, double places);

/// Delays that are looked at in one go: of whole steps, or of one position within them.
struct Place {
  const Evidenced& x;
  const Positions& positions;
  std::span<const std::vector<Duration>> delays;  ///< [row][step]
  std::span<const std::int32_t> members;          ///< rank of each row; empty: row r is rank r
  std::int32_t position = -1;                     ///< -1: whole steps
  double searched = 1;                            ///< places that are looked at: chances are multiplied by it
  /// What the Run would be shorter by without a suspect's delays; unset: as arrivals say.
  std::function<Duration(const Suspect&)> replayed{};

  [[nodiscard]] std::size_t rows() const { return delays.size(); }
  [[nodiscard]] std::size_t steps() const { return static_cast<std::size_t>(x.steps().count); }
  [[nodiscard]] const NamingRules& rules() const { return x.rules; }
  [[nodiscard]] std::int32_t rank(std::size_t row) const {
    return members.empty() ? static_cast<std::int32_t>(row) : members[row];
  }
  /// Self-delay in a step, as part of the usual step time.
  [[nodiscard]] double delay(std::size_t row, std::size_t step) const {
    return ratio(delays[row][step], x.typical_step);
  }
  [[nodiscard]] bool is_late(std::size_t row, std::size_t step) const {
    return delay(row, step) > rules().least_delay / 2;
  }
  [[nodiscard]] std::vector<std::int32_t> limits() const {
    return position < 0 ? std::vector<std::int32_t>{} : std::vector{position};
  }
  [[nodiscard]] Saving without(const Suspect& suspect) const {
    if (!replayed) return savings_without(x.matched, {suspect}, &positions).each[0];
    const Duration saved = replayed(suspect);
    return {.share = saved, .alone = saved};
  }
};

/// Delays of all rows in figures that one wild step does not move.
struct DelayFigures {
  std::vector<double> typical;              ///< per row, median over steps
  std::vector<std::vector<double>> blocks;  ///< per row, median over each block of consecutive steps
  std::vector<double> late_bars;  ///< delays that one in five, in twenty and in a hundred single steps exceed
  double step_noise = 0;          ///< scaled MAD of single delays, all rows and steps
};
[[nodiscard]] DelayFigures figures_of(const Place& place, int threads);

/// Pauses of one rank.
struct Pauses {
  std::int64_t count = 0;
  std::int64_t period = 0;  ///< steps from one to the next; irregular: median
  std::int64_t first = 0;   ///< step of the first one
  bool regular = false;
};

/// A named set, before it is put into words.
struct Named {
  FindingKind kind = FindingKind::SlowRank;
  Suspect suspect;
  Saving saving{};
  double typical_delay = 0;        ///< part of a usual step
  double others_spread = 0;        ///< what the typical delay was held against
  double agreement = 0;            ///< part of the blocks (steps of the window) that show it
  double chance = 0;               ///< upper bound of the probability by chance
  std::int64_t late_steps = 0;     ///< of the suspect's steps, those in which it was late
  std::int64_t period_steps = 0;   ///< rotating: steps that one culprit lasts
  std::optional<Pauses> pauses{};  ///< PeriodicPause only
  /// Of a set whose members hide each other: what fixing only this one saves, in order of `suspect.ranks`.
  std::vector<Duration> each_alone{};
};

/// A rank that is late all along, in whole steps, at single positions, or both.
struct LateRank {
  std::int32_t rank = -1;
  double typical = 0;
  double beyond = 0;  ///< what of it is beyond the usual delay of those who are not late
  double spread = 0;
  double agreement = 0;
  double chance = 0;
  std::int64_t late_steps = 0;
  std::vector<std::int32_t> positions{};  ///< empty: whole steps
};

/// Ranks that are late all along at one place.
[[nodiscard]] std::vector<LateRank> find_late(const Place& place, const DelayFigures& figures);
/// What fixing them would save decides who of them is named. Nodes whose ranks are late together, and ranks
/// that hide each other, come as one set.
[[nodiscard]] std::vector<Named> name_late(const Evidenced& x, const Positions& positions,
                                           const std::vector<LateRank>& late);
/// Of suspects with one rank each, those that belong together: whom another one hides, and who hides it; none where fixing
/// one of them saves most of what fixing all does.
[[nodiscard]] std::vector<std::size_t> hidden_set(const Savings& savings);
/// Culprits that take turns in an order that can be foretold.
[[nodiscard]] std::vector<Named> find_rotating(const Place& place, const DelayFigures& figures);
/// Single ranks that are late in few steps, every so many or at irregular times. `known` ranks are left out.
[[nodiscard]] std::vector<Named> find_pauses(const Place& place, const DelayFigures& figures,
                                             const std::vector<bool>& known);
/// Ranks that are late within one stretch of steps and not outside of it. `known` ranks are left out.
[[nodiscard]] std::vector<Named> find_transient(const Place& place, const DelayFigures& figures,
                                                const std::vector<bool>& known);

/// All of it in order, most costly first. Ranks that cannot be compared (one rank, no step) name nobody.
[[nodiscard]] std::vector<Named> name_culprits(const Evidenced& x, const Positions& positions, int threads);

}  // namespace cox::diagnose
