// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job of replicas that sum their gradients beside the backward pass, on a network that others use, too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"

#include "simulate/flow/engine.hpp"

namespace cox::simulate {

/// One replica on each rank, for ever: forward, backward, optimizer. A bucket of gradients joins its all-reduce when it
/// is ready and the rank has left the one before; the optimizer follows the last. What a training job of equal layers
/// does, each of a bucket, with `overlap`. Whoever drives the engine hands it the departures of its courses.
/// Held by: src/simulate/flow/gradient_steps_test.cpp (the same step as such a job's)
class GradientSteps {
 public:
  struct Work {
    std::vector<const model::Schedule*> buckets;  ///< each outlives it
    std::vector<double> ready;                    ///< part of the backward pass after which each is
    std::vector<int> rank_of;                     ///< device of each rank
    std::vector<double> slow;  ///< of each rank: how much longer it computes; empty = as long
    Seconds forward{};
    Seconds backward{};
    Seconds optimizer{};
  };
  /// Called with the number of each course that is begun.
  using Owns = std::function<void(FlowCourseId)>;

  GradientSteps(FlowEngine& engine, Work work, Owns owns);
  void start(Seconds at);
  void take(const FlowDeparture& departure);
  /// Steps that all ranks have ended.
  [[nodiscard]] std::int64_t done() const { return done_; }
  [[nodiscard]] Seconds last_end() const { return last_end_; }

 private:
  struct Rank {
    std::int64_t step = 0;
    std::size_t bucket = 0;  ///< that it is in
    Seconds begin{};
    Seconds backward{};  ///< begin of that pass
  };
  struct Course {
    std::int64_t step = 0;
    std::size_t bucket = 0;
    int left = 0;
  };
  [[nodiscard]] double slow(int rank) const {
    return work_.slow.empty() ? 1 : work_.slow[static_cast<std::size_t>(rank)];
  }
  void begin_step(int rank, Seconds at);
  void join(int rank, Seconds free);
  void end_step(int rank, Seconds at);

  FlowEngine& engine_;
  Work work_;
  Owns owns_;
  std::vector<Rank> ranks_;
  std::map<std::pair<std::int64_t, std::size_t>, FlowCourseId>
      course_of_;  ///< (step, bucket) that somebody is in
  std::map<FlowCourseId, Course> open_;
  std::map<std::int64_t, std::pair<int, Seconds>>
      ending_;  ///< steps: who has ended them, and the last of them
  std::int64_t done_ = 0;
  Seconds last_end_{};
};

}  // namespace cox::simulate
