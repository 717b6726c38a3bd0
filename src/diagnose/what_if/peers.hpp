// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a stretch of own work is compared with: the same place of the same step
/// on the ranks that do the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

#include "diagnose/what_if/recording.hpp"

namespace cox::diagnose {

/// Most ranks that are fixed at once: bounds what is kept of each class.
inline constexpr std::size_t kMostFixed = 8;
inline constexpr std::uint32_t kNoClass = std::numeric_limits<std::uint32_t>::max();

class Peers {
 public:
  Peers(const Matched& matched, const Recording& recording);

  /// Work of all cells where each is replaced by the lower median of its class; what has no peer stays.
  [[nodiscard]] const std::vector<Duration>& ideal() const { return ideal_; }
  /// Per rank: sum of own work beyond the lower median of its class, where positive.
  [[nodiscard]] const std::vector<Duration>& self_delay() const { return self_delay_; }
  /// Own work of a cell beyond that median; zero where it has no peer.
  [[nodiscard]] Duration delay(std::size_t cell) const;
  [[nodiscard]] std::int64_t compared() const { return compared_; }

  /// Work of a rank's cells as recorded, in its order.
  [[nodiscard]] std::vector<Duration> recorded(std::size_t rank) const;
  /// The same for each of `ranks`, with own work replaced by the lower median of those of the class that are
  /// not in `ranks`; what has no such peer stays. At most kMostFixed ranks, each once. Cost: O(cells of these
  /// ranks * ranks).
  [[nodiscard]] std::vector<std::vector<Duration>> fixed(std::span<const std::size_t> ranks) const;

 private:
  /// Order statistics around the median of one class: enough to leave out any kMostFixed members.
  struct Class {
    std::uint32_t members = 0;
    std::uint32_t lowest = 0;  ///< which order statistic `values_[first]` is
    std::size_t first = 0;
  };
  class Builder;
  [[nodiscard]] Duration median_without(const Class& c, std::span<const Duration> sorted_out) const;

  const Recording* recording_;
  std::vector<std::vector<std::uint32_t>> class_of_;  ///< [rank][its k-th cell]
  std::vector<Class> classes_;
  std::vector<Duration> values_;
  std::vector<Duration> ideal_;
  std::vector<Duration> self_delay_;
  std::int64_t compared_ = 0;
};

}  // namespace cox::diagnose
