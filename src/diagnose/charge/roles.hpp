// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that should take equally long, so that one can be held against the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Ranks by role: same role, same program, so the same work is expected.
struct RoleClasses {
  std::vector<std::int32_t> of;  ///< per index into `run.ranks`
  std::int32_t count = 1;
  bool known = false;  ///< the input tells roles, and they differ
};

/// Ranks of one pipeline stage have one role: data, tensor and expert parallel ranks of a stage run the same
/// layers on equal shares. Where any rank's stage is not known all ranks have one role. Cost: O(ranks).
[[nodiscard]] RoleClasses group_by_role(const Matched& matched);

/// Median of each role among values that belong to `members`; where a role has one member only, of all.
///
/// Lower medians, as everywhere in diagnosis. Reuses its buffers; one object per thread.
/// Cost: O(members).
class RoleReference {
 public:
  explicit RoleReference(const RoleClasses& roles)
      : roles_(roles), sample_of_(static_cast<std::size_t>(roles.count)), median_(sample_of_.size()) {}
  /// Takes the values of one operation; `members` are indices into `run.ranks`, values in their order.
  void take(std::span<const std::int32_t> members, std::span<const Duration> values);
  /// What member `rank` is held against.
  [[nodiscard]] Duration of(std::int32_t rank) const {
    return median_[static_cast<std::size_t>(roles_.of[static_cast<std::size_t>(rank)])];
  }

 private:
  const RoleClasses& roles_;
  std::vector<Duration> all_;
  std::vector<std::vector<Duration>> sample_of_;
  std::vector<Duration> median_;
  std::vector<std::int32_t> present_;
};

}  // namespace cox::diagnose
