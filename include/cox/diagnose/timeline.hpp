// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a Run looks like over time: for each rank the times inside synchronisation, each split into wait and
/// transfer, and its steps. Pictures are drawn from it.
#pragma once

#include <cstdint>
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

/// The ranks of a Run over time, drawn from what was matched, which has to outlive it.
///
/// Formula: until when a call waited: by clock, the latest entry among the members; by duration, entry + (own
/// duration - shortest duration of the same operation). An operation of which a member is missing is split
/// among those that are there: a picture shows what is known. Source: docs/concepts/wait-and-transfer.md.
/// Cost: O(n log n) in events. Threads: const methods may be used by many. Held by:
/// src/diagnose/match/timeline_test.cpp
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

  // One entry per step; empty where there are no steps.

  /// When the steps of a rank began, on its own clock.
  [[nodiscard]] std::span<const Duration> step_begins(std::size_t rank_index) const;
  [[nodiscard]] std::span<const Duration> work_by_step(std::size_t rank_index) const;
  [[nodiscard]] std::span<const Duration> wait_by_step(std::size_t rank_index) const;

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
