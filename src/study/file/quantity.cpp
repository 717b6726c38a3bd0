// SPDX-License-Identifier: Apache-2.0
#include "cox/study/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "cox/base/number_text.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/units_text.hpp"

namespace cox::study {
namespace {

struct Unit {
  std::string_view name;
  Dimension dimension;
  double base;
};
// What units_text.hpp does not know. Times, sizes and rates are read there.
constexpr std::array kUnits = {
    Unit{"%", Dimension::Ratio, 0.01},          Unit{"x", Dimension::Ratio, 1},
    Unit{"FLOP", Dimension::Work, 1},           Unit{"MFLOP", Dimension::Work, 1e6},
    Unit{"GFLOP", Dimension::Work, 1e9},        Unit{"TFLOP", Dimension::Work, 1e12},
    Unit{"GFLOP/s", Dimension::WorkRate, 1e9},  Unit{"TFLOP/s", Dimension::WorkRate, 1e12},
    Unit{"PFLOP/s", Dimension::WorkRate, 1e15}, Unit{"samples/s", Dimension::PerSecond, 1},
    Unit{"tokens/s", Dimension::PerSecond, 1},
};

/// Units to print in, from large to small.
struct Scale {
  double base;
  std::string_view unit;
};
constexpr std::array kTimes = {Scale{172'800, "d"}, Scale{7200, "h"},  Scale{120, "min"}, Scale{1, "s"},
                               Scale{1e-3, "ms"},   Scale{1e-6, "us"}, Scale{1e-9, "ns"}, Scale{1e-12, "ps"}};
constexpr std::array kSizes = {Scale{1e15, "PB"}, Scale{1e12, "TB"}, Scale{1e9, "GB"},
                               Scale{1e6, "MB"},  Scale{1e3, "kB"},  Scale{1, "B"}};
constexpr std::array kRates = {Scale{1e12, "TB/s"}, Scale{1e9, "GB/s"}, Scale{1e6, "MB/s"},
                               Scale{1e3, "kB/s"}, Scale{1, "B/s"}};
constexpr std::array kPerByte = {Scale{1e-6, "us/B"}, Scale{1e-9, "ns/B"}, Scale{1e-12, "ps/B"}};
constexpr std::array kWork = {Scale{1e15, "PFLOP"}, Scale{1e12, "TFLOP"}, Scale{1e9, "GFLOP"},
                              Scale{1e6, "MFLOP"}, Scale{1, "FLOP"}};
constexpr std::array kWorkRate = {Scale{1e15, "PFLOP/s"}, Scale{1e12, "TFLOP/s"}, Scale{1e9, "GFLOP/s"}};

/// Where a number of days or hours begins is not one of them.
double one_of(const Scale& s) {
  if (s.unit == "d") return 86'400;
  if (s.unit == "h") return 3600;
  if (s.unit == "min") return 60;
  return s.base;
}

std::string scaled(double base, std::span<const Scale> scales) {
  const double size = std::abs(base);
  const auto found =
      std::find_if(scales.begin(), scales.end(), [&](const Scale& s) { return size >= s.base; });
  const Scale& scale = found == scales.end() ? scales.back() : *found;
  if (base == 0) return fmt::format("0 {}", scales.size() > 3 ? scales[3].unit : scale.unit);
  return fmt::format("{} {}", four_digits(base / one_of(scale)), scale.unit);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view problem) {
  return fail(Error{
      .code = Errc::InvalidInput,
      .id = "base-001",
      .message = fmt::format("'{}' {}, expected a number with a unit such as 153.42ms", shown(text), problem),
      .hint = "units: % x, ps .. d, B .. PB, KiB .. TiB, bps .. Tbps, B/s .. TB/s, ns/B, FLOP .. "
              "TFLOP, GFLOP/s .. PFLOP/s, samples/s, tokens/s",
      .where = std::nullopt});
}

/// `number` of `unit` in the base unit; nothing where no dimension has that unit.
Result<std::optional<Quantity>> in_base(std::string_view number, double value, std::string_view unit) {
  if (unit.empty()) return Quantity::count(value);
  for (const Unit& u : kUnits)
    if (u.name == unit) return Quantity(u.dimension, value * u.base);
  const std::string text = fmt::format("{}{}", number, unit);
  if (unit.ends_with("s/B")) {
    COX_TRY(const Duration d, parse_duration(fmt::format("{}{}", number, unit.substr(0, unit.size() - 2))));
    return Quantity::of(TimePerByte::seconds_per_byte(in_seconds(d)));
  }
  if (unit.ends_with("/s") || unit.ends_with("bps")) {
    COX_TRY(const Bandwidth w, parse_bandwidth(text));
    return Quantity::of(w);
  }
  if (unit.ends_with('B')) {
    COX_TRY(const Bytes b, parse_bytes(text));
    return Quantity::of(b);
  }
  if (const auto d = parse_seconds(text)) return Quantity::of(*d);
  return std::optional<Quantity>{};
}

}  // namespace

std::string_view noun_of(Dimension d) {
  switch (d) {
    case Dimension::Count:
      return "a count";
    case Dimension::Ratio:
      return "a ratio";
    case Dimension::Time:
      return "a time";
    case Dimension::Size:
      return "a size";
    case Dimension::Rate:
      return "a rate";
    case Dimension::TimePerByte:
      return "a time per byte";
    case Dimension::Work:
      return "a number of operations";
    case Dimension::WorkRate:
      return "a rate of operations";
    case Dimension::PerSecond:
      return "a number per second";
  }
  return "";
}

std::string_view suffix_of(Dimension d) {
  switch (d) {
    case Dimension::Count:
      return "_count";
    case Dimension::Ratio:
      return "_ratio";
    case Dimension::Time:
      return "_s";
    case Dimension::Size:
      return "_bytes";
    case Dimension::Rate:
      return "_bytes_per_s";
    case Dimension::TimePerByte:
      return "_s_per_byte";
    case Dimension::Work:
      return "_flop";
    case Dimension::WorkRate:
      return "_flop_per_s";
    case Dimension::PerSecond:
      return "_per_s";
  }
  return "";
}

Result<WrittenQuantity> parse_quantity(std::string_view given) {
  const std::string_view text = trimmed(given);
  std::size_t end = 0;
  while (end < text.size() && (text[end] == '.' || (text[end] >= '0' && text[end] <= '9'))) ++end;
  const std::string_view number = text.substr(0, end);
  double value = 0;
  const auto [stop, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || problem != std::errc{} || stop != number.data() + number.size() ||
      number.back() == '.')
    return refuse(given, "does not start with a number");
  WrittenQuantity out;
  out.text = std::string(text);
  out.unit = std::string(trimmed(text.substr(end)));
  const std::size_t point = number.find('.');
  out.decimals = point == std::string_view::npos ? 0 : static_cast<int>(number.size() - point - 1);
  if (out.decimals > 9) return refuse(given, "has more than nine digits behind the point");
  COX_TRY(const std::optional<Quantity> read, in_base(number, value, out.unit));
  if (!read) return refuse(given, "has an unknown unit");
  COX_TRY(const std::optional<Quantity> one, in_base("1", 1, out.unit));
  double weight = one->in_base_unit();
  for (int i = 0; i < out.decimals; ++i) weight /= 10;
  out.value = *read;
  out.last_digit = Quantity(read->dimension(), weight);
  return out;
}

std::string to_string(Quantity q) {
  const double base = q.in_base_unit();
  switch (q.dimension()) {
    case Dimension::Count:
      return base == std::floor(base) && std::abs(base) < 1e15 ? fmt::format("{:.0f}", base)
                                                               : four_digits(base);
    case Dimension::Ratio:
      return std::abs(base) <= 1 ? percent(base, PartDigits::Four) : fmt::format("{}x", four_digits(base));
    case Dimension::Time:
      return scaled(base, kTimes);
    case Dimension::Size:
      return scaled(base, kSizes);
    case Dimension::Rate:
      return scaled(base, kRates);
    case Dimension::TimePerByte:
      return scaled(base, kPerByte);
    case Dimension::Work:
      return scaled(base, kWork);
    case Dimension::WorkRate:
      return scaled(base, kWorkRate);
    case Dimension::PerSecond:
      return fmt::format("{}/s", four_digits(base));
  }
  return "";
}

std::string text_like(Quantity q, const WrittenQuantity& like) {
  if (q.dimension() != like.value.dimension() || q.dimension() == Dimension::Count) return to_string(q);
  double one = like.last_digit.in_base_unit();
  for (int i = 0; i < like.decimals; ++i) one *= 10;
  const double value = q.in_base_unit() / one;
  const double size = std::abs(value);
  int decimals = like.decimals;
  // At least three significant digits, at most nine behind the point.
  for (double least = 100; decimals < 9 && size != 0 && size * std::pow(10, decimals) < least;) ++decimals;
  const bool spaced = like.unit != "x";
  // Nine digits show nothing of it.
  if (size != 0 && size < 1e-7) return fmt::format("{:.2e}{}{}", value, spaced ? " " : "", like.unit);
  return fmt::format("{:.{}f}{}{}", value, decimals, spaced ? " " : "", like.unit);
}

}  // namespace cox::study
