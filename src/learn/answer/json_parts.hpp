// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts of documents of comparisons.
#pragma once

#include "cox/base/json.hpp"
#include "cox/learn/compare.hpp"
#include "cox/model/scenario.hpp"

#include "learn/answer/comparison.hpp"

namespace cox::learn {

[[nodiscard]] Json json_of(const Interval& interval);
/// What was asked, and where the problem begins.
[[nodiscard]] Json asked_json(const Comparison& made, const model::Scenario& scenario,
                              const WaysQuestion& question);
/// A way without its attempts.
[[nodiscard]] Json summary_json(const WayResult& way, bool baseline);

}  // namespace cox::learn
