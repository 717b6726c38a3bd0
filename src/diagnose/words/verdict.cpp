// SPDX-License-Identifier: Apache-2.0
// Who sets the pace and what that costs, in one or two sentences.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"
#include "diagnose/words/stall.hpp"

namespace cox::diagnose {
namespace {

/// Why nobody is named.
std::string say_nobody(const Diagnosis& d) {
  if (d.coverage.ranks_seen < 2 && d.coverage.ranks_expected > d.coverage.ranks_seen)
    return fmt::format("one rank only of {} is present, and there is nobody to hold it against.",
                       d.coverage.ranks_expected);
  if (d.coverage.ranks_seen < 2) return "with one rank only there is nobody to wait for.";
  if (d.coverage.ranks_seen < d.coverage.ranks_expected && d.coverage.collectives_matched == 0)
    return fmt::format("{} of {} ranks are present, so who came last of the whole group is unknown.",
                       d.coverage.ranks_seen, d.coverage.ranks_expected);
  if (d.coverage.order_refused)
    return "members leave as far apart as they enter, so who came last cannot be told.";
  if (d.steps == 0) return "too few synchronisations to compare ranks.";
  if (d.run_time > Duration::zero() && d.lost > Duration::zero())
    return fmt::format(
        "no rank stands out from the scatter of {} steps; uneven arrival takes {} of the run, "
        "spread over the ranks.",
        d.steps, percent(std::min(1.0, ratio(d.lost, d.run_time))));
  return fmt::format("no rank stands out from the scatter of {} steps.", d.steps);
}

std::string subject_words(const Finding& f) {
  switch (f.kind) {
    case FindingKind::SlowRank:
      return fmt::format("rank {} sets the pace", f.ranks.front().value());
    case FindingKind::TransientStraggler:
      return fmt::format("rank {} sets the pace from step {} to step {}", f.ranks.front().value(),
                         f.first_step->value(), f.last_step->value());
    case FindingKind::RotatingStraggler:
      return fmt::format("ranks {} set the pace in turn", rank_numbers(f.ranks));
    case FindingKind::SlowGroup:
      return fmt::format("ranks {}, all on one node, set the pace together", rank_numbers(f.ranks));
    case FindingKind::SlowLink:
      break;
  }
  return {};
}

std::string gain_words(const Finding& f) {
  return f.gain_ratio > 0
             ? fmt::format("; without that the run would be {} shorter (estimated)", percent(f.gain_ratio))
             : std::string();
}

/// What lateness costs, without who is late.
std::string cost_words(const Finding& f, const LateEvidence& e, const Diagnosis& d) {
  std::string text = fmt::format(
      "{} own work takes {} longer per step than the median rank's, in {} of those steps; without that the "
      "run would be {} shorter (estimated).",
      f.ranks.size() == 1 ? "its" : "their", to_string(e.self_delay), percent(e.late_ratio()),
      percent(f.gain_ratio));
  if (d.findings.size() > 1) {
    double gain = 0;
    for (const Finding& each : d.findings) gain += each.gain_ratio;
    text += fmt::format(" With {} findings in all, fixing everything would save {}.", d.findings.size(),
                        percent(gain));
  }
  return text;
}

Headline pace_of(const Diagnosis& d) {
  if (d.findings.empty()) {
    const std::string why = say_nobody(d);
    return {"nobody: " + why, why};
  }
  const Finding& f = d.findings.front();
  // Findings that do not rest on arrival times bring their own sentence.
  if (const auto* e = std::get_if<OperationEvidence>(&f.evidence)) {
    const std::string text = fmt::format("{}{}.", sentence_of(e->finding), gain_words(f));
    return {text, text};
  }
  if (const auto* e = std::get_if<FabricEvidence>(&f.evidence)) {
    const std::string text =
        fmt::format("{} is slow: {}{}.", f.link.value_or(""), sentence_of(*e), gain_words(f));
    return {text, text};
  }
  const auto* e = std::get_if<LateEvidence>(&f.evidence);
  COX_ASSERT(e != nullptr, "a finding rests on evidence");
  const std::string cost = cost_words(f, *e, d);
  const std::string text = fmt::format("{}: {}", subject_words(f), cost);
  // A headline says who, not since when or together with whom.
  return {text, f.kind == FindingKind::SlowRank ? cost : text};
}

}  // namespace

Headline answer_of(const Diagnosis& d) {
  const Headline pace = pace_of(d);
  const std::string trouble = trouble_words(d.trouble);
  if (trouble.empty()) return pace;
  const std::string text = trouble + " Pace: " + pace.verdict;
  return {text, text};
}

}  // namespace cox::diagnose
