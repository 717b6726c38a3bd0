// SPDX-License-Identifier: Apache-2.0
/// \file
/// A named cause of lost time, and the numbers that it rests on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/cause.hpp"
#include "cox/diagnose/finding_kind.hpp"

namespace cox::diagnose {

/// Where operations are the repetitions, not steps: what of them says that a rank is late.
struct OverOperations {
  std::string kind;               ///< operations before which it is late, "all-reduce of 4.0 MiB"; empty: all
  Duration delay{};               ///< median over them of (own work - the centre of those present)
  std::int64_t operations = 0;    ///< that were compared
  std::int64_t late = 0;          ///< of them, those in which it was clearly late
  std::int64_t incomplete = 0;    ///< operations of the Run of which a member's call is not known
  std::int64_t held = 0;          ///< operations of the Run that hold their members
  bool often_incomplete = false;  ///< so many that it is late among those present, and no more is known
  std::vector<Rank> together;     ///< all that are named so, this one too
};

/// Where in a step: before the n-th of the operations of one kind that a communicator has in each step.
struct StepPosition {
  std::optional<CommId> comm;  ///< none: waits that name no communicator
  std::string comm_name;
  std::string operation;    ///< `AllReduce`, ...; `wait`
  std::int64_t number = 0;  ///< from 1
  std::int64_t of = 0;
};

/// Pauses of one rank.
struct PauseEvidence {
  std::int64_t count = 0;             ///< seen
  std::int64_t period_steps = 0;      ///< from one to the next; where they are irregular the median
  std::optional<std::int64_t> phase;  ///< step number modulo the period; none: irregular
};

/// What arrival times say of ranks that are late.
struct LateEvidence {
  Duration self_delay{};             ///< median over steps of (own work - the median rank's)
  double self_delay_ratio = 0;       ///< the same as part of a step
  bool of_turns = false;             ///< rotating: over the steps with a culprit, held against single delays
  std::int64_t late_steps = 0;       ///< of `steps`, those in which one of the ranks was clearly late
  std::int64_t steps = 0;            ///< of the finding
  Duration others_spread{};          ///< scatter of the others' usual delays; of single delays in turns
  Duration others_wait{};            ///< median over steps of what the others wait
  double chance = 0;                 ///< upper bound of the probability by chance
  std::optional<double> gain_alone;  ///< of the run's time, saved by fixing only this one of several
  std::optional<std::int64_t> turn_steps;  ///< rotating: how long one rank's turn lasts
  std::optional<OverOperations> over;      ///< set: the repetitions are operations, not steps
  std::optional<PauseEvidence> pauses;     ///< PeriodicPause only
  /// Of a set whose members hide each other: of the run's time, saved by fixing only this one, in order of
  /// the finding's ranks.
  std::vector<double> each_alone{};
  Reasons reasons;  ///< why it is late

  [[nodiscard]] double late_ratio() const {
    return static_cast<double>(late_steps) / static_cast<double>(steps);
  }
};

/// What a what-if on recorded operations says.
struct OperationEvidence {
  OperationFinding finding;
  double fidelity = 0;  ///< simulated over measured step time - 1
  /// Of one that saves next to nothing alone: what it saves, as part of the run's time, once all others named are put right.
  std::optional<double> gain_beside{};
};

/// What groups that share a part of the fabric say.
struct FabricEvidence {
  std::int64_t slow_groups = 0;
  double slow_ratio = 0;  ///< their transfers over those of their like, median
  MemberTest member_test = MemberTest::NotDone;
};

/// What is said where ranks meet through messages alone: by their waits where all others wait for one, the server; by their phases where
/// each marks steps with its way forth and back (stages of a pipeline), and a turn is a step.
struct MessageEvidence {
  bool is_server = false;  ///< it is about the server; else about one that waits for it, a worker
  bool of_phases = false;  ///< it is about one of those that mark their ways forth and back
  Duration work{};    ///< between the end of a wait and the begin of the next, or in a step's phases; median
  Duration others{};  ///< worker, of phases: the same of the others, median of theirs
  std::int64_t turns = 0;   ///< that were looked at
  std::int64_t longer = 0;  ///< worker, of phases: of them, longer than three of four of the others'
  double busy_ratio = 0;    ///< server: of its time, the part in which it waited for nobody
  double held_ratio = 0;  ///< server: of a worker's time, what it waited while the server worked; the largest
};

/// One measured fact behind a finding as it is printed: a sentence, and its number under a key.
struct Evidence {
  std::string text;
  std::string key;  ///< e.g. "self_delay_median_s": unit in the name, base units
  double value = 0;
};

/// Why a gain is not to be relied on.
struct GainDoubt {
  /// The replay that it is held against does not give what was measured.
  struct ReplayMisses {
    double error = 0;  ///< simulated over measured time - 1
  };
  /// Arrival times and the replay promise different gains, as parts of the run.
  struct EstimatesDisagree {
    double by_arrival = 0;
    double by_replay = 0;
    bool of_several = false;  ///< from fixing only this one of several
  };
  /// Ranks that wait keep their cores, and there are fewer of these than ranks.
  struct CoresTaken {
    std::int64_t ranks = 0;
    std::int64_t cores = 0;
  };
  std::variant<ReplayMisses, EstimatesDisagree, CoresTaken> reason;
};

/// One named cause of lost time. The JSON form is fixed: docs/reference/diagnosis-json.md.
struct Finding {
  FindingKind kind = FindingKind::SlowRank;
  std::vector<Rank> ranks;              ///< everybody it is about
  std::optional<Rank> rank;             ///< set only where exactly one rank is meant all along
  std::optional<CommId> group;          ///< communicator, where a group is meant
  std::vector<std::string> components;  ///< names of parts of the fabric, where those are meant
  Cause cause = Cause::Unknown;         ///< unknown until evidence explains most of the wait
  CauseClass cause_class = CauseClass::Unknown;
  std::vector<CauseTest> tests;  ///< every rule that was asked, docs/concepts/causes.md
  double share_ratio = 0;        ///< of all lost time, the part charged to this
  /// Of the run's time, the part that would be saved without it (estimated). Where several are named at once,
  /// what fixing all of them saves is divided among them (docs/concepts/naming.md), so the gains add up within a group.
  /// Over groups it is that of the rank that gains most: groups side by side are no sum.
  double gain_ratio = 0;
  std::optional<GainDoubt> gain_doubt;
  std::optional<StepId> first_step;  ///< where it is limited in time
  std::optional<StepId> last_step;
  std::vector<StepPosition> positions;  ///< where it is limited to some operations of a step
  /// Set where times of ranks cannot be compared, or ranks meet through messages alone, so that only own work tells: what is saved at most. Gain and
  /// share are then 0 and mean: not told.
  std::optional<double> gain_at_most;
  std::variant<std::monostate, LateEvidence, OperationEvidence, FabricEvidence, MessageEvidence> evidence;
};

/// Whether what fixing it saves is told: not where only own work is known, or who is absent may have been later.
[[nodiscard]] inline bool is_gain_told(const Finding& f) {
  const auto* e = std::get_if<LateEvidence>(&f.evidence);
  return !f.gain_at_most && !(e != nullptr && e->over && e->over->often_incomplete);
}

/// What fixing exactly this saves, as part of the run's time: of several findings that one alone.
[[nodiscard]] inline double gain_alone(const Finding& f) {
  const auto* e = std::get_if<LateEvidence>(&f.evidence);
  return e != nullptr && e->gain_alone ? *e->gain_alone : f.gain_ratio;
}

/// What it saves beside all others named, where it saves next to nothing alone.
[[nodiscard]] inline std::optional<double> gain_beside(const Finding& f) {
  const auto* e = std::get_if<OperationEvidence>(&f.evidence);
  return e != nullptr ? e->gain_beside : std::nullopt;
}

/// `21 %`, or `doubtful: the replay is off by 12 %`: everybody who speaks of a gain says it so.
[[nodiscard]] std::string gain_words(const Finding& f);

/// `the replay is off by 12 %`.
[[nodiscard]] std::string doubt_words(const GainDoubt& doubt);
/// `host a, rail 2`; empty where no part of the fabric is meant.
[[nodiscard]] std::string component_words(const Finding& f);

/// The numbers behind a finding, said one by one; in the order of the JSON.
[[nodiscard]] std::vector<Evidence> evidence_of(const Finding& f);

}  // namespace cox::diagnose
