// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks with the same work, which an account is kept for together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/training/plan.hpp"

namespace cox::simulate::training {

/// Stages; where the cluster has classes of nodes, and no unit is on nodes of two, stages by class.
/// Held by: src/simulate/training/tally_test.cpp
struct RankGroups {
  std::vector<int> of_unit;
  std::vector<std::string> names;
  std::vector<std::int64_t> ranks;

  explicit RankGroups(const Plan& plan);
};

}  // namespace cox::simulate::training
