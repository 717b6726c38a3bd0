// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/stages.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "diagnose/naming/of_stages.hpp"
#include "diagnose/operations/operation_cause.hpp"
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

}  // namespace

void add_findings_in_stages(const Matched& matched, const model::Program& program, Diagnosis& d,
                            int threads) {
  const auto& w = analyses_of(d).what_if_operations;
  if (!w || w->stages.size() < 2 || d.run_time <= Duration::zero()) return;
  auto compute = StageCompute::of(program, matched.steps().numbers);
  if (!compute) return;
  if (w->finding.cause == OperationCause::SlowWorker && !is_slow_all_along(*w) && !d.findings.empty() &&
      !compute->lasts(places_of(matched, w->finding.ranks)))
    d.findings.erase(d.findings.begin());
  NamedFindings stages = findings_in_stages(matched, *compute, d, threads);
  d.late_gain_ratio = stages.gain_ratio;
  // Where the ranks of a stage take turns, somebody of it is slow in every step: one story is enough.
  std::erase_if(d.findings, [&](const Finding& f) {
    return f.cause == Cause::StageImbalance &&
           std::any_of(stages.all.begin(), stages.all.end(), [&](const Finding& turns) {
             return turns.kind == FindingKind::RotatingStraggler && turns.ranks == f.ranks;
           });
  });
  d.findings.insert(d.findings.end(), std::make_move_iterator(stages.all.begin()),
                    std::make_move_iterator(stages.all.end()));
  if (!d.findings.empty() || d.coverage.order_refused) return;
  const auto replayed = [&](const Suspect& once) {
    return compute->saved([&](std::size_t rank, std::size_t step) { return is_meant(once, rank, step); });
  };
  const Duration cost = (w->original - w->ideal) * static_cast<std::int64_t>(w->steps.size());
  d.single_stall = find_single_stall(evidenced(matched, compute->excess(), d), cost, d.run_time, replayed);
}

}  // namespace cox::diagnose
