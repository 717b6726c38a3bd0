// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a Run to findings: who sets the pace, since when, what it costs, what hangs,
/// and what the input cannot tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/process_table.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/attribution.hpp"
#include "cox/diagnose/cause.hpp"
#include "cox/diagnose/efficiency.hpp"
#include "cox/diagnose/fabric.hpp"
#include "cox/diagnose/graph_path.hpp"
#include "cox/diagnose/operation_what_if.hpp"
#include "cox/diagnose/pacing.hpp"
#include "cox/diagnose/remedy.hpp"
#include "cox/diagnose/stall.hpp"
#include "cox/diagnose/time_structure.hpp"
#include "cox/diagnose/what_if.hpp"
#include "cox/pace/advice.hpp"
#include "cox/trace/read.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// What a finding is about. Text forms are `slow_rank`, `transient_straggler`,
/// `rotating_straggler`, `slow_group`, `slow_link`.
enum class FindingKind : std::uint8_t {
  SlowRank,
  TransientStraggler,
  RotatingStraggler,
  SlowGroup,
  SlowLink
};
[[nodiscard]] const char* name_of(FindingKind k);

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
  Reasons reasons;                         ///< why it is late

  [[nodiscard]] double late_ratio() const {
    return static_cast<double>(late_steps) / static_cast<double>(steps);
  }
};

/// What a what-if on recorded operations says.
struct OperationEvidence {
  OperationFinding finding;
  double fidelity = 0;  ///< simulated over measured step time - 1
};

/// What groups that share a part of the fabric say.
struct FabricEvidence {
  std::int64_t slow_groups = 0;
  double slow_ratio = 0;  ///< their transfers over those of their like, median
  MemberTest member_test = MemberTest::NotDone;
};

/// One measured fact behind a finding as it is printed: a sentence, and its number under a key.
struct Evidence {
  std::string text;
  std::string key;  ///< e.g. "self_delay_median_s": unit in the name, base units
  double value = 0;
};

/// One named cause of lost time. The JSON form is fixed: docs/reference/diagnosis-json.md.
struct Finding {
  FindingKind kind = FindingKind::SlowRank;
  std::vector<Rank> ranks;          ///< everybody it is about
  std::optional<Rank> rank;         ///< set only where exactly one rank is meant all along
  std::optional<CommId> group;      ///< communicator, where a group is meant
  std::optional<std::string> link;  ///< where a link is meant
  Cause cause = Cause::Unknown;     ///< unknown until evidence explains most of the wait
  CauseClass cause_class = CauseClass::Unknown;
  std::vector<CauseTest> tests;  ///< every rule that was asked, docs/concepts/causes.md
  double share_ratio = 0;        ///< of all lost time, the part charged to this
  /// Of the run's time, the part that would be saved without it (estimated). Where several are named at once,
  /// what fixing all of them saves is divided among them (docs/concepts/naming.md), so the gains add up.
  double gain_ratio = 0;
  std::optional<StepId> first_step;  ///< where it is limited in time
  std::optional<StepId> last_step;
  std::variant<std::monostate, LateEvidence, OperationEvidence, FabricEvidence> evidence;
};

/// The numbers behind a finding, said one by one; in the order of the JSON.
[[nodiscard]] std::vector<Evidence> evidence_of(const Finding& f);

/// How much of what should be there was there, and what the clocks are worth.
struct Coverage {
  double ratio = 0;  ///< matched collective calls over expected ones
  std::int64_t ranks_seen = 0;
  std::int64_t ranks_expected = 0;
  std::vector<Rank> missing_ranks;
  std::int64_t collectives_matched = 0;  ///< operations in which every member was seen
  std::int64_t collectives_seen = 0;
  std::int64_t calls_seen = 0;      ///< finished calls matched to an operation, each member's one
  std::int64_t calls_expected = 0;  ///< what `ratio` divides by
  std::int64_t mismatched = 0;      ///< operations on whose kind the members disagree
  std::uint64_t dropped_records = 0;
  std::uint64_t recycled_records = 0;
  Duration overhead_per_event{};      ///< largest of what the writers measured of their own cost
  std::int64_t unfinished_calls = 0;  ///< entered and never left
  std::int64_t clock_domains = 0;
  Duration clock_residual{};  ///< worst over the domains; across nodes: spread of ends after alignment
  /// Whose clocks the job's own operations compare with the first one's.
  std::int64_t hosts_by_collectives = 0;
  std::int64_t hosts_by_realtime = 0;  ///< whose clocks are put beside it by realtime, or not at all
  Duration host_residual{};            ///< worst residual of the former
  bool clocks_comparable = false;      ///< one node, so entry times can be compared directly
  /// Without common clock: spread of ends over spread of begins; trust < 0.1.
  double wait_validity_ratio = 0;
  /// Members leave as far apart as they enter even where that is far: nobody is named.
  bool order_refused = false;
};

struct Spread {
  Duration median{};
  Duration p05{};
  Duration p95{};
  double cv = 0;
  std::int64_t count = 0;
};

/// One rank's account: run time = work + wait + transfer.
struct RankAccount {
  Rank rank;
  Duration work{};               ///< own work between synchronisations
  Duration wait{};               ///< inside synchronisations, before the last member entered
  Duration transfer{};           ///< inside synchronisations, after that
  Duration self_delay{};         ///< sum over steps of the positive part of (own work - median of all)
  Duration self_delay_median{};  ///< median over steps of (own work - median of all), may be negative
  Duration charged{};            ///< time others lost because this rank was last
  double last_share = 0;         ///< of the synchronisations, the part in which it was last
  std::int64_t collectives = 0;
  std::int64_t steps = 0;
};

/// Collectives of one communicator, as one member made them (equal on all members where matched).
struct CommAccount {
  CommId comm;
  std::string name;
  int size = 0;
  std::int64_t collectives = 0;  ///< operations
  Bytes bytes{};                 ///< sum over operations of the message size
};

/// How steps were found.
enum class StepSource : std::uint8_t { Marks, Period, EachSync, None };
[[nodiscard]] const char* name_of(StepSource s);

/// Where the ranks of one node may run, as they recorded it at their start.
struct NodeLocality {
  std::string host;
  std::string source = "affinity";  ///< `hwloc` where the machine's topology is known, else `affinity`
  int packages = 0;                 ///< of the machine; 0 = not known, as below
  int numa_nodes = 0;
  int cores = 0;
  int cpus = 0;               ///< online
  int ranks = 0;              ///< of which is known where they may run
  int bound = 0;              ///< of those: may not use all CPUs
  int sharing_cores = 0;      ///< bound ranks that may use a core of another bound rank
  int across_numa_nodes = 0;  ///< bound ranks that may use more than one NUMA node
};

/// What one analysis has to say, in sentences; the numbers are in its own structure and in the JSON.
struct Section {
  std::string key;  ///< as in the JSON: `what_if`, `efficiency`, ...
  std::string title;
  std::vector<std::string> lines;
  std::vector<std::vector<std::string>> table{};  ///< first row: heads; empty where there is none
  /// For tables that are pictures: 0 to 1 per cell of `table` without its heads and first column; else empty.
  std::vector<std::vector<double>> shades{};
};

struct Diagnosis {
  Coverage coverage;
  StepSource step_source = StepSource::None;
  std::int64_t steps = 0;
  std::int64_t calls_per_step = 0;        ///< times per step that a rank's program stands still; median
  std::int64_t collectives_per_step = 0;  ///< that a rank executes, in the background included; median
  std::vector<StepId> step_numbers;  ///< the program's own numbers where it marked its steps, else 0, 1, ...
  Duration run_time{};               ///< from the first to the last synchronisation
  Spread step_time;
  Duration lost{};                         ///< sum over steps of (latest arrival - median arrival)
  std::vector<Finding> findings;           ///< most costly first; empty where nobody is named
  Present present;                         ///< what `stalls` call now
  std::vector<Stall> stalls;               ///< calls that never returned: causes first, those that hang first
  std::int64_t more_stalls = 0;            ///< beyond the first 256
  std::vector<Mismatch> mismatches;        ///< members that disagree on what they do together
  std::int64_t mismatched_operations = 0;  ///< all of them
  std::string trouble;  ///< what hangs or disagrees, in a few words; empty where nothing does
  std::string verdict;  ///< one or two sentences
  std::string lead;     ///< the verdict without the words that a headline says already
  std::vector<RankAccount> ranks;
  std::vector<CommAccount> communicators;
  std::vector<std::string> cannot_tell;  ///< what this input does not answer
  WaitMethod wait_method = WaitMethod::Clock;
  std::vector<NodeLocality> locality;  ///< per node; empty where nothing was recorded
  pace::Facts waiting;                 ///< how its ranks wait, as far as that was recorded
  std::vector<Section> sections;       ///< what further analyses say, in the order in which to read them
  std::vector<Remedy> remedies;        ///< what to do, most gain first
  trace::TimesKind times = trace::TimesKind::Clocked;
  // Each where the input tells what it needs:
  std::optional<WhatIf> what_if;
  std::optional<OperationWhatIf> what_if_operations;
  std::optional<GraphPath> graph_path;
  std::optional<Attribution> attribution;
  std::optional<Fabric> fabric;
  std::optional<TimeStructure> time_structure;
  std::optional<Efficiencies> efficiencies;
  std::optional<Pacing> pacing;

  /// Matrices for the report, rank-major, `steps` columns; empty where there were no steps.
  std::vector<Duration> step_times;                 ///< per step
  std::vector<std::vector<Duration>> work_by_step;  ///< [rank index][step]
  std::vector<std::vector<Duration>> wait_by_step;
  std::vector<std::vector<Duration>> begin_by_step;  ///< when each rank's step began
};

struct Comparison;

/// Whether anything is to be put right: a finding, something that hangs, or members that disagree.
[[nodiscard]] bool has_trouble(const Diagnosis& d);

struct DiagnoseOptions {
  int threads = 0;
  trace::Progress progress{};
  /// The machine that this runs on, for a job that still runs; null: only what was recorded counts.
  const ProcessTable* processes = nullptr;
  /// That machine's monotonic clock before the Run was read: what was read held then or later.
  std::optional<std::int64_t> asked_monotonic_ns{};
  /// What the input tells operation by operation beside the Run; null: nothing.
  const model::Program* program = nullptr;
};

/// Diagnoses a Run. Naming nobody is an answer.
/// Errors: diagnose-001 (no rank in it), diagnose-002 (no synchronisation in it).
/// Threads: deterministic for any number. Cost: linear in events.
/// Held by: src/diagnose/verdict/diagnose_test.cpp, tests/property/diagnose_laws.cpp, tests/e2e
[[nodiscard]] Result<Diagnosis> diagnose(const trace::Run& run, const DiagnoseOptions& options = {});

/// The whole document that `cox diagnose --json` prints, schema cox.diagnose/1
/// (docs/reference/diagnosis-json.md): `schema, tool, inputs, result, warnings`, in this order, base units, a
/// new line at the end.
/// `against`: the same job before a change, or null.
[[nodiscard]] std::string to_json(const Diagnosis& d, const trace::Run& run, const std::string& input,
                                  const Comparison* against = nullptr);

/// Several sizes of one program: schema cox.sizes/1.
[[nodiscard]] std::string to_json(const ScalingEfficiencies& sizes, const std::string& input);

/// About a kilobyte on one line, for a job's log or a table of many runs: schema cox.summary/1, the verdict,
/// its figures, at most four findings and the first remedy.
[[nodiscard]] std::string to_summary(const Diagnosis& d, const trace::Run& run, const std::string& input);

}  // namespace cox::diagnose
