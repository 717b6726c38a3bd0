// SPDX-License-Identifier: Apache-2.0
/// \file
/// Levers at other sizes where the parts of a job do not say them: policies under which ranks do not meet in every step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/model/scenario.hpp"

#include "forecast/control/control.hpp"
#include "forecast/levers/levers.hpp"

namespace cox::forecast {

/// Throughput with these levers over that without, failures included, at each size: both simulated there on common draws, a lever being
/// what it is at that size (backup workers are 1 of 32 replicas, servers as many as nodes). At most 2^20 steps of
/// a rank over all seeds, more servers than 16 counting as so many ranks: beyond, of the scenario's steps at least 32, of the seeds at least two;
/// sizes that are beyond that, that its layout does not fit, or at which a lever does not apply, are left out, and `notes` say which
/// and why. Weak scaling. Cost: up to 2 x `options.replicas` simulations a size.
/// Held by: src/forecast/control/simulated_control_test.cpp
[[nodiscard]] std::vector<ControlledSize> simulated_control(const model::Scenario& scenario,
                                                            const std::vector<std::string>& levers,
                                                            const std::vector<std::int64_t>& ranks,
                                                            const LeverOptions& options,
                                                            std::vector<std::string>& notes);

}  // namespace cox::forecast
