// SPDX-License-Identifier: Apache-2.0
/// \file
/// Levers and sizes of a Scenario in samples that count: throughput beside time to a target.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/forecast/learning.hpp"
#include "cox/forecast/levers.hpp"
#include "cox/forecast/regimes.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// A lever in samples that count. Ratios over the job as it is; intervals of 90 %, Student's t over seeds on logarithms.
struct LearnedLever {
  std::string name{};
  LeverRatio throughput{};  ///< as `LeverEffect`
  LeverRatio samples{};     ///< until the target
  /// Samples over throughput: half widths add as roots of squares, for their draws have nothing in common
  LeverRatio time{};
  std::string why_not{};  ///< it has no number, and why; empty = it has
};

/// A size in samples that count, over the size that was said.
struct LearnedSize {
  std::int64_t ranks = 0;
  double throughput = 1;
  LeverRatio samples{};
  double time_ratio = 1;  ///< to the target: samples over throughput
  std::string why_not{};
};

/// Levers and sizes with what they do to learning.
struct LearnedControl {
  std::string what{};
  std::vector<LearnedLever> levers{};
  std::vector<LearnedSize> sizes{};
  Regimes regimes{};         ///< of progress: throughput over samples to the target; `range.to` 0 = none
  std::string no_regimes{};  ///< why there are none
  std::vector<std::string> notes{};  ///< one sentence each
};

/// A ratio of samples, paired by seed. Pre: as many of both, at least one (asserted).
[[nodiscard]] LeverRatio ratio_of(const std::vector<double>& samples, const std::vector<double>& as_it_is);

/// A job whose throughput counts samples by what they are worth: over S(ranks), samples to the target over those at the first size.
/// Formula: ln S through the sizes learned by a monotone cubic of ln ranks, straight beyond them; elasticity less d ln S / d ln ranks.
///          One mechanism more, which makes it so: at the job's own last bit.
[[nodiscard]] ScalingJob in_samples_that_count(const ScalingJob& job, const std::vector<double>& ranks,
                                               const std::vector<double>& samples);

/// What is learned under.
struct LearnedJob {
  const model::Scenario& scenario;    ///< training steps
  LeverTable levers{};                ///< of it; without rows none is learned
  ScalingJob throughput{};            ///< at any size
  std::int64_t ranks = 0;             ///< of the scenario
  std::vector<std::int64_t> sizes{};  ///< that were asked
  bool grows = true;                  ///< its batch with its ranks: weak scaling
  int threads = 1;
};

/// Learns the job as it is, with each lever that has a number and changes learning, and (weak scaling) at sizes of twice, four, ...
/// times its ranks up to `most_workers` replicas; strong scaling leaves a synchronous job its batch, and so its samples.
/// Errors: forecast-038 (the job as it is reaches no target); those of `question.learn`.
/// Cost: a learned job for each lever and size. Held by: src/forecast/learned/learned_test.cpp
[[nodiscard]] Result<LearnedControl> learned_control(const LearnedJob& job, const LearningQuestion& question);

}  // namespace cox::forecast
