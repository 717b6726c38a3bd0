// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/analyses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/efficiency/measure.hpp"
#include "diagnose/match/presence.hpp"
#include "diagnose/operations/few_operations.hpp"
#include "diagnose/operations/operation_cause.hpp"
#include "diagnose/operations/operation_repairs.hpp"
#include "diagnose/operations/stage_compute.hpp"
#include "diagnose/pacing/iterations.hpp"
#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

/// Ranks in pictures; more are in the JSON.
constexpr std::size_t kPictured = 24;
/// A slowdown smaller than this is not worth a table.
constexpr double kWorthwhile = 1.01;
/// Part of the time from which a single long step is told, whatever else there is.
constexpr double kWorthOfStep = 0.05;

void add_section(Diagnosis& d, SectionKind kind, const char* title, std::vector<std::string> lines) {
  if (!lines.empty()) d.sections.push_back({.kind = kind, .title = title, .lines = std::move(lines)});
}

/// Fixing whoever happened to be late most gains a little in any noise: without a finding no rank is told, unless
/// the input is too short to say that the cost is spread.
Whom whom_of(const Diagnosis& d) {
  constexpr std::int64_t kFewSteps = 10;
  const bool nobody = d.findings.empty() && (d.cost_is_spread || d.steps >= kFewSteps);
  return nobody ? Whom::Nobody : Whom::Ranks;
}

/// What fixing one rank, and sets of them, would gain.
std::vector<std::vector<std::string>> what_if_table(const WhatIf& w) {
  std::vector<std::vector<std::string>> table{
      {"fixed", "run shorter by", "95 % interval", "part of what uneven work costs"}};
  const auto saved = [](double speedup) { return percent(speedup > 0 ? 1 - 1 / speedup : 0); };
  const auto row = [&](std::string who, const Estimate& e, double share) {
    table.push_back(
        {std::move(who), saved(e.speedup_ratio),
         e.has_interval ? fmt::format("{} to {}", saved(e.speedup_low), saved(e.speedup_high)) : "not told",
         percent(std::clamp(share, 0.0, 1.0))});
  };
  for (const SetWhatIf& s : w.sets) row(subject_of(s.ranks), s.fixed, s.removal_share);
  table.push_back({"any network ten times faster", saved(w.fabric_tenfold.speedup_ratio), "", ""});
  table.push_back({"no transfer at all", saved(w.fabric_free.speedup_ratio), "", ""});
  return table;
}

/// Of a group that is only half there nobody can be said to have been last; of those present, who did more.
void say_of_those_present(const Matched& matched, Diagnosis& d) {
  const std::vector<PresentDelay> delays = delays_of_those_present(matched);
  std::string list;
  const PresentDelay* most = nullptr;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    if (i < kPictured)
      list += fmt::format("{}rank {} {}", i == 0 ? "" : ", ", delays[i].rank.value(),
                          to_string(delays[i].self_delay));
    if (most == nullptr || delays[i].largest > most->largest) most = &delays[i];
  }
  if (most == nullptr || most->largest <= Duration::zero()) return;
  add_section(
      d, SectionKind::Present, "among the ranks present",
      {"who was last of all is unknown: an absent rank may have been later. Beyond the median of those "
       "present, own work between collectives (the first is carried in and left out) adds up to:",
       list + (delays.size() > kPictured ? ", ..." : ""),
       fmt::format("the largest single delay: rank {}, {} before operation {}", most->rank.value(),
                   to_string(most->largest), most->at)});
  d.cannot_tell.emplace_back("what fixing a rank would gain: an absent one may have set the pace");
}

void say_what_if(const Matched& matched, const std::optional<WhatIf>& what_if, Diagnosis& d) {
  if (matched.ranks() > 1 && d.coverage.ranks_seen < d.coverage.ranks_expected)
    return say_of_those_present(matched, d);
  if (!what_if || what_if->fidelity == Fidelity::Refused) return;
  if (what_if->slowdown_ratio < kWorthwhile) return;
  add_section(d, SectionKind::WhatIf, "what if", describe(*what_if, whom_of(d)));
  if (!d.findings.empty()) d.sections.back().table = what_if_table(*what_if);
}

/// Who charged whom, as a matrix: rows cost, columns waited.
void say_attribution(const std::optional<Attribution>& attribution, Diagnosis& d) {
  if (!attribution || attribution->waited <= Duration::zero()) return;
  const Attribution& a = *attribution;
  add_section(d, SectionKind::Attribution, "who made whom wait", describe(a, whom_of(d)));
  if (d.findings.empty() || !a.pairs_complete || a.ranks.size() > kPictured || a.pairs.empty()) return;
  Section& s = d.sections.back();
  s.table.push_back({"cost \\ waited"});
  for (const RankCharge& r : a.ranks) s.table.front().push_back(std::to_string(r.rank.value()));
  Duration most{1};
  for (const PairCharge& p : a.pairs) most = std::max(most, p.direct);
  const auto place = [&](Rank rank) {
    return static_cast<std::size_t>(std::lower_bound(a.ranks.begin(), a.ranks.end(), rank,
                                                     [](const RankCharge& r, Rank x) { return r.rank < x; }) -
                                    a.ranks.begin());
  };
  for (const RankCharge& r : a.ranks) {
    s.table.emplace_back(a.ranks.size() + 1, "");
    s.table.back().front() = std::to_string(r.rank.value());
    s.shades.emplace_back(a.ranks.size(), 0.0);
  }
  for (const PairCharge& p : a.pairs) {
    const std::size_t row = place(p.culprit);
    const std::size_t column = place(p.waiting);
    if (p.direct <= Duration::zero()) continue;
    s.table[row + 1][column + 1] = to_string(p.direct);
    s.shades[row][column] = ratio(p.direct, most);
  }
}

/// Slowdown by data rank (rows) and stage (columns).
void picture_workers(const OperationWhatIf& w, Section& s) {
  int stages = 0;
  int rows = 0;
  for (const WorkerEffect& e : w.workers) {
    stages = std::max(stages, e.role.pipeline + 1);
    rows = std::max(rows, e.role.data + 1);
  }
  if (stages < 1 || rows < 1 || stages > 64 || rows > 64) return;
  s.table.push_back({"data rank \\ stage"});
  for (int p = 0; p < stages; ++p) s.table.front().push_back(std::to_string(p));
  for (int r = 0; r < rows; ++r) {
    s.table.emplace_back(static_cast<std::size_t>(stages) + 1, "");
    s.table.back().front() = std::to_string(r);
    s.shades.emplace_back(static_cast<std::size_t>(stages), 0.0);
  }
  for (const WorkerEffect& e : w.workers) {
    if (e.role.data < 0 || e.role.pipeline < 0) continue;
    const auto row = static_cast<std::size_t>(e.role.data);
    const auto column = static_cast<std::size_t>(e.role.pipeline);
    s.table[row + 1][column + 1] = fmt::format("{:.3f}", e.slowdown);
    s.shades[row][column] = w.slowdown > 1 ? std::clamp((e.slowdown - 1) / (w.slowdown - 1), 0.0, 1.0) : 0;
  }
}

void look_at_operations(const model::Program& program, Analyses& analyses, Diagnosis& d) {
  if (program.is_empty()) return;
  if (program.is_graph()) {
    analyses.graph_path = find_graph_path(program);
    if (analyses.graph_path)
      add_section(d, SectionKind::GraphPath, "longest chain of operations", describe(*analyses.graph_path));
    return;
  }
  if (auto found = what_if_operations(program)) {
    analyses.what_if_operations = *std::move(found);
    add_section(d, SectionKind::WhatIfOperations, "what if: recorded operations",
                describe(*analyses.what_if_operations));
    d.sections.back().brief = describe_briefly(*analyses.what_if_operations);
    d.stages = std::ssize(analyses.what_if_operations->stages);
    picture_workers(*analyses.what_if_operations, d.sections.back());
  } else {
    d.cannot_tell.push_back("what if: " + found.error().message);
  }
}

void look_at_times(const Matched& matched, const model::Program& program, Analyses& analyses, Diagnosis& d,
                   int threads) {
  const bool lone = matched.times() == trace::TimesKind::Steps && d.coverage.ranks_expected < 2;
  if (lone) d.series = SeriesState::TooShort;
  const bool real_steps = d.step_source == StepSource::Marks || d.step_source == StepSource::Period;
  if (!real_steps || d.step_times.size() < 10) return;
  // Of one rank, or of step lengths alone, nothing tells own work from communication.
  const bool split = matched.ranks() > 1 && matched.times() != trace::TimesKind::Steps;
  const auto own_work = [&] {
    // In a pipeline who is between two collectives has mostly waited for its neighbour.
    const auto& table = analyses.what_if_operations;
    if (!table || table->stages.size() < 2) return matched.by_step(InStep::Work, threads);
    return StageCompute(table->repairs->model(), program, matched.steps().numbers).computed();
  };
  analyses.time_structure = split ? understand_times(d.step_times, d.step_numbers, own_work)
                                  : understand_times(d.step_times, d.step_numbers);
  for (const std::size_t row : analyses.time_structure->change_rows)
    analyses.time_structure->change_ranks.push_back(matched.rank(row));
  const TimeStructure& t = *analyses.time_structure;
  if (lone && t.is_quiet()) d.series = SeriesState::Quiet;
  if (lone && (t.evident() || t.is_costly())) d.series = SeriesState::Uneven;
  // A series alone has nothing else to tell; one step that costs as much is no scatter.
  const bool one_long = t.long_count == 1 && t.long_share_ratio >= kWorthOfStep;
  if (!t.evident() && !lone && !one_long && !(matched.ranks() < 2 && t.is_costly())) return;
  add_section(d, SectionKind::TimeStructure, "over time", describe(t));
  d.sections.back().brief = describe_briefly(t);
}

void look_at_fabric(const Matched& matched, Analyses& analyses, Diagnosis& d) {
  if (matched.nodes().size() < 2 || matched.ranks() < 2) return;
  auto fabric = understand_fabric(matched);
  if (!fabric) return;
  analyses.fabric = *std::move(fabric);
  if (analyses.fabric->verdict == FabricVerdict::Alone)
    d.cannot_tell.emplace_back("which part of the fabric is slow: too few groups across hosts are alike");
  else if (analyses.fabric->verdict != FabricVerdict::NoData)
    add_section(d, SectionKind::Fabric, "between hosts", describe(*analyses.fabric));
}

void look_at_pacing(const Matched& matched, Diagnosis& d) {
  if (!has_pace_records(matched)) return;
  if (auto pacing = understand_pacing(matched)) {
    d.pacing = *std::move(pacing);
    add_section(d, SectionKind::Pacing, "pacing", describe(*d.pacing));
  } else {
    d.cannot_tell.push_back("pacing: " + pacing.error().message);
  }
}

Cause cause_of(OperationCause c) {
  switch (c) {
    case OperationCause::StageImbalance:
      return Cause::StageImbalance;
    case OperationCause::SlowWorker:
      return Cause::SlowWorker;
    case OperationCause::Communication:
      return Cause::Communication;
    case OperationCause::None:
      break;
  }
  return Cause::Unknown;
}

Finding finding_of(const OperationWhatIf& w, const OperationFinding& o) {
  Finding f;
  f.kind = o.cause == OperationCause::SlowWorker && o.ranks.size() == 1 ? FindingKind::SlowRank
                                                                        : FindingKind::SlowGroup;
  f.ranks = o.ranks;
  if (f.ranks.size() == 1) f.rank = f.ranks.front();
  f.cause = cause_of(o.cause);
  f.cause_class = class_of(f.cause);
  const double share = o.cause == OperationCause::StageImbalance ? o.stage_share
                       : o.cause == OperationCause::SlowWorker   ? o.worker_share
                                                                 : o.communication_share;
  f.share_ratio = std::clamp(share, 0.0, 1.0);
  f.gain_ratio =
      w.original > Duration::zero() ? std::clamp(share * (1 - ratio(w.ideal, w.original)), 0.0, 1.0) : 0;
  if (o.gain) f.gain_ratio = *o.gain;
  f.evidence = OperationEvidence{o, w.fidelity};
  return f;
}

Finding finding_of(const Fabric& fabric, const Diagnosis& d) {
  Finding f;
  f.kind = FindingKind::SlowLink;
  for (const Component& c : fabric.components) f.components.push_back(name_of(c));
  f.cause = Cause::Fabric;
  f.cause_class = class_of(f.cause);
  if (fabric.slow_groups.size() == 1) f.group = fabric.slow_groups.front();
  f.evidence = FabricEvidence{static_cast<std::int64_t>(fabric.slow_groups.size()), fabric.slow_ratio,
                              fabric.member_test};
  if (const auto& what_if = analyses_of(d).what_if)
    for (const CommWhatIf& c : what_if->communicators)
      if (c.comm && c.evaluated &&
          std::find(fabric.slow_groups.begin(), fabric.slow_groups.end(), *c.comm) !=
              fabric.slow_groups.end())
        f.gain_ratio = std::max(f.gain_ratio, 1 - 1 / std::max(1.0, c.lower_quartile.speedup_ratio));
  return f;
}

}  // namespace

const char* name_of(SectionKind k) {
  switch (k) {
    case SectionKind::WhatIf:
      return "what_if";
    case SectionKind::WhatIfOperations:
      return "what_if_operations";
    case SectionKind::GraphPath:
      return "graph_path";
    case SectionKind::Present:
      return "present";
    case SectionKind::Presence:
      return "presence";
    case SectionKind::Operations:
      return "operations";
    case SectionKind::Attribution:
      return "attribution";
    case SectionKind::Fabric:
      return "fabric";
    case SectionKind::TimeStructure:
      return "time_structure";
    case SectionKind::Efficiencies:
      return "efficiencies";
    case SectionKind::Pacing:
      return "pacing";
  }
  return "unknown";
}

const Analyses& analyses_of(const Diagnosis& d) {
  static const Analyses none;
  return d.analyses ? *d.analyses : none;
}

Analyses ask_what_if(const Matched& matched, const model::Program& program, Diagnosis& d, int threads) {
  Analyses out;
  const bool together = matched.ranks() >= 2;
  const bool replayed = together && program.is_empty() && !d.coverage.order_refused;
  const bool only_lengths = matched.times() == trace::TimesKind::Steps && !together;
  // Each reads the same `matched` and writes what is its own; the longest one first.
  const std::array<std::function<void()>, 3> analyses{
      [&] {
        if (replayed) out.what_if = what_if(matched, {.threads = threads});
      },
      [&] {
        if (!together) return;
        if (auto charged = attribute_waits(matched)) out.attribution = *std::move(charged);
      },
      [&] {
        if (!only_lengths)
          if (auto found = measure_efficiencies(matched))
            d.efficiencies = std::make_shared<const Efficiencies>(*std::move(found));
      }};
  parallel_for(analyses.size(), threads, [&](std::size_t i) { analyses[i](); });
  return out;
}

void add_analyses(const Matched& matched, const model::Program& program, Analyses& analyses, Diagnosis& d,
                  int threads) {
  look_at_operations(program, analyses, d);
  const bool recorded_graph = !program.is_empty();
  if (analyses.what_if && analyses.what_if->fidelity == Fidelity::Refused)
    d.cannot_tell.push_back("what if: " + analyses.what_if->why);
  if (!recorded_graph) say_what_if(matched, analyses.what_if, d);
  if (const Presence presence = presence_of(matched); presence.often_incomplete())
    add_section(d, SectionKind::Presence, "who is absent from operations", describe(presence));
  add_section(d, SectionKind::Operations, "operation by operation", describe_few(matched));
  if (!recorded_graph) say_attribution(analyses.attribution, d);
  look_at_fabric(matched, analyses, d);
  look_at_times(matched, program, analyses, d, threads);
  if (d.efficiencies)
    add_section(d, SectionKind::Efficiencies, "efficiencies", efficiency_lines(*d.efficiencies));
  look_at_pacing(matched, d);
}

bool arrivals_tell(const OperationWhatIf& w) {
  if (w.stages.size() > 1) return false;
  return w.finding.cause == OperationCause::None ||
         (w.finding.cause == OperationCause::SlowWorker && !is_slow_all_along(w));
}

void add_findings_of_analyses(Diagnosis& d) {
  const Analyses& analyses = analyses_of(d);
  if (analyses.what_if_operations && !arrivals_tell(*analyses.what_if_operations)) {
    d.findings.clear();
    d.late_gain_ratio = 0;
    if (analyses.what_if_operations->finding.cause != OperationCause::None)
      d.findings.push_back(finding_of(*analyses.what_if_operations, analyses.what_if_operations->finding));
    for (const OperationFinding& more : analyses.what_if_operations->more)
      d.findings.push_back(finding_of(*analyses.what_if_operations, more));
  }
  if (analyses.fabric && analyses.fabric->verdict == FabricVerdict::Located)
    d.findings.push_back(finding_of(*analyses.fabric, d));
}

}  // namespace cox::diagnose
