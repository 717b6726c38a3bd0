// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cox/base/units_text.hpp"

#include "diagnose/cause/cause.hpp"
#include "diagnose/cause/cause_rules.hpp"
#include "diagnose/match/span_math.hpp"
#include "diagnose/verdict/analyses.hpp"

namespace cox::diagnose {
namespace {

std::string list_of(const std::vector<Rank>& ranks, std::size_t most = 16) {
  std::vector<std::int32_t> values;
  for (const Rank r : ranks)
    if (values.size() < most) values.push_back(r.value());
  const std::string tail = ranks.size() > most ? fmt::format(" and {} more", ranks.size() - most) : "";
  return fmt::format("{}{}", fmt::join(values, ", "), tail);
}

Duration part_of(Duration whole, double part) {
  return duration_from_seconds(in_seconds(whole) * part);
}

/// Steps of the finding's window in which one of its ranks was late by more than half of what is asked for.
std::int64_t late_steps(const Evidenced& x, const Named& n) {
  std::int64_t late = 0;
  for (auto s = n.suspect.first_step; s <= n.suspect.last_step; ++s)
    late += std::any_of(n.suspect.ranks.begin(), n.suspect.ranks.end(), [&](std::int32_t r) {
      return x.delay(static_cast<std::size_t>(r), static_cast<std::size_t>(s)) > x.rules.least_delay / 2;
    });
  return late;
}

/// Median over the finding's steps of the wait of those who are not named, of at most kAsked of them.
Duration wait_of_others(const Evidenced& x, const Named& n) {
  constexpr std::size_t kAsked = 64;
  std::vector<Duration> waits;
  const std::size_t stride = 1 + x.ranks() / kAsked;
  for (std::size_t r = 0; r < x.ranks(); r += stride) {
    if (std::find(n.suspect.ranks.begin(), n.suspect.ranks.end(), static_cast<std::int32_t>(r)) !=
        n.suspect.ranks.end())
      continue;
    const auto& row = x.skew().wait[r];
    waits.insert(waits.end(), row.begin() + n.suspect.first_step, row.begin() + n.suspect.last_step + 1);
  }
  return waits.empty() ? Duration::zero() : lower_median_in_place(waits);
}

void add_phase(const PhaseExcess& excess, Finding& f) {
  f.evidence.push_back(
      {fmt::format("{} of the extra work is in {}: {} per step more than the median of the others",
                   percent(excess.share), excess.cause, to_string(excess.per_step)),
       "excess_in_" + excess.cause + "_ratio", excess.share});
}

void add_share(const char* key, double share, const char* what, Finding& f) {
  if (share > 0)
    f.evidence.push_back({fmt::format("{} of the extra work it {}", percent(share), what), key, share});
}

void add_why(const Why& why, Finding& f) {
  add_share("excess_throttled_ratio", why.throttled, "was denied a CPU by a quota", f);
  add_share("excess_ready_ratio", why.ready, "was ready to run and had no CPU", f);
  add_share("excess_asleep_ratio", why.asleep, "was neither running nor ready", f);
  add_share("excess_computing_ratio", why.computing, "was on a CPU", f);
  if (why.clock)
    f.evidence.push_back({fmt::format("its CPU ran at {} of the others' frequency", percent(*why.clock)),
                          "frequency_ratio", *why.clock});
}

void add_device(const DeviceWhy& why, Finding& f) {
  const auto add = [&](const char* key, double share, const char* what) {
    if (share > 0)
      f.evidence.push_back(
          {fmt::format("{} of its extra time the device {}", percent(share), what), key, share});
  };
  add("excess_kernels_ratio", why.kernels, "ran kernels");
  add("excess_copies_ratio", why.copies, "copied");
  add("excess_idle_ratio", why.idle, "had nothing to do");
  f.evidence.push_back(
      {fmt::format("it ran {} as many kernels as the median of the others", percent(why.kernel_count_ratio)),
       "kernel_count_ratio", why.kernel_count_ratio});
}

/// Asks every rule; why comes before where, and all evidence stays.
void add_causes(const Evidenced& x, const Named& n, Finding& f) {
  const Reasons reasons{find_phase(x, n), find_why(x, n), find_device_why(x, n)};
  if (reasons.phase) add_phase(*reasons.phase, f);
  if (reasons.why) add_why(*reasons.why, f);
  if (reasons.device) add_device(*reasons.device, f);
  f.cause = cause_of(reasons);
  f.cause_class = class_of(f.cause);
  f.tests = test_causes(reasons);
}

/// What inputs without full times leave open. True where nothing more is to be said about clocks.
bool add_times(trace::TimesKind times, std::vector<std::string>& gaps) {
  switch (times) {
    case trace::TimesKind::Clocked:
      return false;
    case trace::TimesKind::Durations:
      gaps.emplace_back(
          "whether members leave together: only durations were recorded, and arrivals are taken from them on "
          "that assumption");
      return true;
    case trace::TimesKind::Steps:
      gaps.emplace_back(
          "where within a step time goes: only its length per rank was recorded, and one synchronisation at "
          "its "
          "end is assumed");
      return true;
    case trace::TimesKind::None:
      gaps.emplace_back("when anything happened: no begin was recorded");
      return true;
  }
  return false;
}

void add_waits(const Diagnosis& d, std::vector<std::string>& gaps) {
  if (add_times(d.times, gaps)) return;
  if (d.coverage.ranks_seen < 2) return;
  if (d.wait_method == "clock") return;
  gaps.push_back(
      d.coverage.clock_domains > 1
          ? fmt::format("clock offset between {} clock domains: waits are taken from durations, not from "
                        "entry times, and transfer is an upper bound",
                        d.coverage.clock_domains)
          : fmt::format("clocks stray by {} from their own line: waits are taken from durations",
                        to_string(d.coverage.clock_residual)));
  if (d.coverage.wait_validity_ratio > 0.5)
    gaps.push_back(fmt::format(
        "who waited how long: ranks leave collectives as far apart as they enter them (ratio {:.2f}, "
        "trusted below 0.1)",
        d.coverage.wait_validity_ratio));
  if (d.coverage.order_refused)
    gaps.emplace_back(
        "who is late: members leave as far apart as they enter even in the operations with the widest "
        "spread, so "
        "a short call is no late arrival; nobody is named");
}

}  // namespace

std::string percent(double ratio) {
  const double p = 100 * ratio;
  if (p > 0 && p < 0.1) return "under 0.1 %";
  return p >= 10 || p == 0 ? fmt::format("{:.0f} %", p) : fmt::format("{:.1f} %", p);
}

Finding put_into_words(const Evidenced& x, const Named& n, std::size_t named_in_all, Duration lost,
                       Duration run_time) {
  Finding f;
  f.kind = n.kind;
  for (const auto r : n.suspect.ranks) f.ranks.push_back(x.matched.rank(static_cast<std::size_t>(r)));
  if (f.ranks.size() == 1) f.rank = f.ranks.front();
  if (lost > Duration::zero()) f.share_ratio = std::clamp(ratio(n.saving.share, lost), 0.0, 1.0);
  if (run_time > Duration::zero()) f.gain_ratio = std::clamp(ratio(n.saving.share, run_time), 0.0, 1.0);
  if (n.kind == FindingKind::TransientStraggler) {
    f.first_step = StepId{x.steps().numbers[static_cast<std::size_t>(n.suspect.first_step)]};
    f.last_step = StepId{x.steps().numbers[static_cast<std::size_t>(n.suspect.last_step)]};
  }
  const Duration delay = part_of(x.typical_step, n.typical_delay);
  const auto steps = n.suspect.last_step - n.suspect.first_step + 1;
  const std::int64_t late = late_steps(x, n);
  const auto add = [&](const char* key, double value, std::string text) {
    f.evidence.push_back({std::move(text), key, value});
  };
  add("self_delay_median_s", in_seconds(delay),
      fmt::format("own work between synchronisations takes {} longer than the median rank's (median over {})",
                  to_string(delay),
                  n.kind == FindingKind::RotatingStraggler ? "the steps with a culprit" : "steps"));
  add("self_delay_step_ratio", n.typical_delay,
      fmt::format("that is {} of a step", percent(n.typical_delay)));
  add("late_steps_ratio", static_cast<double>(late) / static_cast<double>(steps),
      fmt::format("late in {} of {} steps", late, steps));
  add("others_spread_s", in_seconds(part_of(x.typical_step, n.others_spread)),
      fmt::format(
          "{} scatter by {}",
          n.kind == FindingKind::RotatingStraggler ? "single delays" : "the other ranks' usual delays",
          to_string(part_of(x.typical_step, n.others_spread))));
  const Duration waits = wait_of_others(x, n);
  add("others_wait_median_s", in_seconds(waits),
      fmt::format("the other ranks wait {} per step", to_string(waits)));
  add("chance_ratio", n.chance, fmt::format("probability by chance at most {:.1g}", n.chance));
  if (named_in_all > 1 && run_time > Duration::zero())
    add("gain_alone_ratio", ratio(n.saving.alone, run_time),
        fmt::format("fixing only this one saves {} of the run", percent(ratio(n.saving.alone, run_time))));
  if (n.kind == FindingKind::RotatingStraggler)
    add("turn_steps", static_cast<double>(n.period_steps),
        fmt::format("one rank's turn lasts {} step(s)", n.period_steps));
  add_causes(x, n, f);
  return f;
}

std::vector<std::string> name_gaps(const Matched& matched, const Diagnosis& d) {
  const Steps& steps = matched.steps();
  const Skew& skew = matched.skew();
  std::vector<std::string> gaps;
  const Coverage& c = d.coverage;
  if (c.ranks_seen == 1) gaps.emplace_back("who sets the pace: there is one rank only");
  if (!c.missing_ranks.empty())
    gaps.push_back(
        fmt::format("what {} of {} ranks did (rank {}): operations that they belong to name nobody",
                    c.ranks_expected - c.ranks_seen, c.ranks_expected, list_of(c.missing_ranks)));
  if (skew.incomplete_ops > 0)
    gaps.push_back(fmt::format("who was late in {} operations of which a member's call is missing",
                               skew.incomplete_ops));
  if (c.mismatched > 0)
    gaps.push_back(fmt::format("{} operations on whose kind the members disagree", c.mismatched));
  if (c.dropped_records + c.recycled_records > 0)
    gaps.push_back(fmt::format("what {} dropped and {} overwritten records said", c.dropped_records,
                               c.recycled_records));
  if (c.unfinished_calls > 0)
    gaps.push_back(fmt::format("how {} calls that never returned would have ended", c.unfinished_calls));
  add_waits(d, gaps);
  Duration all{};
  for (const RankAccount& r : d.ranks) add_to(all, plus_clamped(r.wait, r.transfer));
  if (all > Duration::zero() && ratio(skew.rooted_time, all) > 0.01)
    gaps.push_back(
        fmt::format("waits inside broadcasts, reductions to a root and the like ({} of the time in "
                    "synchronisations): counted as transfer, and they name nobody",
                    percent(ratio(skew.rooted_time, all))));
  if (d.step_source == StepSource::EachSync)
    gaps.emplace_back("where training steps begin: each synchronisation is taken as one");
  if (d.step_source == StepSource::None)
    gaps.emplace_back("where training steps begin: too few synchronisations");
  if (steps.guessed_ranks > 0)
    gaps.push_back(
        fmt::format("where steps begin on {} ranks outside of the widest group: taken from another rank",
                    steps.guessed_ranks));
  if (std::any_of(matched.tracks().begin(), matched.tracks().end(),
                  [](const auto& t) { return t.samples.empty(); }))
    gaps.emplace_back("slow code or slow host: there are no CPU-time samples to tell them apart");
  gaps.emplace_back("slow network or much to send: transfer times are not held against a reference");
  return gaps;
}

std::string verdict_of(const Diagnosis& d) {
  if (d.findings.empty()) {
    if (d.coverage.ranks_seen < 2 && d.coverage.ranks_expected > d.coverage.ranks_seen)
      return fmt::format("nobody: one rank only of {} is present, and there is nobody to hold it against.",
                         d.coverage.ranks_expected);
    if (d.coverage.ranks_seen < 2) return "nobody: with one rank only there is nobody to wait for.";
    if (d.coverage.ranks_seen < d.coverage.ranks_expected && d.coverage.collectives_matched == 0)
      return fmt::format(
          "nobody: {} of {} ranks are present, so who came last of the whole group is unknown.",
          d.coverage.ranks_seen, d.coverage.ranks_expected);
    if (d.coverage.order_refused)
      return "nobody: members leave as far apart as they enter, so who came last cannot be told.";
    if (d.steps == 0) return "nobody: too few synchronisations to compare ranks.";
    if (d.run_time > Duration::zero() && d.lost > Duration::zero())
      return fmt::format(
          "nobody: no rank stands out from the scatter of {} steps; uneven arrival takes {} of the run, "
          "spread over the ranks.",
          d.steps, percent(std::min(1.0, ratio(d.lost, d.run_time))));
    return fmt::format("nobody: no rank stands out from the scatter of {} steps.", d.steps);
  }
  const Finding& f = d.findings.front();
  // Findings that do not rest on arrival times bring their own sentence.
  if (f.kind == FindingKind::SlowLink || (analyses_of(d).what_if_operations && !f.evidence.empty())) {
    const std::string gain =
        f.gain_ratio > 0
            ? fmt::format("; without that the run would be {} shorter (estimated)", percent(f.gain_ratio))
            : std::string();
    const std::string& said = f.evidence.front().text;
    return f.kind == FindingKind::SlowLink
               ? fmt::format("{} is slow: {}{}.", f.link.value_or(""), said, gain)
               : fmt::format("{}{}.", said.substr(0, said.find_last_not_of('.') + 1), gain);
  }
  const auto value = [&](const char* key) {
    for (const Evidence& e : f.evidence)
      if (e.key == key) return e.value;
    return 0.0;
  };
  const std::string delay = to_string(duration_from_seconds(value("self_delay_median_s")));
  std::string who;
  switch (f.kind) {
    case FindingKind::SlowRank:
      who = fmt::format("rank {} sets the pace", f.ranks.front().value());
      break;
    case FindingKind::TransientStraggler:
      who = fmt::format("rank {} sets the pace from step {} to step {}", f.ranks.front().value(),
                        f.first_step->value(), f.last_step->value());
      break;
    case FindingKind::RotatingStraggler:
      who = fmt::format("ranks {} set the pace in turn", list_of(f.ranks));
      break;
    case FindingKind::SlowGroup:
      who = fmt::format("ranks {}, all on one node, set the pace together", list_of(f.ranks));
      break;
    case FindingKind::SlowLink:
      break;
  }
  std::string text = fmt::format(
      "{}: {} own work takes {} longer per step than the median rank's, in {} of those steps; without that "
      "the "
      "run would be {} shorter (estimated).",
      who, f.ranks.size() == 1 ? "its" : "their", delay, percent(value("late_steps_ratio")),
      percent(f.gain_ratio));
  if (d.findings.size() > 1) {
    double gain = 0;
    for (const Finding& each : d.findings) gain += each.gain_ratio;
    text += fmt::format(" With {} findings in all, fixing everything would save {}.", d.findings.size(),
                        percent(gain));
  }
  return text;
}

}  // namespace cox::diagnose
