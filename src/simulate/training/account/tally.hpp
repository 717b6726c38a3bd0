// SPDX-License-Identifier: Apache-2.0
/// \file
/// What replicas' time, energy and money went into, added up.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/quantile_sketch.hpp"
#include "cox/base/result.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/training/failures/failures.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/plan/rank_groups.hpp"

namespace cox::simulate::training {

/// Of some replicas of one plan, which outlives it. Merged in the order of seeds, so that any number of threads gives
/// the same. Held by: src/simulate/training/account/tally_test.cpp
class Tally {
 public:
  /// Of one replica: `failures` and `accounts` may be null and empty.
  Tally(const Plan& plan, std::span<const Seconds> step_ends, Seconds total, const FailureOutcome* failures,
        const std::vector<GroupAccount>& accounts);
  /// Errors: simulate-003 (power by class of nodes, where ranks that move as one are on nodes of two).
  [[nodiscard]] static Status check(const Plan& plan);
  void merge(const Tally& other);
  /// Means over the replicas.
  void put_into(Outcome& out) const;

 private:
  [[nodiscard]] std::vector<GroupTime> groups() const;
  [[nodiscard]] JobTime mean_time() const;
  struct Sort;
  /// The job's nodes, those of each class that has a power or price of its own apart; the others come first.
  [[nodiscard]] std::vector<Sort> sorts() const;
  [[nodiscard]] EnergyUse energy(const std::vector<Sort>& sorts) const;
  void put_cost(const std::vector<Sort>& sorts, Outcome& out) const;

  const Plan* plan_;
  int replicas_ = 1;
  QuantileSketch steps_;
  JobTime time_{};  ///< sums over replicas
  Seconds total_{};
  std::map<std::pair<int, int>, GroupAccount> accounts_;  ///< by key; ranks, too, are sums over replicas
};

}  // namespace cox::simulate::training
