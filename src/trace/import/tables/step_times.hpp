// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lengths of steps as a Run: all that tables, logs and lines of step times say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

class PartBuilder;

/// Each step becomes a step mark at its common begin, a rank's value as own work, and an implied barrier of all that
/// ends 1 ns after the last arrival; the next step begins there.
class StepTimes {
 public:
  static constexpr std::size_t kMostRanks = 65536;
  static constexpr std::int32_t kHighestRank = 1 << 24;

  enum class Unit : bool { Unknown, Seconds };
  explicit StepTimes(Unit unit) : unit_(unit) {}

  /// The rank's series, for `add`; nothing beyond the limits.
  [[nodiscard]] std::optional<std::uint32_t> series_of(std::int32_t rank);
  /// The rank spent so long on its own work in a step; in seconds, or in the unknown unit. False: no such time.
  bool add(std::uint32_t series, std::int64_t step, Seconds own);
  [[nodiscard]] bool is_empty() const { return times_.empty(); }
  /// More than a third of what was added repeats a rank and step: most likely something else tells them apart.
  [[nodiscard]] bool repeats_most();
  /// The median of what was added, of some 100,000 where it is more.
  [[nodiscard]] Seconds usual() const;

  /// The largest of 1, 1e-3, 1e-6 and 1e-9 s that an unknown unit may be taken as, so that the run fits a Duration.
  [[nodiscard]] Seconds largest_unit();
  /// Everything into a part of nothing else, with notes on what is left out. `cells`: values that were looked at;
  /// `unit`: what an unknown one is taken as, at most `largest_unit`, equal in all runs of a file.
  void finish(PartBuilder& part, std::int64_t cells, Seconds unit) &&;

 private:
  struct Time {
    std::int64_t step = 0;
    std::uint32_t series = 0;
    Seconds own{};
  };

  void sort();
  void add_ranks(PartBuilder& part);
  void place(PartBuilder& part, std::int64_t cells);
  void add_step(PartBuilder& part, std::size_t first, std::size_t last, Duration begin, Duration longest);
  [[nodiscard]] Duration own_of(const Time& t) const;
  [[nodiscard]] std::size_t end_of_step(std::size_t first) const;

  Unit unit_;
  double scale_ = 1;  // seconds that one unit is taken as
  bool sorted_ = false;
  std::map<std::int32_t, std::uint32_t> series_numbers_;
  std::vector<std::int32_t> ranks_;    // by series
  std::vector<std::size_t> track_of_;  // by series
  std::vector<Time> times_;
  CommId implied_ = kNoComm;
  std::size_t count_of_ranks_ = 0;
  std::uint32_t steps_ = 0;
  std::int64_t repeated_ = 0, incomplete_ = 0, too_late_ = 0;
};

}  // namespace cox::trace
