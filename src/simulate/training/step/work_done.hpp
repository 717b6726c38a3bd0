// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far a job has come, where most of its steps are like one of the first and are not computed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulate/training/plan/plan.hpp"
#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

/// Steps of the plan's job that are probably computed, since the others begin and end as one of these: those of the kind (or two, of
/// local steps) that begin together, and those that begin as the one before has left them. 0: each, as something is drawn, recorded
/// or fed back.
/// Held by: src/simulate/training/step/work_done_test.cpp
[[nodiscard]] std::int64_t steps_to_compute(const Plan& plan, StepShortcuts shortcuts);

/// Progress in steps, by what they cost: while one of two steps that are computed is half done, a job of 100 steps has come 25 of them.
/// Held by: src/simulate/training/step/work_done_test.cpp
class WorkDone {
 public:
  /// `to_compute` of `steps`; 0 = all.
  WorkDone(std::int64_t steps, std::int64_t to_compute)
      : steps_(static_cast<double>(steps)), to_compute_(to_compute) {}
  /// `over` steps are, of which so many were computed, and a part of one more.
  [[nodiscard]] double at(std::int64_t over, std::int64_t computed, double part) const {
    const double plain = static_cast<double>(over) + part;
    // More that differ than were expected: nobody knows how many will.
    if (to_compute_ == 0 || computed > 2 * to_compute_ || plain >= steps_) return std::min(plain, steps_);
    constexpr double kMost = 0.99;  // until all are over
    const std::int64_t known = computed + (part > 0 ? 1 : 0);
    const bool repeat = over > computed;  // they have begun to
    const auto expected =
        static_cast<double>(repeat ? std::max<std::int64_t>(known, 1) : std::max(to_compute_, known));
    const double work = (static_cast<double>(computed) + part) / expected;
    return std::max(plain, steps_ * std::min(work, kMost));
  }

 private:
  double steps_;
  std::int64_t to_compute_;
};

}  // namespace cox::simulate::training
