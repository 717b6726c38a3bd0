// SPDX-License-Identifier: Apache-2.0
/// \file
/// An all-to-all of unequal messages: who sends how much to whom, and what the rounds of its pairs take.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"

#include "study/runs/routing.hpp"

namespace cox::study {

/// When the last rank is done, where all begin at zero: in round k = 1 .. ranks - 1 each rank sends to the k-th behind it
/// and takes from the k-th before it, both ways at the full bandwidth, without latency. A message begins when both its ends
/// have done their last round, as in the max-plus engine (rendezvous): no rank waits for all others. What stays on its
/// rank takes no time. Never below the busiest NIC. Cost: O(ranks^2).
/// Held by: src/study/runs/exchange_run_test.cpp (equal messages: the engine's all-to-all; unequal ones by hand)
[[nodiscard]] Seconds pairwise_time(const Exchange& exchange, Bytes token, Bandwidth nic);

/// The way back: each rank returns what it was sent.
[[nodiscard]] Exchange way_back(const Exchange& exchange);

/// What one rank sends to another one, over all pairs of different ranks, and what the busiest ranks send and take.
struct PairBytes {
  Bytes least{};
  Bytes mean{};  ///< rounded down
  Bytes most{};
  Bytes most_sent{};   ///< by one rank
  Bytes most_taken{};  ///< by one rank
  int sender = 0;      ///< that sends most
  int taker = 0;       ///< that takes most
};
/// Precondition (asserted): two ranks at least.
[[nodiscard]] PairBytes pair_bytes(const Exchange& exchange, Bytes token);

/// Bytes from groups of neighbouring ranks to groups, [from][to]; without what stays on its rank. At most `groups` of equal
/// size; the last one may be smaller.
struct GroupMatrix {
  int ranks_per_group = 1;
  std::vector<std::vector<Bytes>> bytes{};
};
[[nodiscard]] GroupMatrix group_matrix(const Exchange& exchange, Bytes token, int groups);

}  // namespace cox::study
