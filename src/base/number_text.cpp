// SPDX-License-Identifier: Apache-2.0
#include "cox/base/number_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

namespace cox {

std::string percent(double part, PartDigits digits) {
  if (!std::isfinite(part)) return "not known";
  const double p = 100 * part;
  const double size = std::abs(p);
  if (digits == PartDigits::Whole) return fmt::format("{:.0f} %", p);
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

std::string grouped(std::int64_t n) {
  std::string digits = fmt::format("{}", n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, " ");
  return digits;
}

std::string counted(std::int64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace cox
