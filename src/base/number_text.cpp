// SPDX-License-Identifier: Apache-2.0
#include "cox/base/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox {
namespace {

/// The digits before the point in groups of three.
std::string in_groups(std::string number) {
  const std::size_t first = !number.empty() && number[0] == '-' ? 1 : 0;
  const std::size_t point = std::min(number.find('.'), number.size());
  for (std::size_t i = point; i > first + 3; i -= 3) number.insert(i - 3, " ");
  return number;
}

}  // namespace

std::string percent(double part, PartDigits digits) {
  if (!std::isfinite(part)) return "not known";
  const double p = 100 * part;
  const double size = std::abs(p);
  if (digits == PartDigits::Whole) return fmt::format("{:.0f} %", p);
  if (digits == PartDigits::AsSet) return fmt::format("{:g} %", p);
  if (digits == PartDigits::Four) return four_digits(p) + " %";
  if (p == 0) return "0 %";
  if (size < 0.1) return p > 0 ? "under 0.1 %" : "about 0 %";
  if (p >= 99.95 && p < 100) return "over 99.9 %";
  const bool tenths = size < 10 || (p >= 99.5 && p < 100);  // what is not all never reads 100 %
  return tenths ? fmt::format("{:.1f} %", p) : fmt::format("{:.0f} %", p);
}

std::string percent_change(double change, ChangeSign sign) {
  if (!std::isfinite(change)) return "not known";
  return sign == ChangeSign::Written ? fmt::format("{:+.1f} %", 100 * change)
                                     : fmt::format("{:.1f} %", 100 * std::abs(change));
}

std::string percent_change_within(double change, double low, double high) {
  return fmt::format("{} [{}, {}] %", without_percent(percent_change(change)),
                     without_percent(percent_change(low)), without_percent(percent_change(high)));
}

std::string without_percent(std::string percentage) {
  if (percentage.ends_with(" %")) percentage.resize(percentage.size() - 2);
  return percentage;
}

std::string percent_in_name(double part) {
  return fmt::format("{:g}%", 100 * part);
}

std::string plain_number(double value, int digits) {
  COX_ASSERT(digits >= 2 && digits <= 9, "two to nine digits can be asked for");
  if (!std::isfinite(value)) return "not known";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e15 || size < 1e-6) return fmt::format("{:.{}e}", value, digits - 1);
  const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
  std::string text = fmt::format("{:.{}f}", value, std::max(0, digits - before));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return in_groups(std::move(text));
}

std::string four_digits(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e12 || size < 1e-6) return fmt::format("{:.3e}", value);
  const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(4 - before, 0, 10));
}

std::string grouped(std::int64_t n) {
  return in_groups(fmt::format("{}", n));
}

std::string counted(std::int64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace cox
