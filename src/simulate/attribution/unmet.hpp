// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a job does not meet where it sits.
#pragma once

#include <string>
#include <vector>

#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// The nodes of a job that sends collectives or steps (training, chakra), alone on its machine. Beside neighbours, who may meet what the job does not
/// and be met by it, and of other workloads, nothing is said. Each answer is why something is not met; empty = it is, or may be.
/// Held by: src/simulate/attribution/unmet_test.cpp
class WhereItSits {
 public:
  /// Cost: O(nodes of the job).
  explicit WhereItSits(const model::Scenario& scenario);
  /// Links, switches and losses between nodes.
  [[nodiscard]] std::string on_one_node() const;
  /// Links above leaf switches of a fat tree, and above its pods.
  [[nodiscard]] std::string below_one_leaf() const;
  [[nodiscard]] std::string below_one_pod() const;
  /// Nodes of a class.
  [[nodiscard]] std::string off(const model::NodeClass& of) const;

 private:
  [[nodiscard]] bool within(int nodes) const;

  const model::Fabric& fabric_;
  std::vector<int> nodes_;    ///< empty: not known
  bool by_switches_ = false;  ///< which add up, and may be above the nodes
};

}  // namespace cox::simulate
