// SPDX-License-Identifier: Apache-2.0
/// \file
/// How sure a replayed gain is: the same quotient over resampled stretches of steps.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/resample.hpp"
#include "cox/base/units.hpp"

namespace cox::diagnose {

/// Circular block bootstrap with a fixed seed: the same draws for every question, so that intervals can be
/// compared.
///
/// Blocks of sqrt(n) neighbouring steps are drawn, so what lasts several steps counts as one thing that
/// happened. 400 draws, 2.5 % and 97.5 % quantiles (`CircularBlocks`).
/// Cost: O(steps) once per series, O(400 sqrt(steps)) per interval. Threads: const methods may be used by
/// many.
class BlockBootstrap {
 public:
  explicit BlockBootstrap(std::size_t steps);
  /// Whether there are enough steps for an interval to say anything.
  [[nodiscard]] bool possible() const { return blocks_.has_value(); }

  /// Times of steps, prepared: sums of any block at once.
  using Sums = std::vector<double>;
  /// From ends of steps on one time line, as replay tells them.
  [[nodiscard]] Sums prepare(std::span<const Duration> ends) const;
  /// Of sum(above) / sum(below).
  [[nodiscard]] Interval quotient(const Sums& above, const Sums& below) const;
  /// Of (sum(from) - sum(to)) / sum(whole).
  [[nodiscard]] Interval difference(const Sums& from, const Sums& to, const Sums& whole) const;

 private:
  static constexpr std::size_t kLeastSteps = 8;
  static constexpr std::size_t kDraws = 400;

  std::optional<CircularBlocks> blocks_;  ///< none where there are too few steps
};

}  // namespace cox::diagnose
