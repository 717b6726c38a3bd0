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

#include "forecast/levers/levers.hpp"

namespace cox::forecast {

/// A ratio of samples, paired by seed. Pre: as many of both, at least one (asserted).
[[nodiscard]] LeverRatio ratio_of(const std::vector<double>& samples, const std::vector<double>& as_it_is);

/// A job whose throughput counts samples by what they are worth: over S(ranks), samples to the target over those at the first size.
/// Formula: ln S through the sizes learned by a monotone cubic of ln ranks, straight beyond them; elasticity less d ln S / d ln ranks.
///          One mechanism more, which makes it so: at the job's own last bit.
[[nodiscard]] ScalingJob in_samples_that_count(const ScalingJob& job, const std::vector<double>& ranks,
                                               const std::vector<double>& samples);

/// Rates of levers at one size, and what each makes of the Scenario that is learned there.
struct LeversToLearn {
  LeverTable table{};
  std::vector<Lever> levers{};  ///< of the Scenario, by the names of the table
  std::int64_t ranks = 0;
};

/// What is learned under.
struct LearnedJob {
  const model::Scenario& scenario;      ///< training steps
  std::vector<LeversToLearn> levers{};  ///< without rows none is learned
  ScalingJob throughput{};              ///< at any size
  std::int64_t ranks = 0;               ///< of the scenario
  std::vector<std::int64_t> sizes{};    ///< that were asked
  bool grows = true;                    ///< its batch with its ranks: weak scaling
  int threads = 1;
};

/// Learns the job as it is, with each lever that has a number and changes learning, at the size of its rate, and (weak scaling) at sizes
/// of twice, four, ... times its ranks up to `most_workers` replicas; strong scaling leaves a synchronous job its batch, and so its samples.
/// Errors: forecast-038 (the job as it is reaches no target); those of `question.learn`.
/// Cost: a learned job for each lever and size. Held by: src/forecast/learned/learned_test.cpp
[[nodiscard]] Result<LearnedControl> learned_control(const LearnedJob& job, const LearningQuestion& question);

}  // namespace cox::forecast
