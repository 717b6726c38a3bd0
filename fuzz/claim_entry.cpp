// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "cox/base/assert.hpp"

#include "evaluate/claim/judged.hpp"
#include "fuzz/entries.hpp"

namespace cox::fuzz {

void claim(std::string_view bytes) {
  const auto judged = cox::evaluate::judge_claim(bytes);
  if (!judged) {
    COX_ASSERT(judged.error().id == "evaluate-001", "only an empty or a long claim is refused");
    return;
  }
  for (const cox::evaluate::ClaimReading& r : judged->readings)
    COX_ASSERT(std::isfinite(r.value.in_base_unit()), "what is computed is a number");
  COX_ASSERT(!judged->verdict || (judged->claimed && !judged->readings.empty()),
             "a verdict compares two numbers");
  COX_ASSERT(!judged->reason.empty(), "and has a reason");
  for (const char c : cox::evaluate::to_text(*judged))
    COX_ASSERT(c == '\n' || c >= ' ' || c < 0, "that a terminal can show");
  COX_ASSERT(!cox::evaluate::to_json(*judged).empty(), "a program can read it");
}

}  // namespace cox::fuzz
