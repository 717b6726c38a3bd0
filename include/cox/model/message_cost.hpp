// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one message costs, by named forms, and when it may start.
#pragma once

#include <cstdint>
#include <string_view>

#include "cox/base/units.hpp"

namespace cox::model {

enum class CostForm : std::uint8_t {
  AlphaBeta,  ///< alpha + n beta (Hockney 1994)
  LogGops,    ///< L + (n - 1) G, 0 bytes cost L; o, g, O, S as in Hoefler, Schneider, Lumsdaine 2010
  Nccl,       ///< channels, LL / LL128 / Simple, chunk pipelining, launch (see docs/concepts/message-cost.md)
};
[[nodiscard]] std::string_view name_of(CostForm f);

/// When a message starts and what it holds up. Named in every result.
///   Rendezvous: begin = max(sender ready, receiver ready); the receiver goes on at begin + cost.
///   Eager:      the message leaves when the sender is ready; the receiver goes on at
///               max(receiver ready, sender ready + cost).
///   EagerGap:   as Eager, and ports are busy: with gap = cost - latency,
///               s = max(sender ready, sender's port free), port free = s + gap, arrival = s + latency, and
///               the receiver goes on at max(own send's s, max(arrival, own send's s) + gap).
///   LogGops:    what a message does to the processors and ports at both ends, by o, g, O, S of its cost and as
///               the event engine does it (docs/concepts/event-engine.md): messages longer than S are done
///               for their sender when the receiver has them.
enum class Protocol : std::uint8_t { Rendezvous, Eager, EagerGap, LogGops };
[[nodiscard]] std::string_view name_of(Protocol p);

/// Cost of a message on one link without anybody else on it.
struct MessageCost {
  CostForm form = CostForm::AlphaBeta;
  Seconds latency{};                ///< alpha, L
  TimePerByte per_byte{};           ///< beta, G
  Seconds overhead{};               ///< o: of the CPU, at each end
  Seconds gap{};                    ///< g: between messages of one port
  TimePerByte overhead_per_byte{};  ///< O
  Bytes eager_limit{};              ///< S: longer messages wait for the receiver (LogGOPS)
  TimePerByte reduce{};             ///< arithmetic of a reduction, per byte received; 0 = hidden (LogGOPS)

  /// Time from start to complete arrival. Formula: by `form`. Held by: src/model/message_cost_test.cpp
  [[nodiscard]] constexpr Seconds operator()(Bytes n) const {
    if (form == CostForm::LogGops) return n.count() == 0 ? latency : latency + per_byte.over(n - Bytes{1});
    return latency + per_byte.over(n);
  }
  /// What of it keeps the port busy.
  [[nodiscard]] constexpr Seconds occupied(Bytes n) const { return (*this)(n)-latency; }
  /// What of it keeps the processor at each end busy beyond o: n O, in LogGOPS (n - 1) O.
  [[nodiscard]] constexpr Seconds copied(Bytes n) const {
    const bool first_free = form == CostForm::LogGops && n.count() > 0;
    return overhead_per_byte.over(first_free ? n - Bytes{1} : n);
  }
};

}  // namespace cox::model
