// SPDX-License-Identifier: Apache-2.0
#include "cox/base/units_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace cox {
namespace {

__extension__ using Wide = unsigned __int128;  // a 64-bit count times any unit below fits

/// What is read, in the words of the error message.
struct Kind {
  std::string_view noun;
  std::string_view example;
  std::string_view spellings;
};
constexpr Kind kDuration{"a time", "10us", "ps ns us µs ms s min h d"};
constexpr Kind kBytes{"a size", "25MB",
                      "B kB MB GB TB PB (powers of 1000) or KiB MiB GiB TiB PiB (powers of 1024)"};
constexpr Kind kBandwidth{
    "a rate", "100Gbps",
    "bps kbps Mbps Gbps Tbps (bits), or B/s kB/s MB/s GB/s TB/s KiB/s MiB/s GiB/s TiB/s (bytes)"};

/// A unit that is a whole number of the smallest one.
struct Unit {
  std::string_view name;
  std::int64_t scale;
};
constexpr std::int64_t kSecond = 1'000'000'000'000;  // in picoseconds
constexpr Unit kDurationUnits[] = {{"ps", 1},
                                   {"ns", 1'000},
                                   {"us", 1'000'000},
                                   {"\u00b5s", 1'000'000},  // micro sign
                                   {"\u03bcs", 1'000'000},  // Greek mu, what most keyboards give
                                   {"ms", 1'000'000'000},
                                   {"s", kSecond},
                                   {"min", 60 * kSecond},
                                   {"h", 3600 * kSecond},
                                   {"d", 86400 * kSecond}};
constexpr Unit kByteUnits[] = {{"B", 1},
                               {"kB", 1'000},
                               {"MB", 1'000'000},
                               {"GB", 1'000'000'000},
                               {"TB", 1'000'000'000'000},
                               {"PB", 1'000'000'000'000'000},
                               {"KiB", std::int64_t{1} << 10},
                               {"MiB", std::int64_t{1} << 20},
                               {"GiB", std::int64_t{1} << 30},
                               {"TiB", std::int64_t{1} << 40},
                               {"PiB", std::int64_t{1} << 50}};

/// A unit of rate in bytes per second: 10^decimal * 2^binary, so that one rounding is enough.
struct RateUnit {
  std::string_view name;
  int decimal;
  int binary;
};
constexpr RateUnit kRateUnits[] = {{"bps", 0, -3},   {"kbps", 3, -3}, {"Mbps", 6, -3},  {"Gbps", 9, -3},
                                   {"Tbps", 12, -3}, {"B/s", 0, 0},   {"kB/s", 3, 0},   {"MB/s", 6, 0},
                                   {"GB/s", 9, 0},   {"TB/s", 12, 0}, {"KiB/s", 0, 10}, {"MiB/s", 0, 20},
                                   {"GiB/s", 0, 30}, {"TiB/s", 0, 40}};

/// The text as it may stand in a message: it can come from anywhere.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string out(text.substr(0, kMost));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > kMost) out += "...";
  return out;
}

tl::unexpected<Error> refuse(const Kind& kind, std::string what) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "base-001",
                    .message = fmt::format("{}, expected {} such as {}", what, kind.noun, kind.example),
                    .hint = fmt::format("write a number and one of {}", kind.spellings),
                    .where = std::nullopt});
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// `1.5 ms` in its parts; all three are views into the text, digits only in the first two.
struct Parts {
  std::string_view number;  ///< `1.5`
  std::string_view whole;
  std::string_view fraction;
  std::string_view unit;
};

std::size_t digits_from(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

Result<Parts> split(std::string_view given, const Kind& kind) {
  const std::string_view text = trimmed(given);
  if (text.empty()) return refuse(kind, "empty");
  if (text.front() == '-') return refuse(kind, fmt::format("{} is negative", shown(text)));
  const std::size_t point = digits_from(text, 0);
  if (point == 0) return refuse(kind, fmt::format("{} does not start with a number", shown(text)));
  std::size_t end = point;
  if (end < text.size() && text[end] == '.') {
    end = digits_from(text, point + 1);
    if (end == point + 1) return refuse(kind, fmt::format("{} has no digit after the point", shown(text)));
  }
  Parts parts{.number = text.substr(0, end),
              .whole = text.substr(0, point),
              .fraction = end > point ? text.substr(point + 1, end - point - 1) : std::string_view{},
              .unit = trimmed(text.substr(end))};
  if (parts.unit.empty()) return refuse(kind, fmt::format("{} has no unit", shown(text)));
  return parts;
}

template <class U>
Result<U> unit_named(std::string_view name, std::span<const U> units, const Kind& kind) {
  const auto at = std::find_if(units.begin(), units.end(), [&](const U& u) { return u.name == name; });
  if (at == units.end()) return refuse(kind, fmt::format("unknown unit {}", shown(name)));
  return *at;
}

/// Digits as a number, or nothing where they pass `most`.
std::optional<Wide> number_of(std::string_view digits, std::int64_t most) {
  Wide value = 0;
  for (const char c : digits) {
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > static_cast<Wide>(most)) return std::nullopt;
  }
  return value;
}

enum class Remainder : bool { Round, Refuse };

/// `parts` in whole smallest units, exact: no floating point is involved.
Result<std::int64_t> whole_count(const Parts& parts, std::int64_t scale, const Kind& kind,
                                 Remainder remainder) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::size_t kMostFraction = 18;  // 10^18 times a day in picoseconds fits in Wide
  const auto again = [&] { return fmt::format("{} {}", shown(parts.number), shown(parts.unit)); };
  const std::optional<Wide> whole = number_of(parts.whole, kMost);
  if (!whole) return refuse(kind, fmt::format("{} is out of range", again()));
  std::string_view fraction = parts.fraction;
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  if (fraction.size() > kMostFraction)
    return refuse(kind, fmt::format("{} has more than {} digits after the point", again(), kMostFraction));

  Wide denominator = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) denominator *= 10;
  const Wide part = number_of(fraction, kMost).value_or(0) * static_cast<Wide>(scale);
  if (remainder == Remainder::Refuse && part % denominator != 0)
    return refuse(kind, fmt::format("{} is not a whole number of bytes", again()));
  const Wide count = *whole * static_cast<Wide>(scale) + (part + denominator / 2) / denominator;
  if (count > static_cast<Wide>(kMost)) return refuse(kind, fmt::format("{} is out of range", again()));
  return static_cast<std::int64_t>(count);
}

/// `count / scale` with three significant digits, or nothing where that takes more than three digits before
/// the point (999.5 is 1000 and belongs into the next unit).
std::optional<std::string> three_digits(Wide count, std::int64_t scale) {
  const Wide unit = static_cast<Wide>(scale);
  Wide power = 100;
  for (int decimals = 2; decimals >= 0; --decimals, power /= 10) {
    const Wide rounded = (count * power + unit / 2) / unit;
    if (rounded >= 1000) continue;
    const auto value = static_cast<std::uint64_t>(rounded);
    const auto divisor = static_cast<std::uint64_t>(power);
    if (decimals == 0) return fmt::format("{}", value);
    return fmt::format("{}.{:0{}}", value / divisor, value % divisor, decimals);
  }
  return std::nullopt;
}

Wide magnitude(std::int64_t count) {
  return count < 0 ? static_cast<Wide>(-(count + 1)) + 1 : static_cast<Wide>(count);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  COX_TRY(const Parts parts, split(text, kDuration));
  COX_TRY(const Unit unit, unit_named<Unit>(parts.unit, kDurationUnits, kDuration));
  COX_TRY(const std::int64_t count, whole_count(parts, unit.scale, kDuration, Remainder::Round));
  return Duration{count};
}

Result<Bytes> parse_bytes(std::string_view text) {
  COX_TRY(const Parts parts, split(text, kBytes));
  COX_TRY(const Unit unit, unit_named<Unit>(parts.unit, kByteUnits, kBytes));
  COX_TRY(const std::int64_t count, whole_count(parts, unit.scale, kBytes, Remainder::Refuse));
  return Bytes{count};
}

Result<Bandwidth> parse_bandwidth(std::string_view text) {
  COX_TRY(const Parts parts, split(text, kBandwidth));
  COX_TRY(const RateUnit unit, unit_named<RateUnit>(parts.unit, kRateUnits, kBandwidth));
  // The decimal part of the unit goes into the text, so the conversion rounds once; the binary part is exact.
  const std::string scaled = fmt::format("{}e{}", parts.number, unit.decimal);
  double value = 0;
  const auto [end, error] = std::from_chars(scaled.data(), scaled.data() + scaled.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || end != scaled.data() + scaled.size())
    return refuse(kBandwidth, fmt::format("{} {} is out of range", shown(parts.number), shown(parts.unit)));
  const double rate = std::ldexp(value, unit.binary);
  if (!std::isfinite(rate))
    return refuse(kBandwidth, fmt::format("{} {} is out of range", shown(parts.number), shown(parts.unit)));
  return Bandwidth::bytes_per_s(rate);
}

std::string to_string(Duration d) {
  if (d == Duration::zero()) return "0 s";
  Wide count = magnitude(d.count());
  const std::string_view sign = d < Duration::zero() ? "-" : "";
  if (count < 1000) return fmt::format("{}{} ps", sign, static_cast<std::uint64_t>(count));
  /// A unit is used while what it prints stays below `until`; `power` is ten to the digits after the point
  /// there.
  struct Step {
    Unit unit;
    int until;
    int power;
  };
  constexpr Step kSteps[] = {{{"ns", 1'000}, 1000, 1},         {{"µs", 1'000'000}, 1000, 1},
                             {{"ms", 1'000'000'000}, 1000, 1}, {{"s", kSecond}, 120, 1},
                             {{"min", 60 * kSecond}, 120, 1},  {{"h", 3600 * kSecond}, 48, 10},
                             {{"d", 86400 * kSecond}, 1000, 1}};
  for (const auto& [unit, until, power] : kSteps) {
    const auto scale = static_cast<Wide>(unit.scale);
    const auto end = static_cast<Wide>(until);
    if ((count * static_cast<unsigned>(power) + scale / 2) / scale < end * static_cast<unsigned>(power)) {
      if (const auto digits = three_digits(count, unit.scale))
        return fmt::format("{}{} {}", sign, *digits, unit.name);
    }
    count = std::max(count, end * scale);  // 119.7 min rounds to 120 min, which reads as 2.00 h
  }
  return fmt::format("{}{} ps", sign, static_cast<std::uint64_t>(count));  // unreachable: int64 ends at 107 d
}

std::string to_string(Bytes b) {
  const Wide count = magnitude(b.count());
  const std::string_view sign = b < Bytes{} ? "-" : "";
  if (count < 1000) return fmt::format("{}{} B", sign, static_cast<std::uint64_t>(count));
  constexpr Unit kSteps[] = {{"kB", 1'000},
                             {"MB", 1'000'000},
                             {"GB", 1'000'000'000},
                             {"TB", 1'000'000'000'000},
                             {"PB", 1'000'000'000'000'000}};
  for (const auto& unit : kSteps)
    if (const auto digits = three_digits(count, unit.scale))
      return fmt::format("{}{} {}", sign, *digits, unit.name);
  const Wide petabyte = 1'000'000'000'000'000;
  return fmt::format("{}{} PB", sign, static_cast<std::uint64_t>((count + petabyte / 2) / petabyte));
}

std::string to_string(Bandwidth w) {
  const double rate = w.in_bytes_per_s();
  const double size = std::abs(rate);
  if (size == 0) return "0 B/s";
  constexpr std::string_view kNames[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  double scale = 1;
  for (const std::string_view name : kNames) {
    const double value = size / scale;
    const double signed_value = rate / scale;
    if (value < 0.9995) break;  // only below one byte per second
    if (value < 9.995) return fmt::format("{:.2f} {}", signed_value, name);
    if (value < 99.95) return fmt::format("{:.1f} {}", signed_value, name);
    if (value < 999.5) return fmt::format("{:.0f} {}", signed_value, name);
    scale *= 1000;
  }
  if (size < 1) return fmt::format("{:.3g} B/s", rate);
  return fmt::format("{:.3g} TB/s", rate / 1e12);
}

}  // namespace cox
