// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the keys of a line that tells a span mean: `startTimeUnixNano`, `end_ts`, `duration_ms`, `comp_start`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cox/base/units.hpp"

#include "trace/import/part/time_of_day.hpp"

namespace cox::trace {

enum class SpanPart : std::uint8_t { None, Start, End, Length, Stamp };

/// A key taken apart. Several spans in a line are told apart by what stands in front: `comp_start`, `comp_end`.
struct SpanKey {
  SpanPart part = SpanPart::None;
  std::string prefix;
  std::optional<Seconds> unit;  ///< by the key's own ending; nothing without one
};
/// Held by: src/trace/import/lines/span_lines_test.cpp
[[nodiscard]] SpanKey span_key(std::string_view key);

/// Small letters with `_` between words, also for `globalRank`; what stands in front of a dot is left out.
[[nodiscard]] std::string plain_key(std::string_view key);

/// A unit by its name: `ms`, `microseconds`.
[[nodiscard]] std::optional<Seconds> unit_named(std::string_view name);

}  // namespace cox::trace
