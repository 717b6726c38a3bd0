// SPDX-License-Identifier: Apache-2.0
/// \file
/// A plan and its answer as text: what `cox-bench-pace` reads and prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/bench/pace.hpp"

namespace cox::bench {

/// Most of what a plan may hold; bounds what the program maps. Held by: src/bench/pace/wire_test.cpp
struct PaceLimits {
  static constexpr int kRanks = 128;
  static constexpr std::size_t kArms = 32;
  static constexpr std::size_t kBlocks = 10'000;
  static constexpr std::int64_t kSteps = 1'000'000;       ///< of all blocks
  static constexpr std::int64_t kRankSteps = 20'000'000;  ///< steps x ranks
};

/// The plan as lines of text, and back. Errors: bench-009 (line, got, wanted).
[[nodiscard]] std::string pace_plan_text(const PacePlan& plan);
[[nodiscard]] Result<PacePlan> parse_pace_plan(std::string_view text, const std::string& name);

/// Reads what the program printed for `plan`. Errors: bench-009: what is missing, too much, or does not fit
/// the plan. Held by: src/bench/pace/wire_test.cpp
[[nodiscard]] Result<PaceRows> parse_pace_rows(std::string_view text, const PacePlan& plan);

}  // namespace cox::bench
