// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the timeline draws: for each rank the times inside synchronisation,
/// each split into wait and transfer.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/trace/run.hpp"

namespace cox::report {

/// What a span is: a model::Collective, kWaitCode + trace::WaitKind, or kDelayCode; plus the marks below.
inline constexpr std::uint8_t kWaitCode = 32;
inline constexpr std::uint8_t kDelayCode = 40;  ///< a delay that a pacing controller served: idle, all of it
inline constexpr std::uint8_t kUnfinishedMark = 128;  ///< had not returned when the record ends
inline constexpr std::uint8_t kUnsplitMark = 64;      ///< its wait cannot be told from its transfer

/// One stay of the program inside communication, or in a delay that was served. `begin <= wait_end <= end`;
/// spans of a rank do not overlap.
struct Span {
  Duration begin{};
  Duration wait_end{};
  Duration end{};
  std::int64_t step = -1;  ///< -1 before the first step
  std::uint8_t what = 0;
};

/// For each event of each rank, until when it waited for the last member to arrive.
///
/// Formula: by clock, the latest entry among the members; by duration, entry + (own duration - shortest
/// duration of the same operation). Source: docs/concepts/wait-and-transfer.md. Cost: O(n log n) in events.
class Arrivals {
 public:
  Arrivals(const trace::Run& run, const diagnose::Diagnosis& diagnosis);
  /// Until when event `event` of rank number `rank_index` waited; its begin where nothing can be told.
  [[nodiscard]] Duration waited_until(std::size_t rank_index, std::size_t event) const {
    return until_[rank_index][event];
  }
  [[nodiscard]] bool split(std::size_t rank_index, std::size_t event) const {
    return known_[rank_index][event] != 0;
  }
  /// What this rank's clock shows too much against the first rank's; zero where clocks can be compared.
  [[nodiscard]] Duration offset(std::size_t rank_index) const { return offset_[rank_index]; }
  /// First begin and last end of the whole Run, offsets taken away.
  [[nodiscard]] Duration first() const { return first_; }
  [[nodiscard]] Duration last() const { return last_; }

 private:
  std::vector<std::vector<Duration>> until_;
  std::vector<std::vector<std::uint8_t>> known_;
  std::vector<Duration> offset_;
  Duration first_{};
  Duration last_{};
};

/// The spans of one rank, by begin, on the first rank's clock. A wait for operations that run in the
/// background takes its split from those operations; a rank that only has background operations shows these.
[[nodiscard]] std::vector<Span> rank_spans(const trace::Run& run, const diagnose::Diagnosis& diagnosis,
                                           const Arrivals& arrivals, std::size_t rank_index);

}  // namespace cox::report
