// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/cause/locality.hpp"
#include "diagnose/charge/pass.hpp"
#include "diagnose/match/coverage.hpp"
#include "diagnose/match/matching.hpp"
#include "diagnose/match/open_calls.hpp"
#include "diagnose/match/scan.hpp"
#include "diagnose/match/skew.hpp"
#include "diagnose/match/span_math.hpp"
#include "diagnose/match/steps.hpp"
#include "diagnose/naming/naming.hpp"
#include "diagnose/pacing/pace_facts.hpp"
#include "diagnose/stall/hang.hpp"
#include "diagnose/stall/last_seen.hpp"
#include "diagnose/stall/mismatch.hpp"
#include "diagnose/verdict/analyses.hpp"
#include "diagnose/verdict/finding.hpp"
#include "diagnose/what_if/input.hpp"
#include "diagnose/words/sentences.hpp"
#include "diagnose/words/stall.hpp"

namespace cox::diagnose {
namespace {

/// Stages told to the caller's progress bar.
constexpr std::int64_t kStages = 5;

/// Median over ranks of each step's length, so that it does not depend on clocks being comparable.
std::vector<Duration> times_of(const Steps& steps) {
  constexpr std::int64_t kBlock = 64;
  const std::size_t ranks = steps.bounds.size();
  std::vector<Duration> times(static_cast<std::size_t>(steps.count));
  std::vector<Duration> block(static_cast<std::size_t>(kBlock) * ranks);
  for (std::int64_t from = 0; from < steps.count; from += kBlock) {
    const std::int64_t to = std::min(steps.count, from + kBlock);
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::int64_t s = from; s < to; ++s)
        block[static_cast<std::size_t>(s - from) * ranks + r] = minus_clamped(
            steps.bounds[r][static_cast<std::size_t>(s) + 1], steps.bounds[r][static_cast<std::size_t>(s)]);
    for (std::int64_t s = from; s < to; ++s)
      times[static_cast<std::size_t>(s)] =
          lower_median_in_place(std::span(block).subspan(static_cast<std::size_t>(s - from) * ranks, ranks));
  }
  return times;
}

Spread spread_of(const std::vector<Duration>& times) {
  Spread spread;
  spread.count = static_cast<std::int64_t>(times.size());
  if (times.empty()) return spread;
  std::vector<double> seconds;
  Welford moments;
  for (const Duration t : times) {
    seconds.push_back(in_seconds(t));
    moments.add(in_seconds(t));
  }
  spread.median = duration_from_seconds(median_in_place(seconds));
  spread.p05 = duration_from_seconds(quantile_in_place(seconds, 0.05));
  spread.p95 = duration_from_seconds(quantile_in_place(seconds, 0.95));
  spread.cv = moments.cv();
  return spread;
}

Duration run_time_of(const Matching& m, bool comparable) {
  Duration first = Duration::max();
  Duration last = Duration::min();
  Duration longest{};
  for (const Matching::Totals& t : m.totals) {
    if (t.points == 0) continue;
    first = std::min(first, t.first_entry);
    last = std::max(last, t.last_exit);
    longest = std::max(longest, minus_clamped(t.last_exit, t.first_entry));
  }
  return comparable && last > first ? minus_clamped(last, first) : longest;
}

std::vector<RankAccount> accounts_of(const trace::Run& run, const std::vector<RankScan>& scans,
                                     const Matching& m, const Skew& skew, const Steps& steps) {
  std::vector<RankAccount> accounts(run.ranks.size());
  std::vector<Duration> row;
  for (std::size_t r = 0; r < accounts.size(); ++r) {
    RankAccount& a = accounts[r];
    a.rank = run.ranks[r].rank;
    a.work = m.totals[r].work;
    a.wait = skew.wait_total[r];
    a.transfer = minus_clamped(m.totals[r].inside, a.wait);
    a.charged = skew.charged[r];
    if (skew.compared[r] > 0)
      a.last_share = static_cast<double>(skew.last[r]) / static_cast<double>(skew.compared[r]);
    a.collectives = scans[r].collectives;
    a.steps = steps.found[r];
    row = skew.delay[r];
    for (const Duration d : row) add_to(a.self_delay, positive_part(d));
    if (!row.empty()) a.self_delay_median = lower_median_in_place(row);
  }
  return accounts;
}

/// A job without collectives can still hang in a point-to-point call.
bool waits_for_peer(const trace::Run& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(), [](const trace::RankTrack& track) {
    const trace::EventColumns& e = track.events;
    for (std::size_t i = 0; i < e.size(); ++i)
      if (e.kind[i] == trace::EventKind::Wait && e.end[i] == trace::kStillRunning &&
          static_cast<trace::WaitKind>(e.op[i]) == trace::WaitKind::Peer)
        return true;
    return false;
  });
}

Result<std::vector<RankScan>> scan_all(const trace::Run& run, const CommIndex& comms, int threads) {
  if (run.ranks.empty())
    return fail({.code = Errc::InvalidInput,
                 .id = "diagnose-001",
                 .message = "the Run holds no rank, expected at least one",
                 .hint = "record one with: cox observe -o DIR -- COMMAND",
                 .where = {}});
  std::vector<RankScan> scans(run.ranks.size());
  parallel_for(scans.size(), threads, [&](std::size_t r) { scans[r] = scan_rank(run.ranks[r], comms); });
  const bool any = std::any_of(scans.begin(), scans.end(),
                               [](const RankScan& s) { return s.collectives > 0 || !s.waits.empty(); });
  // What other tools leave behind may hold no synchronisation and still say something.
  if (!any && !waits_for_peer(run) && run.info.provenance != trace::Provenance::Imported)
    return fail({.code = Errc::InvalidInput,
                 .id = "diagnose-002",
                 .message = fmt::format(
                     "the Run holds {} events but no synchronisation, expected collectives or waits",
                     run.event_count()),
                 .hint = "check with: cox doctor (what can be observed here)",
                 .where = {}});
  number_waits(run, comms, scans);
  return scans;
}

void name_and_explain(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans,
                      const Matching& m, const Skew& skew, const Steps& steps, int threads, Diagnosis& d) {
  Evidenced x{run, m, skew, steps, d.step_times, d.ranks, d.step_time.median, Duration::zero()};
  for (const Duration t : d.step_times) add_to(x.stepped, t);
  if (d.coverage.order_refused) return;
  const std::vector<Named> named = name_culprits(x, threads);
  for (const Named& n : named)
    d.findings.push_back(make_finding(x, comms, scans, n, named.size(), d.lost, d.run_time));
}

void look_for_trouble(const trace::Run& run, const CommIndex& comms, const std::vector<RankScan>& scans,
                      const Matching& m, const DiagnoseOptions& options, Diagnosis& d) {
  const LastLook look(run, comms, options.processes, options.asked_monotonic_ns);
  const OpenCalls open = find_open_calls(run, comms, scans);
  d.present = look.present();
  Mismatches mismatches = find_mismatches(run, comms, scans, m);
  d.mismatches = std::move(mismatches.all);
  d.mismatched_operations = mismatches.operations;
  Stalls stalls = find_stalls(run, open, look, d.mismatches);
  d.stalls = std::move(stalls.all);
  d.more_stalls = stalls.more;
}

}  // namespace

bool has_trouble(const Diagnosis& d) {
  return !d.findings.empty() || !d.mismatches.empty() ||
         std::any_of(d.stalls.begin(), d.stalls.end(), [](const Stall& s) { return s.hung; });
}

const char* name_of(FindingKind k) {
  switch (k) {
    case FindingKind::SlowRank:
      return "slow_rank";
    case FindingKind::TransientStraggler:
      return "transient_straggler";
    case FindingKind::RotatingStraggler:
      return "rotating_straggler";
    case FindingKind::SlowGroup:
      return "slow_group";
    case FindingKind::SlowLink:
      return "slow_link";
  }
  return "unknown";
}

const char* name_of(StepSource s) {
  switch (s) {
    case StepSource::Marks:
      return "marks";
    case StepSource::Period:
      return "period";
    case StepSource::EachSync:
      return "each_sync";
    case StepSource::None:
      return "none";
  }
  return "none";
}

Result<Diagnosis> diagnose(const trace::Run& run, const DiagnoseOptions& options) {
  const auto tell = [&](std::int64_t stage) {
    if (options.progress) options.progress(stage, kStages);
  };
  const model::Program none;
  const model::Program& program = options.program != nullptr ? *options.program : none;
  const CommIndex comms(run);
  COX_TRY(std::vector<RankScan> scans, scan_all(run, comms, options.threads));
  tell(1);
  Matching m = match(run, comms, scans);
  tell(2);
  const ClockView clocks = look_at_clocks(run, m);
  Steps steps = find_steps(run, comms, scans, m);
  for (RankScan& scan : scans) scan.marks = {};
  tell(3);

  Diagnosis d;
  d.coverage = cover(run, scans, m, clocks);
  d.locality = understand_locality(run);
  d.times = run.times;
  d.wait_method = clocks.comparable ? WaitMethod::Clock : WaitMethod::Duration;
  d.step_source = steps.source;
  d.steps = steps.count;
  d.calls_per_step = steps.calls_per_step;
  d.collectives_per_step = steps.collectives_per_step;
  for (const std::int64_t number : steps.numbers) d.step_numbers.emplace_back(number);
  d.run_time = run_time_of(m, clocks.comparable);
  d.step_times = times_of(steps);
  d.step_time = spread_of(d.step_times);
  d.communicators = account_communicators(run, scans);
  // Before the skew, which takes the matching apart.
  if (run.ranks.size() > 1) d.attribution = attribute_matched(run, comms, scans, m, clocks);
  Skew skew = measure_skew(run, m, steps, clocks.comparable);
  d.lost = skew.lost;
  d.ranks = accounts_of(run, scans, m, skew, steps);
  if (run.ranks.size() > 1 && program.is_empty() && !d.coverage.order_refused)
    d.what_if = what_if(run, comms, scans, m, steps, clocks.comparable, {.threads = options.threads});
  tell(4);
  // A table of operations says more than arrival times: see analyses.cpp.
  if (!program.is_table()) name_and_explain(run, comms, scans, m, skew, steps, options.threads, d);
  look_for_trouble(run, comms, scans, m, options, d);
  OpenEnds open{skew.incomplete_ops, {}, skew.rooted_time, steps.guessed_ranks};
  for (const RankAccount& r : d.ranks) add_to(open.inside, plus_clamped(r.wait, r.transfer));
  d.cannot_tell = name_gaps(run, d, open);
  if (steps.count > 0) {
    d.work_by_step = std::move(skew.work);
    d.wait_by_step = std::move(skew.wait);
    for (auto& bounds : steps.bounds) bounds.pop_back();
    d.begin_by_step = std::move(steps.bounds);
  }
  add_analyses(run, program, d);
  add_findings_of_analyses(d);
  if (!d.findings.empty() && std::any_of(d.findings.begin(), d.findings.end(),
                                         [](const Finding& f) { return f.cause == Cause::Unknown; }))
    d.cannot_tell.emplace_back("cause: no evidence in this input explains most of the extra work");
  d.waiting = facts_of(run, d);
  d.remedies = find_remedies(d);
  d.trouble = trouble_headline(d);
  Headline answer = answer_of(d);
  d.verdict = std::move(answer.verdict);
  d.lead = std::move(answer.lead);
  tell(5);
  return d;
}

}  // namespace cox::diagnose
