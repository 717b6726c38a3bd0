// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a series of times behaves: since when, how often, in which direction; or like noise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// From a step on the usual time is another one, and stays so.
struct ChangePoint {
  StepId first_step;     ///< first one at the new level
  StepId earliest_step;  ///< 90 % of the posterior lies between these two
  StepId latest_step;
  Duration before{};       ///< median of the steps since the change before it
  Duration after{};        ///< median of the steps up to the next one
  double shift_ratio = 0;  ///< after over before, less one
  double posterior = 0;    ///< that there is a change here rather than one level
};

/// A slow, steady change over the whole series.
struct Drift {
  double total_ratio = 0;  ///< last over first, less one
  double chance = 0;       ///< of a trend this steady in noise
};

/// Whom a long step concerned; only where own work per rank is known.
enum class LongStepKind : std::uint8_t {
  Unknown = 0,
  Everybody = 1,     ///< all ranks' own work was long alike: checkpoint, evaluation, restart
  SomeRank = 2,      ///< some rank was late, the usual one was not
  Communication = 3  ///< nobody's work was long
};
[[nodiscard]] const char* name_of(LongStepKind k);  ///< `unknown`, `everybody`, `some_rank`, `communication`

struct LongStep {
  StepId step;
  Duration time{};
  double over_ratio = 0;  ///< over the usual time there, less one
  LongStepKind kind = LongStepKind::Unknown;
};

/// Long steps that come back.
struct Recurrence {
  double period_steps = 0;    ///< in the numbers of the steps, not in their count
  double shortest_steps = 0;  ///< gap between neighbours
  double longest_steps = 0;   ///< of those gaps that are one period
  std::int64_t episodes = 0;  ///< neighbouring long steps are one
  double fits_ratio = 0;      ///< of the gaps, those that are a whole number of periods
  double chance = 0;          ///< of as many in episodes that come at random
};

struct TimeStructure {
  static constexpr std::int64_t kLeastCount = 10;  ///< fewer steps tell nothing but their median

  std::int64_t count = 0;
  Duration median{};
  double cv = 0;               ///< standard deviation over mean; without the first step where that is long
  bool first_is_long = false;  ///< warm-up: the first step is left out of all figures but `long_steps`
  std::vector<ChangePoint> changes;  ///< ascending
  std::optional<Drift> drift;
  std::vector<LongStep> long_steps;  ///< ascending; the first 1,000
  std::int64_t long_count = 0;       ///< all of them
  double long_share_ratio = 0;       ///< of all time, what long steps took beyond the usual
  std::optional<Recurrence> recurrence;
  std::optional<LongStepKind> long_kind;  ///< of at least 75 % of the long steps, where that can be told

  /// Whether anything but noise was found. Irregular long steps are noise.
  [[nodiscard]] bool evident() const { return !changes.empty() || drift || recurrence; }
};

/// Looks for structure in step times.
///
/// Changes: at least 10 %, at least 10 steps on either side, posterior at least 0.8. Drift: at least 5 % from
/// end to end. Long: more than 4 % and six robust spreads over the usual. Recurrence: at least four episodes,
/// three gaps in four whole periods, by chance less than 1e-3. Naming nothing is an answer.
/// Steps must be alike: from marks or from a period, not one for each synchronisation
/// (`StepSource::EachSync`). `steps` are the program's numbers, as many as times, ascending.
/// Fewer than 10 steps: nothing but the median.
/// Source: change points by optimal partitioning (Jackson et al. 2005) under absolute deviation,
/// posterior by the Bayes factor of two levels against one. Details and limits:
/// docs/concepts/time-structure.md Threads: none.
/// Cost: O(n log n), and O(256^2 log 256) whatever n.
/// Held by: src/diagnose/over_time/time_structure_test.cpp
[[nodiscard]] TimeStructure understand_times(std::span<const Duration> times, std::span<const StepId> steps);
/// The same, and whom the long steps concern: `work_by_rank[rank][step]`, rows as long as `times`.
[[nodiscard]] TimeStructure understand_times(std::span<const Duration> times, std::span<const StepId> steps,
                                             std::span<const std::vector<Duration>> work_by_rank);
/// The same for one rank's self-delay per step, which is around zero: ratios are parts of `typical_step`.
[[nodiscard]] TimeStructure understand_delays(std::span<const Duration> delays, std::span<const StepId> steps,
                                              Duration typical_step);

/// A few plain lines; never empty.
[[nodiscard]] std::vector<std::string> describe(const TimeStructure& t);

}  // namespace cox::diagnose
