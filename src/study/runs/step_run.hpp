// SPDX-License-Identifier: Apache-2.0
/// \file
/// One rank's synchronous step as an operation graph: layers one after the other,
/// buckets of gradients beside them.
#pragma once

#include <vector>

#include "cox/base/units.hpp"

namespace cox::study {

/// What is all-reduced once a layer's backward is done.
struct GradientBucket {
  int ready_after = 0;  ///< backward operations (in their order, from 1) that it waits for
  Seconds all_reduce{};
};

struct StepPlan {
  Seconds forward{};
  std::vector<Seconds> backward;        ///< of the layers in the order in which they are computed
  std::vector<GradientBucket> buckets;  ///< in the order in which they are sent; one at a time
  Seconds optimizer{};
};

struct StepRun {
  Seconds step{};
  Seconds exposed{};  ///< of communication: what the step would be shorter by without any
};

/// Cost: O(layers + buckets).
[[nodiscard]] StepRun run_step(const StepPlan& plan);

/// A bucket whose all-reduce shares the link with those of other streams.
struct SharedBucket {
  int ready_after = 0;              ///< as in GradientBucket
  std::vector<Seconds> all_reduce;  ///< [n - 1]: how long where n are under way all the time
};

struct SharedStepPlan {
  std::vector<Seconds> backward;      ///< as in StepPlan
  std::vector<SharedBucket> buckets;  ///< in the order in which they are sent
  int streams = 1;                    ///< buckets under way at a time, at most
  double overlap_efficiency = 1;      ///< speed of the backward pass while a bucket is under way, in (0, 1]
};

/// The backward pass beside buckets on several streams, which slow it down. `exposed`: what the step is longer by than
/// its backward pass alone. While n buckets are under way, each passes 1 / all_reduce[n - 1] of itself in a second.
/// Cost: O((layers + buckets) streams). Held by: src/study/runs/step_run_test.cpp
[[nodiscard]] StepRun run_shared_step(const SharedStepPlan& plan);

}  // namespace cox::study
