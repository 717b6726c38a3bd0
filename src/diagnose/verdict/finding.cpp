// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/finding.hpp"

#include <algorithm>
#include <utility>

#include "diagnose/cause/cause.hpp"
#include "diagnose/cause/cause_rules.hpp"
#include "diagnose/cause/device_why.hpp"
#include "diagnose/cause/placement.hpp"
#include "diagnose/cause/why.hpp"
#include "diagnose/match/presence.hpp"
#include "diagnose/match/span_math.hpp"
#include "diagnose/naming/naming.hpp"
#include "diagnose/naming/of_operations.hpp"
#include "diagnose/naming/of_stages.hpp"
#include "diagnose/naming/positions.hpp"
#include "diagnose/naming/resolution.hpp"
#include "diagnose/operations/stage_compute.hpp"
#include "diagnose/verdict/shared_cpus.hpp"

namespace cox::diagnose {
namespace {

Duration part_of(Duration whole, double part) {
  return duration_from_seconds(in_seconds(whole) * part);
}

/// Of the run's time, by the rank that saves most.
double part_of_run(const Evidenced& x, const GroupTimes& saved, Duration run_time) {
  if (run_time <= Duration::zero()) return 0;
  return std::clamp(ratio(most_of_a_rank(x.matched, saved), run_time), 0.0, 1.0);
}

/// Steps of the finding's window in which one of its ranks was late by more than half of what is asked for.
std::int64_t late_steps(const Evidenced& x, const Named& n) {
  // Pauses and positions are counted where they were found.
  if (n.pauses || !n.suspect.positions.empty()) return n.late_steps;
  std::int64_t late = 0;
  for (auto s = n.suspect.first_step; s <= n.suspect.last_step; ++s)
    late += std::any_of(n.suspect.ranks.begin(), n.suspect.ranks.end(), [&](std::int32_t r) {
      return x.delay(static_cast<std::size_t>(r), static_cast<std::size_t>(s)) > x.rules.least_delay / 2;
    });
  return late;
}

StepPosition position_of(const Matched& matched, const Position& p) {
  const Group& group = matched.operations().groups[static_cast<std::size_t>(p.group)];
  StepPosition out{.comm = std::nullopt,
                   .comm_name = {},
                   .operation = group.waits ? "wait" : std::string(model::name_of(p.kind)),
                   .number = p.number,
                   .of = p.of};
  if (group.comm >= 0) {
    out.comm = matched.communicator(group.comm).id;
    out.comm_name = matched.communicator(group.comm).name;
  }
  return out;
}

PauseEvidence pauses_of(const Evidenced& x, const Pauses& p) {
  PauseEvidence out{.count = p.count, .period_steps = p.period, .phase = std::nullopt};
  if (p.regular && p.period > 0)
    out.phase = ((x.steps().numbers[static_cast<std::size_t>(p.first)] % p.period) + p.period) % p.period;
  return out;
}

/// Median over the finding's steps of the wait of those who are not named, of at most kAsked of them.
Duration wait_of_others(const Evidenced& x, const Named& n) {
  constexpr std::size_t kAsked = 64;
  std::vector<std::int32_t> asked;
  const std::size_t stride = 1 + x.ranks() / kAsked;
  for (std::size_t r = 0; r < x.ranks(); r += stride)
    if (std::find(n.suspect.ranks.begin(), n.suspect.ranks.end(), static_cast<std::int32_t>(r)) ==
        n.suspect.ranks.end())
      asked.push_back(static_cast<std::int32_t>(r));
  std::vector<Duration> waits;
  for (const auto& row : x.matched.by_step(InStep::Wait, asked))
    waits.insert(waits.end(), row.begin() + n.suspect.first_step, row.begin() + n.suspect.last_step + 1);
  return waits.empty() ? Duration::zero() : lower_median_in_place(waits);
}

Finding make_finding(const Evidenced& x, const Positions& positions, const Named& n, std::size_t named_in_all,
                     Duration lost, Duration run_time) {
  Finding f;
  f.kind = n.kind;
  for (const auto r : n.suspect.ranks) f.ranks.push_back(x.matched.rank(static_cast<std::size_t>(r)));
  if (f.ranks.size() == 1) f.rank = f.ranks.front();
  if (lost > Duration::zero()) f.share_ratio = std::clamp(ratio(n.saving.share, lost), 0.0, 1.0);
  f.gain_ratio = part_of_run(x, n.saving.share_in, run_time);
  if (n.kind == FindingKind::TransientStraggler) {
    f.first_step = StepId{x.steps().numbers[static_cast<std::size_t>(n.suspect.first_step)]};
    f.last_step = StepId{x.steps().numbers[static_cast<std::size_t>(n.suspect.last_step)]};
  }
  LateEvidence e;
  e.self_delay = part_of(x.typical_step, n.typical_delay);
  e.self_delay_ratio = n.typical_delay;
  e.of_turns = n.kind == FindingKind::RotatingStraggler;
  e.steps = n.suspect.last_step - n.suspect.first_step + 1;
  e.late_steps = late_steps(x, n);
  e.others_spread = part_of(x.typical_step, n.others_spread);
  e.others_wait = wait_of_others(x, n);
  e.chance = n.chance;
  if (named_in_all > 1 && run_time > Duration::zero())
    e.gain_alone = part_of_run(x, n.saving.alone_in, run_time);
  if (e.of_turns) e.turn_steps = n.period_steps;
  if (n.pauses) e.pauses = pauses_of(x, *n.pauses);
  if (run_time > Duration::zero())
    for (const Duration saved : n.each_alone) e.each_alone.push_back(ratio(saved, run_time));
  for (const auto p : n.suspect.positions) f.positions.push_back(position_of(x.matched, positions.at(p)));
  // Every rule is asked; why comes before where, and all evidence stays.
  e.reasons = {find_phase(x, n), find_why(x, n), find_device_why(x, n)};
  f.cause = cause_of(e.reasons);
  f.cause_class = class_of(f.cause);
  f.tests = test_causes(e.reasons);
  f.evidence = std::move(e);
  return f;
}

/// The same of what operations say. Where many lack a member no gain is promised: one who is absent may have been
/// later.
Finding make_finding(const Evidenced& x, const Positions& positions, const NamedOver& n,
                     const Presence& presence, std::size_t named_in_all, Duration lost, Duration run_time) {
  Finding f;
  if (x.steps().count > 0) {  // causes are asked of steps
    f = make_finding(x, positions, n.named, named_in_all, lost, run_time);
  } else {
    f.kind = n.named.kind;
    for (const auto r : n.named.suspect.ranks) f.ranks.push_back(x.matched.rank(static_cast<std::size_t>(r)));
    if (f.ranks.size() == 1) f.rank = f.ranks.front();
    f.gain_ratio = part_of_run(x, n.named.saving.share_in, run_time);
    LateEvidence e;
    e.steps = 1;
    e.chance = n.named.chance;
    for (const Duration saved : n.named.each_alone) e.each_alone.push_back(ratio(saved, run_time));
    f.tests = test_causes(e.reasons);
    f.evidence = std::move(e);
  }
  auto& e = std::get<LateEvidence>(f.evidence);
  e.over = OverOperations{.kind = n.kind,
                          .delay = n.delay,
                          .operations = n.operations,
                          .late = n.late,
                          .incomplete = presence.incomplete,
                          .held = presence.operations,
                          .often_incomplete = presence.often_incomplete(),
                          .together = n.together};
  e.self_delay = n.delay;
  e.self_delay_ratio = n.named.typical_delay;
  if (presence.often_incomplete()) {
    f.gain_ratio = 0;
    f.share_ratio = 0;
    e.gain_alone.reset();
    e.each_alone.clear();
  }
  return f;
}

/// Takes back what a finding says of gains but their upper bound, where times of ranks cannot be compared.
void keep_own_work_only(const Evidenced& x, Finding& f, const Named& n, Duration run_time) {
  f.share_ratio = 0;
  f.gain_ratio = 0;
  f.gain_at_most = run_time > Duration::zero() ? part_of_run(x, n.saving.bound_in, run_time) : 1.0;
  if (auto* e = std::get_if<LateEvidence>(&f.evidence)) {
    e->gain_alone.reset();
    e->each_alone.clear();
  }
}

}  // namespace

Evidenced evidenced(const Matched& matched, const StepTable& delays, const Diagnosis& d) {
  Evidenced x{.matched = matched,
              .step_times = d.step_times,
              .accounts = d.ranks,
              .delays = delays,
              .typical_step = d.step_time.median,
              .resolution = resolution_of(matched)};
  for (const Duration t : d.step_times) add_to(x.stepped, t);
  if (x.typical_step > Duration::zero()) {
    const double least =
        ratio(least_beside_pollers(matched, d.locality, d.ranks, x.typical_step), x.typical_step);
    x.rules.least_delay = std::max(x.rules.least_delay, least);
    x.rules.least_burst_delay = std::max(x.rules.least_burst_delay, least);
  }
  return x;
}

NamedFindings name_and_explain(const Matched& matched, const StepTable& delays, const Diagnosis& d,
                               int threads) {
  const Evidenced x = evidenced(matched, delays, d);
  NamedFindings out;
  std::vector<Finding>& findings = out.all;
  GroupTimes saved;
  const auto add = [&](Finding f, const Saving& saving) {
    if (f.gain_ratio > 0) add_to(saved, saving.share_in);
    findings.push_back(std::move(f));
  };
  const Positions positions(matched);
  const Presence presence = presence_of(matched);
  const auto over_operations = [&] {
    const std::vector<NamedOver> over = name_over_operations(x, d.run_time);
    for (const NamedOver& n : over)
      add(make_finding(x, positions, n, presence, over.size(), d.lost, d.run_time), n.named.saving);
    out.gain_ratio = part_of_run(x, saved, d.run_time);
  };
  if (!d.coverage.order_refused && asks_operations(x, presence)) {
    over_operations();
    if (!findings.empty()) return out;
  }
  const std::vector<Named> named = name_culprits(x, positions, threads);
  for (const Named& n : named) add(make_finding(x, positions, n, named.size(), d.lost, d.run_time), n.saving);
  out.gain_ratio = part_of_run(x, saved, d.run_time);
  if (findings.empty() && !d.coverage.order_refused && asks_operations_after(x)) over_operations();
  // Own work is measured by one clock; what it would save depends on who waited for whom.
  if (d.coverage.order_refused) {
    for (std::size_t i = 0; i < findings.size(); ++i)
      keep_own_work_only(x, findings[i], named[i], d.run_time);
    out.gain_ratio = 0;
    return out;
  }
  // Named by what they cost over all groups, told by what they gain.
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.gain_ratio > b.gain_ratio; });
  return out;
}

void ask_placement(std::span<Finding> findings, std::span<const NodeLocality> hosts, bool several_hosts) {
  // Who is bound badly is so all along: that is no reason for a pause, a turn or a stretch.
  const auto lasts = [](const Finding& f) {
    return (f.kind == FindingKind::SlowRank || f.kind == FindingKind::SlowGroup) &&
           std::holds_alternative<LateEvidence>(f.evidence);
  };
  std::vector<Rank> named;
  for (const Finding& f : findings)
    if (lasts(f)) named.insert(named.end(), f.ranks.begin(), f.ranks.end());
  for (Finding& f : findings) {
    if (!lasts(f)) continue;
    Reasons& reasons = std::get<LateEvidence>(f.evidence).reasons;
    reasons.placement = find_placement(f.ranks, named, hosts, several_hosts);
    f.cause = cause_of(reasons);
    f.cause_class = class_of(f.cause);
    f.tests = test_causes(reasons);
  }
}

NamedFindings findings_in_stages(const Matched& matched, StageCompute& compute, const Diagnosis& d,
                                 int threads) {
  NamedFindings out;
  const Evidenced x = evidenced(matched, compute.excess(), d);
  std::vector<bool> known(matched.ranks(), false);
  for (const Finding& f : d.findings)
    for (std::size_t r = 0; r < known.size() && f.cause == Cause::SlowWorker; ++r)
      if (std::find(f.ranks.begin(), f.ranks.end(), matched.rank(r)) != f.ranks.end()) known[r] = true;
  const Positions positions(matched);
  const auto saved = [&](const Meant& meant) { return compute.saved(meant); };
  const auto part = [&](Duration of) { return std::clamp(ratio(of, d.run_time), 0.0, 1.0); };
  std::vector<int> stage_of;
  for (const model::Role& role : compute.roles()) stage_of.push_back(role.pipeline);
  const std::vector<Named> named =
      name_in_stages(x, positions, {.saved = saved, .of_rank = stage_of}, std::move(known), threads);
  for (const Named& n : named) {
    Finding f = make_finding(x, positions, n, 1, d.lost, d.run_time);
    f.gain_ratio = part(n.saving.share);
    // What it is late by was computed in passes; time outside of them is waiting.
    if (f.cause != Cause::Forward && f.cause != Cause::Backward) {
      f.cause = Cause::Unknown;
      f.cause_class = class_of(f.cause);
    }
    out.all.push_back(std::move(f));
    out.meant.emplace_back(
        [suspect = n.suspect](std::size_t rank, std::size_t step) { return is_meant(suspect, rank, step); });
  }
  if (!named.empty())
    out.gain_ratio = part(saved([&](std::size_t rank, std::size_t step) {
      return std::any_of(named.begin(), named.end(),
                         [&](const Named& n) { return is_meant(n.suspect, rank, step); });
    }));
  return out;
}

}  // namespace cox::diagnose
