// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a Run looks like over time: for each rank the times inside synchronisation, each split into wait and
/// transfer, and its steps. Pictures are drawn from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/diagnose/matched.hpp"

namespace cox::diagnose {

/// What a stay is: a model::Collective, kWaitCode + trace::WaitKind, or kDelayCode; plus the marks below.
inline constexpr std::uint8_t kWaitCode = 32;
inline constexpr std::uint8_t kDelayCode = 40;  ///< a delay that a pacing controller served: idle, all of it
inline constexpr std::uint8_t kUnfinishedMark = 128;  ///< had not returned when the record ends
inline constexpr std::uint8_t kUnsplitMark = 64;      ///< its wait cannot be told from its transfer

/// One stay of the program inside communication, or in a delay that was served. `begin <= wait_end <= end`;
/// stays of a rank do not overlap.
struct Stay {
  Duration begin{};
  Duration wait_end{};
  Duration end{};
  std::int64_t step = -1;  ///< -1 before the first step
  std::uint8_t what = 0;
};

/// From when to when.
struct Extent {
  Duration first{};
  Duration last{};
};

/// The step that a reader wants to see first.
struct WorstStep {
  std::int64_t step = -1;  ///< by its place; -1 = there are none
  bool by_wait = false;    ///< it has the most waiting; else nobody waited, and it is the longest
};

/// Neighbouring steps of one rank taken together.
struct Cell {
  Duration mean{};
  Duration largest{};
};
/// One row of times per step in `cells` groups of `merged` neighbours; a group behind the row's end is zero, and a time
/// below zero counts as zero. Held by: src/diagnose/timeline/timeline_test.cpp
[[nodiscard]] std::vector<Cell> cells_of(std::span<const Duration> row, std::int64_t cells,
                                         std::int64_t merged);

/// The ranks of a Run over time, drawn from what was matched, which has to outlive it.
///
/// Formula: until when a call waited: by clock, the latest entry among the members; by duration, entry + (own
/// duration - shortest duration of the same operation). An operation of which a member is missing is split
/// among those that are there: a picture shows what is known. Source: docs/concepts/wait-and-transfer.md.
/// Cost: O(n log n) in events. Threads: const methods may be used by many. Held by:
/// src/diagnose/timeline/timeline_test.cpp
class Timeline {
 public:
  explicit Timeline(const Matched& matched);

  /// What this rank's clock shows too much against the first rank's; zero where clocks can be compared.
  [[nodiscard]] Duration offset(std::size_t rank_index) const { return offset_[rank_index]; }
  /// First begin and last end of the whole Run, offsets taken away.
  [[nodiscard]] Duration first() const { return first_; }
  [[nodiscard]] Duration last() const { return last_; }
  /// The stays of one rank, by begin, on the first rank's clock. A wait for operations that run in the
  /// background takes its split from those operations; a rank that only has background operations shows
  /// these.
  [[nodiscard]] std::vector<Stay> stays(std::size_t rank_index) const;
  /// First begin and last end of one rank, on the first rank's clock; `stays`: its own, which may go on behind its records.
  [[nodiscard]] Extent extent(std::size_t rank_index, std::span<const Stay> stays) const;

  // One entry per step; empty where there are no steps.

  /// When the steps of a rank began, on its own clock.
  [[nodiscard]] std::span<const Duration> step_begins(std::size_t rank_index) const;
  [[nodiscard]] std::span<const Duration> work_by_step(std::size_t rank_index) const;
  [[nodiscard]] std::span<const Duration> wait_by_step(std::size_t rank_index) const;
  /// When the first rank began it, on the first rank's clock; nothing where none did.
  [[nodiscard]] std::optional<Duration> step_begin(std::size_t step) const;
  /// The step with the most waiting of all ranks, the first one left out where there are more than two.
  /// `step_times`: length of each. Held by: src/diagnose/timeline/timeline_test.cpp
  [[nodiscard]] WorstStep worst_step(std::span<const Duration> step_times) const;

 private:
  class Background;
  const Matched* matched_;
  std::vector<std::vector<Duration>> until_;      ///< [rank][event]: its begin where nothing can be told
  std::vector<std::vector<std::uint8_t>> known_;  ///< [rank][event]
  std::vector<Duration> offset_;
  std::vector<std::vector<Duration>> work_;  ///< [rank][step]
  std::vector<std::vector<Duration>> wait_;  ///< [rank][step]
  Duration first_{};
  Duration last_{};
};

}  // namespace cox::diagnose
