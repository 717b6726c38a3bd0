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

}  // namespace cox::study
