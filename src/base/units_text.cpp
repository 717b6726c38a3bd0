// SPDX-License-Identifier: Apache-2.0
#include "cox/base/units_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/power.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/unknown_unit.hpp"

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

constexpr Kind kTimePerByte{"a time per byte", "20ps/B", "ps/B ns/B us/B µs/B ms/B s/B"};
constexpr Kind kFlopRate{
    "a rate of operations", "312TFLOP/s",
    "FLOP/s kFLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s EFLOP/s ZFLOP/s YFLOP/s (powers of 1000)"};

constexpr Kind kPower{"a power", "700W", "mW W kW MW GW"};

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

/// A unit of a real quantity in its base unit: 10^decimal * times, so that one rounding is enough where
/// `times` is 1.
struct RealUnit {
  std::string_view name;
  int decimal;
  int times = 1;
};
constexpr RealUnit kSecondsUnits[] = {{"ps", -12},     {"ns", -9},     {"us", -6}, {"\u00b5s", -6},
                                      {"\u03bcs", -6}, {"ms", -3},     {"s", 0},   {"min", 0, 60},
                                      {"h", 0, 3600},  {"d", 0, 86400}};
constexpr RealUnit kTimePerByteUnits[] = {{"ps/B", -12},     {"ns/B", -9}, {"us/B", -6}, {"\u00b5s/B", -6},
                                          {"\u03bcs/B", -6}, {"ms/B", -3}, {"s/B", 0}};
constexpr RealUnit kFlopsUnits[] = {{"FLOP", 0},   {"kFLOP", 3},  {"MFLOP", 6},  {"GFLOP", 9}, {"TFLOP", 12},
                                    {"PFLOP", 15}, {"EFLOP", 18}, {"ZFLOP", 21}, {"YFLOP", 24}};
constexpr RealUnit kFlopRateUnits[] = {{"FLOP/s", 0},   {"kFLOP/s", 3},  {"MFLOP/s", 6},
                                       {"GFLOP/s", 9},  {"TFLOP/s", 12}, {"PFLOP/s", 15},
                                       {"EFLOP/s", 18}, {"ZFLOP/s", 21}, {"YFLOP/s", 24}};

constexpr RealUnit kPowerUnits[] = {{"mW", -3}, {"W", 0}, {"kW", 3}, {"MW", 6}, {"GW", 9}};
constexpr RealUnit kEnergyUnits[] = {{"J", 0}, {"kJ", 3}, {"MJ", 6}, {"GJ", 9}, {"TJ", 12}};

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

/// `number`e`decimal` as the nearest double: the power of ten goes into the text, so it rounds once.
std::optional<double> scaled_number(std::string_view number, int decimal) {
  const std::string text = fmt::format("{}e{}", number, decimal);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<double> real_count(std::string_view text, std::span<const RealUnit> units, const Kind& kind) {
  COX_TRY(const Parts parts, split(text, kind));
  COX_TRY(const RealUnit unit, unit_named<RealUnit>(parts.unit, units, kind));
  const std::optional<double> value = scaled_number(parts.number, unit.decimal);
  if (!value || !std::isfinite(*value * unit.times))
    return refuse(kind, fmt::format("{} {} is out of range", shown(parts.number), shown(parts.unit)));
  return *value * unit.times;
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
  const std::optional<double> value = scaled_number(parts.number, unit.decimal);
  const double rate = value ? std::ldexp(*value, unit.binary) : 0;  // exact
  if (!value || !std::isfinite(rate))
    return refuse(kBandwidth, fmt::format("{} {} is out of range", shown(parts.number), shown(parts.unit)));
  return Bandwidth::bytes_per_s(rate);
}

Result<Seconds> parse_seconds(std::string_view text) {
  COX_TRY(const double value, real_count(text, kSecondsUnits, kDuration));
  return Seconds{value};
}

Result<TimePerByte> parse_time_per_byte(std::string_view text) {
  COX_TRY(const double value, real_count(text, kTimePerByteUnits, kTimePerByte));
  return TimePerByte::seconds_per_byte(value);
}

Result<FlopRate> parse_flop_rate(std::string_view text) {
  COX_TRY(const double value, real_count(text, kFlopRateUnits, kFlopRate));
  return FlopRate::flops_per_s(value);
}

Result<Power> parse_power(std::string_view text) {
  COX_TRY(const double value, real_count(text, kPowerUnits, kPower));
  return Power::watts(value);
}

namespace {

// What the innermost UnknownUnit of the thread says. Sentences are made by one thread, last of all.
thread_local std::optional<Seconds> unknown_unit;

/// Three significant digits of a number of them; from 100 on whole numbers with all their digits.
std::string in_units(Seconds s) {
  const double n = s.count() / unknown_unit->count();
  const double size = std::abs(n);
  if (size == 0) return "0 units";
  if (size < 0.9995 || size >= 99.95) return plain_number(n) + " units";
  return fmt::format("{:.{}f} units", n, size < 9.995 ? 2 : 1);
}

}  // namespace

UnknownUnit::UnknownUnit(std::optional<Seconds> taken_as) : before_(unknown_unit) {
  unknown_unit = taken_as;
}
UnknownUnit::~UnknownUnit() {
  unknown_unit = before_;
}

std::string to_string(Duration d) {
  if (unknown_unit) return in_units(Seconds(in_seconds(d)));
  if (d == Duration::zero()) return "0 s";
  Wide count = magnitude(d.count());
  const std::string_view sign = d < Duration::zero() ? "-" : "";
  if (count < 1000) return fmt::format("{}{} ps", sign, static_cast<std::uint64_t>(count));
  /// A unit is used while what it prints stays below `until`;
  /// `power` is ten to the digits after the point there.
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

namespace {

/// Three significant digits of `value` in the largest unit that keeps a digit before the point.
std::string three_digits_in(double value, std::span<const RealUnit> units) {
  if (value == 0) return fmt::format("0 {}", units.front().name);
  const RealUnit* best = &units.front();
  for (const RealUnit& unit : units)
    if (std::abs(value) >= 0.9995 * std::pow(10.0, unit.decimal)) best = &unit;
  const double shown_value = value / std::pow(10.0, best->decimal);
  const double size = std::abs(shown_value);
  if (!(size >= 0.9995 && size < 999.5)) return fmt::format("{:.3g} {}", shown_value, best->name);
  return fmt::format("{:.{}f} {}", shown_value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0, best->name);
}

constexpr RealUnit kSpelledTimes[] = {{"ps", -12}, {"ns", -9}, {"us", -6}, {"ms", -3}, {"s", 0}};
constexpr RealUnit kSpelledTimesPerByte[] = {
    {"ps/B", -12}, {"ns/B", -9}, {"us/B", -6}, {"ms/B", -3}, {"s/B", 0}};
constexpr RealUnit kSpelledRates[] = {{"B/s", 0}, {"kB/s", 3}, {"MB/s", 6}, {"GB/s", 9}, {"TB/s", 12}};

/// The digits of the shortest decimal that is `value`, with the point moved into the best unit: the parser
/// puts it back by the same power of ten, so it reads the same decimal and the same double.
std::string spelled_in(double value, std::span<const RealUnit> units) {
  COX_ASSERT(std::isfinite(value) && value >= 0, "a quantity to be written is a number that is not negative");
  if (value == 0)
    return fmt::format("0{}", units.back().decimal == 0 ? units.back().name : units.front().name);
  char buffer[32];
  const auto written =
      std::to_chars(std::begin(buffer), std::end(buffer), value, std::chars_format::scientific);
  const std::string text(std::begin(buffer), written.ptr);
  const std::size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  std::string digits = text.substr(0, e);
  std::erase(digits, '.');
  const RealUnit* best = &units.front();
  for (const RealUnit& unit : units)
    if (exponent >= unit.decimal) best = &unit;
  const int point = exponent - best->decimal + 1;  // digits before the point
  const int count = static_cast<int>(digits.size());
  if (point <= 0)
    return fmt::format("0.{}{}{}", std::string(static_cast<std::size_t>(-point), '0'), digits, best->name);
  if (point >= count)
    return fmt::format("{}{}{}", digits, std::string(static_cast<std::size_t>(point - count), '0'),
                       best->name);
  const auto cut = static_cast<std::size_t>(point);
  return fmt::format("{}.{}{}", digits.substr(0, cut), digits.substr(cut), best->name);
}

}  // namespace

std::string to_string(Seconds s) {
  const double value = s.count();
  if (unknown_unit && std::isfinite(value)) return in_units(s);
  if (std::isnan(value)) return "nan s";
  if (std::isinf(value)) return value > 0 ? "inf s" : "-inf s";
  const double size = std::abs(value);
  if (size >= 9e6) return fmt::format("{:.0f} d", value / 86400);
  if (size >= 100e-12 || size == 0) return to_string(duration_from_seconds(value));
  return size < 0.9995e-12 ? fmt::format("{:.3g} ps", value * 1e12) : three_digits_in(value, kSpelledTimes);
}

namespace {

/// Units of time with the number that already reads better in the next one.
struct TimeStep {
  double seconds;
  std::string_view name;
  double until;
};
constexpr TimeStep kTimeSteps[] = {
    {1e-12, "ps", 1000}, {1e-9, "ns", 1000},
    {1e-6, "µs", 1000},  {1e-3, "ms", 1000},
    {1, "s", 120},       {60, "min", 120},
    {3600, "h", 48},     {86400, "d", std::numeric_limits<double>::infinity()}};

/// `value`, at least 1, with up to `digits` significant digits and no zeros at the end beyond the third.
std::string trimmed_digits(double value, int digits) {
  const int before = static_cast<int>(std::floor(std::log10(value))) + 1;
  const int decimals = std::max(0, digits - before);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  for (int left = decimals; left > std::max(0, 3 - before) && text.back() == '0'; --left) text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string to_string(Seconds s, int digits) {
  COX_ASSERT(digits >= 3 && digits <= 9, "three to nine digits can be asked for");
  const double value = s.count();
  double size = std::abs(value);
  if (!std::isfinite(value) || value == 0 || unknown_unit) return to_string(s);
  const std::string_view sign = value < 0 ? "-" : "";
  if (size < 1e-12) return fmt::format("{:.{}g} ps", value * 1e12, digits);
  for (const TimeStep& step : kTimeSteps) {
    const std::string text = trimmed_digits(std::max(1.0, size / step.seconds), digits);
    if (std::strtod(text.c_str(), nullptr) < step.until) return fmt::format("{}{} {}", sign, text, step.name);
    size = std::max(size, step.until * step.seconds);  // what rounds to 120 min reads as 2.00 h
  }
  return to_string(s);
}

std::string with_half_width(Seconds value, Seconds half_width, int digits) {
  const std::string text = to_string(value, digits);
  const std::size_t space = text.find(' ');
  const std::string_view unit = std::string_view(text).substr(space + 1);
  const auto* const step = std::find_if(std::begin(kTimeSteps), std::end(kTimeSteps),
                                        [&](const TimeStep& s) { return s.name == unit; });
  if (space == std::string::npos || step == std::end(kTimeSteps) || value.count() == 0)
    return fmt::format("{} ± {}", text, to_string(half_width, digits));
  const double half = half_width.count() / step->seconds;
  const std::string shown =
      half >= 1 ? trimmed_digits(half, digits) : fmt::format("{:.{}g}", half, std::min(digits, 4));
  return fmt::format("{} ± {} {}", std::string_view(text).substr(0, space), shown, unit);
}

std::string to_string(TimePerByte t) {
  return three_digits_in(t.in_seconds_per_byte(), kSpelledTimesPerByte);
}

std::string to_string(Flops n) {
  return three_digits_in(n.count(), kFlopsUnits);
}

std::string to_string(FlopRate r) {
  return three_digits_in(r.in_flops_per_s(), kFlopRateUnits);
}

std::string to_string(Power p) {
  return p == Power{} ? "0 W" : three_digits_in(p.in_watts(), kPowerUnits);
}

std::string to_string(Energy e) {
  return three_digits_in(e.in_joules(), kEnergyUnits);
}

std::string spelled(Seconds s) {
  return spelled_in(s.count(), kSpelledTimes);
}

std::string spelled(Bytes b) {
  COX_ASSERT(b >= Bytes{}, "a size to be written is not negative");
  const std::int64_t count = b.count();
  const Unit* best = &kByteUnits[0];
  for (const Unit& unit :
       kByteUnits)  // the largest that divides it; a power of 1024 only where it is shorter
    if (count != 0 && count % unit.scale == 0 && count / unit.scale < count / best->scale) best = &unit;
  return fmt::format("{}{}", count / best->scale, best->name);
}

std::string spelled(Bandwidth w) {
  return spelled_in(w.in_bytes_per_s(), kSpelledRates);
}

std::string spelled(TimePerByte t) {
  return spelled_in(t.in_seconds_per_byte(), kSpelledTimesPerByte);
}

std::string spelled(Flops n) {
  return spelled_in(n.count(), kFlopsUnits);
}

std::string spelled(FlopRate r) {
  return spelled_in(r.in_flops_per_s(), kFlopRateUnits);
}

std::string spelled(Power p) {
  return p == Power{} ? "0W" : spelled_in(p.in_watts(), kPowerUnits);
}

}  // namespace cox
