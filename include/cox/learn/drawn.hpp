// SPDX-License-Identifier: Apache-2.0
/// \file
/// The smallest driver of a policy: workers whose steps take drawn times, messages that all take the same. For what depends
/// on order alone; times of a cluster are those of `simulate`.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/sync/stream.hpp"

namespace cox::learn {

enum class StepLaw : std::uint8_t {
  Constant,
  Exponential,
  Lognormal,  ///< with `cv`
};

/// Worker w's steps take `mean` / speeds[w] times a draw with mean 1.
struct DrawnSteps {
  int workers = 1;
  StepLaw law = StepLaw::Constant;
  double cv = 0;
  Seconds mean{1};
  std::vector<double> speeds{};  ///< empty: all 1
  Seconds message{};             ///< behind a step after which a worker delivers or meets the others
  std::int64_t steps = 0;        ///< of each worker at most; 0 = until the sink ends it
  std::uint64_t seed = 1;
};

/// Calls `take` with every event in order of time (equal times: in the order of workers); false ends it.
/// Cost: O(log workers) per step. Deterministic. Held by: src/learn/run/drawn_test.cpp
void stream_drawn(const model::PolicySpec& policy, const DrawnSteps& steps,
                  const std::function<bool(const sync::StreamEvent& event, Seconds at)>& take);

}  // namespace cox::learn
