// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which of the spans of a file are told of one job, and where they lie on one axis.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"

#include "trace/import/lines/span_line.hpp"
#include "trace/import/lines/span_names.hpp"

namespace cox::trace {

inline constexpr WidePs kSecondPs = 1'000'000'000'000;

/// One span with what its name means, on its rank's time line.
struct PlacedSpan {
  const ToldSpan* told = nullptr;
  SpanMeaning meaning;
  Duration begin{};
  Duration end{};
};

/// Spans of ranks where any line tells one, of the kind of unit that most have.
struct ChosenSpans {
  std::vector<PlacedSpan> spans;
  bool has_unit = true;
  bool own_clock = false;    ///< of one rank, and nothing ties it to the other ranks' files
  WidePs origin = 0;         ///< where the axis begins
  std::int64_t divisor = 1;  ///< of times in an unknown unit
  std::int64_t other_unit = 0, no_rank = 0, far = 0;  ///< left out

  /// Whether the origin is a time of day.
  [[nodiscard]] bool is_dated() const;
};
/// `told` outlives what is made of it.
[[nodiscard]] ChosenSpans choose_spans(const std::vector<ToldSpan>& told);

}  // namespace cox::trace
