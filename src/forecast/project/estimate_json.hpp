// SPDX-License-Identifier: Apache-2.0
/// \file
/// Estimates as JSON: docs/reference/forecast-json.md.
#pragma once

#include "cox/base/json.hpp"
#include "cox/forecast/project.hpp"

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

inline const char* origin_name(Origin o) {
  constexpr const char* kNames[] = {"measured", "stated", "range"};
  return kNames[static_cast<std::size_t>(o)];
}

/// What has no band has no ends.
inline Json json_of(const TimeBand& b) {
  const auto end = [&](Seconds s) { return b.low < b.high ? Json(s.count()) : Json(nullptr); };
  return {{"value_s", b.value.count()}, {"low_s", end(b.low)}, {"high_s", end(b.high)}};
}

inline Json json_of(const TimeEstimate& t) {
  return {{"value_s", t.value.count()},
          {"low_s", t.low.count()},
          {"high_s", t.high.count()},
          {"origin", origin_name(t.origin)},
          {"units", t.units}};
}

inline Json json_of(const RatioEstimate& r) {
  return {{"value", r.value},
          {"low", r.low},
          {"high", r.high},
          {"origin", origin_name(r.origin)},
          {"units", r.units}};
}

}  // namespace cox::forecast
