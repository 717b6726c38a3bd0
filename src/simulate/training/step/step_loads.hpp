// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the steps of a job put on cards where no network is played.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cox/base/units.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/collective/port_loads.hpp"
#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

/// Of all steps, once, over the time that these took: without a start, failures and what they undid. Nothing where links are known, where whole collectives are priced (nobody knows their messages),
/// and under policies without a common step. Cost: O(ranks x kinds of collectives). Held by: src/simulate/training/step/step_loads_test.cpp
[[nodiscard]] std::optional<PortLoad> busiest_port(const Plan& plan, Seconds steps);

/// What workers without a common step send within themselves in so many steps each: between stages, in tensor and context groups,
/// among experts and sets of shards. Cost: O(workers x (ranks of one + groups)).
/// Held by: src/simulate/training/step/step_loads_test.cpp
void add_own_messages(const Plan& plan, std::span<const std::int64_t> steps, PortLoads& loads);

}  // namespace cox::simulate::training
