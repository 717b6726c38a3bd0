// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/step_clock.hpp"

#include <algorithm>
#include <cmath>

namespace cox::trace {
namespace {

constexpr std::int64_t kManyMoves = 20;
constexpr double kMostFalls = 0.1;  // of many moves
constexpr double kFewRises = 3;     // that a clock may have made before its first row
constexpr double kOfResolution = 200;

/// Time that passed from row to row where it and the step went on, in the mean.
double usual_between(std::span<const StepValue> rows) {
  double passed = 0;
  std::int64_t count = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].step <= rows[i - 1].step || rows[i].value < rows[i - 1].value) continue;
    passed += rows[i].value - rows[i - 1].value;
    ++count;
  }
  return count > 0 ? passed / static_cast<double>(count) : 0;
}

}  // namespace

void Growth::add(std::uint32_t series, double value) {
  const bool is_first = courses_.empty();
  lowest_ = is_first ? value : std::min(lowest_, value);
  highest_ = is_first ? value : std::max(highest_, value);
  const auto [at, is_new] =
      courses_.try_emplace(series, Course{.first = value, .last = value, .highest = value});
  Course& c = at->second;
  if (is_new) return;
  if (value > c.last) {
    ++c.rises;
    c.risen += value - c.last;
  } else if (value < c.last) {
    ++c.falls;
  }
  c.last = value;
  c.highest = std::max(c.highest, value);
}

template <class Test>
bool Growth::all(const Test& test) const {
  bool any = false;
  for (const auto& [series, course] : courses_) {
    if (!counts(course)) continue;
    any = true;
    if (!test(course)) return false;
  }
  return any;
}

bool Growth::goes_up() const {
  return all([](const Course& c) {
    const std::int64_t moves = c.rises + c.falls;
    return c.falls == 0 ||
           (moves >= kManyMoves && static_cast<double>(c.falls) <= kMostFalls * static_cast<double>(moves));
  });
}

bool Growth::from_nothing() const {
  return goes_up() &&
         all([](const Course& c) { return c.first <= kFewRises * c.risen / static_cast<double>(c.rises); });
}

bool Growth::tenfold() const {
  constexpr double kTenfold = 10;
  return goes_up() && all([](const Course& c) { return c.highest >= kTenfold * c.first; });
}

ClockedSteps steps_between(std::span<const StepValue> rows, double resolution) {
  ClockedSteps out;
  const double usual = usual_between(rows);
  const auto most =
      static_cast<double>(std::max<std::size_t>(rows.size(), 1));  // where steps take next to nothing
  if (usual > 0)
    out.together =
        static_cast<std::int64_t>(std::clamp(std::ceil(kOfResolution * resolution / usual), 1.0, most));
  bool is_first = true;
  std::size_t from = 0;
  std::size_t still = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].step <= rows[i - 1].step || rows[i].value < rows[i - 1].value) {
      ++out.not_forward;
      from = i;
      continue;
    }
    if (rows[i].value == rows[i - 1].value) ++still;
    if (i - from < static_cast<std::size_t>(out.together)) continue;
    const std::int64_t steps = rows[i].step - rows[from].step;
    const std::int64_t per_row = steps % out.together == 0 ? steps / out.together : 0;
    out.steps_per_row = is_first || out.steps_per_row == per_row ? per_row : 0;
    is_first = false;
    StepValue length = rows[i];
    length.value = (rows[i].value - rows[from].value) / static_cast<double>(steps);
    length.decimals = std::max(rows[i].decimals, rows[from].decimals);
    out.lengths.push_back(length);
    from = i;
  }
  out.stands_still = out.together == 1 && still * 10 > rows.size();
  return out;
}

}  // namespace cox::trace
