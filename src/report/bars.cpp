// SPDX-License-Identifier: Apache-2.0
#include "report/bars.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cox::report {

std::string bar_of(double part) {
  return fmt::format("<span class=\"bar\"><i style=\"width:{:.1f}%\"></i></span>",
                     std::clamp(part, 0.0, 1.0) * 100);
}

std::string bar_of(Duration length, Duration longest) {
  return fmt::format("<span class=\"bar\"><i style=\"width:{:.1f}%\"></i></span>",
                     100 * ratio(length, longest));
}

std::string split_bar(const diagnose::RankAccount& a) {
  const double total = std::max(in_seconds(a.work + a.wait + a.message_wait + a.transfer), 1e-18);
  return fmt::format(
      "<span class=\"split\"><i class=\"work\" style=\"width:{:.2f}%\"></i><i class=\"wait\" "
      "style=\"width:{:.2f}%\"></i>{}<i class=\"transfer\" style=\"width:{:.2f}%\"></i></span>",
      100 * in_seconds(a.work) / total, 100 * in_seconds(a.wait) / total,
      a.message_wait > Duration::zero() ? fmt::format("<i class=\"message\" style=\"width:{:.2f}%\"></i>",
                                                      100 * in_seconds(a.message_wait) / total)
                                        : "",
      100 * in_seconds(a.transfer) / total);
}

std::size_t neighbours_per_cell(std::size_t count, std::size_t most) {
  return (count + most - 1) / most;
}

}  // namespace cox::report
