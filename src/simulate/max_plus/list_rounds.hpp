// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rounds that are lists of messages: ports serve them one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/max_plus/regular_rounds.hpp"

namespace cox::simulate {

/// Evaluates list rounds by the rule of cox/model/schedule.hpp, over ranks and, behind them, servers and
/// switches. Eager: a message does not wait for its receiver, and its sender goes on when the port is free.
class ListRounds {
 public:
  /// `ports_stay`: as in CollectiveOptions.
  ListRounds(const model::Schedule& schedule, const LinkCosts& costs, model::Protocol protocol,
             bool ports_stay);
  /// Memory: 40 bytes per participant and 32 per message of a round.
  /// Returns the number of messages.
  std::int64_t run(std::int64_t k, const MessageDraws& draws, std::span<double> ready);

 private:
  struct Port {
    double out = 0;  // free at
    double in = 0;
    double next = 0;  // when all messages of the round are complete
    double received = 0;
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
  };
  void pass(const model::Transfer& message, std::int64_t k, const MessageDraws& draws,
            std::span<const double> ready);
  void settle(int participant, std::span<double> ready);

  const model::Schedule& schedule_;
  const LinkCosts& costs_;
  model::Protocol protocol_;
  bool ports_stay_;
  std::vector<model::Transfer> messages_;
  std::vector<Port> ports_;
};

}  // namespace cox::simulate
