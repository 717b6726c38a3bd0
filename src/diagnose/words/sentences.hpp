// SPDX-License-Identifier: Apache-2.0
/// \file
/// Results as sentences: the one place of this room that puts numbers into words, last of all. It sees what
/// other rooms see of a result and nothing behind it; nobody reads its sentences but people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/diagnose/cause.hpp"
#include "cox/diagnose/comparison.hpp"
#include "cox/diagnose/coverage.hpp"
#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/charge/attribution.hpp"
#include "diagnose/match/presence.hpp"
#include "diagnose/operations/operation_what_if.hpp"
#include "diagnose/what_if/what_if.hpp"

namespace cox::diagnose {

/// Whether single ranks are spoken of. Where nobody is named they are not: whoever happened to be late most
/// is late in any noise.
enum class Whom : std::uint8_t { Ranks, Nobody };

/// `1 call`, `1 200 calls`.
[[nodiscard]] std::string counted(std::int64_t n, const char* what);

/// Lines on what fixing ranks or the fabric would gain, most important first.
[[nodiscard]] std::vector<std::string> describe(const WhatIf& w, Whom whom);
/// What of charges could not be used, and why nothing is charged: clauses without a full stop.
[[nodiscard]] std::string clause_of(const ChargeNote& note);
[[nodiscard]] std::optional<std::string> refusal_of(const Attribution& a);
/// Lines on who made whom wait; never empty.
[[nodiscard]] std::vector<std::string> describe(const Attribution& a, Whom whom);
/// The cause that a what-if on recorded operations found, without a full stop: the claim alone, and with what of
/// the slowdown goes with it.
[[nodiscard]] std::string claim_of(const OperationFinding& f);
[[nodiscard]] std::string sentence_of(const OperationFinding& f);
/// What groups that share a part of the fabric say of it, without a full stop.
[[nodiscard]] std::string sentence_of(const FabricEvidence& e);
[[nodiscard]] std::string message_words(const Finding& f, const MessageEvidence& e);
/// What a rule found, or what it needs.
[[nodiscard]] std::string sentence_of(const CauseTest& t, const Reasons& r);
/// How the rule is called: as the cause that it names, or `phase`.
[[nodiscard]] const char* rule_name(const CauseTest& t);

/// "one-sided communication 1 200, files 3"; empty where there was no such call.
[[nodiscard]] std::string unobserved_words(const trace::UnobservedCalls& calls);

/// What matching and cutting into steps left open, as numbers.
struct OpenEnds {
  std::int64_t incomplete_operations = 0;  ///< of which a member's call is missing
  Duration inside{};                       ///< time inside synchronisations, all ranks
  Duration rooted{};                       ///< of it, inside operations that hold only some members
  std::int64_t guessed_ranks = 0;          ///< whose steps were taken from another rank
  bool all_sampled = true;                 ///< of every rank there are samples
};
/// What the input does not answer.
[[nodiscard]] std::vector<std::string> name_gaps(const Diagnosis& d, const OpenEnds& open);

/// What was seen while judging, and is not in the diagnosis.
struct ReasonFacts {
  double replay_error = 0;        ///< simulated over measured time - 1
  bool contains_waiting = false;  ///< times of steps hold the waiting for the slowest
};
/// Why nobody is named though that does not mean that nobody sets the pace, or what became of the job; a clause.
[[nodiscard]] std::string sentence_of(AnswerReason r, const Diagnosis& d, const ReasonFacts& facts);

/// Whom a finding names, since when, and how it shows: `rank 2 sets the pace all along: its own work ...`;
/// without a full stop and without what it costs.
[[nodiscard]] std::string sentence_of(const Finding& f);
/// The same below a headline that says who it is.
[[nodiscard]] std::string sentence_below_headline(const Finding& f);
/// Where the extra time goes and why, as far as known: `in its data loader; it slept or waited for I/O`.
[[nodiscard]] std::string cause_sentence(const Finding& f);
/// Whether rules of causes were asked and none found anything to look at.
[[nodiscard]] bool has_no_data(const Finding& f);

/// That some ranks have much less to do than others all along, which is no lateness of single ones; empty where
/// they have not.
[[nodiscard]] std::string uneven_work(const Diagnosis& d);
/// `Rank 3 was late once: by 2.1 s, in step 31; without that the run would be 55 % shorter.`; empty where there is no such
/// step.
[[nodiscard]] std::string single_stall_words(const Diagnosis& d);

/// The answer in one or two sentences.
struct Headline {
  std::string verdict;
  std::string lead;  ///< without the words that the headline says
};
[[nodiscard]] Headline answer_of(const Diagnosis& d);
/// Who it is about, and how late they are, in a finding whose repetitions are operations.
[[nodiscard]] std::string subject_over_operations(const OverOperations& over);
[[nodiscard]] std::string late_words_over_operations(const Finding& f, const OverOperations& over);
/// The numbers behind such a finding.
[[nodiscard]] std::vector<Evidence> evidence_over_operations(const LateEvidence& e,
                                                             const OverOperations& over);
/// Who is absent from how many operations, and who is late among those present; empty where nobody is absent.
[[nodiscard]] std::vector<std::string> describe(const Presence& presence);

/// That two runs are not of one job, and in what; empty where nothing differs.
[[nodiscard]] std::string differences_sentence(const std::vector<JobDifference>& differs,
                                               const Diagnosis& before, const Diagnosis& after);
/// By how much the median step changed: ` by 12 %`, or `, 126 times as long` where per cent would be above 100.
[[nodiscard]] std::string change_by(const RatioInterval& ratio);
/// A run before a change against the same job after it; `enough`: both have the steps that a statement needs.
[[nodiscard]] std::vector<std::string> describe(const Comparison& c, bool enough, std::int64_t fewest_steps,
                                                double least_change);

/// `0, 1, 2`; beyond sixteen `and 12 more`.
[[nodiscard]] std::string rank_numbers(const std::vector<Rank>& ranks);
/// ` before all-reduce 3 of 4 on world`; empty where a finding is not limited to some operations of a step.
[[nodiscard]] std::string position_words(const Finding& f);
/// Who pauses how often, and what one pause costs; without a full stop.
[[nodiscard]] std::string pause_words(const Finding& f, const LateEvidence& e);
/// Who works longer than the others where nothing tells who waited for whom.
[[nodiscard]] std::string own_work_words(const Finding& f, const LateEvidence& e);
/// `rank 3`, `ranks 0, 1, 2, ...`: at most eight.
[[nodiscard]] std::string subject_of(const std::vector<Rank>& ranks);

/// `without that` (the pronoun), or for stages `with work dealt out evenly over the stages`: what a gain stands for.
[[nodiscard]] std::string if_put_right(const Finding& f, const char* pronoun);

/// Whether it concerns most steps: a burst, a turn and a pause leave the median step where it is.
[[nodiscard]] bool moves_the_median(const Finding& f);

/// `fixing all that is named would save 22 % (estimated)`; empty where one is named, or a gain is doubtful.
[[nodiscard]] std::string gain_of_all_words(const Diagnosis& d);

}  // namespace cox::diagnose
