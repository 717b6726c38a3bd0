// SPDX-License-Identifier: Apache-2.0
/// \file
/// Regular rounds under LogGOPS as a recurrence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/max_plus/message_parts.hpp"
#include "simulate/max_plus/regular_rounds.hpp"

namespace cox::simulate {

/// As long as every rank sends its own message of a round before it takes the one that comes: then the order of
/// processors and ports is fixed, and times follow from maxima and sums (docs/concepts/max-plus.md).
/// Memory: 120 bytes per rank. Cost: O(messages). Held by: tests/property/loggops_laws.cpp
class LogGopsRounds {
 public:
  LogGopsRounds(const LinkCosts& costs, int ranks);
  /// From arrivals, in picoseconds.
  void begin(std::span<const double> times);
  /// The next round. False where a message may be taken before its receiver has sent its own: what is swept then says
  /// nothing.
  [[nodiscard]] bool run(const model::RegularRound& round, std::int64_t number, const MessageDraws& draws);
  /// When each processor is done with its own, and with what waited for its receiver.
  void end(std::span<double> times) const;

 private:
  void find_peers(const model::RegularRound& round);
  void find_parts(const model::RegularRound& round);
  void disturb(const model::RegularRound& round, std::int64_t number, const MessageDraws& draws);
  template <class Parts>
  [[nodiscard]] bool sweep(Parts parts);

  const LinkCosts& costs_;
  std::size_t ranks_;
  std::vector<double> cpu_;  // free at
  std::vector<double> out_;
  std::vector<double> in_;
  std::vector<double> ready_;     // when that became ready which is next on its processor
  std::vector<double> released_;  // by receivers of long messages
  std::vector<double> starts_;    // of the sends of a round
  std::vector<std::uint32_t> to_;
  std::vector<std::uint32_t> from_;
  model::RegularRound peers_of_;
  bool equal_ = false;               // all messages of the round cost the same
  std::vector<MessageParts> parts_;  // by receiver; one where they are equal
  std::vector<Seconds> latency_;
  std::vector<Seconds> whole_;
};

}  // namespace cox::simulate
