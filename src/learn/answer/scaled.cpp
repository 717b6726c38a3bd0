// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/scaled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"

namespace cox::learn {

Json json_of(const ScaledSteps& s) {
  return {{"factor", s.factor},
          {"skipped_steps", s.skipped},
          {"vanished_share", s.vanished},
          {"last_overflow", or_null(s.last_overflow, [](const Divergence& d) { return d.place(); })}};
}

std::string scaled_text(std::span<const ScaledSteps> runs, const std::string& last) {
  COX_ASSERT(!runs.empty(), "something was run");
  std::int64_t skipped = 0;
  double vanished = 0;
  for (const ScaledSteps& s : runs) {
    skipped += s.skipped;
    vanished = std::max(vanished, s.vanished);
  }
  const auto [low, high] = std::ranges::minmax(runs, {}, &ScaledSteps::factor);
  return fmt::format("{} skipped by all{}{}{}; up to {} of the elements vanished; the scale ended at {}{}",
                     counted(skipped, "step was", "steps were"),
                     runs.size() > 1 ? fmt::format(" in {} runs", runs.size()) : "",
                     last.empty() ? "" : ", last for ", last, percent(vanished), plain_number(low.factor),
                     low.factor < high.factor ? " to " + plain_number(high.factor) : "");
}

}  // namespace cox::learn
