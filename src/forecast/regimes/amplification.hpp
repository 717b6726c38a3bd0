// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each mechanism of a job adds to the time per sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/forecast/scaling_job.hpp"

namespace cox::forecast {

/// What each mechanism adds to the time per sample.
struct Amplification {
  double whole = 1;  ///< time per sample at this size with everything on, over that with everything off
  struct Share {
    std::string mechanism{};
    double added = 0;  ///< of `whole` - 1: Shapley's value, so they add up to it
  };
  std::vector<Share> by{};  ///< in the order of the job's mechanisms
};
/// Exact over all sets. Pre: at most 12 mechanisms (asserted). Cost: 2^mechanisms calls.
/// Held by: src/forecast/regimes/scaling_job_test.cpp
[[nodiscard]] Amplification amplification_of(const ScalingJob& job, std::int64_t ranks);

}  // namespace cox::forecast
