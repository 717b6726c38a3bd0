// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages that are lost by chance, and how long a retransmission timer holds them up.
#pragma once

#include <cstdint>
#include <map>
#include <span>
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

/// How late a message is that is lost `times` in a row: the timer doubles, as RFC 6298, 5.5 has it.
[[nodiscard]] constexpr Seconds late_after(Seconds wait, int times) {
  return wait * static_cast<double>((std::int64_t{1} << times) - 1);
}
inline constexpr int kMostLosses = 10;  ///< of one message in a row

/// What the losses of one lane of one collective are, found when first asked for. One owner.
class LaneLosses {
 public:
  LaneLosses(const TimeoutDraws& law, TimeoutDraws::Row row, std::int64_t rounds, std::int64_t receivers)
      : law_(&law), row_(row), rounds_(rounds), receivers_(receivers) {}
  /// Ascending by round x receivers + receiver. The span stays.
  [[nodiscard]] std::span<const TimeoutDraws::Lost> all(std::int64_t ordinal = 0);
  /// How much later the `ordinal`-th message of `round` reaches `receiver`; zero for most.
  [[nodiscard]] Seconds late(std::int64_t round, std::int64_t receiver, std::int64_t ordinal = 0);

 private:
  const TimeoutDraws* law_;
  TimeoutDraws::Row row_;
  std::int64_t rounds_;
  std::int64_t receivers_;
  std::map<std::int64_t, std::vector<TimeoutDraws::Lost>> rows_;  ///< by ordinal
};

}  // namespace cox::simulate
