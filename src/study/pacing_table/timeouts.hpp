// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rare timeouts of single messages of a ring all-reduce.
#pragma once

#include <cstdint>

#include "cox/base/random.hpp"

namespace cox::study {

/// Each of the n messages of the 2 (n - 1) rounds times out with probability `chance`, independently.
///
/// A rank begins a round when it has sent its own message of the one before and received its neighbour's, so
/// what a timeout holds up moves on by one rank per round. Timeouts add up where one lies in the other's cone;
/// the all-reduce is late by the longest chain of them.
/// Cost: O(k^2) for k timeouts; gaps between them are drawn, not messages. Threads: const.
/// Held by: src/study/pacing_table/baseline_test.cpp (against every message of every round)
class RingTimeouts {
 public:
  RingTimeouts(int nodes, double chance, std::uint64_t seed);
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
  RandomStream stream_;
};

}  // namespace cox::study
