// SPDX-License-Identifier: Apache-2.0
/// \file
/// One line of spans, as told.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/import/lines/span_keys.hpp"

namespace cox::trace {

/// One span of one rank. Times in picoseconds, or in 1e-12 of an unknown unit.
struct ToldSpan {
  std::int32_t rank = -1;  ///< -1 = not told
  std::int64_t step = -1;
  std::int64_t sequence = -1;
  std::int64_t bytes = 0;
  std::int64_t world_size = 0;
  std::string name;
  std::string host;
  std::string group;
  bool has_unit = true;
  std::optional<WidePs> begin;
  WidePs length = 0;
};

/// Takes lines apart. What a key without a unit is in is decided once per file, by the first number under it.
class SpanLines {
 public:
  /// Adds the spans of a line, of any nesting that OpenTelemetry's file exporter writes.
  void take(simdjson::dom::element line, std::vector<ToldSpan>& out);

  std::int64_t no_span = 0;   ///< lines without one
  std::int64_t no_unit = 0;   ///< spans whose begin has a unit and whose length has none, or the other way
  std::int64_t backward = 0;  ///< spans that end before they begin
  bool took_since_1970 = false;
  bool took_length_as_begin = false;

 private:
  struct Time {
    SpanPart part = SpanPart::None;
    std::string prefix;
    WidePs value = 0;
    bool has_unit = false;
    bool since_1970 = false;  ///< the unit was told by the number alone
    double number = 0;        ///< as written, of a length without a unit
  };
  void take_span(simdjson::dom::element span, const simdjson::dom::element* resource,
                 std::vector<ToldSpan>& out);
  [[nodiscard]] std::optional<Time> time_of(std::string_view key, simdjson::dom::element value,
                                            const std::optional<Seconds>& line_unit, bool stamp_is_start);
  void join(const std::vector<Time>& times, const ToldSpan& about, std::vector<ToldSpan>& out);

  /// By key: the unit that its first number had as a time of day; nothing where it was none.
  std::map<std::string, std::optional<Seconds>, std::less<>> unit_of_key_;
};

}  // namespace cox::trace
