// SPDX-License-Identifier: Apache-2.0
/// \file
/// How results are said in words: the same in the terminal and in the page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/trace/run.hpp"

namespace cox::report {

/// `measured`, `measured (imported)` or `simulated`.
[[nodiscard]] std::string_view provenance_word(trace::Provenance p);

/// The answer in one short line: `Rank 3 sets the pace`, `Nobody sets the pace`.
[[nodiscard]] std::string headline(const diagnose::Diagnosis& d);

/// What the headline does not say already, as a sentence.
[[nodiscard]] std::string lead(const diagnose::Diagnosis& d);

/// `slow rank`, `transient straggler`: a kind of finding as people say it.
[[nodiscard]] std::string_view kind_words(diagnose::FindingKind k);

/// What a finding costs and fixing it saves: `30 % of lost time, gain 5 % (estimated)`.
[[nodiscard]] std::string price_words(const diagnose::Finding& f);

/// Whom a finding is about: `rank 3`, `ranks 0-3, 7`, `ranks in turn: 0-7`.
[[nodiscard]] std::string subject(const diagnose::Finding& f);

/// `0-3, 7`: runs of neighbours joined. At most `limit` parts, then `and 12 more`.
[[nodiscard]] std::string rank_list(std::span<const Rank> ranks, std::size_t limit = 8);

/// What a step is in this Run: `marked by the program`, ...
[[nodiscard]] std::string_view step_source_words(diagnose::StepSource s);

/// A cause as words: `optimizer or data`.
[[nodiscard]] std::string cause_words(diagnose::Cause c);

/// Whether calls and clocks support the result: one line, `coverage 100 % ...`.
[[nodiscard]] std::string coverage_line(const diagnose::Coverage& c);

/// The second line: what the clocks are worth.
[[nodiscard]] std::string clock_line(const diagnose::Diagnosis& d);
/// Where the ranks of a node may run, without its name: `2 packages, ...`.
[[nodiscard]] std::string locality_words(const diagnose::NodeLocality& n);
/// How several hosts' clocks were put side by side; empty where there is one.
[[nodiscard]] std::string host_clock_words(const diagnose::Coverage& c);

/// Accounts by what the others lost to each, the most first.
[[nodiscard]] std::vector<const diagnose::RankAccount*> by_charge(const diagnose::Diagnosis& d);

}  // namespace cox::report
