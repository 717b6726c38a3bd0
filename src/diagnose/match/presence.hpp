// SPDX-License-Identifier: Apache-2.0
/// \file
/// How complete operations are, member by member; and whether what uneven arrival costs is spread over the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/model/collective.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Whether the members of an operation can be held against each other, as far as they are there.
[[nodiscard]] inline bool holds_all(const Group& group, const Operation& op) {
  return group.first_cell != kNoCells && group.declared >= 2 && !op.mismatch &&
         model::synchronizes_all(op.kind);
}

/// How complete the operations are that hold all their members.
struct Presence {
  std::int64_t operations = 0;
  std::int64_t incomplete = 0;  ///< of them, those of which a member's call is not known
  /// Per rank that is absent from any, most first: in how many of those it belongs to.
  struct Absent {
    Rank rank;
    std::int64_t absent = 0;
    std::int64_t of = 0;
  };
  std::vector<Absent> absent;
  /// So many that those present have to be compared among themselves: one in ten.
  [[nodiscard]] bool often_incomplete() const { return 10 * incomplete > operations; }
};
[[nodiscard]] Presence presence_of(const Matched& matched);

/// Who was last, weighted by what it cost (latest arrival less the median one).
struct CostSpread {
  bool tested = false;  ///< there were blocks enough
  bool spread = false;  ///< no rank has more than half of the cost (of two: three quarters), at 95 %
  double most = 0;      ///< largest share of a rank
};
/// Source: shares by ratio of sums, their error by the jackknife over blocks of consecutive operations
/// (Efron, Tibshirani 1993). Cost: linear in cells. Held by: src/diagnose/match/presence_test.cpp
[[nodiscard]] CostSpread spread_of_cost(const Matched& matched);

}  // namespace cox::diagnose
