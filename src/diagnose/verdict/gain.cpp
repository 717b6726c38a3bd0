// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/gain.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "diagnose/verdict/analyses.hpp"

namespace cox::diagnose {
namespace {

constexpr double kSmallestDifference = 0.02;  // of the run: estimates that are this close agree
constexpr double kAgree = 1.0 / 3;            // of the larger one

/// What the replay saves by fixing exactly the ranks of a finding in all steps; nothing where it was not asked.
std::optional<double> replayed_gain(const WhatIf& w, const Finding& f) {
  const bool all_along =
      (f.kind == FindingKind::SlowRank || f.kind == FindingKind::SlowGroup) && f.positions.empty();
  if (!all_along || w.fidelity == Fidelity::Refused) return std::nullopt;
  const auto saved = [](const Estimate& e) {
    return std::clamp(1 - 1 / std::max(1.0, e.speedup_ratio), 0.0, 1.0);
  };
  if (f.ranks.size() == 1) {
    const auto at = std::find_if(w.ranks.begin(), w.ranks.end(),
                                 [&](const RankWhatIf& r) { return r.rank == f.ranks.front(); });
    return at != w.ranks.end() && at->evaluated ? std::optional(saved(at->fixed)) : std::nullopt;
  }
  for (const auto* sets : {&w.sets, &w.best_pairs, &w.best_triples})
    for (const SetWhatIf& s : *sets) {
      std::vector<Rank> ranks = s.ranks;
      std::sort(ranks.begin(), ranks.end());
      if (ranks == f.ranks) return saved(s.fixed);
    }
  return std::nullopt;
}

/// `most`: what fixing all that are named saves.
void settle(const WhatIf& w, bool alone, double most, Finding& f) {
  if (!is_gain_told(f)) return;
  if (w.measured > Duration::zero() && w.fidelity != Fidelity::Good && std::abs(w.fidelity_ratio) > 0) {
    f.gain_doubt = GainDoubt{GainDoubt::ReplayMisses{.error = std::abs(w.fidelity_ratio)}};
    return;
  }
  const std::optional<double> replayed = replayed_gain(w, f);
  auto* late = std::get_if<LateEvidence>(&f.evidence);
  // Of several findings `gain_ratio` is each one's part of fixing all, which no replay asks.
  if (!replayed || (!alone && (late == nullptr || !late->gain_alone))) return;
  double& promised = alone ? f.gain_ratio : *late->gain_alone;
  if (std::abs(*replayed - promised) > std::max(kSmallestDifference, kAgree * std::max(*replayed, promised)))
    f.gain_doubt = GainDoubt{
        GainDoubt::EstimatesDisagree{.by_arrival = promised, .by_replay = *replayed, .of_several = !alone}};
  else
    promised = alone ? *replayed : std::min(*replayed, most);
}

/// Where ranks that wait keep their cores and there are fewer cores than ranks, they take them from those that work: then
/// who runs when decides what a late rank costs, and no record of this run says what another one would take.
std::optional<GainDoubt> taken_cores(const pace::Facts& w) {
  if (w.cores == 0 || w.ranks_on_host <= w.cores || w.wait != pace::WaitMode::Spin) return std::nullopt;
  return GainDoubt{GainDoubt::CoresTaken{.ranks = w.ranks_on_host, .cores = w.cores}};
}

}  // namespace

void settle_gains(Diagnosis& d) {
  for (Finding& f : d.findings)
    if (std::holds_alternative<LateEvidence>(f.evidence) && is_gain_told(f))
      f.gain_doubt = taken_cores(d.waiting);
  const Analyses& analyses = analyses_of(d);
  if (analyses.what_if_operations && !analyses.what_if_operations->is_faithful)
    for (Finding& f : d.findings)
      if (std::holds_alternative<OperationEvidence>(f.evidence) ||
          !arrivals_tell(*analyses.what_if_operations))
        f.gain_doubt = GainDoubt{GainDoubt::ReplayMisses{.error = analyses.what_if_operations->fidelity}};
  if (!analyses.what_if) return;
  for (Finding& f : d.findings)
    if (std::holds_alternative<LateEvidence>(f.evidence) && !f.gain_doubt)
      settle(*analyses.what_if, d.findings.size() == 1, d.late_gain_ratio, f);
}

}  // namespace cox::diagnose
