// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kind of answer a diagnosis is, and why it is not another: docs/concepts/naming.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cox::diagnose {

/// Text forms are `named`, `nobody`, `cannot_tell`, `job_failed`.
enum class AnswerKind : std::uint8_t {
  Named,       ///< somebody or something sets the pace: there are findings
  Nobody,      ///< tested, and nobody does: what would have been named is said
  CannotTell,  ///< the input does not carry that test
  JobFailed  ///< the job stands still, disagrees with itself or did not end well; findings may stand beside it
};
[[nodiscard]] const char* name_of(AnswerKind k);

/// Why nobody is named and it does not mean that nobody sets the pace, or what became of the job. Text forms
/// are the names in lower case: `exit_status`, `ranks_missing`.
enum class AnswerReason : std::uint8_t {
  ExitStatus,    ///< of the job, not 0
  Hang,          ///< a call stands still
  Mismatch,      ///< members disagree on a collective
  OneRank,       ///< nobody to compare with
  RanksMissing,  ///< of some ranks there is no record
  CallsMissing,  ///< too many calls lack a member: files cut, damaged, overwritten
  OrderRefused,  ///< members leave as far apart as they enter
  NothingMeets,  ///< a table of operations without any at which ranks wait for each other
  NoSteps,       ///< too few synchronisations to form steps
  MessagesOnly,  ///< ranks meet through messages alone, and nobody stands out by these
  FewSteps,      ///< too few steps to tell lateness from chance
  TooNoisy,      ///< ranks scatter so much that one late by a whole step would not stand out
  ReplayOff,     ///< the replay of what was recorded does not give what was measured
  Unexplained    ///< late arrivals cost half of the run and more, and no rank or order of ranks explains it
};
[[nodiscard]] const char* name_of(AnswerReason r);

struct ReasonClause {
  AnswerReason reason = AnswerReason::NoSteps;
  std::string text;  ///< a clause without a full stop
};

struct Answer {
  AnswerKind kind = AnswerKind::Nobody;
  std::vector<ReasonClause> reasons;  ///< most important first; empty where somebody or nobody is named
  /// Nobody: with this part of a step more to do, all along, any rank would have been named; a few that are far faster than the others are left out.
  std::optional<double> least_effect_ratio;
};

}  // namespace cox::diagnose
