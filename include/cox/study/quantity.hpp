// SPDX-License-Identifier: Apache-2.0
/// \file
/// A value of a study with its dimension: what a source printed, what went in, what came out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cox/base/assert.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::study {

enum class Dimension : std::uint8_t {
  Count,
  Ratio,
  Time,
  Size,
  Rate,
  TimePerByte,
  Work,       ///< floating-point operations
  WorkRate,   ///< of them per second
  PerSecond,  ///< samples, tokens, ... per second
};
/// `a time`, `a size`: for messages.
[[nodiscard]] std::string_view noun_of(Dimension d);
/// What names outside carry: `_s`, `_bytes`, `_ratio`.
[[nodiscard]] std::string_view suffix_of(Dimension d);

/// A real number of the base unit of its dimension. Sizes may be fractions of a byte (means).
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr Quantity(Dimension dimension, double base) : base_(base), dimension_(dimension) {}
  [[nodiscard]] static constexpr Quantity count(double n) { return {Dimension::Count, n}; }
  [[nodiscard]] static constexpr Quantity ratio(double r) { return {Dimension::Ratio, r}; }
  [[nodiscard]] static constexpr Quantity of(Seconds t) { return {Dimension::Time, t.count()}; }
  [[nodiscard]] static constexpr Quantity of(Bytes b) {
    return {Dimension::Size, static_cast<double>(b.count())};
  }
  [[nodiscard]] static constexpr Quantity of(Bandwidth w) { return {Dimension::Rate, w.in_bytes_per_s()}; }
  [[nodiscard]] static constexpr Quantity of(TimePerByte t) {
    return {Dimension::TimePerByte, t.in_seconds_per_byte()};
  }
  [[nodiscard]] static constexpr Quantity of(Flops n) { return {Dimension::Work, n.count()}; }
  [[nodiscard]] static constexpr Quantity of(FlopRate r) { return {Dimension::WorkRate, r.in_flops_per_s()}; }
  [[nodiscard]] static constexpr Quantity per_second(double n) { return {Dimension::PerSecond, n}; }

  [[nodiscard]] constexpr Dimension dimension() const { return dimension_; }
  /// The number of seconds, bytes, ...: for ratios of like quantities and for output.
  [[nodiscard]] constexpr double in_base_unit() const { return base_; }

 private:
  double base_ = 0;
  Dimension dimension_ = Dimension::Count;
};

/// A quantity as somebody wrote it.
struct WrittenQuantity {
  Quantity value{};
  std::string text;       ///< as written
  std::string unit;       ///< as written; empty for counts
  int decimals = 0;       ///< digits behind the point
  Quantity last_digit{};  ///< what one unit of the last digit is worth
};

/// Reads `153.42ms`, `45.2%`, `115.4x`, `200Gbps`, `124.8GFLOP`, `312TFLOP/s`, `20ns/B`, `200samples/s`;
/// times, sizes and rates as in cox/base/units_text.hpp. A bare number is a count. Errors: base-001. Held by:
/// src/study/file/quantity_test.cpp
[[nodiscard]] Result<WrittenQuantity> parse_quantity(std::string_view text);

/// Four significant digits in the unit that reads best: `185.9 ms`, `67.25 %` (ratios up to 1), `16.06x`.
[[nodiscard]] std::string to_string(Quantity q);
/// In the unit of `like` and with its decimals, more where fewer than three significant digits would be left.
[[nodiscard]] std::string text_like(Quantity q, const WrittenQuantity& like);

}  // namespace cox::study
