// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who was last at each synchronisation of a sample, and what that depends on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

#include "forecast/sample/sample.hpp"
#include "forecast/structure/structure.hpp"

namespace cox::forecast {

/// Synchronisation s is position s % positions of step s / positions. Ranks are indices into `Sample::ranks`.
struct LastRanks {
  std::size_t positions = 1;
  std::vector<std::uint32_t> first{0};  ///< where the ranks of each begin in `who`; one more at the end
  std::vector<std::uint32_t> who;       ///< ascending; more than one where they were last together
  std::vector<Seconds> longest;         ///< own work of the last

  [[nodiscard]] std::size_t size() const { return longest.size(); }
  [[nodiscard]] std::span<const std::uint32_t> at(std::size_t s) const {
    return std::span(who).subspan(first[s], first[s + 1] - first[s]);
  }
  /// Some rank was last at both.
  [[nodiscard]] bool share_one(std::size_t a, std::size_t b) const;
};

/// Cost: linear.
[[nodiscard]] LastRanks last_ranks(const Sample& sample);

/// By permuting steps, and by turning the series of states against that of ranks, which keeps what each of them remembers.
/// Draws are fixed. Cost: 400 passes over the synchronisations.
[[nodiscard]] std::vector<Dependence> dependences_of(const Sample& sample, const LastRanks& last);

}  // namespace cox::forecast
