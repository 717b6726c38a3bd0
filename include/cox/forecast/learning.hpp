// SPDX-License-Identifier: Apache-2.0
/// \file
/// What samples are worth under a lever or at a size: asked of whoever can learn, since a forecast knows no gradient.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/forecast/levers.hpp"
#include "cox/forecast/regimes.hpp"
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

/// A lever in samples that count. Ratios over the job as it is; intervals of 90 %, Student's t over seeds on logarithms.
struct LearnedLever {
  std::string name{};
  std::int64_t ranks = 0;  ///< at which it is compared
  LeverRatio
      throughput{};  ///< `LeverEffect`'s, times its `one_sum`: over the job as it is, with all that it has
  LeverRatio samples{};  ///< until the target
  /// Samples over throughput: half widths add as roots of squares, for their draws have nothing in common
  LeverRatio time{};
  std::string why_not{};  ///< it has no number, and why; empty = it has
};

/// A size in samples that count, over the size that was said.
struct LearnedSize {
  std::int64_t ranks = 0;
  double throughput = 1;
  LeverRatio samples{};
  double time_ratio = 1;  ///< to the target: samples over throughput
  std::string why_not{};
};

/// Levers and sizes with what they do to learning.
struct LearnedControl {
  std::string what{};
  std::vector<LearnedLever> levers{};
  std::vector<LearnedSize> sizes{};
  Regimes regimes{};         ///< of progress: throughput over samples to the target; `range.to` 0 = none
  std::string no_regimes{};  ///< why there are none
  std::vector<std::string> notes{};  ///< one sentence each
};

}  // namespace cox::forecast
