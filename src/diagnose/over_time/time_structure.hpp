// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a series of times behaves: since when, how often, in which direction; or like noise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/change_points.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

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

/// Long steps of one severity that come back: rare large ones have a period of their own beside small ones.
struct RecurrenceTier {
  double least_over_ratio = 0;  ///< over the usual time, less one: its long steps lie between these two
  double most_over_ratio = 0;
  double cost_ratio = 0;  ///< of all time, what they took beyond the usual
  Recurrence recurrence;
};

/// Many long steps near each other.
struct LongBurst {
  StepId first_step;
  StepId last_step;
  std::int64_t long_steps = 0;
  double chance = 0;  ///< of so many so near each other, were they scattered over the series
};

/// Every n-th step takes a little longer; where it takes much longer it is a long step and comes back.
struct PhaseShift {
  double period_steps = 0;   ///< in the numbers of the steps
  StepId first_step;         ///< of those that take longer
  double over_ratio = 0;     ///< over the others, less one
  std::int64_t repeats = 0;  ///< of the period
  double chance = 0;
};

/// A time that steps keep to.
struct UsualTime {
  Duration time{};
  double share_ratio = 0;  ///< of the steps
};

/// Steps take one of two or more times and hardly any between.
struct TwoTimes {
  Duration low{};               ///< the shortest of them
  Duration high{};              ///< the longest
  double high_share_ratio = 0;  ///< of the steps
  StepId first_high;
  StepId last_high;
  std::int64_t stretches = 0;       ///< of neighbouring steps that take the longer time
  double stretch_steps = 0;         ///< their mean length
  double scattered_steps = 0;       ///< what it would be, did each step draw its time by itself
  double chance = 0;                ///< of so few between in steps of one usual time
  std::vector<UsualTime> places{};  ///< all of them, ascending: two to four
};

/// How the time is spread around the median.
struct Tail {
  double above_median_ratio = 0;  ///< of all time, what steps took beyond the median
  double below_median_ratio = 0;  ///< of all time, what steps took less
  double p95_ratio = 0;           ///< over the median
  double p99_ratio = 0;
  double longest_ratio = 0;
};

struct TimeStructure {
  static constexpr std::int64_t kLeastCount = 10;  ///< fewer steps tell nothing but their median
  static constexpr std::int64_t kLeastQuiet = 20;  ///< fewer cannot show that nothing lasts

  std::int64_t count = 0;
  Duration median{};
  double cv = 0;               ///< standard deviation over mean; without the first step where that is long
  bool first_is_long = false;  ///< warm-up: the first step is left out of all figures but `long_steps`
  std::vector<ChangePoint> changes;  ///< ascending
  /// Of the first change: whose work it is by, three quarters of it; nothing where that is not told, or mixed.
  std::optional<LongStepKind> change_kind;
  /// SomeRank: rows of own work that change by half as much as the one that changes most, where all others change by less than a
  /// quarter of it; and whose they are. Empty where that is not so.
  std::vector<std::size_t> change_rows;
  std::vector<Rank> change_ranks;
  std::optional<Drift> drift;
  std::vector<LongStep> long_steps;  ///< ascending; the first 1,000
  std::int64_t long_count = 0;       ///< all of them
  double long_share_ratio = 0;       ///< of all time, what long steps took beyond the usual
  std::optional<Recurrence> recurrence;
  std::optional<LongStepKind> long_kind;  ///< of at least 75 % of the long steps, where that can be told

  std::vector<RecurrenceTier> tiers;  ///< most severe first; empty where one period holds for all
  std::vector<LongBurst> bursts;      ///< ascending
  std::optional<PhaseShift> phase;
  std::optional<TwoTimes> two_times;
  Tail tail;
  double least_shift_ratio = 0;  ///< a lasting change in the middle that would have been told; 0 = unknown

  /// Whether steps beyond the usual cost so much that it is said, whatever they are.
  [[nodiscard]] bool is_costly() const {
    constexpr double kCostly = 0.02;
    return tail.above_median_ratio - tail.below_median_ratio >= kCostly;
  }
  /// Whether anything but noise was found. Irregular long steps are noise.
  [[nodiscard]] bool evident() const {
    return !changes.empty() || drift || recurrence || !tiers.empty() || !bursts.empty() || phase || two_times;
  }
  /// Enough steps, and neither structure nor cost in them.
  [[nodiscard]] bool is_quiet() const { return count >= kLeastQuiet && !evident() && !is_costly(); }
};

/// Looks for structure in step times.
///
/// Changes: at least 1 %, at least 10 steps on either side, posterior at least 0.8, and more than noise of this
/// spread, correlation and length would give anywhere. Drift: at least 5 % from end to end. Long: more than 4 %
/// and six robust spreads over the usual. Recurrence: at least four episodes, three gaps in four whole
/// periods, by chance less than 1e-3. Bursts and a fixed phase: by chance less than 1e-4; two
/// times: 1e-3. Naming
/// nothing is an answer.
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
/// The same, of a table that is made only where there are long steps or a change.
[[nodiscard]] TimeStructure understand_times(
    std::span<const Duration> times, std::span<const StepId> steps,
    const std::function<std::vector<std::vector<Duration>>()>& work_by_rank);
/// A few plain lines; never empty.
[[nodiscard]] std::vector<std::string> describe(const TimeStructure& t);
/// The same for a first screen: a sentence per kind of thing that matters, percentages in brackets at its end.
/// Never empty.
[[nodiscard]] std::vector<std::string> describe_briefly(const TimeStructure& t);

}  // namespace cox::diagnose
