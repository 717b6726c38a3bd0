// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pacing in a Run: what its controllers decided, what that brought, and what they would decide when shown
/// the Run again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/matched.hpp"
#include "cox/pace/advice.hpp"
#include "cox/pace/decision.hpp"
#include "cox/pace/settings.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// A decision that differs from the one before it in state or reason.
struct PaceChange {
  std::uint64_t step = 0;  ///< iteration that it precedes
  Duration at{};           ///< from the Run's origin
  pace::Decision decision;
  double gain_ratio = 0;  ///< time saved by pacing, as estimated then
};

/// What one rank's controller left in the Run.
struct RankPacing {
  Rank rank;
  pace::Mode mode = pace::Mode::Off;
  std::int64_t delays = 0;  ///< iterations before which one was served
  Duration delayed{};       ///< served in all; timers oversleep, so it is more than was decided
  Duration decided{};       ///< the same delays as decided
  Duration longest{};       ///< served at once
  std::vector<PaceChange> changes;

  /// Mean length of a delay that was served; zero where none was.
  [[nodiscard]] Duration each() const { return delays > 0 ? delayed / delays : Duration::zero(); }
};

/// All that the Pace records of a Run say.
struct PacingRecord {
  CommId group = trace::kNoComm;  ///< that was paced
  std::string group_name;
  pace::Mode mode = pace::Mode::Off;
  std::string settings_text;  ///< as recorded; empty where it was not, or is not understood
  pace::Settings settings;    ///< defaults where `settings_text` is empty
  std::int64_t iterations = 0;
  std::int64_t delays = 0;
  Duration delayed{};
  std::vector<RankPacing> ranks;  ///< those that left a record, ascending
};

/// A figure and the ends of its 95 % interval; both equal to it where there is none.
template <class T>
struct Bounded {
  T value{};
  T low{};
  T high{};
};

/// How iterations went in one arm.
struct PaceArm {
  std::int64_t iterations = 0;
  std::int64_t blocks = 0;   ///< of neighbouring iterations, the units of resampling
  Bounded<Seconds> period;   ///< mean; 1 / period is the throughput
  Bounded<Seconds> median;   ///< of the period
  Bounded<Seconds> p99;      ///< of the period
  Bounded<double> cv_ratio;  ///< standard deviation of the period over its mean
  Bounded<Seconds> wait;     ///< mean over iterations and ranks
  Bounded<Seconds> energy;   ///< estimated, see `PacingComparison`

  /// Iterations per second; zero where the period is.
  [[nodiscard]] Bounded<double> throughput() const;
};

struct RankArms {
  Rank rank;
  Seconds baseline_wait{};  ///< mean per iteration
  Seconds control_wait{};
  Seconds control_delay{};  ///< mean per iteration, served
};

/// Iterations without pacing beside iterations with it.
struct PacingComparison {
  bool within_run = false;  ///< unpaced and paced blocks of one Run, in pairs; else two Runs
  std::int64_t pairs = 0;   ///< of blocks; 0 for two Runs
  bool has_interval = false;
  PaceArm baseline;
  PaceArm control;
  Bounded<double> faster_ratio;  ///< throughput of control over that of baseline, less one
  Bounded<double> cv_ratio;      ///< control over baseline, like those below
  Bounded<double> p99_ratio;
  Bounded<double> wait_ratio;
  Bounded<double> energy_ratio;
  std::vector<RankArms> ranks;  ///< of the paced group

  /// Throughput of control over that of baseline.
  [[nodiscard]] Bounded<double> throughput_ratio() const;
  /// Median period of control over that of baseline; 1 where there is none.
  [[nodiscard]] double median_ratio() const;
};

/// A decision of a replay with what lay behind it.
struct ReplayedDecision {
  std::uint64_t step = 0;  ///< iteration that it precedes
  Duration at{};           ///< from the Run's origin
  pace::Decision decision;
  pace::DecisionBasis evidence;
};

/// Where replay and record part.
struct PaceDifference {
  std::uint64_t step = 0;
  Duration at{};
  pace::Decision recorded;
  pace::Decision replayed;
};

struct PaceReplay {
  Rank rank;
  pace::Mode mode = pace::Mode::Off;
  /// The Run was not paced, or by other settings, or begins late: what the controller would have seen. What
  /// it would have changed is not in it: the synchronisations stay as they were.
  bool open_loop = true;
  /// The Run does not hold the first iterations that the controller saw (they were overwritten): what it knew
  /// from them is missing, and its decisions cannot be checked.
  bool begins_late = false;
  std::int64_t observations = 0;
  std::vector<ReplayedDecision> decisions;  ///< changes of state or reason, or one per iteration
  std::int64_t in_state[5] = {};            ///< iterations by pace::State
  pace::Decision last;
  pace::DecisionBasis evidence;              ///< behind the last one
  std::int64_t compared = 0;                 ///< decisions beside a recorded one
  std::optional<PaceDifference> difference;  ///< the first
};

struct ReplayOptions {
  std::optional<pace::Settings> settings{};  ///< instead of the recorded ones; `auto` where none are recorded
  std::optional<Rank> rank{};                ///< only this one
  bool every_iteration = false;              ///< decisions that change nothing too
};

/// What a Run says about pacing.
struct Pacing {
  std::optional<PacingRecord> record;  ///< nothing: it was not paced
  std::optional<PacingComparison> comparison;
  std::optional<pace::Mode> baseline_mode;  ///< of the other Run, where that one held somebody back too
  std::vector<PaceReplay> replays;          ///< by rank
  std::string group_name;                   ///< whose synchronisations were replayed
  /// Transfer time of an iteration where the controllers could not know it: what 90 % of iterations stay
  /// below, from the rank that was inside the shortest.
  std::optional<Duration> transfer;
  trace::Provenance provenance = trace::Provenance::Observed;  ///< of the Run: measured or simulated
  /// Remedies that fit what the Run tells, in the order in which to try them; what it measured of pacing
  /// itself is in `comparison`, and then `Remedy::Delay` and `Remedy::Nothing` are not among them.
  std::vector<pace::Advice> advice;
};

/// All of the above. `baseline`: the same job unpaced, or null. Errors: those of `replay_pacing`.
[[nodiscard]] Result<Pacing> understand_pacing(const Matched& matched, const ReplayOptions& options = {},
                                               const Matched* baseline = nullptr);

/// Who was paced, how much, what it brought, and why others were not: a few plain lines, never empty.
[[nodiscard]] std::vector<std::string> describe(const Pacing& p);
/// The replay as one line per change of decision; alternating blocks of a test are one. With
/// `every_iteration` one per decision.
[[nodiscard]] std::vector<std::string> explain(const PaceReplay& r, bool every_iteration);

/// The document of `cox pace --json`, schema cox.pace/1 (docs/reference/pace-json.md). `decisions`: those of
/// the replays too.
[[nodiscard]] std::string to_json(const Pacing& p, const trace::Run& run,
                                  const std::vector<std::string>& inputs, bool decisions);

}  // namespace cox::diagnose
