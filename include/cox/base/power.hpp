// SPDX-License-Identifier: Apache-2.0
/// \file
/// Power and energy.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox {

/// Joules. Formula: Power x Seconds.
class Energy {
 public:
  constexpr Energy() = default;
  [[nodiscard]] static constexpr Energy joules(double v) { return Energy{v}; }
  [[nodiscard]] constexpr double in_joules() const { return value_; }
  constexpr auto operator<=>(const Energy&) const = default;
  friend constexpr Energy operator+(Energy a, Energy b) { return Energy{a.value_ + b.value_}; }
  friend constexpr Energy operator*(Energy a, double k) { return Energy{a.value_ * k}; }
  friend constexpr Energy operator/(Energy a, double k) { return Energy{a.value_ / k}; }
  friend constexpr double operator/(Energy a, Energy b) { return a.value_ / b.value_; }

 private:
  explicit constexpr Energy(double v) : value_(v) {}
  double value_ = 0;
};

/// Watts.
class Power {
 public:
  constexpr Power() = default;
  [[nodiscard]] static constexpr Power watts(double v) { return Power{v}; }
  [[nodiscard]] constexpr double in_watts() const { return value_; }
  constexpr auto operator<=>(const Power&) const = default;
  friend constexpr Power operator*(Power a, double k) { return Power{a.value_ * k}; }
  friend constexpr Power operator/(Power a, double k) { return Power{a.value_ / k}; }
  friend constexpr Energy operator*(Power p, Seconds s) { return Energy::joules(p.value_ * s.count()); }

 private:
  explicit constexpr Power(double v) : value_(v) {}
  double value_ = 0;
};

/// `8.4kW`: a number and one of mW W kW MW GW. Errors: base-001. Held by: src/base/units_text_test.cpp
[[nodiscard]] Result<Power> parse_power(std::string_view text);
/// Three digits: `8.40 kW`, `1.20 MJ`.
[[nodiscard]] std::string to_string(Power p);
[[nodiscard]] std::string to_string(Energy e);
/// As `parse_power` reads it back.
[[nodiscard]] std::string spelled(Power p);

}  // namespace cox
