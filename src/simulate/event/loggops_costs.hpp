// SPDX-License-Identifier: Apache-2.0
/// \file
/// LogGOPS in whole picoseconds.
#pragma once

#include <cstdint>
#include <string>

#include "cox/base/result.hpp"
#include "cox/simulate/event.hpp"

namespace cox::simulate {

/// A rate per byte or per unit of work. Whole numbers of picoseconds are exact; else each use is rounded.
class PicosecondsPer {
 public:
  PicosecondsPer() = default;
  explicit PicosecondsPer(Seconds one);
  [[nodiscard]] std::int64_t over(std::uint64_t n) const {
    if (whole_ >= 0) return static_cast<std::int64_t>(n) * whole_;
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): not negative
    return static_cast<std::int64_t>(static_cast<double>(n) * fraction_ + 0.5);
  }
  [[nodiscard]] double about(std::uint64_t n) const { return static_cast<double>(n) * fraction_; }

 private:
  std::int64_t whole_ = 0;  ///< -1: not whole
  double fraction_ = 0;
};

struct LogGopsCosts {
  /// Latest time of an event (26 days); each cost is at most as long again, so sums stay in range.
  static constexpr std::int64_t kLongest = std::int64_t{1} << 61;
  static constexpr std::int64_t kLongestPart = kLongest / 4;  ///< of one parameter

  std::int64_t latency = 0;
  std::int64_t overhead = 0;
  std::int64_t gap = 0;
  std::uint64_t eager_limit = 0;
  PicosecondsPer gap_per_byte;
  PicosecondsPer overhead_per_byte;
  PicosecondsPer per_calc;

  /// Errors: goal-007 (a negative parameter), goal-006 (the longest calculation or message does not fit).
  [[nodiscard]] static Result<LogGopsCosts> make(const LogGops& cost, Seconds calc_unit,
                                                 std::uint64_t longest_calc, std::uint64_t longest_message,
                                                 const std::string& name);

  [[nodiscard]] std::int64_t calc(std::uint64_t amount) const { return per_calc.over(amount); }
  /// (n - 1) G and (n - 1) O; 0 for n = 0.
  [[nodiscard]] std::int64_t transferred(std::uint64_t n) const {
    return gap_per_byte.over(n == 0 ? 0 : n - 1);
  }
  [[nodiscard]] std::int64_t copied(std::uint64_t n) const {
    return overhead_per_byte.over(n == 0 ? 0 : n - 1);
  }
  [[nodiscard]] bool eager(std::uint64_t n) const { return n <= eager_limit; }
};

}  // namespace cox::simulate
