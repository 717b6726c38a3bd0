// SPDX-License-Identifier: Apache-2.0
/// \file
/// How long each worker of a scenario computes in each of its steps, without any message.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::learn {

/// Drawn by the scenario's noise for (worker, step), whatever the policy, so that runs under several are paired.
/// Errors: learn-002, where a step is more than computing: replicas of several devices, shards, input that takes time,
/// noise of messages or by the clock; those of simulate. Memory: 8 bytes a worker and step.
/// Held by: src/learn/drive/compute_times_test.cpp
class ComputeTimes {
 public:
  /// Of `steps` steps of each worker.
  [[nodiscard]] static Result<ComputeTimes> make(const model::Scenario& scenario, std::int64_t steps,
                                                 std::uint64_t seed);
  [[nodiscard]] int workers() const { return workers_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// Pre: both are within (asserted).
  [[nodiscard]] Seconds of(int worker, std::int64_t step) const;
  /// Of work beside a worker's steps, such as a copy of another's: its draws from the last one on, which its own steps come to at the end.
  [[nodiscard]] Seconds beside(int worker, std::int64_t number) const {
    return of(worker, steps_ - 1 - number % steps_);
  }

 private:
  int workers_ = 0;
  std::int64_t steps_ = 0;
  std::vector<Seconds> times_;  ///< of each worker, step by step
};

}  // namespace cox::learn
