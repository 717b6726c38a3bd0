// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/step_clock.hpp"

#include <algorithm>
#include <map>

namespace cox::trace {
namespace {

constexpr std::int64_t kLeastRows = 10;
constexpr double kForward = 0.9;  // of the rows: who restarts goes back

}  // namespace

bool only_grow(std::span<const StepValue> rows) {
  struct Seen {
    double value = 0;
    std::int64_t step = 0;
    std::int64_t rows = 0, forward = 0;
  };
  std::map<std::uint32_t, Seen> series;
  for (const StepValue& row : rows) {
    Seen& seen = series[row.series];
    if (seen.rows > 0 && !(row.value > seen.value)) return false;
    if (seen.rows > 0 && row.step > seen.step) ++seen.forward;
    seen.value = row.value;
    seen.step = row.step;
    ++seen.rows;
  }
  for (const auto& [number, seen] : series)
    if (seen.rows < kLeastRows ||
        static_cast<double>(seen.forward) < kForward * static_cast<double>(seen.rows - 1))
      return false;
  return !series.empty();
}

ClockedSteps steps_between(std::span<const StepValue> rows) {
  ClockedSteps out;
  bool is_first = true;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::int64_t steps = rows[i].step - rows[i - 1].step;
    if (steps <= 0) {
      ++out.not_forward;
      continue;
    }
    out.steps_per_row = is_first || out.steps_per_row == steps ? steps : 0;
    is_first = false;
    StepValue length = rows[i];
    length.value = (rows[i].value - rows[i - 1].value) / static_cast<double>(steps);
    length.decimals = std::max(rows[i].decimals, rows[i - 1].decimals);
    out.lengths.push_back(length);
  }
  return out;
}

}  // namespace cox::trace
