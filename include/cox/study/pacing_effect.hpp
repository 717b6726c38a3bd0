// SPDX-License-Identifier: Apache-2.0
/// \file
/// From blocks of measured steps to effects with intervals and tests, as the protocol says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/study/pacing.hpp"

namespace cox::study {

/// What a rank-averaged step showed.
struct PacedMeasurement {
  Duration period{};
  Duration mean_wait{};   ///< over ranks
  Duration mean_delay{};  ///< over ranks
  bool is_held = false;   ///< rank 0's controller was holding: in a paced block after the decision
};
struct MeasuredBlock {
  double steal_ratio = 0;
  std::vector<PacedMeasurement> steps{};
};
/// A group as it was measured; blocks as in its plan.
struct MeasuredGroup {
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

/// One arm against off.
struct PacingEffect {
  std::string arm{};
  int pairs = 0;                     ///< that count
  std::vector<double> pair_gains{};  ///< of each pair that counts, in the order in which they were measured
  int struck = 0;                    ///< by the steal-time rule
  /// Throughput against off: exp(median log ratio) - 1, and its bootstrap interval.
  double gain = 0;
  double low = 0;
  double high = 0;
  /// The same from all time spent on either side, so that what finding out has cost is in it: `auto` has to
  /// hold with both.
  double total_gain = 0;
  double total_low = 0;
  double total_high = 0;
  PacingSide off{};
  PacingSide on{};
  double held_cv = 0;  ///< of the steps in paced blocks after the decision; 0 = fewer than two windows
  std::int64_t held_steps = 0;
  double p_harm = 1;    ///< one-sided, of "worse than off by the protocol's harm or more"; not corrected
  double p_bar = 1;     ///< of "not better than the condition's bar"
  double p_random = 1;  ///< auto only: of "worse than the random control by harm or more"
};

/// A test over all conditions, after Holm's correction.
struct PacingVerdict {
  double p = 1;
  bool passed = false;
};

struct PacingConditionResult {
  std::string name{};
  std::string skipped{};  ///< why it was not measured; empty = it was
  int groups = 0;         ///< that were measured
  int failed_groups = 0;  ///< that broke off, and are not part of anything
  std::string failure{};  ///< the last of these, in words
  std::vector<PacingEffect> effects{};
  double floor_half_width = -1;  ///< of off against off; negative = not measured
  bool is_resolved = false;
  PacingVerdict no_harm{};
  PacingVerdict superior{};              ///< where the condition has a bar
  PacingVerdict no_worse_than_random{};  ///< the same
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

/// Ratios of one arm's pairs.
struct PairSums {
  Seconds off{};  ///< time of the counted steps
  Seconds on{};
  std::int64_t off_steps = 0;
  std::int64_t on_steps = 0;
  /// log of (off per step over on per step): positive = faster
  [[nodiscard]] double log_ratio() const;
};
struct BootstrapOfPairs {
  double median = 0;
  double total = 0;
  std::vector<double> medians{};  ///< replicates
  std::vector<double> totals{};
};
/// Resamples pairs (block bootstrap with the pair as the block). A replicate's distance from the estimate is
/// stretched by sqrt(n / (n - 1)), since resampling n pairs understates their spread by that.
/// Draws: Philox(seed, replicate, place). Pre: at least one pair.
/// Held by: src/study/pacing/effect_test.cpp (coverage)
[[nodiscard]] BootstrapOfPairs bootstrap_pairs(std::span<const PairSums> pairs, std::uint64_t seed,
                                               int draws);

/// Holm's step-down correction: adjusted p values in the order of `p`.
/// Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
/// Held by: src/study/pacing/effect_test.cpp
[[nodiscard]] std::vector<double> holm_adjusted(std::span<const double> p);

/// Effects of all arms of one condition; the tests are not corrected yet.
/// Pre: each group's blocks are those of its plan (asserted).
[[nodiscard]] PacingConditionResult judge_condition(const PacingStudy& study,
                                                    const PacingCondition& condition,
                                                    std::span<const MeasuredGroup> groups);

/// Whether `auto` is undecided: a test of it has not passed, after the correction, and is not refuted either
/// (an interval that lies below the border). Pre: `correct_tests` has seen the result.
[[nodiscard]] bool is_auto_open(const PacingStudy& study, const PacingCondition& condition,
                                const PacingConditionResult& result);
/// Whether a further group could change something: auto is undecided, or the floor is too wide.
[[nodiscard]] bool wants_more(const PacingStudy& study, const PacingCondition& condition,
                              const PacingConditionResult& result);

/// Corrects the tests over all conditions, and sets what passed.
void correct_tests(const PacingStudy& study, std::vector<PacingConditionResult>& results);

}  // namespace cox::study
