// SPDX-License-Identifier: Apache-2.0
/// \file
/// Workers that meet in every step inside their group, whatever goes on between groups.
#pragma once

#include <optional>
#include <vector>

namespace cox::sync {

/// `workers` in consecutive groups of `size`; a group is one worker of the policy between groups, and its step one step
/// there. Members begin their first step at once.
/// The ledger between groups is that of the outer policy; inside a group every update is of age 0, since nobody begins before
/// all have ended.
/// Cost: O(1) per call. Pure: no clock. Threads: one owner. Held by: src/sync/groups_test.cpp
class Groups {
 public:
  /// Pre: `size` divides `workers` (asserted).
  Groups(int workers, int size);
  [[nodiscard]] int count() const { return static_cast<int>(computing_.size()); }
  [[nodiscard]] int size() const { return size_; }
  /// Worker `worker` has finished the step; the group whose last member it was. Pre: it was in the step (asserted).
  [[nodiscard]] std::optional<int> arrived(int worker);
  /// The group begins its next step: its first member. Pre: all members had arrived (asserted).
  int begin(int group);

 private:
  int size_;
  std::vector<int> computing_;  ///< members that have not arrived, by group
  std::vector<char> in_step_;   ///< by worker
};

}  // namespace cox::sync
