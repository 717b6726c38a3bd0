// SPDX-License-Identifier: Apache-2.0
/// \file
/// A sum over all ranks whose bits do not depend on how many there are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/tree_sum.hpp"

#include "train/transport/transport.hpp"

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

/// Leaves are numbered through the job, and each rank holds a stretch of them; elements are cut into as many parts as there are
/// ranks, and each rank owns one. A rank sends the owner of a part its sums over aligned leaves; the owner adds them in the order of
/// leaves, by the tree of `learn::TreeSum`: the bits are those of one rank that holds all leaves. Then owners send
/// their parts to everybody.
/// Bytes sent: (aligned stretches of the rank) x 4 (n - own part) + 4 (ranks - 1) (own part); where each rank has one stretch and
/// parts are equal, those of a ring, 8 n (ranks - 1) / ranks.
/// Memory: a sum per stretch of the own leaves, and one received part for each that others hold.
/// Held by: src/train/executor/ordered_sum_test.cpp
class OrderedSum {
 public:
  OrderedSum(std::int64_t leaves, std::int64_t elements, int rank, int ranks);

  [[nodiscard]] const Stretch& leaves() const { return leaves_; }  ///< of this rank
  [[nodiscard]] const Stretch& part() const { return part_; }      ///< of elements, that it owns
  /// The next of the own leaves.
  void add(std::span<const float> leaf);
  /// The sum over all ranks' leaves of the own part; valid until the next call. All own leaves were added.
  [[nodiscard]] Result<std::span<float>> reduce(Transport& transport);
  /// Each rank's part of `values` becomes its owner's, on all ranks.
  [[nodiscard]] Status gather(Transport& transport, std::span<float> values) const;

 private:
  struct Own {
    AlignedLeaves place;
    std::vector<float> sum;
  };
  [[nodiscard]] std::span<const float> slice(const Own& own, const Stretch& part) const;

  std::int64_t elements_;
  int rank_, ranks_;
  Stretch leaves_, part_;
  std::vector<std::vector<AlignedLeaves>> of_rank_;
  std::vector<Own> own_;
  std::size_t filled_ = 0;  ///< of `own_`
  learn::TreeSum stretch_;
  learn::TreeSum total_;
  std::vector<float> came_;
};

/// Bytes that rank `rank` sends in `reduce` and `gather`, by the schedules that they are: `aligned` direct reduce-scatters
/// and a direct all-gather.
[[nodiscard]] Bytes ordered_bytes(std::int64_t leaves, std::int64_t elements, int rank, int ranks);

}  // namespace cox::train
