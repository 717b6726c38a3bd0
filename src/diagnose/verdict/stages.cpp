// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/stages.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <variant>

#include "diagnose/naming/of_stages.hpp"
#include "diagnose/operations/operation_cause.hpp"
#include "diagnose/operations/operation_repairs.hpp"
#include "diagnose/operations/stage_compute.hpp"
#include "diagnose/verdict/analyses.hpp"
#include "diagnose/verdict/finding.hpp"
#include "diagnose/verdict/single_stall.hpp"

namespace cox::diagnose {
namespace {

std::vector<std::size_t> places_of(const Matched& matched, const std::vector<Rank>& ranks) {
  std::vector<std::size_t> places;
  for (std::size_t r = 0; r < matched.ranks(); ++r)
    if (std::find(ranks.begin(), ranks.end(), matched.rank(r)) != ranks.end()) places.push_back(r);
  return places;
}

/// What each of the table's findings (the first `by_table`) saves alone, now that it is known who else is late, and all of them
/// together with `others`; most gain first.
void put_all_right(Diagnosis& d, std::size_t by_table, const OperationRepairs& repairs,
                   const std::function<void(std::vector<Duration>&)>& others) {
  std::vector<Rank> named;
  for (const Finding& f : d.findings)
    if (f.cause != Cause::StageImbalance && f.cause != Cause::Communication)
      named.insert(named.end(), f.ranks.begin(), f.ranks.end());
  std::vector<Duration> all = repairs.model().original;
  bool whole = true;
  for (std::size_t i = 0; i < by_table; ++i) {
    const auto* e = std::get_if<OperationEvidence>(&d.findings[i].evidence);
    if (e == nullptr) continue;
    std::vector<Duration> alone = repairs.model().original;
    if (repairs.put_right(e->finding, named, alone)) d.findings[i].gain_ratio = repairs.gain(alone);
    whole = repairs.put_right(e->finding, named, all) && whole;
  }
  others(all);
  // A stage that is longer and on nobody's way: dealing its work out would change nothing, whatever else is mended.
  constexpr double kNothing = 0.005;
  for (std::size_t i = by_table; i-- > 0;) {
    if (d.findings[i].cause != Cause::StageImbalance || d.findings[i].gain_ratio >= kNothing) continue;
    std::vector<Duration> rest = repairs.model().original;
    for (std::size_t k = 0; k < by_table; ++k)
      if (const auto* e = std::get_if<OperationEvidence>(&d.findings[k].evidence); k != i && e != nullptr)
        whole = repairs.put_right(e->finding, named, rest) && whole;
    others(rest);
    if (const double beside = repairs.gain(all) - repairs.gain(rest); beside >= kNothing) {
      if (auto* e = std::get_if<OperationEvidence>(&d.findings[i].evidence)) e->gain_beside = beside;
      continue;
    }
    d.findings.erase(d.findings.begin() + static_cast<std::ptrdiff_t>(i));
    --by_table;
    all = std::move(rest);
  }
  if (whole && d.findings.size() > 1) d.joint_gain_ratio = repairs.gain(all);
  std::stable_sort(d.findings.begin(), d.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.gain_ratio > b.gain_ratio; });
}

/// A worker that is slow in a part of the Run is told by that part, and the table's finding goes. Where no part is found it stays if
/// it is slow all along by the table's own tests.
NamedFindings find_in_stages(const Matched& matched, StageCompute& compute, const OperationWhatIf& w,
                             Diagnosis& d, int threads) {
  const bool in_part = w.finding.cause == OperationCause::SlowWorker && !d.findings.empty() &&
                       !compute.lasts(places_of(matched, w.finding.ranks));
  if (!in_part) return findings_in_stages(matched, compute, d, threads);
  Finding all_along = std::move(d.findings.front());
  d.findings.erase(d.findings.begin());
  NamedFindings stages = findings_in_stages(matched, compute, d, threads);
  const bool told = std::any_of(stages.all.begin(), stages.all.end(),
                                [&](const Finding& f) { return f.ranks == all_along.ranks; });
  if (told || !is_slow_all_along(w)) return stages;
  d.findings.insert(d.findings.begin(), std::move(all_along));
  return findings_in_stages(matched, compute, d, threads);
}

}  // namespace

void add_findings_in_stages(const Matched& matched, const model::Program& program, Diagnosis& d,
                            int threads) {
  const auto& w = analyses_of(d).what_if_operations;
  if (!w || d.run_time <= Duration::zero()) return;
  if (w->stages.size() < 2) {
    if (!arrivals_tell(*w)) put_all_right(d, d.findings.size(), *w->repairs, [](std::vector<Duration>&) {});
    return;
  }
  StageCompute compute(w->repairs->model(), program, matched.steps().numbers);
  NamedFindings stages = find_in_stages(matched, compute, *w, d, threads);
  d.late_gain_ratio = stages.gain_ratio;
  // Where the ranks of a stage take turns, somebody of it is slow in every step: one story is enough.
  std::erase_if(d.findings, [&](const Finding& f) {
    return f.cause == Cause::StageImbalance &&
           std::any_of(stages.all.begin(), stages.all.end(), [&](const Finding& turns) {
             return turns.kind == FindingKind::RotatingStraggler && turns.ranks == f.ranks;
           });
  });
  const std::size_t by_table = d.findings.size();
  d.findings.insert(d.findings.end(), std::make_move_iterator(stages.all.begin()),
                    std::make_move_iterator(stages.all.end()));
  put_all_right(d, by_table, *w->repairs, [&](std::vector<Duration>& durations) {
    compute.put_right(
        [&](std::size_t rank, std::size_t step) {
          return std::any_of(stages.meant.begin(), stages.meant.end(),
                             [&](const Meant& meant) { return meant(rank, step); });
        },
        durations);
  });
  if (!d.findings.empty() || d.coverage.order_refused) return;
  const auto replayed = [&](const Suspect& once) {
    return compute.saved([&](std::size_t rank, std::size_t step) { return is_meant(once, rank, step); });
  };
  const Duration cost = (w->original - w->ideal) * static_cast<std::int64_t>(w->steps.size());
  d.single_stall = find_single_stall(evidenced(matched, compute.excess(), d), cost, d.run_time, replayed);
}

}  // namespace cox::diagnose
