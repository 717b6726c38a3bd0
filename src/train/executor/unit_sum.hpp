// SPDX-License-Identifier: Apache-2.0
/// \file
/// A sum over all ranks whose bits do not depend on how many there are, unit by unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/number_format.hpp"

#include "train/executor/memory_count.hpp"
#include "train/executor/parting.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// Leaves are numbered through the job, and each rank holds a stretch of them; each unit is cut into as many parts as there are
/// ranks, and each rank keeps one. A rank sends the keeper of a part its sums over aligned leaves; the keeper adds them in the order of
/// leaves, by the tree of `learn::TreeSum`: the bits are those of one rank that holds all leaves.
/// Bytes sent: (aligned stretches of the rank) x 4 (elements - those that it keeps).
/// Memory: of each leaf but the last of a stretch, what waits for its neighbour: a sum per level of the tree; while a unit is
/// reduced, one received part for each stretch that others hold. The last leaf's sums are made in its place.
/// Of numbers of two bytes each sum of two is rounded, so a sum over aligned leaves is a number of two bytes, too, and the bits are
/// those of learn::TreeSum with that format; 2 instead of 4 in what is said of bytes.
/// Threads: one owner. Held by: src/train/executor/unit_sum_test.cpp
template <class Value>
class UnitSumOf {
 public:
  /// right = left + right
  using Adds = void (*)(std::span<const Value> left, std::span<Value> right);
  /// `parting` and `memory` outlive it. `leaves`: of all ranks.
  UnitSumOf(std::int64_t leaves, const Parting& parting, int rank, MemoryCount& memory, Adds adds);

  [[nodiscard]] const Stretch& leaves() const { return leaves_; }  ///< of this rank
  /// A unit of the next of the own leaves, and of those before it: they are added there, and of the last it stays there until the
  /// unit is reduced. True: it was the last.
  bool add(std::size_t unit, std::span<Value> leaf);
  /// The same of the own leaf with this number in the job: each once, in any order. Neighbours are added as soon as both are there.
  bool add(std::size_t unit, std::span<Value> leaf, std::int64_t number);
  /// Begins to send parts of a unit, all of whose leaves were added, and to receive them.
  void begin(Transport& transport, std::size_t unit);
  /// After Transport::wait: the sum over all ranks' leaves of the own part, where the unit's last leaf lay, or where it came;
  /// valid until `end`.
  [[nodiscard]] std::span<Value> finish(std::size_t unit);
  void end(std::size_t unit) {
    units_[unit].sums.clear();
    units_[unit].received = {};
  }
  /// The sum over this rank's leaves alone, in the order of a rank whose first is number 0, where the last leaf lay. Pre: made
  /// with `alone`.
  [[nodiscard]] std::span<Value> own(std::size_t unit);
  /// Leaves of this rank are summed as if they were all.
  void alone() { base_ = -leaves_.first; }

 private:
  /// Sum over aligned leaves of a unit.
  struct Own {
    AlignedLeaves place;
    Counted<Value> kept;      ///< what waits; of the last leaf nothing is
    std::span<Value> values;  ///< of all its elements
  };
  struct UnitState {
    std::int64_t added = 0;
    std::vector<Own> sums;  ///< in order
    Counted<Value> received;
  };
  [[nodiscard]] std::span<Value> slice(std::span<Value> unit, std::size_t u, int rank) const;

  const Parting& parting_;
  int rank_;
  MemoryCount& memory_;
  Adds adds_;
  Stretch leaves_;
  std::int64_t base_ = 0;
  std::vector<std::vector<AlignedLeaves>> of_rank_;
  std::size_t most_ = 0;  ///< stretches of one rank
  std::vector<UnitState> units_;
};

/// Of FP32.
class UnitSum final : public UnitSumOf<float> {
 public:
  UnitSum(std::int64_t leaves, const Parting& parting, int rank, MemoryCount& memory);
};
/// Of codes of a format of two bytes.
class CodeSum final : public UnitSumOf<std::uint16_t> {
 public:
  CodeSum(std::int64_t leaves, const Parting& parting, int rank, MemoryCount& memory,
          learn::NumberFormat format);
};

/// Sum over aligned leaves, where it lies.
template <class Value>
struct PlacedSum {
  AlignedLeaves place;
  std::span<Value> values;
};

/// Each rank's part of the unit becomes everybody's, in `values` of all its elements. To be waited for.
/// Bytes sent: 4 (codes: 2) (ranks - 1) (own part).
template <class Value>
void gather_unit(Transport& transport, const Parting& parting, std::size_t unit, std::span<const Value> own,
                 std::span<Value> values);
/// The same in `values` of all elements of all units.
void begin_gather(Transport& transport, const Parting& parting, std::size_t unit, std::span<const float> own,
                  std::span<float> values);

/// Bytes that rank `rank` sends while all units are reduced once, and while all are gathered once: by the schedules that they are,
/// `aligned` direct reduce-scatters, and direct all-gathers; in FP32. Codes are half of it.
[[nodiscard]] Bytes reduce_bytes(std::int64_t leaves, const Parting& parting, int rank);
[[nodiscard]] Bytes gather_bytes(const Parting& parting, int rank);

}  // namespace cox::train
