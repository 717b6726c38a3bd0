// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/schedule.hpp"

#include <cmath>

namespace cox::learn {

double rate_factor(const OptimizerSpec& spec, std::int64_t step, std::int64_t batch) {
  double factor = 1;
  if (spec.scaling != RateScaling::None) factor = static_cast<double>(batch) / spec.base_batch;
  if (spec.scaling == RateScaling::Root) factor = std::sqrt(factor);
  if (step < spec.warm_up) factor *= static_cast<double>(step) / static_cast<double>(spec.warm_up);
  return factor;
}

}  // namespace cox::learn
