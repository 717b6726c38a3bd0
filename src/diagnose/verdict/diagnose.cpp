// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/trace/time_unit.hpp"

#include "diagnose/cause/locality.hpp"
#include "diagnose/match/account.hpp"
#include "diagnose/match/coverage.hpp"
#include "diagnose/match/matched.hpp"
#include "diagnose/match/open_calls.hpp"
#include "diagnose/match/presence.hpp"
#include "diagnose/match/span_math.hpp"
#include "diagnose/naming/least_effect.hpp"
#include "diagnose/naming/naming.hpp"
#include "diagnose/naming/of_operations.hpp"
#include "diagnose/pacing/pace_facts.hpp"
#include "diagnose/stall/ending.hpp"
#include "diagnose/stall/hang.hpp"
#include "diagnose/stall/last_seen.hpp"
#include "diagnose/stall/mismatch.hpp"
#include "diagnose/verdict/analyses.hpp"
#include "diagnose/verdict/answer.hpp"
#include "diagnose/verdict/finding.hpp"
#include "diagnose/verdict/gain.hpp"
#include "diagnose/verdict/of_messages.hpp"
#include "diagnose/verdict/shared_cpus.hpp"
#include "diagnose/verdict/single_stall.hpp"
#include "diagnose/verdict/stages.hpp"
#include "diagnose/words/sentences.hpp"
#include "diagnose/words/stall.hpp"

namespace cox::diagnose {
namespace {

/// Whether there is anything to diagnose.
Status check(const Matched& matched) {
  if (matched.ranks() == 0)
    return fail({.code = Errc::InvalidInput,
                 .id = "diagnose-001",
                 .message = "the Run holds no rank, expected at least one",
                 .hint = "record one with: cox observe -o DIR -- COMMAND",
                 .where = {}});
  // A job without collectives can still hang in a point-to-point call, or meet through messages alone.
  const bool waits_for_peer =
      std::any_of(matched.scans().begin(), matched.scans().end(),
                  [](const RankScan& s) { return s.open_for_peer || s.stands_for_peer; });
  // What other tools leave behind may hold no synchronisation and still say something.
  const bool imported = matched.provenance() == trace::Provenance::Imported;
  // A job may have failed before its ranks met once.
  const bool failed = find_ending(matched).has_value();
  if (!matched.has_synchronisations() && !waits_for_peer && !imported && !failed) {
    const std::string counted = unobserved_words(count_unobserved(matched));
    return fail(
        {.code = Errc::InvalidInput,
         .id = "diagnose-002",
         .message = fmt::format(
             "the Run holds {} events but no synchronisation, expected collectives or waits{}{}",
             matched.event_count(),
             counted.empty() ? "" : "; of MPI calls that are counted and not recorded: " + counted,
             matched.info().unwritten.empty() ? "" : "; files of ranks could not be written any more"),
         .hint = "check with: cox doctor (what can be observed here)",
         .where = {}});
  }
  return {};
}

void take(TimeAccount account, const Matched& matched, Diagnosis& d) {
  const Steps& steps = matched.steps();
  d.step_source = steps.source;
  d.steps = steps.count;
  d.calls_per_step = steps.calls_per_step;
  d.collectives_per_step = steps.collectives_per_step;
  for (const std::int64_t number : steps.numbers) d.step_numbers.emplace_back(number);
  d.run_time = account.run_time;
  d.step_times = std::move(account.step_times);
  d.step_time = account.step_time;
  d.lost = matched.skew().lost;
  d.cost_is_spread = spread_of_cost(matched).spread;
  d.ranks = std::move(account.ranks);
  d.communicators = std::move(account.communicators);
}

/// On how many hosts; 0 where a rank's is not told.
std::int64_t count_hosts(const Matched& matched) {
  std::set<std::string> hosts;
  for (const trace::RankTrack& track : matched.tracks()) {
    const auto at = std::find_if(matched.nodes().begin(), matched.nodes().end(),
                                 [&](const trace::Node& n) { return n.id == track.node; });
    if (at == matched.nodes().end() || at->host.empty()) return 0;
    hosts.insert(at->host);
  }
  return static_cast<std::int64_t>(hosts.size());
}

Trouble look_for_trouble(const Matched& matched, const DiagnoseOptions& options) {
  const LastLook look(matched, options.processes, options.asked_monotonic_ns);
  const OpenCalls open = find_open_calls(matched);
  Mismatches mismatches = find_mismatches(matched);
  Stalls stalls = find_stalls(matched, open, look, mismatches.all);
  Trouble trouble{.present = look.present(),
                  .stalls = std::move(stalls.all),
                  .more_stalls = stalls.more,
                  .mismatches = std::move(mismatches.all),
                  .mismatched_operations = mismatches.operations,
                  .headline = {},
                  .ending = find_ending(matched)};
  if (trouble.ending) find_absent(*trouble.ending, trouble.stalls);
  put_into_words(trouble);
  return trouble;
}

/// Whether lengths of steps go up and down on all ranks alike: changes from step to step that they share are at least twice
/// those that they do not. Own work of ranks scatters by itself; who waits for the others in a step takes their time.
bool move_together(const Matched& matched, const Diagnosis& d) {
  constexpr std::int64_t kLeastSteps = 20;
  constexpr double kShared = 2;
  if (matched.times() != trace::TimesKind::Steps || matched.ranks() < 3 || d.steps < kLeastSteps)
    return false;
  constexpr std::size_t kAsked = 64;
  std::vector<std::int32_t> asked;
  for (std::size_t r = 0; r < matched.ranks(); r += 1 + matched.ranks() / kAsked)
    asked.push_back(static_cast<std::int32_t>(r));
  const StepTable lengths = matched.by_step(InStep::Work, asked);
  std::vector<double> shared;
  std::vector<double> own;
  std::vector<double> changes(lengths.size());
  for (std::size_t s = 1; s < static_cast<std::size_t>(d.steps); ++s) {
    for (std::size_t r = 0; r < lengths.size(); ++r)
      changes[r] = in_seconds(lengths[r][s]) - in_seconds(lengths[r][s - 1]);
    for (std::size_t r = 0; r < changes.size(); ++r)
      own.push_back(std::abs(changes[r] - changes[(r + 1) % changes.size()]) / std::sqrt(2.0));
    shared.push_back(std::abs(median_in_place(changes)));
  }
  const double together = median_in_place(shared);
  return together > 0 && together >= kShared * median_in_place(own);
}

/// What was left open by matching, as far as sentences speak of it.
OpenEnds open_ends(const Matched& matched, const Diagnosis& d) {
  const Skew& skew = matched.skew();
  OpenEnds open{.incomplete_operations = skew.incomplete_ops,
                .inside = {},
                .rooted = skew.rooted_time,
                .guessed_ranks = matched.steps().guessed_ranks,
                .all_sampled = std::none_of(matched.tracks().begin(), matched.tracks().end(),
                                            [](const auto& t) { return t.samples.empty(); })};
  for (const RankAccount& r : d.ranks) add_to(open.inside, plus_clamped(r.wait, r.transfer));
  return open;
}

}  // namespace

bool has_trouble(const Diagnosis& d) {
  return !d.findings.empty() || d.trouble.any();
}

std::optional<double> lost_ratio(const Diagnosis& d) {
  if (d.run_time <= Duration::zero() || d.lost <= Duration::zero() || d.lost > d.run_time)
    return std::nullopt;
  return ratio(d.lost, d.run_time);
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
    case FindingKind::PeriodicPause:
      return "periodic_pause";
  }
  return "unknown";
}

Result<Diagnosis> diagnose(const Matched& matched, const DiagnoseOptions& options) {
  COX_CHECK(check(matched));
  const UnknownUnit unit(trace::unknown_unit(matched.tracks()));
  const auto tell = [&](std::int64_t stage) {
    if (options.progress) options.progress(stage, kDiagnoseStages);
  };
  const model::Program none;
  const model::Program& program = options.program != nullptr ? *options.program : none;
  Diagnosis d;
  d.coverage = cover(matched);
  d.locality = understand_locality(matched);
  d.times = matched.times();
  d.wait_method = matched.clocks_comparable() ? WaitMethod::Clock : WaitMethod::Duration;
  // Before the table of delays is made: each of these needs about as much memory as the cells take.
  Analyses analyses = ask_what_if(matched, program, d, options.threads);
  const StepTable delays = matched.by_step(InStep::Delay, options.threads);
  TimeAccount account = account_for(matched, delays, options.threads);
  analyses.outside = std::move(account.outside);
  take(std::move(account), matched, d);
  tell(kDiagnoseStages - 1);
  // What a table of operations says beside arrival times: add_findings_of_analyses.
  NamedFindings named = name_and_explain(matched, delays, d, options.threads);
  d.findings = std::move(named.all);
  ask_placement(d.findings, d.locality, matched.nodes().size() > 1);
  d.late_gain_ratio = named.gain_ratio;
  d.trouble = look_for_trouble(matched, options);
  const bool never_met =
      !matched.has_synchronisations() && matched.provenance() != trace::Provenance::Imported;
  // Stages pass on what the next one works with: that they wait for their neighbours in each step is no meeting.
  const bool staged = matched.provenance() != trace::Provenance::Imported && are_stages(matched);
  d.messages_only = (never_met && matched.message_waits().any()) || staged;
  d.cannot_tell = name_gaps(d, open_ends(matched, d));
  const Duration least = least_beside_pollers(matched, d.locality, d.ranks, d.step_time.median);
  if (d.steps > 0 && ratio(least, d.step_time.median) > NamingRules{}.least_delay)
    d.cannot_tell.push_back(
        "who is late by less than " + to_string(least) +
        " a step: ranks share CPUs, and one that waits may keep a CPU from one that works for so long");
  if (d.messages_only) d.findings = findings_of_messages(matched);
  if ((never_met || staged) && d.findings.empty())
    d.cannot_tell.insert(
        d.cannot_tell.begin(),
        d.messages_only ? "who sets the pace: no collective was recorded, and messages name nobody"
                        : "who sets the pace: no synchronisation was recorded; cox doctor says what can be "
                          "observed here");
  add_analyses(matched, program, analyses, d, options.threads);
  if (program.is_table() && !analyses.what_if_operations) d.findings.clear();
  d.analyses = std::make_shared<const Analyses>(std::move(analyses));
  add_findings_of_analyses(d);
  add_findings_in_stages(matched, program, d, options.threads);
  if (!d.findings.empty() && std::any_of(d.findings.begin(), d.findings.end(),
                                         [](const Finding& f) { return f.cause == Cause::Unknown; }))
    d.cannot_tell.push_back(
        std::all_of(d.findings.begin(), d.findings.end(), has_no_data)
            ? std::string("cause: there are no phases here and no samples of the processes") +
                  (matched.provenance() == trace::Provenance::Observed ? ", which are taken each second" : "")
            : std::string("cause: no evidence in this input explains most of the extra work"));
  std::vector<FindingKind> kinds;
  kinds.reserve(d.findings.size());
  for (const Finding& f : d.findings) kinds.push_back(f.kind);
  d.waiting = facts_of(matched, d.locality, d.ranks, kinds);
  d.hosts = count_hosts(matched);
  settle_gains(d);
  if (d.findings.empty()) d.ranks_move_together = move_together(matched, d);
  const bool unnamed = d.findings.empty() && d.steps > 0 && matched.ranks() > 1;
  const bool asked = !analyses_of(d).what_if_operations || arrivals_tell(*analyses_of(d).what_if_operations);
  if (unnamed && asked) {
    const Evidenced x = evidenced(matched, delays, d);
    if (!d.coverage.order_refused) d.single_stall = find_single_stall(x, d.lost, d.run_time);
    const bool few = too_few_steps(x, static_cast<double>(x.ranks()));
    d.answer = judge(d, few ? std::nullopt : std::optional(least_named_delay(x)), few);
  } else {
    d.answer = judge(d, std::nullopt);
  }
  if (!never_met) d.remedies = find_remedies(d);  // first of all it has to run
  Headline answer = answer_of(d);
  d.verdict = std::move(answer.verdict);
  d.lead = std::move(answer.lead);
  tell(kDiagnoseStages);
  return d;
}

Result<Diagnosis> diagnose(const trace::Run& run, const DiagnoseOptions& options) {
  return diagnose(Matched(run, {.threads = options.threads, .progress = options.progress}), options);
}

}  // namespace cox::diagnose
