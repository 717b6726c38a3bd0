// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the evaluation of pacing leaves: results as JSON, its simulated counterpart,
/// text for a terminal and the page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/study/answer.hpp"

#include "evaluate/pacing/effect.hpp"

namespace cox::evaluate {

/// Schema cox.pacing-study/2. Numbers carry nine significant digits; keys end in their unit.
[[nodiscard]] std::string pacing_json(const PacingResults& results);
/// Reads it back. Errors: study-007 (no such file's content: what is missing or has a bad value).
/// Bounds: 16 MB, 64 conditions, 32 arms each. Held by: src/evaluate/pacing/page_test.cpp
[[nodiscard]] Result<PacingResults> parse_pacing_json(std::string_view text, const std::string& file);

/// One arm of one condition in the engine, against off on the same draws.
struct SimulatedEffect {
  std::string arm{};
  double gain = 0;
  double cv_off = 0;
  double cv_on = 0;
  Seconds mean_off{};
  Seconds delay{};  ///< mean per rank and step
};
struct SimulatedCondition {
  std::string name{};
  std::vector<SimulatedEffect> effects{};
};
/// The same conditions and sizes in the engine, as they are measured: auto from one cold start over as many
/// steps as its segment has, the others in the pairs of blocks of all starts, with their draws. Background
/// traffic is not simulated. Deterministic for any number of threads.
/// Errors: those of `simulate::simulate_paced`.
[[nodiscard]] Result<std::vector<SimulatedCondition>> simulate_pacing(const PacingStudy& study, int threads);

/// Whether the engine says what was measured: where the measured interval leaves 0 out, the same sign and a
/// size within the larger of 5 points and 40 %; elsewhere both within 2 %. Pre: an interval.
[[nodiscard]] bool agrees(const PacingEffect& measured, const SimulatedEffect& simulated);

/// Gain and interval that an arm is judged by: of all time for auto, of pairs for the others.
struct ShownGain {
  double gain = 0;
  double low = 0;
  double high = 0;
  bool has_interval = false;  ///< one start has none
  [[nodiscard]] bool is_above() const { return has_interval && low > 0; }
  [[nodiscard]] bool is_below() const { return has_interval && high < 0; }
};
[[nodiscard]] ShownGain shown_gain(const PacingEffect& e);
/// In percent: `+19.3 [+18.0, +20.5]`, without an interval `+19.3`.
[[nodiscard]] std::string gain_text(const ShownGain& gain);

/// A part of the page: Markdown with headings of level two and below.
struct PageSection {
  std::string markdown{};
};
[[nodiscard]] PageSection protocol_section(const PacingStudy& study);
/// What the numbers say, in words that are chosen by them; empty where nothing was measured.
[[nodiscard]] PageSection findings_section(const PacingStudy& study, const PacingResults& results);
/// What the numbers do not say.
[[nodiscard]] PageSection limits_section(const PacingStudy& study);
/// Tables of what was measured, simulated beside it, and which tests passed.
[[nodiscard]] PageSection measured_section(const PacingStudy& study, const PacingResults& results,
                                           std::span<const SimulatedCondition> simulated);
/// Throughput and CV against the number of ranks, off and auto, measured and simulated; empty where no size
/// was measured. `picture_file` is linked where it is not empty.
[[nodiscard]] PageSection sizes_section(const PacingStudy& study, const PacingResults& results,
                                        std::span<const SimulatedCondition> simulated,
                                        const std::string& picture_file);
/// The same as curves, two panels; no series has points where no size was measured.
[[nodiscard]] study::Picture sizes_picture(const PacingStudy& study, const PacingResults& results,
                                           std::span<const SimulatedCondition> simulated);
/// Where the paper's own table is redone: a study and a page of its own.
[[nodiscard]] PageSection table_link_section();
/// What may be said of these results elsewhere, in Markdown: every word that depends on a number is chosen by it.
struct PacingClaims {
  std::string sentence{};  ///< what `auto` brought, in short
  std::string table{};     ///< each condition: what ranks share, delays by rule, auto, CV
  std::string remedies{};  ///< what other ways of running brought in the same conditions
};
/// Held by: src/evaluate/pacing/claims_test.cpp
[[nodiscard]] PacingClaims pacing_claims(const PacingStudy& study, const PacingResults& results);

/// `text` with the claims between its marks: lines `<!-- pacing study: NAME -->` and `<!-- end -->`, with NAME
/// sentence, table or remedies. Errors: study-007 (no mark, one that is not ended, or an unknown name).
[[nodiscard]] Result<std::string> with_claims(std::string_view text, const PacingClaims& claims,
                                              const std::string& file);

/// docs/studies/pacing.md: title and sections in this order.
[[nodiscard]] std::string pacing_page(const PacingStudy& study, std::span<const PageSection> sections);

/// One condition for a terminal.
[[nodiscard]] std::string condition_text(const PacingStudy& study, const PacingConditionResult& result);
/// The tests over all conditions, and what stays unresolved.
[[nodiscard]] std::string verdict_text(const PacingStudy& study, const PacingResults& results);
/// What would run: conditions, arms, blocks, seconds.
[[nodiscard]] std::string plan_text(const PacingStudy& study, PacingDepth depth);

}  // namespace cox::evaluate
