// SPDX-License-Identifier: Apache-2.0
/// \file
/// Columns of points in time, from which a table's steps follow as the time since the row before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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

/// How the values of a column run on: lengths of steps go up and down, a clock goes up.
class Growth {
 public:
  void add(std::uint32_t series, double value);

  /// Every series with ten moves or more goes up: always, or of twenty moves and more in nine of ten (a clock that is
  /// set back, a last line that is cut). Lengths that are independent do that once in 3.6 million tables; those of a
  /// job that slows down steadily do it, too.
  [[nodiscard]] bool goes_up() const;
  /// They go up from about nothing: no first value exceeds three of its series' rises.
  [[nodiscard]] bool from_nothing() const;
  /// They go up to ten times the first and more.
  [[nodiscard]] bool tenfold() const;
  /// Of all values; 0 where there is none.
  [[nodiscard]] double lowest() const { return lowest_; }
  [[nodiscard]] double highest() const { return highest_; }

 private:
  struct Course {
    double first = 0, last = 0, highest = 0, risen = 0;
    std::int64_t rises = 0, falls = 0;
  };
  [[nodiscard]] static bool counts(const Course& c) { return c.rises + c.falls >= kLeastMoves; }
  template <class Test>
  [[nodiscard]] bool all(const Test& test) const;

  static constexpr std::int64_t kLeastMoves = 9;
  std::map<std::uint32_t, Course> courses_;
  double lowest_ = 0, highest_ = 0;
};

struct ClockedSteps {
  std::vector<StepValue> lengths;  ///< per step, the mean where a row stands for several
  std::int64_t steps_per_row = 1;  ///< in all rows that are used; 0 where they differ
  std::int64_t not_forward = 0;  ///< rows whose step or time is not behind the row before, as after a restart
  bool stands_still =
      false;  ///< it shows the same in a tenth of the rows or more, and not for want of digits
  std::int64_t together = 1;  ///< rows that one length spans, so that the clock's last digit is 1/200 of it
};
/// What lies between the rows of one series, of a clock that shows multiples of `resolution`.
/// Held by: src/trace/import/tables/step_clock_test.cpp
[[nodiscard]] ClockedSteps steps_between(std::span<const StepValue> rows, double resolution);

}  // namespace cox::trace
