// SPDX-License-Identifier: Apache-2.0
// Who sets the pace and what that costs, in one or two sentences.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/efficiency/efficiency.hpp"
#include "diagnose/words/each_alone.hpp"
#include "diagnose/words/sentences.hpp"
#include "diagnose/words/stall.hpp"

namespace cox::diagnose {
namespace {

/// Load balance from which work is spread evenly enough to say nothing of it.
constexpr double kEvenWork = 0.8;

/// Nobody was found, and what would have been.
std::string say_nobody(const Diagnosis& d) {
  std::string text = fmt::format("no rank stands out from the scatter of {}", counted(d.steps, "step"));
  if (const auto least = d.answer.least_effect_ratio)
    text += fmt::format("; one with about {} of a step more to do, all along, would have been named",
                        percent(*least));
  text += '.';
  if (const std::string once = single_stall_words(d); !once.empty()) text += ' ' + once;
  if (const auto lost = lost_ratio(d))
    text += fmt::format(" Uneven arrival takes {} of the run{}.", percent(*lost),
                        d.cost_is_spread ? ", spread over the ranks" : "");
  if (const std::string uneven = uneven_work(d); !uneven.empty()) text += ' ' + uneven;
  return text;
}

/// `in 39 of 40 steps`, `in each of 40 steps`.
std::string how_often(const LateEvidence& e) {
  return e.late_steps == e.steps ? fmt::format("in each of {}", counted(e.steps, "step"))
                                 : fmt::format("in {} of {}", e.late_steps, counted(e.steps, "step"));
}

bool hide_each_other(const Finding& f) {
  const auto* e = std::get_if<LateEvidence>(&f.evidence);
  return e != nullptr && !e->each_alone.empty();
}

/// What the steps of a lone series show.
std::string over_time(const Diagnosis& d) {
  std::string text;
  for (const Section& s : d.sections)
    if (s.kind == SectionKind::TimeStructure)
      for (const std::string& line : s.brief) text += " " + line;
  return text;
}

std::string subject_words(const Finding& f) {
  if (const auto* e = std::get_if<LateEvidence>(&f.evidence); e != nullptr && e->over)
    return subject_over_operations(*e->over);
  switch (f.kind) {
    case FindingKind::SlowRank:
      return fmt::format("rank {} sets the pace all along{}", f.ranks.front().value(), position_words(f));
    case FindingKind::TransientStraggler:
      return fmt::format("rank {} sets the pace{} from step {} to step {}", f.ranks.front().value(),
                         position_words(f), f.first_step->value(), f.last_step->value());
    case FindingKind::RotatingStraggler:
      return fmt::format("ranks {} set the pace in turn{}",
                         f.ranks.size() == 2
                             ? fmt::format("{} and {}", f.ranks[0].value(), f.ranks[1].value())
                             : rank_numbers(f.ranks),
                         position_words(f));
    case FindingKind::SlowGroup:
      return fmt::format("ranks {}{} set the pace together{}", rank_numbers(f.ranks),
                         hide_each_other(f) ? "" : ", all on one node,", position_words(f));
    case FindingKind::PeriodicPause:
    case FindingKind::SlowLink:
      break;
  }
  return {};
}

std::string late_words(const Finding& f, const LateEvidence& e) {
  if (e.over) return late_words_over_operations(f, *e.over);
  return fmt::format("{} own work takes {} longer per step than the median rank's, {}",
                     f.ranks.size() == 1 ? "its" : "their", to_string(e.self_delay), how_often(e));
}

/// What it would bring to put it right, as a clause behind the finding.
std::string gain_clause(const Finding& f) {
  if (!is_gain_told(f)) return {};  // its sentence says so
  if (f.gain_doubt) return fmt::format("; what that costs is {}", gain_words(f));
  return gain_alone(f) > 0 ? fmt::format("; {} the run would be {} shorter (estimated)",
                                         if_put_right(f, "that"), gain_words(f))
                           : std::string();
}

/// What fixing one of a set brings whose members hide each other.
std::string hidden_words(const Finding& f) {
  const std::string words = each_alone_words(f);
  return words.empty() ? words : fmt::format(" They hide each other: {}.", words);
}

double gain_of_all(const Diagnosis& d) {
  double gain = d.joint_gain_ratio.value_or(d.late_gain_ratio);
  for (const Finding& each : d.findings)
    if (std::holds_alternative<FabricEvidence>(each.evidence) ||
        (!d.joint_gain_ratio && std::holds_alternative<OperationEvidence>(each.evidence)))
      gain += each.gain_ratio;
  return std::min(gain, 1.0);
}

std::string others_words(const Diagnosis& d) {
  if (d.findings.size() < 2 || d.messages_only)
    return {};  // of turns only what each would save at most is known
  return fmt::format(" With {} findings in all, fixing everything would save {}.", d.findings.size(),
                     percent(gain_of_all(d)));
}

Headline pace_of(const Diagnosis& d) {
  if (d.findings.empty()) {
    if (d.answer.kind == AnswerKind::CannotTell && !d.answer.reasons.empty()) {
      const std::string why =
          d.answer.reasons.front().text + "." + (d.coverage.ranks_seen < 2 ? over_time(d) : std::string());
      return {"cannot tell: " + why, why};
    }
    if (d.answer.kind == AnswerKind::JobFailed) return {};
    const std::string why = say_nobody(d);
    return {"nobody: " + why, why};
  }
  const Finding& f = d.findings.front();
  // A headline says who, not since when or together with whom.
  const std::string rest = fmt::format("{}.{}{}", gain_clause(f), hidden_words(f), others_words(d));
  const std::string text = sentence_of(f) + rest;
  const auto* e = std::get_if<LateEvidence>(&f.evidence);
  if (e == nullptr || f.kind != FindingKind::SlowRank || !f.positions.empty() || f.gain_at_most)
    return {text, text};
  return {text, late_words(f, *e) + rest};
}

}  // namespace

std::string each_alone_words(const Finding& f) {
  constexpr double kNothing = 0.005;
  if (!hide_each_other(f)) return {};
  const std::vector<double>& alone = std::get<LateEvidence>(f.evidence).each_alone;
  const auto most = std::max_element(alone.begin(), alone.end());
  const auto saving = std::count_if(alone.begin(), alone.end(), [](double a) { return a >= kNothing; });
  if (saving == 0) return "fixing one of them alone saves nothing";
  const std::string best = percent(*most);
  if (saving > 1 || alone.size() != f.ranks.size())
    return fmt::format("fixing one of them alone saves at most {}", best);
  return fmt::format("fixing rank {} alone saves {}, {} alone nothing",
                     f.ranks[static_cast<std::size_t>(most - alone.begin())].value(), best,
                     alone.size() == 2 ? "the other one" : "any other one");
}

std::string sentence_below_headline(const Finding& f) {
  if (const auto* e = std::get_if<OperationEvidence>(&f.evidence)) return claim_of(e->finding);
  const auto* e = std::get_if<LateEvidence>(&f.evidence);
  if (e == nullptr || f.kind != FindingKind::SlowRank || !f.positions.empty() || f.gain_at_most)
    return sentence_of(f);
  return e->over ? late_words(f, *e) : late_words(f, *e) + ", all along";
}

std::string sentence_of(const Finding& f) {
  // Findings that do not rest on arrival times bring their own sentence.
  if (const auto* e = std::get_if<OperationEvidence>(&f.evidence)) return sentence_of(e->finding);
  if (const auto* e = std::get_if<FabricEvidence>(&f.evidence))
    return fmt::format("{} is slow: {}", f.components.empty() ? "part of the fabric" : component_words(f),
                       sentence_of(*e));
  if (const auto* e = std::get_if<MessageEvidence>(&f.evidence)) return message_words(f, *e);
  const auto* e = std::get_if<LateEvidence>(&f.evidence);
  if (e == nullptr) return subject_words(f);
  if (f.gain_at_most) return own_work_words(f, *e);
  if (e->pauses) return pause_words(f, *e);
  return fmt::format("{}: {}", subject_words(f), late_words(f, *e));
}

std::string single_stall_words(const Diagnosis& d) {
  if (!d.single_stall) return {};
  const SingleStall& s = *d.single_stall;
  return fmt::format(
      "Rank {} was late once: by {}, in step {}; without that the run would be {} shorter (estimated).",
      s.rank.value(), to_string(s.delay), s.step.value(), percent(s.gain_ratio));
}

std::string uneven_work(const Diagnosis& d) {
  if (d.single_stall) return {};  // that is why
  if (!d.efficiencies || !(d.efficiencies->load_balance < kEvenWork)) return {};
  // Between two collectives ranks of a pipeline wait for their neighbours, which is not told from work there.
  if (d.stages > 1) return {};
  return fmt::format("The work is uneven all along: load balance {} (mean over largest useful time).",
                     percent(std::clamp(d.efficiencies->load_balance, 0.0, 1.0)));
}

std::string doubt_words(const GainDoubt& doubt) {
  if (const auto* off = std::get_if<GainDoubt::ReplayMisses>(&doubt.reason))
    return fmt::format("the replay is off by {}", percent_change(off->error, ChangeSign::InWords));
  if (const auto* two = std::get_if<GainDoubt::EstimatesDisagree>(&doubt.reason))
    return fmt::format("arrival times promise {} of the run{}, the replay of the recorded operations {}",
                       percent(two->by_arrival), two->of_several ? " from fixing only this one" : "",
                       percent(two->by_replay));
  const auto& taken = std::get<GainDoubt::CoresTaken>(doubt.reason);
  return fmt::format("{} ranks share {} core{} and poll while they wait", taken.ranks, taken.cores,
                     taken.cores == 1 ? "" : "s");
}

std::string component_words(const Finding& f) {
  std::string text;
  for (const std::string& name : f.components) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string gain_of_all_words(const Diagnosis& d) {
  const auto is_doubtful = [](const Finding& f) { return f.gain_doubt || !is_gain_told(f); };
  if (d.findings.size() < 2 || std::any_of(d.findings.begin(), d.findings.end(), is_doubtful)) return {};
  return fmt::format("fixing all that is named would save {} (estimated)", percent(gain_of_all(d)));
}

bool moves_the_median(const Finding& f) {
  return f.kind != FindingKind::TransientStraggler && f.kind != FindingKind::RotatingStraggler &&
         f.kind != FindingKind::PeriodicPause;
}

std::string if_put_right(const Finding& f, const char* pronoun) {
  return f.cause == Cause::StageImbalance ? "with work dealt out evenly over the stages"
                                          : fmt::format("without {}", pronoun);
}

std::string gain_words(const Finding& f) {
  if (f.gain_at_most) return "at most " + percent(*f.gain_at_most);
  if (!is_gain_told(f)) return "not told";
  return f.gain_doubt ? "doubtful: " + doubt_words(*f.gain_doubt) : percent(gain_alone(f));
}

std::string sentence_of(AnswerReason r, const Diagnosis& d, const ReasonFacts& facts) {
  const Coverage& c = d.coverage;
  switch (r) {
    case AnswerReason::ExitStatus:
      return d.trouble.ending ? d.trouble.ending->text : "the job did not end well";
    case AnswerReason::Hang:
      return "a call has not returned";
    case AnswerReason::Mismatch:
      return "members disagree on a collective";
    case AnswerReason::OneRank:
      return d.series == SeriesState::None
                 ? "with one rank only there is nobody to wait for"
                 : "one series for the whole job, in which no rank can be told from another";
    case AnswerReason::RanksMissing:
      return c.ranks_seen < 2
                 ? fmt::format("one rank only of {} is present, and there is nobody to hold it against",
                               c.ranks_expected)
                 : fmt::format("{} of {} ranks are present, so who came last of the whole group is unknown",
                               c.ranks_seen, c.ranks_expected);
    case AnswerReason::CallsMissing: {
      const bool some = !c.short_ranks.empty() && std::ssize(c.short_ranks) < c.ranks_seen;
      return fmt::format("only {} of the calls were seen on all members that make them{}", percent(c.ratio),
                         some ? fmt::format("; {} {} many", rank_words(c.short_ranks),
                                            c.short_ranks.size() == 1 ? "lacks" : "lack")
                              : "");
    }
    case AnswerReason::OrderRefused:
      if (facts.contains_waiting)
        return "step times go up and down together on all ranks, step by step, as where they contain the waiting for "
               "the slowest: then who that was is not in them (own work, timed before a rank waits, would tell)";
      return "members leave as far apart as they enter, so who came last cannot be told";
    case AnswerReason::NothingMeets:
      return "no operation of the table is known as one at which ranks wait for each other, so what one costs another is "
             "not in it";
    case AnswerReason::NoSteps:
      return "too few synchronisations to compare ranks";
    case AnswerReason::MessagesOnly:
      return "ranks meet through messages alone, and by these nobody is told from the others";
    case AnswerReason::FewSteps:
      if (d.series != SeriesState::None)
        return fmt::format("{} {} too few to tell what lasts or comes back from chance",
                           counted(d.steps, "step"), d.steps == 1 ? "is" : "are");
      return fmt::format(
          "{} step{} {} too few to tell a late rank from chance, unless it is late by half a step", d.steps,
          d.steps == 1 ? "" : "s", d.steps == 1 ? "is" : "are");
    case AnswerReason::TooNoisy:
      return fmt::format(
          "ranks scatter so much over {} steps that one late by a whole step would not stand out", d.steps);
    case AnswerReason::Unexplained:
      return fmt::format(
          "uneven arrival takes {} of the run, and no rank or order of ranks that was looked for explains it",
          percent(lost_ratio(d).value_or(0)));
    case AnswerReason::ReplayOff:
      return fmt::format("the replay of what was recorded takes {} than what was measured",
                         facts.replay_error > 0
                             ? percent_change(facts.replay_error, ChangeSign::InWords) + " longer"
                             : percent_change(facts.replay_error, ChangeSign::InWords) + " less");
  }
  return {};
}

Headline answer_of(const Diagnosis& d) {
  Headline pace = pace_of(d);
  const std::string trouble = trouble_words(d.trouble);
  if (trouble.empty()) return pace;
  const std::string text = pace.verdict.empty() ? trouble : trouble + " Pace: " + pace.verdict;
  return {text, text};
}

}  // namespace cox::diagnose
