// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks with the same work, which an account is kept for together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

/// Stages; where the cluster has classes of nodes, and no unit is on nodes of two, stages by class.
/// Held by: src/simulate/training/account/tally_test.cpp
struct RankGroups {
  std::vector<int> of_unit;
  std::vector<std::pair<int, int>>
      keys;  ///< stage and class (-1: none), ascending: the same for every placement
  std::vector<std::string> names;
  std::vector<std::int64_t> ranks;

  explicit RankGroups(const Plan& plan);
};

/// What the ranks of a group did with their time, added up.
struct GroupAccount {
  std::pair<int, int> key;  ///< of RankGroups
  std::string name;
  std::int64_t ranks = 0;
  StepParts parts{};
};

}  // namespace cox::simulate::training
