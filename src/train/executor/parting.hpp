// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who has which leaves and which elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cox::train {

/// Consecutive things [first, first + count).
struct Stretch {
  std::int64_t first = 0;
  std::int64_t count = 0;
  [[nodiscard]] std::int64_t end() const { return first + count; }
};
/// What rank `rank` has of `all` things, cut as evenly as whole ones allow.
[[nodiscard]] Stretch part_of(std::int64_t all, int rank, int ranks);

/// 2^level leaves from a multiple of as many on.
struct AlignedLeaves {
  std::int64_t first = 0;
  std::size_t level = 0;
};
/// The fewest that make up the stretch, in order: one where it is aligned and a power of two.
[[nodiscard]] std::vector<AlignedLeaves> aligned(const Stretch& leaves);

/// Elements in units, and each unit in as many parts as there are ranks: a rank keeps one of each, in the order of units. Or each
/// unit whole with one rank, and empty parts of it with the others.
class Parting {
 public:
  /// Units follow each other without a gap, from 0 on.
  Parting(std::vector<Stretch> units, int ranks) : units_(std::move(units)), ranks_(ranks) {}
  /// `owners`: the rank of each unit.
  Parting(std::vector<Stretch> units, std::vector<int> owners, int ranks)
      : units_(std::move(units)), owners_(std::move(owners)), ranks_(ranks) {}

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] std::size_t units() const { return units_.size(); }
  [[nodiscard]] const Stretch& unit(std::size_t u) const { return units_[u]; }
  [[nodiscard]] std::int64_t elements() const { return units_.empty() ? 0 : units_.back().end(); }
  /// Of all elements, that a rank keeps of a unit.
  [[nodiscard]] Stretch part(std::size_t u, int rank) const;
  [[nodiscard]] std::int64_t kept(int rank) const;
  /// Where its part of a unit lies among those that a rank keeps. Cost: O(units).
  [[nodiscard]] std::int64_t place(std::size_t u, int rank) const;

 private:
  std::vector<Stretch> units_;
  std::vector<int> owners_;  ///< empty: units are cut
  int ranks_;
};

}  // namespace cox::train
