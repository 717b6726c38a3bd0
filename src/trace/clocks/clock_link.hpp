// SPDX-License-Identifier: Apache-2.0
/// \file
/// Two clocks that watch the same operations: how far apart they are, and how that changes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::trace {

/// One operation that nobody leaves before everybody has entered, as two clocks saw it. With `o` = what the
/// second clock shows more than the first: lower <= o <= upper, whatever the network did.
struct LinkSample {
  Duration at{};     ///< first clock, when the first member on its side left
  Duration upper{};  ///< first exit there (second clock) minus last entry here (first clock)
  Duration lower{};  ///< last entry there minus first exit here
  Duration exits{};  ///< first exit there minus first exit here
};

/// What a clock shows more than another, as a line through knots; beyond the outer ones it goes on straight.
class ClockLine {
 public:
  struct Knot {
    Duration at{};
    Duration value{};
  };
  ClockLine() = default;
  explicit ClockLine(std::vector<Knot> knots) : knots_(std::move(knots)) {}
  [[nodiscard]] Duration at(Duration t) const;
  [[nodiscard]] const std::vector<Knot>& knots() const { return knots_; }
  /// Mean slope between the outer knots: seconds per second.
  [[nodiscard]] double slope() const;

 private:
  std::vector<Knot> knots_;  ///< by `at`, strictly; one is a constant, none is zero
};

/// How one clock follows from another.
struct LinkFit {
  ClockLine offset;       ///< second minus first, over the first clock's time
  Duration residual{};    ///< 95 % of the stretches of time, by weight, lie within this of the line
  Duration half_width{};  ///< half of the window that causality leaves for the offset
  /// standard error of the drift, seconds per second; a smaller drift is not applied
  double drift_error = 0;
  std::size_t samples = 0;  ///< used
};

/// Fits offset and drift.
///
/// Formula: samples in up to 64 stretches of equally many; per stretch the middle of the causal window
///          where it is narrow (both sides come last now and then: half of it is the mean one-way delay),
///          else the densest half of the exit differences (somebody always comes last). A line by `follow`,
///          brought within the bounds by `keep_within`. Bent where a straight line does not hold:
///          clocks that a time service steers. A drift that is smaller than its standard error (robust scatter of
///          the stretches over the spread of their times) is noise: a constant is fitted instead.
/// Source:  Cristian 1989 (bounds from messages); Doleschal et al. 2008 (event traces); bounded_line.hpp.
/// Errors:  nothing for fewer than 8 samples.
/// Cost:    O(n log n) in samples, which are thinned to 32768.
/// Held by: src/trace/run/host_clocks_test.cpp
[[nodiscard]] std::optional<LinkFit> fit_link(std::vector<LinkSample> samples);

}  // namespace cox::trace
