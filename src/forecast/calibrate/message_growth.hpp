// SPDX-License-Identifier: Apache-2.0
/// \file
/// How long a collective takes among other numbers of ranks than those recorded, and what is not known of that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// Rounds that cost a latency each, and what of the bytes a rank passes on.
enum class MessageWay : std::uint8_t {
  Ring,      ///< as many rounds as ranks, nearly all bytes once
  Tree,      ///< log2 of the ranks, nearly all bytes once
  Doubling,  ///< log2 of the ranks, all bytes in each
};

struct MessageLaw {
  MessageWay way = MessageWay::Ring;
  int passes = 1;  ///< a sum goes round twice
  Seconds latency{};
  TimePerByte per_byte{};
  double leaves_node = 1;  ///< times as long beyond `inside` ranks; only where nothing but one node was seen
  std::int64_t inside = 0;
  /// Formula: passes rounds(n) latency + passed(n, bytes) per_byte. Source: Thakur, Rabenseifner, Gropp (2005).
  [[nodiscard]] Seconds at(std::int64_t ranks, Bytes bytes) const;
};

/// Of one kind of collective.
struct MessageGrowth {
  MessageLaw value{};
  std::vector<MessageLaw> draws{};
  std::int64_t sizes = 0;      ///< numbers of ranks that tell it
  bool bytes_told = false;     ///< two sizes of message part latency from bandwidth
  bool only_one_node = false;  ///< what leaves a node was not seen
};

/// What nine of ten recorded times by ranks and bytes stay below (ranks that arrive apart make the others shorter), each within 3 % of what the
/// law says; a latency of a round that is log-normal about 5 us, nine of ten between 0.8 and 30 us, where nothing tells it; of messages larger than 64 KiB a ring
/// seven times of ten and doubling once, of others each of the two others twice as often as a ring.
/// Nothing where no time of the kind was recorded.
///
/// Cost: 0.5 ms a size and ten draws. Threads: pure. Held by: src/forecast/calibrate/message_growth_test.cpp
[[nodiscard]] std::optional<MessageGrowth> message_growth(std::span<const Sample> samples,
                                                          model::Collective kind, int draws,
                                                          std::uint64_t seed = 1);

}  // namespace cox::forecast
