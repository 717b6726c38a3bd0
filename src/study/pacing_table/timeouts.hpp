// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rare timeouts of single messages of a ring all-reduce.
#pragma once

#include <cstdint>
#include <vector>

namespace cox::study {

/// Gaps between timeouts in units of their mean: exponential draws, kept so that a fit does not make them
/// anew for every trial of its parameters.
class TimeoutDraws {
 public:
  TimeoutDraws(std::uint64_t seed, int steps);
  /// The same whether kept or not. Held by: src/study/pacing_table/pacing_table_test.cpp
  [[nodiscard]] double gap(std::int64_t step, std::uint64_t index) const;

 private:
  static constexpr std::uint64_t kKept = 4;  // per step
  std::uint64_t seed_;
  std::vector<double> kept_;
};

/// Each of the n messages of the 2 (n - 1) rounds times out with probability `chance`, independently.
///
/// A rank begins a round when it has sent its own message of the one before and received its neighbour's, so
/// what a timeout holds up moves on by one rank per round. Timeouts add up where one lies in the other's
/// cone; the all-reduce is late by the longest chain of them. Cost: O(k^2) for k timeouts; gaps between them
/// are drawn, not messages. Threads: const. Held by: src/study/pacing_table/pacing_table_test.cpp (against
/// every message of every round)
class RingTimeouts {
 public:
  /// `draws` outlives it.
  RingTimeouts(int nodes, double chance, const TimeoutDraws& draws);
  /// In numbers of timeouts.
  [[nodiscard]] int longest_chain(std::int64_t step) const;
  /// Which messages of a step time out, as round x n + sender, ascending; at most `kMost`.
  static constexpr int kMost = 64;
  struct Hits {
    std::int64_t at[kMost];
    int count = 0;
  };
  [[nodiscard]] Hits hits(std::int64_t step) const;

 private:
  int nodes_;
  double log_spared_;  ///< ln(1 - chance)
  const TimeoutDraws& draws_;
};

}  // namespace cox::study
