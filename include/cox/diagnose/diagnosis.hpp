// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a Run to findings: who sets the pace, since when, what it costs, what hangs,
/// and what the input cannot tell.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/process_table.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/account.hpp"
#include "cox/diagnose/answer.hpp"
#include "cox/diagnose/coverage.hpp"
#include "cox/diagnose/finding.hpp"
#include "cox/diagnose/locality.hpp"
#include "cox/diagnose/matched.hpp"
#include "cox/diagnose/pacing.hpp"
#include "cox/diagnose/remedy.hpp"
#include "cox/diagnose/stall.hpp"
#include "cox/pace/advice.hpp"
#include "cox/trace/read.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// Which analysis a section is of. Text forms: the names in lower case, `what_if`, `time_structure`.
enum class SectionKind : std::uint8_t {
  WhatIf,
  WhatIfOperations,
  GraphPath,
  Present,   ///< who worked longer among the ranks present
  Presence,  ///< who is absent from operations
  Operations,
  Attribution,
  Fabric,
  TimeStructure,
  Efficiencies,
  Pacing
};
[[nodiscard]] const char* name_of(SectionKind k);

/// What one analysis has to say, in sentences; the numbers are in its own structure and in the JSON.
struct Section {
  SectionKind kind = SectionKind::WhatIf;
  std::string title;
  std::vector<std::string> lines;
  std::vector<std::vector<std::string>> table{};  ///< first row: heads; empty where there is none
  /// For tables that are pictures: 0 to 1 per cell of `table` without its heads and first column; else empty.
  std::vector<std::vector<double>> shades{};
  /// For a first screen: all that matters of `lines`, percentages in brackets at the end of a sentence; empty: the
  /// first line will do.
  std::vector<std::string> brief{};
};

/// The steps of a lone series, of which nobody can be named.
enum class SeriesState : std::uint8_t {
  None = 0,      ///< the input is no lone series
  TooShort = 1,  ///< nothing was found, and there are too few steps to say that nothing is there
  Quiet = 2,     ///< tested: nothing lasts, comes back or stands out
  Uneven = 3     ///< see the section `TimeStructure`
};

/// One rank that is late once, by at least half of what all late arrivals cost: an event, and nobody who sets the pace.
struct SingleStall {
  Rank rank;
  StepId step;
  Duration delay{};       ///< beyond the median rank's own work of that step
  double gain_ratio = 0;  ///< of the run's time, had it been on time there
};

/// Results that only this room reads.
struct Analyses;
struct Efficiencies;

struct Diagnosis {
  Coverage coverage;
  StepSource step_source = StepSource::None;
  std::int64_t steps = 0;
  std::int64_t calls_per_step = 0;        ///< times per step that a rank's program stands still; median
  std::int64_t collectives_per_step = 0;  ///< that a rank executes, in the background included; median
  std::vector<StepId> step_numbers;  ///< the program's own numbers where it marked its steps, else 0, 1, ...
  Duration run_time{};               ///< from the first to the last synchronisation
  StepSpread step_time;
  Duration lost{};                ///< sum over operations of (latest - median arrival)
  bool cost_is_spread = false;    ///< a test says that no rank is last for more than half of it
  bool messages_only = false;     ///< ranks wait for messages, and no collective was recorded
  std::vector<Finding> findings;  ///< most costly first; empty where nobody is named
  double late_gain_ratio = 0;  ///< of the run: what fixing all who are late by own work would save together
  /// Of the run: what fixing all findings would save together, by one replay; nothing where none was asked. Gains of single findings
  /// do not add up to it.
  std::optional<double> joint_gain_ratio;
  std::int64_t stages = 0;                  ///< of a table of operations; 0 of other inputs
  std::optional<SingleStall> single_stall;  ///< asked where nobody is named
  Trouble trouble;                          ///< what hangs, and who disagrees
  Answer answer;                            ///< which kind of answer this is, and why
  std::string verdict;                      ///< one or two sentences
  std::string lead;                         ///< the verdict without the words that a headline says already
  std::vector<RankAccount> ranks;
  std::vector<CommAccount> communicators;
  std::vector<std::string> cannot_tell;  ///< what this input does not answer
  WaitMethod wait_method = WaitMethod::Clock;
  std::vector<NodeLocality> locality;  ///< per node; empty where nothing was recorded
  std::int64_t hosts = 0;              ///< that its ranks ran on; 0 = not known
  pace::Facts waiting;                 ///< how its ranks wait, as far as that was recorded
  std::vector<Section> sections;       ///< what further analyses say, in the order in which to read them
  std::vector<Remedy> remedies;        ///< what to do, most gain first
  trace::TimesKind times = trace::TimesKind::Clocked;
  SeriesState series = SeriesState::None;
  /// Of a table of step times: ranks differ by less than half of what steps differ by, so they end their steps together. Asked where nobody is named.
  bool ranks_move_together = false;
  // Each where the input tells what it needs:
  std::shared_ptr<const Efficiencies> efficiencies;
  std::optional<Pacing> pacing;
  /// What the other analyses found, of which the sections and the JSON form tell; never null after
  /// `diagnose`.
  std::shared_ptr<const Analyses> analyses;

  std::vector<Duration> step_times;  ///< per step: median over the ranks
};

struct Comparison;

/// Whether anything is to be put right: a finding, something that hangs, or members that disagree.
[[nodiscard]] bool has_trouble(const Diagnosis& d);
/// Part of the run's time lost to late arrivals; nothing where none was lost, and where groups side by side lose
/// more than one run time together: a sum over them is no part of it.
[[nodiscard]] std::optional<double> lost_ratio(const Diagnosis& d);

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

/// Diagnoses a Run: asks each analysis, and collects. Naming nobody is an answer.
/// Errors: diagnose-001 (no rank in it), diagnose-002 (no synchronisation in it).
/// Threads: deterministic for any number. Cost: linear in events.
/// Held by: src/diagnose/verdict/diagnose_test.cpp, tests/property/diagnose_laws.cpp, tests/e2e
[[nodiscard]] Result<Diagnosis> diagnose(const Matched& matched, const DiagnoseOptions& options = {});
/// The same of a Run that nobody else needs matched.
[[nodiscard]] Result<Diagnosis> diagnose(const trace::Run& run, const DiagnoseOptions& options = {});

/// The whole document that `cox diagnose --json` prints, schema cox.diagnose/1
/// (docs/reference/diagnosis-json.md): `schema, tool, inputs, result, warnings`, in this order, base units, a
/// new line at the end.
/// `against`: the same job before a change, or null.
[[nodiscard]] std::string to_json(const Diagnosis& d, const trace::Run& run, const std::string& input,
                                  const Comparison* against = nullptr);

/// About a kilobyte on one line, for a job's log or a table of many runs: schema cox.summary/1, the verdict,
/// its figures, at most four findings and the first remedy.
[[nodiscard]] std::string to_summary(const Diagnosis& d, const trace::Run& run, const std::string& input);

}  // namespace cox::diagnose
