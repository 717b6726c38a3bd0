// SPDX-License-Identifier: Apache-2.0
/// \file
/// What was found of levers and sizes in samples that count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/forecast/levers.hpp"
#include "cox/forecast/regimes.hpp"

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
  double time = 1;  ///< samples over throughput
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

}  // namespace cox::forecast
