// SPDX-License-Identifier: Apache-2.0
/// \file
/// Levers and sizes of a Scenario in samples that count: throughput beside time to a target.
#pragma once

#include <vector>

#include "cox/base/result.hpp"
#include "cox/forecast/learning.hpp"

#include "forecast/answer/forecast.hpp"

namespace cox::forecast {

/// A ratio of samples, paired by seed. Pre: as many of both, at least one (asserted).
[[nodiscard]] LeverRatio ratio_of(const std::vector<double>& samples, const std::vector<double>& as_it_is);

/// A job whose throughput counts samples by what they are worth: over S(ranks), samples to the target over those at the first size.
/// Formula: ln S through the sizes learned by a monotone cubic of ln ranks, straight beyond them; elasticity less d ln S / d ln ranks.
///          One mechanism more, which makes it so: at the job's own last bit.
[[nodiscard]] ScalingJob in_samples_that_count(const ScalingJob& job, const std::vector<double>& ranks,
                                               const std::vector<double>& samples);

/// Learns the job as it is, with each lever that has a number and changes learning, and (weak scaling) at sizes of twice, four, ...
/// times its ranks up to `most_workers` replicas; strong scaling leaves a synchronous job its batch, and so its samples.
/// Pre: `evidence` is a Scenario of training steps, with parts and, where levers are shown, their table.
/// Errors: forecast-038 (something else); those of `question.learn`.
/// Cost: a learned job for each lever and size. Held by: src/forecast/answer/learned_test.cpp
[[nodiscard]] Status add_learned(FullForecast& forecast, const Evidence& evidence, const Asked& asked,
                                 const LearningQuestion& question);

}  // namespace cox::forecast
