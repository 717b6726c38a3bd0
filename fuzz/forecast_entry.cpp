// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cox/base/assert.hpp"

#include "forecast/sample/read.hpp"
#include "fuzz/entries.hpp"

namespace cox::fuzz {

void forecast_table(std::string_view bytes) {
  const auto read = forecast::parse_table(bytes, "fuzz");
  if (!read) {
    COX_ASSERT(read.error().id.starts_with("forecast-00"), "a bad table has its own errors");
    COX_ASSERT(read.error().message.size() < 500, "a message is a line");
    for (const char c : read.error().message) COX_ASSERT(c >= ' ' || c < 0, "that a terminal can show");
    return;
  }
  if (!*read) return;
  COX_ASSERT((*read)->sample.has_value() != (*read)->curve.has_value(), "a table is one of the two");
  if ((*read)->sample) {
    COX_ASSERT(forecast::check(*(*read)->sample).has_value(), "what is read can be used");
    return;
  }
  std::int64_t size = 1;
  for (const forecast::CurvePoint& p : (*read)->curve->points) {
    COX_ASSERT(p.size >= size && std::isfinite(p.value) && p.value > 0, "sizes rise, values are above 0");
    size = p.size;
  }
}

}  // namespace cox::fuzz
