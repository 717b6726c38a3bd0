// SPDX-License-Identifier: Apache-2.0
/// \file
/// Samples of several sizes: parts and plain curves, each held against the largest.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/calibrate/parts.hpp"
#include "forecast/project/project.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// Mean step of a sample, with its standard error: steps that resemble each other count as fewer.
struct StepMean {
  Seconds mean{};
  Seconds median{};
  Seconds error{};
};
[[nodiscard]] StepMean step_mean(const Sample& sample);

/// What own work is at other sizes.
[[nodiscard]] inline WorkOf work_of(Scaling scaling) {
  return scaling == Scaling::Strong ? WorkOf::Whole : WorkOf::Rank;
}

/// One way to foretell other sizes from those seen: by parts, or by a curve.
struct Way {
  std::string name{};   ///< `parts`, or a curve's
  double held_out = 0;  ///< relative error at the largest size, made from the smaller ones
  double weight = 0;    ///< in the value; all sum to 1
  double chance = 0;    ///< relative: what `held_out` may be where the way is right; of curves not told
};

/// The ways, where there are three sizes and more; empty otherwise, or where the smaller sizes cannot be taken apart.
///
/// Formula: parts alone, where they miss by no more than their own band and 1.645 standard errors of what was measured: a curve
///          that happens to be nearer has no cause. Else weight ~ 1 / (held_out² + chance²), chance = twice the largest size's
///          standard error, 0.2 % at least.
/// Cost: one calibration. Held by: src/forecast/ways/several_sizes_test.cpp
[[nodiscard]] std::vector<Way> ways_of(std::span<const Sample> samples, const ProjectOptions& options);

/// The value becomes the ways' mean by weight; what parts missed is in the band where they answer alone, too. The band, beside that by parts, holds 1.645 times the ways' spread and what of
/// their held-out error is more than chance, times how many times further the size is than the largest was from the one before it, in logarithms;
/// the three add by squares. Quantiles move with the mean.
/// Where the tail of `parts` may have no mean, curves alone answer: the median is then as far from the mean as at the largest size,
/// and no other quantile is told. A band wider than a factor of 2 is refused.
/// Held by: src/forecast/ways/several_sizes_test.cpp
void apply_ways(Projection& projection, const std::vector<Way>& ways, std::span<const Sample> samples,
                const Parts& parts);

/// What weighs how much and why, as one sentence. Pre: ways, not none.
[[nodiscard]] std::string ways_text(const std::vector<Way>& ways);

}  // namespace cox::forecast
