// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/answer.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "diagnose/verdict/analyses.hpp"
#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

/// Steps from which naming tests what is not huge (NamingRules::least_steps).
constexpr std::int64_t kEnoughSteps = 10;
/// A replay that is further off than the least delay that is named hides one.
constexpr double kReplayTrusted = 0.04;
/// Part of the run that late arrivals may cost while "nobody" is still an answer.
constexpr double kMostUnexplained = 0.5;

/// Simulated over measured time - 1; 0 where nothing was replayed.
double replay_error(const Analyses& analyses) {
  if (analyses.what_if_operations) return analyses.what_if_operations->fidelity;
  return analyses.what_if && analyses.what_if->measured > Duration::zero() ? analyses.what_if->fidelity_ratio
                                                                           : 0;
}

/// Of a table of step times: ranks that differ by nothing while their steps do end their steps together.
bool contains_waiting(const Diagnosis& d) {
  constexpr double kAlike = 5e-4;   // of a step: own work of two ranks is never so equal
  constexpr double kDiffer = 0.05;  // of what steps of one rank differ by
  if (d.times != trace::TimesKind::Steps || d.ranks.size() < 2 || d.steps <= 0 ||
      d.step_time.median <= Duration::zero())
    return false;
  const double differ =
      ratio(d.step_time.p95, d.step_time.median) - ratio(d.step_time.p05, d.step_time.median);
  if (differ <= 0) return false;
  return std::all_of(d.ranks.begin(), d.ranks.end(),
                     [&](const RankAccount& r) {
                       return ratio(r.self_delay, d.step_time.median) <=
                              std::min(kAlike, kDiffer * differ) * static_cast<double>(d.steps);
                     }) ||
         d.ranks_move_together;
}

std::vector<AnswerReason> failures(const Trouble& t) {
  std::vector<AnswerReason> found;
  if (std::any_of(t.stalls.begin(), t.stalls.end(), [](const Stall& s) { return s.hung; }))
    found.push_back(AnswerReason::Hang);
  if (!t.mismatches.empty()) found.push_back(AnswerReason::Mismatch);
  if (t.ending && (t.ending->told == 0 || t.ending->first)) found.push_back(AnswerReason::ExitStatus);
  return found;
}

std::vector<AnswerReason> doubts(const Diagnosis& d, std::optional<double> least_effect, bool few_steps) {
  std::vector<AnswerReason> found;
  const Coverage& c = d.coverage;
  if (c.ranks_seen < 2 && c.ranks_expected < 2) found.push_back(AnswerReason::OneRank);
  if (c.ranks_seen < c.ranks_expected) found.push_back(AnswerReason::RanksMissing);
  if (c.ratio < kEnoughCalls && c.ranks_seen >= c.ranks_expected) found.push_back(AnswerReason::CallsMissing);
  if (c.order_refused || contains_waiting(d)) found.push_back(AnswerReason::OrderRefused);
  const Analyses& analyses = analyses_of(d);
  if (analyses.what_if_operations) {  // a table of operations: its steps are counted by its own analysis
    if (analyses.what_if_operations->meetings == 0 && c.ranks_seen > 1)
      found.push_back(AnswerReason::NothingMeets);
    if (!analyses.what_if_operations->is_faithful) found.push_back(AnswerReason::ReplayOff);
    const auto steps = static_cast<std::int64_t>(analyses.what_if_operations->steps.size());
    if (steps < kEnoughSteps && analyses.what_if_operations->patterns.passes < kEnoughSteps)
      found.push_back(AnswerReason::FewSteps);
    return found;
  }
  if (d.messages_only)
    found.push_back(AnswerReason::MessagesOnly);
  else if (d.steps == 0)
    found.push_back(AnswerReason::NoSteps);
  else if (few_steps || d.steps < kEnoughSteps)
    found.push_back(AnswerReason::FewSteps);
  else if (least_effect && *least_effect > 1)
    found.push_back(AnswerReason::TooNoisy);
  if (std::abs(replay_error(analyses)) > kReplayTrusted) found.push_back(AnswerReason::ReplayOff);
  if (lost_ratio(d).value_or(0) >= kMostUnexplained) found.push_back(AnswerReason::Unexplained);
  return found;
}

}  // namespace

const char* name_of(AnswerKind k) {
  switch (k) {
    case AnswerKind::Named:
      return "named";
    case AnswerKind::Nobody:
      return "nobody";
    case AnswerKind::CannotTell:
      return "cannot_tell";
    case AnswerKind::JobFailed:
      return "job_failed";
  }
  return "cannot_tell";
}

const char* name_of(AnswerReason r) {
  switch (r) {
    case AnswerReason::ExitStatus:
      return "exit_status";
    case AnswerReason::Hang:
      return "hang";
    case AnswerReason::Mismatch:
      return "mismatch";
    case AnswerReason::OneRank:
      return "one_rank";
    case AnswerReason::RanksMissing:
      return "ranks_missing";
    case AnswerReason::CallsMissing:
      return "calls_missing";
    case AnswerReason::OrderRefused:
      return "order_refused";
    case AnswerReason::NothingMeets:
      return "nothing_meets";
    case AnswerReason::NoSteps:
      return "no_steps";
    case AnswerReason::MessagesOnly:
      return "messages_only";
    case AnswerReason::FewSteps:
      return "few_steps";
    case AnswerReason::TooNoisy:
      return "too_noisy";
    case AnswerReason::ReplayOff:
      return "replay_off";
    case AnswerReason::Unexplained:
      return "unexplained";
  }
  return "no_steps";
}

Answer judge(const Diagnosis& d, std::optional<double> least_effect, bool few_steps) {
  Answer answer;
  const auto take = [&](AnswerKind kind, const std::vector<AnswerReason>& reasons) {
    answer.kind = kind;
    const ReasonFacts facts{.replay_error = replay_error(analyses_of(d)),
                            .contains_waiting = contains_waiting(d)};
    for (const AnswerReason r : reasons) answer.reasons.push_back({r, sentence_of(r, d, facts)});
    return answer;
  };
  if (const auto failed = failures(d.trouble); !failed.empty()) return take(AnswerKind::JobFailed, failed);
  if (!d.findings.empty()) return take(AnswerKind::Named, {});
  if (const auto open = doubts(d, least_effect, few_steps); !open.empty())
    return take(AnswerKind::CannotTell, open);
  answer.kind = AnswerKind::Nobody;
  answer.least_effect_ratio = least_effect;
  return answer;
}

}  // namespace cox::diagnose
