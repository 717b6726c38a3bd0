// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files of measured times of collectives (`cost.table`).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/model/measured_times.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

inline constexpr std::size_t kMostMeasured = 100'000;

/// Lines `collective ranks size time [slow probability]`, split by blanks or commas; `#` begins a comment, `*` is any
/// number of ranks: `all-reduce 8 1MiB 61us 400us 0.01`. Sizes rise within a collective and its ranks.
/// Errors: simulate-008 with the line: words, units, numbers out of range, sizes that do not rise, no rows at all, more
/// than `kMostMeasured` of them. Held by: src/simulate/collective/measured_file_test.cpp, fuzz (measured)
[[nodiscard]] Result<model::MeasuredTimes> parse_measured_times(std::string_view text,
                                                                const std::string& name);
/// Those of the scenario: what it has, or what is in its file of at most 16 MB. Errors: base-002 to base-004, and the
/// above.
[[nodiscard]] Result<model::MeasuredTimes> measured_times_of(const model::Scenario& scenario);

}  // namespace cox::simulate
