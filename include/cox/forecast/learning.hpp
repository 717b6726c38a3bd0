// SPDX-License-Identifier: Apache-2.0
/// \file
/// What samples are worth under a lever or at a size: asked of whoever can learn, since a forecast knows no gradient.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// Samples that count until a target, of one job.
struct SamplesToTarget {
  std::vector<double> by_seed{};  ///< the same seeds of all jobs; empty = `why_not`
  std::string why_not{};
  bool at_edge = false;  ///< the best step size that was tried lies at the end of them
};
/// One answer a job, in their order.
using LearnJobs =
    std::function<Result<std::vector<SamplesToTarget>>(const std::vector<model::Scenario>& jobs)>;

struct LearningQuestion {
  LearnJobs learn{};
  std::string what{};               ///< that is learned, for a sentence
  std::int64_t most_workers = 256;  ///< replicas of the largest size that is learned
};

}  // namespace cox::forecast
