// SPDX-License-Identifier: Apache-2.0
/// \file
/// The `result` of cox.simulate/1 as JSON.
#pragma once

#include "cox/base/json.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/training.hpp"

namespace cox::simulate {

/// A time as printed: seconds, rounded to picoseconds.
[[nodiscard]] double printed(Seconds s);
[[nodiscard]] Json json_of(const ReplicaSpread& s);
/// Everything but the lists: what a point of a sweep keeps.
[[nodiscard]] Json summary_of(const Outcome& o);
[[nodiscard]] Json json_of(const model::Scenario& s, const Outcome& o);

[[nodiscard]] Json json_of(const StepAnalysis& a, std::int64_t number);
[[nodiscard]] Json json_of(const PacedJobOutcome& paced);

}  // namespace cox::simulate
