// SPDX-License-Identifier: Apache-2.0
#include "trace/import/part/time_of_day.hpp"

#include <charconv>
#include <chrono>

namespace cox::trace {
namespace {

constexpr WidePs kSecondPs = 1'000'000'000'000;

/// A whole number of `digits` digits at the front; takes them off.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  int n = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + digits, n);
  if (ec != std::errc() || end != text.data() + digits || n < 0) return std::nullopt;
  text.remove_prefix(digits);
  return n;
}

bool take_char(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// `Z`, `+01:00`, `-0800`: minutes east of Greenwich.
std::optional<int> zone_of(std::string_view text) {
  if (text == "Z" || text == "z" || text == "UTC" || text == " UTC") return 0;
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const int sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = take_number(text, 2);
  take_char(text, ":");
  const auto minutes = text.empty() ? std::optional(0) : take_number(text, 2);
  if (!hours || !minutes || !text.empty() || *hours > 24 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

/// `.123456` at the front, in picoseconds; digits beyond are passed over.
WidePs take_fraction(std::string_view& text) {
  WidePs ps = 0;
  if (!take_char(text, ".,")) return 0;
  WidePs digit = kSecondPs / 10;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), digit /= 10)
    ps += digit * (text.front() - '0');
  return ps;
}

}  // namespace

std::optional<WidePs> time_of_day(std::string_view text) {
  if (text.size() > 64) return std::nullopt;
  const auto year = take_number(text, 4);
  const bool dash = take_char(text, "-");
  const auto month = take_number(text, 2);
  const bool dash2 = take_char(text, "-");
  const auto day = take_number(text, 2);
  const bool t = take_char(text, "Tt ");
  const auto hour = take_number(text, 2);
  const bool colon = take_char(text, ":");
  const auto minute = take_number(text, 2);
  const bool colon2 = take_char(text, ":");
  const auto second = take_number(text, 2);
  if (!year || !dash || !month || !dash2 || !day || !t || !hour || !colon || !minute || !colon2 || !second)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const WidePs fraction = take_fraction(text);
  const auto zone = zone_of(text);
  if (!zone) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + *hour) * 60 + *minute - *zone) * 60 + *second;
  return WidePs{seconds} * kSecondPs + fraction;
}

std::optional<Seconds> unit_since_1970(double number) {
  for (const double unit : {1.0, 1e-3, 1e-6, 1e-9})
    if (const double seconds = number * unit; seconds >= 9.78e8 && seconds < 4.1e9) return Seconds(unit);
  return std::nullopt;
}

}  // namespace cox::trace
