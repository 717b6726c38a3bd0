// SPDX-License-Identifier: Apache-2.0
/// \file
/// A calibrated Scenario as training steps: in these policies, failures and the start have a meaning.
#pragma once

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// Steps that take as long on the same draws: each rank's work, then a sum over all of them, beside which nobody works. Each rank is a
/// replica of its own; a third of the work is forward.
///
/// Steps of training are as they are, with their overlap. A sum stays what it is. Of another collective its time is kept, as that of a sum of 8 bytes by recursive doubling.
/// Errors:  forecast-005 (no steps of a collective), those of `simulate::simulate`. Cost: of another collective three simulated steps.
/// Held by: src/forecast/scenario/as_training_test.cpp
[[nodiscard]] Result<model::Scenario> as_training(const model::Scenario& calibrated);

/// Its steps are of training, whose sums run beside work. Held by: src/forecast/scenario/as_training_test.cpp
[[nodiscard]] bool overlaps_work(const model::Scenario& scenario);

}  // namespace cox::forecast
