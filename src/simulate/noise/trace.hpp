// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recorded noise: step times of ranks, and detours of one core.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::simulate {

/// Compute times by step and rank, in seconds.
struct StepTimes {
  std::size_t steps = 0;
  std::size_t ranks = 0;
  std::vector<double> seconds;  ///< [step * ranks + rank]
  double mean = 0;
};

/// When the core was taken away, and for how long, within `window`; seconds, ascending.
struct Detours {
  double window = 0;
  double total = 0;
  std::vector<double> at;
  std::vector<double> lasts;
};

using NoiseTrace = std::variant<StepTimes, Detours>;

/// Reads what `cox bench noise` writes; docs/concepts/noise.md has both forms. `name` is for messages.
/// Errors: simulate-002 with the line. Memory: at most 16 bytes per line.
[[nodiscard]] Result<NoiseTrace> parse_noise_trace(std::string_view text, const std::string& name);

}  // namespace cox::simulate
