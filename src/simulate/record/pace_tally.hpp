// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a job's ranks were held back by and waited for, added up over the steps of one arm.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units.hpp"
#include "cox/pace/controller.hpp"
#include "cox/simulate/paced_summary.hpp"

namespace cox::simulate {

/// Settings from a scenario's keys. Errors: simulate-007 (a value that the controller does not take).
[[nodiscard]] Result<pace::Settings> pace_settings(const std::map<std::string, std::string>& keys);

/// One arm. Memory: 8 bytes a step. Held by: src/simulate/paced/paced_test.cpp
class PaceTally {
 public:
  explicit PaceTally(std::size_t ranks) : delay_(ranks), wait_(ranks) {}
  /// A step that took `period`, with each rank's delay and wait (without transfer).
  void add(Seconds period, std::span<const Seconds> delays, std::span<const Seconds> waits);
  /// Sum over the steps, per rank.
  [[nodiscard]] std::span<const Seconds> delays() const { return delay_; }
  [[nodiscard]] std::int64_t steps() const { return static_cast<std::int64_t>(periods_.size()); }
  /// `decisions` and `controllers` are as at the end; of these there may be none.
  [[nodiscard]] PacedSummary summary(std::string name, std::span<const pace::Decision> decisions,
                                     std::span<const pace::Controller> controllers) const;

 private:
  Welford period_;
  std::vector<double> periods_;
  std::vector<Seconds> delay_;  ///< sums per rank
  std::vector<Seconds> wait_;
  std::int64_t paced_steps_ = 0;
};

}  // namespace cox::simulate
