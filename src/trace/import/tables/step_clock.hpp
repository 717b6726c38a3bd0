// SPDX-License-Identifier: Apache-2.0
/// \file
/// Columns of points in time, from which a table's steps follow as the time since the row before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cox::trace {

/// A number of a table, of the unit that its column has.
struct StepValue {
  std::uint32_t series = 0;
  std::int64_t step = 0;
  double value = 0;
  std::size_t decimals = 0;  ///< digits behind the point
};

/// Whether each series, in the order of its rows, only grows, ten rows or more of it, and so do nearly all of its steps'
/// numbers: ten lengths of steps do that once in 3.6 million tables.
[[nodiscard]] bool only_grow(std::span<const StepValue> rows);

struct ClockedSteps {
  std::vector<StepValue> lengths;  ///< per step, where a row stands for several their mean
  std::int64_t steps_per_row = 1;  ///< in all rows; 0 where they differ
  std::int64_t not_forward = 0;    ///< rows whose step is not behind the row before, as after a restart
};
/// What lies between the rows of one series. Held by: src/trace/import/tables/step_clock_test.cpp
[[nodiscard]] ClockedSteps steps_between(std::span<const StepValue> rows);

}  // namespace cox::trace
