// SPDX-License-Identifier: Apache-2.0
/// \file
/// Spans without a collective: only the length of steps tells something.
#pragma once

#include <cstdint>

#include "trace/import/lines/span_choice.hpp"
#include "trace/import/part/part_builder.hpp"

namespace cox::trace {

/// How many spans it took, and how many steps it could not.
struct StepLengths {
  std::int64_t used = 0;
  std::int64_t far = 0;
  bool only_grow = false;  ///< from about zero on: points in time that are called a length
};
/// Of spans called step, or of all that name it, into `part`.
[[nodiscard]] StepLengths take_step_lengths(const ChosenSpans& chosen, PartBuilder& part);

}  // namespace cox::trace
