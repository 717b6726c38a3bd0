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
#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

#include "trace/import/lines/span_choice.hpp"

namespace cox::trace {

/// Numbers of the lines count where they tell operations apart; else their order does: within a step where all tell
/// theirs, so that a line that is missing moves nothing of the next step. In a step in which not all ranks have the usual number of calls, those
/// that end together are one, unless ends agree so little there that this makes half as many again.
/// Held by: src/trace/import/lines/span_lines_test.cpp
class SpanNumbers {
 public:
  explicit SpanNumbers(const std::vector<PlacedSpan>& spans);
  /// Of a rank's next collective; in the order of its spans.
  [[nodiscard]] std::uint32_t next(const ToldSpan& s, CommId comm);
  /// Whether the lines tell which calls belong together.
  [[nodiscard]] bool told() const { return numbered_ || !first_of_step_.empty(); }

 private:
  struct Call {
    Duration end{};
    std::int32_t rank = 0;
    model::Collective kind = model::Collective::Other;
  };
  using GroupStep = std::pair<std::string_view, std::int64_t>;

  void number_by_step(const std::vector<PlacedSpan>& spans);
  std::uint32_t number_by_ends(const GroupStep& at, std::vector<Call> calls, std::uint32_t most);

  bool numbered_ = true;
  std::map<GroupStep, std::uint32_t> first_of_step_;
  /// Of ranks in steps that lack calls of some: the place of each of its calls.
  std::map<std::pair<GroupStep, std::int32_t>, std::vector<std::uint32_t>> places_;
  std::map<std::tuple<std::int32_t, CommId, std::int64_t>, std::uint32_t>
      counts_;  // by step where those count
};

}  // namespace cox::trace
