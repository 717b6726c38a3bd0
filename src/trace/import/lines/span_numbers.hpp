// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which calls of several ranks are one operation, by the numbers that lines tell or by their order.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/base/ids.hpp"

#include "trace/import/lines/span_choice.hpp"

namespace cox::trace {

/// Numbers of the lines count where they tell operations apart; else their order does: within a step where all tell
/// theirs, so that a line that is missing moves nothing of the next step.
class SpanNumbers {
 public:
  explicit SpanNumbers(const std::vector<PlacedSpan>& spans);
  /// Of a rank's next collective; in the order of its spans.
  [[nodiscard]] std::uint32_t next(const ToldSpan& s, CommId comm);
  /// Whether the lines tell which calls belong together.
  [[nodiscard]] bool told() const { return numbered_ || !first_of_step_.empty(); }

 private:
  void number_by_step(const std::vector<PlacedSpan>& spans);

  bool numbered_ = true;
  std::map<std::pair<std::string_view, std::int64_t>, std::uint32_t> first_of_step_;  // by group and step
  std::map<std::tuple<std::int32_t, CommId, std::int64_t>, std::uint32_t>
      counts_;  // by step where those count
};

}  // namespace cox::trace
