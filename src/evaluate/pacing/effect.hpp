// SPDX-License-Identifier: Apache-2.0
/// \file
/// From blocks of measured steps to effects with intervals and tests, as the protocol says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/base/resample.hpp"

#include "evaluate/pacing/plan.hpp"

namespace cox::evaluate {

/// What a rank-averaged step showed.
struct PacedMeasurement {
  Duration period{};
  Duration mean_wait{};   ///< over ranks
  Duration mean_delay{};  ///< over ranks
  double holding = 0;     ///< share of the ranks whose controllers hold
};
struct MeasuredBlock {
  double steal_ratio = 0;
  std::vector<PacedMeasurement> steps{};
};
/// A cold start as it was measured; blocks as in its plan.
struct MeasuredStart {
  PacingPlan plan{};
  std::vector<MeasuredBlock> blocks{};
};

/// Steps of one side of all pairs, first windows left out.
struct PacingSide {
  std::int64_t steps = 0;
  Seconds lasted{};  ///< all of its steps together
  Seconds mean{};    ///< of a step
  Seconds p99{};
  double cv = 0;
  Seconds wait{};   ///< mean over ranks and steps
  Seconds delay{};  ///< the same
  /// Of a rank and step, in units of a rank that works for a second: work counts 1, waiting and delay the
  /// idle share of the power (1 where waiting ones spin). An estimate.
  double energy = 0;
};

/// What one cold start says of one arm: the unit of inference. Pairs of blocks are nested in it.
struct PacingStart {
  int number = 0;                    ///< of the start; those of one condition are the same for all arms
  std::vector<double> pair_gains{};  ///< throughput against off, in the order of measurement
  double total_gain = 0;             ///< the same of all time on either side
};

/// One arm against off. From `starts` and the sides follows the rest: `judge_effects`.
struct PacingEffect {
  std::string arm{};
  std::vector<PacingStart> starts{};  ///< that have a pair that counts
  int struck = 0;                     ///< pairs, by the steal-time rule
  /// Throughput against off: exp(mean of the starts' log ratios) - 1, with Student's interval. A start's is the
  /// mean of its pairs; of `auto` the median of its chunks, most of which come after its decision.
  double gain = 0;
  double low = 0;
  double high = 0;
  /// The same from all time spent on either side, so that what finding out has cost is in it.
  double total_gain = 0;
  double total_low = 0;
  double total_high = 0;
  PacingSide off{};
  PacingSide on{};
  double held_cv = 0;  ///< of paced steps that most ranks hold; 0 = fewer than two windows
  std::int64_t held_steps = 0;
  double holding = -1;  ///< share of ranks and steps in which a rank holds; negative = not recorded
  double p_harm = 1;    ///< one-sided, of "worse than off by the protocol's harm or more"; not corrected
  double p_bar = 1;     ///< of "not better than the condition's bar"
  double p_random = 1;  ///< auto only: of "worse than the random control by harm or more"
  double p_zero = 1;    ///< two-sided, of "as off"
  [[nodiscard]] std::size_t pairs() const;
};

/// A test over all conditions, after Holm's correction.
struct PacingVerdict {
  double p = 1;
  bool passed = false;
};

struct PacingConditionResult {
  std::string name{};
  std::string skipped{};  ///< why it was not measured; empty = it was
  int starts = 0;         ///< that were measured
  int failed_starts = 0;  ///< that broke off, and are not part of anything
  std::string failure{};  ///< the last of these, in words
  std::vector<PacingEffect> effects{};
  double floor_half_width = -1;  ///< of off against off; negative = not measured
  bool is_resolved = false;
  PacingVerdict no_harm{};
  PacingVerdict superior{};              ///< where the condition has a bar
  PacingVerdict no_worse_than_random{};  ///< the same
  PacingVerdict floor_beside_zero{};     ///< off against off is found to differ: passed = it is
};

/// What the machine was; for the page.
struct PacingMachine {
  std::string kernel{};
  int cores = 0;
  std::string date{};      ///< YYYY-MM-DD
  double load_before = 0;  ///< of a minute, at the beginning
};

struct PacingResults {
  bool full = false;
  std::string plan{};  ///< `PacingStudy::digest` of what was measured
  PacingMachine machine{};
  std::vector<PacingConditionResult> conditions{};
  std::vector<PacingConditionResult> sizes{};  ///< of `PacingStudy::sizes`; no tests
};

/// Mean of effects of which each start gives one, and how well it is known.
struct StartsEstimate {
  int starts = 0;
  double mean = 0;
  /// sd * sqrt(1 / n + rho / (1 - rho)): the error of the mean of n starts that share the part rho of their
  /// variance. With rho = 0 the usual one; exact where all pairs of starts have the correlation rho, too
  /// large where they have less. What they share does not show in their spread, so rho is set beforehand.
  double error = 0;
  /// Student's, n - 1 degrees of freedom. Pre: two starts.
  [[nodiscard]] Interval interval(double confidence) const;
  /// One-sided p value of "the effect is at most `border`". 1 of fewer than two starts.
  [[nodiscard]] double p_at_most(double border) const;
};
/// Held by: src/evaluate/pacing/inference_test.cpp
[[nodiscard]] StartsEstimate estimate_starts(std::span<const double> effects, double correlation);

/// Holm's step-down correction: adjusted p values in the order of `p`.
/// Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
/// Held by: src/evaluate/pacing/effect_test.cpp
[[nodiscard]] std::vector<double> holm_adjusted(std::span<const double> p);

/// Effects of all arms of one condition from its starts; the tests are not corrected yet.
/// Held by: src/evaluate/pacing/effect_test.cpp
[[nodiscard]] PacingConditionResult judge_condition(const PacingStudy& study,
                                                    const PacingCondition& condition,
                                                    std::span<const MeasuredStart> starts);

/// The part of it that needs no steps: gains, intervals and p values anew from each effect's `starts`.
void judge_effects(const PacingStudy& study, const PacingCondition& condition, PacingConditionResult& result);

/// Corrects the tests over all conditions, and sets what passed. Each kind of test is a family.
/// Held by: src/evaluate/pacing/inference_test.cpp (false positives of each family)
void correct_tests(const PacingStudy& study, std::vector<PacingConditionResult>& results);

/// Both for results of any protocol, as they were read from a file.
void judge_all(const PacingStudy& study, PacingResults& results);

}  // namespace cox::evaluate
