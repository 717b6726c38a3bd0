// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages that are lost by chance, and how long a retransmission timer holds them up.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// The next message behind number `at` of a row that is lost, where each is with a probability: the gaps between
/// losses are geometric, so that nothing is drawn for messages that arrive.
/// Formula: at + 1 + floor(e / -ln(1 - probability)), e exponential of mean 1. `log_spared` = ln(1 - probability).
[[nodiscard]] double next_lost(double at, double log_spared, double exponential);

/// Gap `index` of a row's losses in `step`: exponential, mean 1, by seed. Study and simulation draw the same.
[[nodiscard]] double loss_gap(std::uint64_t seed, std::int64_t step, std::uint64_t index);

/// Which messages are lost by chance, and when they arrive then. Only messages between nodes are meant; who asks
/// knows which these are. Immutable; const calls from any thread. Formulas: docs/concepts/flow-engine.md.
/// Held by: src/simulate/max_plus/timeouts_test.cpp
class TimeoutDraws {
 public:
  TimeoutDraws() = default;
  TimeoutDraws(const model::Timeouts& of, std::uint64_t seed);
  /// Messages are lost by chance. What is lost because a port is full the flow engine finds itself.
  [[nodiscard]] bool happen() const { return wait_ > Seconds{} && loss_ > 0; }

  struct Lost {
    std::int64_t message = 0;  ///< its number in the row
    Seconds late{};
  };
  /// Messages of a row that follow each other in the draws: those of a lane of collective `number`, that a place
  /// gets as its `ordinal`-th of a round.
  struct Row {
    std::int64_t step = 0;
    std::int64_t number = 0;
    int lane = 0;
    std::int64_t ordinal = 0;
  };
  /// Of messages [0, count) of the row those that are lost, ascending. Cost: O(of these).
  [[nodiscard]] std::vector<Lost> lost(const Row& row, std::int64_t count) const;

 private:
  Seconds wait_{};
  double loss_ = 0;
  double log_spared_ = 0;
  double log_loss_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace cox::simulate
