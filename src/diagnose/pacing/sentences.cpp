// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cox/base/number_text.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/units_text.hpp"
#include "cox/diagnose/pacing.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kRanksNamed = 8;

std::string ranks_text(const std::vector<Rank>& ranks) {
  std::string list;
  for (std::size_t i = 0; i < std::min(ranks.size(), kRanksNamed); ++i)
    list += (i > 0 ? ", " : "") + std::to_string(ranks[i].value());
  return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", list,
                     ranks.size() > kRanksNamed ? ", ..." : "");
}

std::string time(Seconds s) {
  return to_string(duration_from_seconds(s.count()));
}

std::string count(std::int64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string group_text(const std::string& name) {
  return name.empty() ? "a group without name" : fmt::format("group {}", shown(name));
}

bool tested(const PaceReplay& r) {
  return r.in_state[static_cast<int>(pace::State::Trial)] > 0 ||
         r.in_state[static_cast<int>(pace::State::Hold)] > 0 ||
         r.in_state[static_cast<int>(pace::State::Probe)] > 0;
}

/// Ranks by why they were left alone, most first.
std::vector<std::string> reasons_text(const std::map<pace::Reason, std::vector<Rank>>& by_reason,
                                      const char* what) {
  std::vector<std::pair<pace::Reason, std::vector<Rank>>> sorted(by_reason.begin(), by_reason.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::vector<std::string> lines;
  lines.reserve(sorted.size());
  for (const auto& [reason, ranks] : sorted)
    lines.push_back(fmt::format("{}: {}: {} ({})", what, ranks_text(ranks), pace::explain(reason),
                                pace::name_of(reason)));
  return lines;
}

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
  for (std::string& l : more) lines.push_back(std::move(l));
}

void say_delays(const PacingRecord& r, std::vector<std::string>& lines) {
  std::vector<Rank> paced;
  Duration longest{};
  std::map<pace::Reason, std::vector<Rank>> left_alone;
  for (const RankPacing& p : r.ranks) {
    longest = std::max(longest, p.longest);
    if (p.delays > 0)
      paced.push_back(p.rank);
    else if (!p.changes.empty())
      left_alone[p.changes.back().decision.reason].push_back(p.rank);
  }
  if (paced.empty()) {
    lines.emplace_back("no rank was held back");
  } else {
    const double each = static_cast<double>(r.delays) / static_cast<double>(paced.size());
    lines.push_back(fmt::format(
        "held back: {} of {} ({}), in {:.0f} of {} iterations each, by {} on average, {} at most",
        paced.size(), count(static_cast<std::int64_t>(r.ranks.size()), "rank", "ranks"), ranks_text(paced),
        each, r.iterations, to_string(r.delayed / r.delays), to_string(longest)));
  }
  append(lines, reasons_text(left_alone, "left alone"));
}

std::string interval(const PacingComparison& c, const Bounded<double>& b) {
  return c.has_interval ? fmt::format(" (95 %: {} to {})", percent_change(b.low), percent_change(b.high))
                        : " (too few blocks for an interval)";
}

const char* kind_of_numbers(trace::Provenance p) {
  return p == trace::Provenance::Simulated ? "simulated" : "measured";
}

/// `held`: somebody was held back in the second Run, where there are two; else they differ as any two starts do.
void say_comparison(const PacingComparison& c, bool held, trace::Provenance provenance,
                    std::vector<std::string>& lines) {
  const std::string from = c.within_run ? count(c.pairs, "pair of blocks", "pairs of blocks")
                                        : fmt::format("two Runs of {} and {} iterations",
                                                      c.baseline.iterations, c.control.iterations);
  std::string verdict = fmt::format("throughput {}{}, {}, {}", percent_change(c.faster_ratio.value),
                                    interval(c, c.faster_ratio), from, kind_of_numbers(provenance));
  if (c.has_interval && c.faster_ratio.low <= 0 && c.faster_ratio.high >= 0)
    verdict += ": no difference beyond the noise";
  if (!held)
    verdict += ": nobody was held back, so this is what two starts of the job differ by, and not pacing's";
  lines.push_back(std::move(verdict));
  lines.push_back(fmt::format("{}: iteration {} to {}, CV {:.3f} to {:.3f}, p99 {} to {}, wait {} to {}",
                              held ? "unpaced to paced" : "the Run before to this one",
                              time(c.baseline.period.value), time(c.control.period.value),
                              c.baseline.cv_ratio.value, c.control.cv_ratio.value, time(c.baseline.p99.value),
                              time(c.control.p99.value), time(c.baseline.wait.value),
                              time(c.control.wait.value)));
  const Bounded<double> energy{c.energy_ratio.value - 1, c.energy_ratio.low - 1, c.energy_ratio.high - 1};
  lines.push_back(fmt::format("energy per iteration {}{}: estimated, not measured",
                              percent_change(energy.value), c.has_interval ? interval(c, energy) : ""));
}

std::string why_no_comparison(pace::Mode mode) {
  switch (mode) {
    case pace::Mode::Auto:
      return "no pair of paced and unpaced blocks in this Run, so what pacing brings was not measured";
    case pace::Mode::Observe:
    case pace::Mode::Off:
      return "mode observe holds nobody back; to find out what that would bring: cox observe --pace auto";
    default:
      return fmt::format("mode {} does not test itself; compare with an unpaced Run: --against RUN",
                         pace::name_of(mode));
  }
}

void say_check(const Pacing& p, std::vector<std::string>& lines) {
  std::int64_t compared = 0;
  std::int64_t ranks = 0;
  for (const PaceReplay& r : p.replays) {
    if (r.open_loop) continue;
    ++ranks;
    compared += r.compared;
    if (!r.difference) continue;
    const PaceDifference& d = *r.difference;
    lines.push_back(
        fmt::format("replay: NOT as recorded from iteration {} of rank {} on: recorded {} {}, replayed {} {}",
                    d.step, r.rank.value(), pace::name_of(d.recorded.reason), to_string(d.recorded.delay),
                    pace::name_of(d.replayed.reason), to_string(d.replayed.delay)));
    return;
  }
  if (ranks > 0)
    lines.push_back(fmt::format("replay: all {} of {} are as recorded",
                                count(compared, "decision", "decisions"), count(ranks, "rank", "ranks")));
  else if (p.record && p.record->settings_text.empty())
    lines.emplace_back("replay: the settings were not recorded, so the decisions cannot be checked");
  else if (p.record &&
           std::any_of(p.replays.begin(), p.replays.end(), [](const PaceReplay& r) { return r.begins_late; }))
    lines.emplace_back("replay: the first iterations are not in the Run, so the decisions cannot be checked");
}

void say_open_loop(const Pacing& p, std::vector<std::string>& lines) {
  const PaceReplay& first = p.replays.front();
  lines.push_back(fmt::format("replayed through mode {} ({}, {}, {}): what the controller would have seen",
                              pace::name_of(first.mode), group_text(p.group_name),
                              count(static_cast<std::int64_t>(p.replays.size()), "rank", "ranks"),
                              count(first.observations, "iteration", "iterations")));
  lines.emplace_back(
      "not what pacing would have changed: in a replay everybody waits as it was recorded (open loop)");
  std::vector<Rank> would;
  Duration slack{};
  Duration period{};
  std::map<pace::Reason, std::vector<Rank>> would_not;
  for (const PaceReplay& r : p.replays) {
    if (!tested(r)) {
      would_not[r.last.reason].push_back(r.rank);
      continue;
    }
    would.push_back(r.rank);
    if (r.evidence.predictable < slack) continue;
    slack = r.evidence.predictable;
    period = r.evidence.period;
  }
  if (!would.empty())
    lines.push_back(
        fmt::format("would have been tested: {} of {} ({}); most predictable slack {} of an iteration of {}",
                    would.size(), count(static_cast<std::int64_t>(p.replays.size()), "rank", "ranks"),
                    ranks_text(would), to_string(slack), to_string(period)));
  append(lines, reasons_text(would_not, "left alone"));
}

/// Blocks of one test alternate: their decisions are one.
int kind_of(const pace::Decision& d) {
  if (d.reason == pace::Reason::BlockOff || d.reason == pace::Reason::BlockPaced) return 1000;
  using enum pace::Reason;
  if (d.reason == HoldOff || d.reason == Holding || d.reason == LongOff) return 1001;
  if (d.state == pace::State::Probe) return 1002;
  return static_cast<int>(d.reason) * 8 + static_cast<int>(d.state);
}

std::string sentence_of(const pace::Decision& d, bool every_iteration) {
  const int kind = kind_of(d);
  if (every_iteration || (kind != 1000 && kind != 1001)) return pace::explain(d.reason);
  return kind == 1000 ? "a test: paced and unpaced blocks in turn"
                      : "paced: measurably better, and tested on in between";
}

std::string gain_text(const pace::DecisionBasis& e) {
  if (e.pairs == 0) return "-";
  if (!std::isfinite(e.half_width) || e.half_width >= 10) return percent_change(e.gain);
  std::string gain = percent_change(e.gain);
  gain.resize(gain.size() - 2);  // one unit for both
  return fmt::format("{} +- {}", gain, percent_change(e.half_width, ChangeSign::InWords));
}

}  // namespace

std::vector<std::string> describe(const Pacing& p) {
  std::vector<std::string> lines;
  const bool open_loop =
      std::all_of(p.replays.begin(), p.replays.end(), [](const PaceReplay& r) { return r.open_loop; });
  if (p.record) {
    lines.push_back(fmt::format("paced in mode {}: {}, {}, {}", pace::name_of(p.record->mode),
                                group_text(p.record->group_name),
                                count(static_cast<std::int64_t>(p.record->ranks.size()), "rank", "ranks"),
                                count(p.record->iterations, "iteration", "iterations")));
    say_delays(*p.record, lines);
  } else {
    lines.emplace_back("this Run was not paced");
  }
  if (p.baseline_mode)
    lines.push_back(
        fmt::format("the other Run was paced too, in mode {}: it is no baseline of an unpaced job",
                    pace::name_of(*p.baseline_mode)));
  if (p.comparison)
    say_comparison(*p.comparison, p.comparison->within_run || (p.record && p.record->delays > 0),
                   p.provenance, lines);
  else if (p.record)
    lines.push_back(why_no_comparison(p.record->mode));
  if (open_loop && !p.replays.empty() && (!p.record || !p.record->settings_text.empty()))
    say_open_loop(p, lines);
  say_check(p, lines);
  if (p.transfer)
    lines.push_back(fmt::format(
        "transfer: at most {} in 9 of 10 iterations (the shortest time inside of all ranks); so that no rank "
        "has to find it "
        "out: --pace auto,transfer_latency={}us",
        to_string(*p.transfer), static_cast<std::int64_t>(std::ceil(in_seconds(*p.transfer) * 1e6))));
  for (const pace::Advice& a : p.advice)
    lines.push_back(fmt::format("advice: {}: {} (seen elsewhere: {})", a.action, a.why, a.evidence));
  if (!p.record && !p.comparison)
    lines.emplace_back("to find out what pacing brings here: cox observe --pace auto -o RUN -- COMMAND");
  return lines;
}

std::vector<std::string> explain(const PaceReplay& r, bool every_iteration) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("rank {}, mode {}, {}{}", r.rank.value(), pace::name_of(r.mode),
                              count(r.observations, "iteration", "iterations"),
                              r.open_loop ? ": open loop, nobody was held back by these decisions" : ""));
  lines.push_back(fmt::format("{:>9}  {:>9}  {:<7}  {:>9}  {:>9}  {:>11}  {:>15}  {:>11}  {}", "iteration",
                              "time", "state", "delay", "slack", "predictable", "gain", "budget left",
                              "why"));
  int kind = -1;
  for (const ReplayedDecision& d : r.decisions) {
    if (!every_iteration && kind_of(d.decision) == kind) continue;
    kind = kind_of(d.decision);
    lines.push_back(fmt::format("{:>9}  {:>9}  {:<7}  {:>9}  {:>9}  {:>11}  {:>15}  {:>11}  {}", d.step,
                                to_string(d.at), pace::name_of(d.decision.state), to_string(d.decision.delay),
                                to_string(d.evidence.slack), to_string(d.evidence.predictable),
                                gain_text(d.evidence), to_string(d.evidence.allowance),
                                sentence_of(d.decision, every_iteration)));
  }
  if (r.difference)
    lines.push_back(fmt::format(
        "NOT as recorded from iteration {} on: recorded {} {}, replayed {} {}", r.difference->step,
        pace::name_of(r.difference->recorded.reason), to_string(r.difference->recorded.delay),
        pace::name_of(r.difference->replayed.reason), to_string(r.difference->replayed.delay)));
  else if (!r.open_loop)
    lines.push_back(fmt::format("all {} are as recorded", count(r.compared, "decision", "decisions")));
  return lines;
}

}  // namespace cox::diagnose
