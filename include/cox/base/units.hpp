// SPDX-License-Identifier: Apache-2.0
/// \file
/// The quantities that cross function boundaries: time, size, rate, and time per byte.
///
/// Use when: any time, size or rate is passed, stored or returned.
/// Not when: a ratio or a count is meant; those are `double` and `std::int64_t`.
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace cox {

/// Span of time in whole picoseconds (1 byte at 400 Gbit/s lasts 20 ps).
///
/// Units:  int64 picoseconds, so +-106 days.
/// Errors: converting from coarser units overflows silently at run time; values that come from
///         files go through `duration_from_seconds` or `parse_duration`, which check.
using Duration = std::chrono::duration<std::int64_t, std::pico>;

using Picoseconds = Duration;
using Nanoseconds = std::chrono::duration<std::int64_t, std::nano>;

/// A span in seconds as a plain number, for ratios and for output only.
[[nodiscard]] constexpr double in_seconds(Duration d) {
  return static_cast<double>(d.count()) * 1e-12;
}

/// A span of time as a real number of seconds, where whole picoseconds would add up to an error: models and
/// simulations. A result becomes a `Duration` when it is printed or stored.
using Seconds = std::chrono::duration<double>;

/// The span nearest to `seconds`; saturates at the range of `Duration`, NaN gives zero.
/// Held by: src/base/units_test.cpp
[[nodiscard]] inline Duration duration_from_seconds(double seconds) {
  constexpr double kLimit = 9.2e18;
  const double ps = seconds * 1e12;
  if (std::isnan(ps)) return Duration::zero();
  if (ps >= kLimit) return Duration::max();
  if (ps <= -kLimit) return Duration::min();
  return Duration{std::llround(ps)};
}

/// Size of data in bytes. Signed, so that differences are representable.
class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::int64_t count) : count_(count) {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes o) {
    count_ += o.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes o) {
    count_ -= o.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.count_ + b.count_}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count_ - b.count_}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes{a.count_ * n}; }
  friend constexpr Bytes operator*(std::int64_t n, Bytes a) { return Bytes{a.count_ * n}; }
  friend constexpr Bytes operator/(Bytes a, std::int64_t n) { return Bytes{a.count_ / n}; }
  friend constexpr double operator/(Bytes a, Bytes b) {
    return static_cast<double>(a.count_) / static_cast<double>(b.count_);
  }

 private:
  std::int64_t count_ = 0;
};

/// Time that one byte occupies a link or a copy, as a rate: 900 GB/s is 1.11 ps per byte, so no integer fits.
///
/// Units: seconds per byte inside; zero means infinitely fast.
class TimePerByte {
 public:
  constexpr TimePerByte() = default;
  [[nodiscard]] static constexpr TimePerByte seconds_per_byte(double v) { return TimePerByte{v}; }
  [[nodiscard]] constexpr double in_seconds_per_byte() const { return value_; }
  /// Time that `b` bytes take, not rounded.
  [[nodiscard]] constexpr Seconds over(Bytes b) const {
    return Seconds{static_cast<double>(b.count()) * value_};
  }

  constexpr auto operator<=>(const TimePerByte&) const = default;
  friend Duration operator*(Bytes b, TimePerByte t) {
    return duration_from_seconds(static_cast<double>(b.count()) * t.value_);
  }
  friend Duration operator*(TimePerByte t, Bytes b) { return b * t; }

 private:
  explicit constexpr TimePerByte(double v) : value_(v) {}
  double value_ = 0;
};

/// Bytes per second.
///
/// Formula: Bytes / Bandwidth = Duration, Bytes / Duration = Bandwidth, Bandwidth * Duration = Bytes.
/// Errors:  a division by a zero bandwidth saturates to `Duration::max()`.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  [[nodiscard]] static constexpr Bandwidth bytes_per_s(double v) { return Bandwidth{v}; }
  /// Line rate as vendors print it: 400 Gbit/s is 50e9 bytes per second.
  [[nodiscard]] static constexpr Bandwidth gbit_per_s(double v) { return Bandwidth{v * 1e9 / 8}; }
  [[nodiscard]] static constexpr Bandwidth gbyte_per_s(double v) { return Bandwidth{v * 1e9}; }
  [[nodiscard]] constexpr double in_bytes_per_s() const { return value_; }
  [[nodiscard]] constexpr TimePerByte time_per_byte() const {
    return TimePerByte::seconds_per_byte(1.0 / value_);
  }

  constexpr auto operator<=>(const Bandwidth&) const = default;
  friend constexpr Bandwidth operator*(Bandwidth a, double k) { return Bandwidth{a.value_ * k}; }
  friend constexpr Bandwidth operator*(double k, Bandwidth a) { return Bandwidth{a.value_ * k}; }
  friend constexpr double operator/(Bandwidth a, Bandwidth b) { return a.value_ / b.value_; }
  friend Duration operator/(Bytes b, Bandwidth w) {
    return duration_from_seconds(static_cast<double>(b.count()) / w.value_);
  }
  friend Bytes operator*(Bandwidth w, Duration d) { return Bytes{std::llround(w.value_ * in_seconds(d))}; }
  friend Bytes operator*(Duration d, Bandwidth w) { return w * d; }

 private:
  explicit constexpr Bandwidth(double v) : value_(v) {}
  double value_ = 0;
};

/// Floating-point operations, as a count that may be beyond 2^63.
class Flops {
 public:
  constexpr Flops() = default;
  explicit constexpr Flops(double count) : count_(count) {}
  [[nodiscard]] constexpr double count() const { return count_; }
  constexpr auto operator<=>(const Flops&) const = default;

 private:
  double count_ = 0;
};

/// Floating-point operations per second.
class FlopRate {
 public:
  constexpr FlopRate() = default;
  [[nodiscard]] static constexpr FlopRate flops_per_s(double v) { return FlopRate{v}; }
  [[nodiscard]] constexpr double in_flops_per_s() const { return value_; }
  constexpr auto operator<=>(const FlopRate&) const = default;
  friend constexpr Seconds operator/(Flops n, FlopRate r) { return Seconds{n.count() / r.value_}; }

 private:
  explicit constexpr FlopRate(double v) : value_(v) {}
  double value_ = 0;
};

/// Average rate at which `b` bytes pass in `d`.
[[nodiscard]] constexpr Bandwidth operator/(Bytes b, Duration d) {
  return Bandwidth::bytes_per_s(static_cast<double>(b.count()) / in_seconds(d));
}

/// Quotient of two spans as a plain ratio (`std::chrono` would truncate to an integer).
[[nodiscard]] constexpr double ratio(Duration a, Duration b) {
  return static_cast<double>(a.count()) / static_cast<double>(b.count());
}

/// Literals. `_MB` is 10^6 bytes and `_MiB` is 2^20 bytes: both exist, both mean what they say.
namespace literals {
using namespace std::chrono_literals;
constexpr Duration operator""_ps(unsigned long long v) {
  return Duration{static_cast<std::int64_t>(v)};
}
constexpr Bytes operator""_B(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v)};
}
constexpr Bytes operator""_kB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) * 1000};
}
constexpr Bytes operator""_MB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) * 1'000'000};
}
constexpr Bytes operator""_GB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) * 1'000'000'000};
}
constexpr Bytes operator""_KiB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) << 10};
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) << 20};
}
constexpr Bytes operator""_GiB(unsigned long long v) {
  return Bytes{static_cast<std::int64_t>(v) << 30};
}
}  // namespace literals

}  // namespace cox
