// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jobs whose workers have no common steps: updates go to servers, or to those who are not too late.
#pragma once

#include <cstdint>

#include "cox/base/result.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/training/account/played.hpp"
#include "simulate/training/account/record.hpp"
#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

/// Policies with servers or backups, by event time. `log` and `sink` may be null; a sink that says no ends it, and only
/// that much is known then.
[[nodiscard]] Result<Played> play_policy(const Plan& plan, std::uint64_t seed, Recorder* recorder,
                                         PolicyOutcome* log, const UpdateSink* sink = nullptr);

}  // namespace cox::simulate::training
