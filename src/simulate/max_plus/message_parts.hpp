// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a message does to the processors and ports at both of its ends (LogGOPS).
#pragma once

#include "cox/model/message_cost.hpp"
#include "cox/model/schedule.hpp"

namespace cox::simulate {

/// Picoseconds, whole ones where they are but for rounding: sums of these are exact, so that what happens at one instant
/// does. The event engine counts in them, too.
[[nodiscard]] inline double in_picoseconds(double seconds) {
  constexpr double kWhole = 0x1.8p52;  // what is added to it loses its fraction
  const double ps = seconds * 1e12;
  const double whole = (ps + kWhole) - kWhole;
  const double off = ps > whole ? ps - whole : whole - ps;
  return off <= 1e-9 + 1e-14 * (ps > 0 ? ps : -ps) ? whole : ps;
}

/// In picoseconds. A message that begins at t: the sender's processor is free at t + o + C, its port at t + g + T; it is
/// there at t + o + L. From a, when the receiver's processor and port are free, that is busy until a + o + max(C, T),
/// then for the arithmetic; the port until a + g + T.
struct MessageParts {
  double latency = 0;      ///< L
  double transferred = 0;  ///< T
  double copied = 0;       ///< C
  double overhead = 0;     ///< o
  double gap = 0;          ///< g
  double combined = 0;     ///< arithmetic of the receiver
  bool waits = false;      ///< longer than S: its sender is done when the receiver has it

  [[nodiscard]] double sent(double t) const { return t + overhead + copied; }
  [[nodiscard]] double left(double t) const { return t + gap + transferred; }
  [[nodiscard]] double arrives(double t) const { return t + overhead + latency; }
  [[nodiscard]] double received(double a) const {
    return a + overhead + (copied > transferred ? copied : transferred);
  }
  /// Latency and what it occupies, in seconds, are not those of the cost but drawn.
  void disturb(double drawn_latency, double whole) {
    const double kept = drawn_latency < whole ? drawn_latency : whole;
    latency = in_picoseconds(kept);
    transferred = in_picoseconds(whole - kept);
  }
};

[[nodiscard]] inline MessageParts parts_of(const model::MessageCost& cost, Bytes bytes,
                                           model::Combine combine) {
  const bool adds = combine == model::Combine::Add;
  return {.latency = in_picoseconds(cost.latency.count()),
          .transferred = in_picoseconds(cost.occupied(bytes).count()),
          .copied = in_picoseconds(cost.copied(bytes).count()),
          .overhead = in_picoseconds(cost.overhead.count()),
          .gap = in_picoseconds(cost.gap.count()),
          .combined = adds ? in_picoseconds(cost.reduce.over(bytes).count()) : 0,
          .waits = bytes > cost.eager_limit};
}

}  // namespace cox::simulate
