// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where in a step an operation stands: the n-th compared one of the step on its communicator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

struct Position {
  std::int32_t group = -1;  ///< of the operation; before submits: of the collectives that are submitted
  model::Collective kind = model::Collective::Other;
  std::int64_t number = 0;  ///< from 1, among the step's operations of this kind on this communicator
  std::int64_t of = 0;      ///< how many of this kind a step has there
  /// Of the wait for what is submitted here; -1: the program itself stands still here.
  std::int32_t within = -1;
};

/// The positions of a Run's steps. A communicator whose steps are of several shapes is cut by kind of
/// operation; where that is not regular either it has none. Where all that the program does in a step is to wait once
/// for several collectives that it submitted, the places before these submits are positions in its stead.
///
/// Cost: O(compared operations), 8 bytes each. Held by: src/diagnose/naming/positions_test.cpp
class Positions {
 public:
  explicit Positions(const Matched& matched);

  [[nodiscard]] std::size_t count() const { return all_.size(); }
  [[nodiscard]] const Position& at(std::int32_t position) const {
    return all_[static_cast<std::size_t>(position)];
  }
  /// Positions that a rank takes part in.
  [[nodiscard]] std::int64_t of_rank(std::size_t rank_index) const { return of_rank_[rank_index]; }
  /// Whether others stand in its stead.
  [[nodiscard]] bool is_divided(std::int32_t position) const {
    return position == 0 && !late_before_submit_.empty();
  }
  /// The one at which the program stands still: itself, or the wait for what is submitted there.
  [[nodiscard]] std::int32_t holder(std::int32_t position) const {
    return at(position).within < 0 ? position : at(position).within;
  }
  /// Before a submit: how much longer a member of its group worked than the lower median of all.
  [[nodiscard]] Duration late_before(std::int32_t position, std::size_t member, std::size_t step) const;
  /// Whether a look at single positions can show what whole steps do not.
  [[nodiscard]] bool worth_looking() const;
  /// Of an operation in `skew().ops`, or -1.
  [[nodiscard]] std::int32_t of_op(std::size_t op) const { return of_op_[op]; }
  /// Operations of a position (of its holder), as indices into `skew().ops`, in order of their steps.
  [[nodiscard]] std::span<const std::uint32_t> ops_of(std::int32_t position) const;

 private:
  void cut_group(const Matched& matched, std::size_t from, std::size_t to);
  bool cut(const Matched& matched, std::span<const std::uint32_t> ops);
  void divide(const Matched& matched);
  void sort_ops();

  std::vector<Position> all_;
  std::vector<std::int32_t> of_op_;
  std::vector<std::int64_t> of_rank_;
  std::vector<std::size_t> first_;  ///< into `ops_`, per position and one more
  std::vector<std::uint32_t> ops_;
  std::size_t steps_ = 0;
  /// Per position before a submit, [member x steps + step].
  std::vector<std::vector<Duration>> late_before_submit_;
};

/// Self-delays at one position: [member of its group][step], zero in steps that lack it.
///
/// False, with `delays` in any state, where fewer than `least_count` of them reach `least`. Cost: O(cells).
[[nodiscard]] bool delays_at(const Matched& matched, const Positions& positions, std::int32_t position,
                             Duration least, std::int64_t least_count,
                             std::vector<std::vector<Duration>>& delays);

}  // namespace cox::diagnose
