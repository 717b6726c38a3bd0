// SPDX-License-Identifier: Apache-2.0
/// \file
/// Steps that all replicas take together: synchronous and local SGD.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"
#include "cox/pace/controller.hpp"

#include "simulate/training/account/played.hpp"
#include "simulate/training/account/record.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

/// Errors: simulate-003 under another policy.
[[nodiscard]] Status check_synchronous(const model::Scenario& scenario);
[[nodiscard]] Meeting meeting_of(const model::Scenario& scenario, std::int64_t step);

/// Steps that are played, by what they cost (WorkDone), the last of them in part.
using StepsDone = std::function<void(double)>;

/// `recorder` and `progress` may be empty. `pace` instead of the job's own; empty: that.
[[nodiscard]] Result<Played> play_steps(const Plan& plan, std::uint64_t seed, StepShortcuts shortcuts,
                                        Recorder* recorder, const StepsDone& progress,
                                        const std::optional<pace::Settings>& pace = {});

}  // namespace cox::simulate::training
