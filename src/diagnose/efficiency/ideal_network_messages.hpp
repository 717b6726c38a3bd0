// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where in the calls of their ranks messages are sent, posted and received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// What a rank does about a message.
enum class Part : std::uint8_t { Post, Send, Receive };

/// A part that lies in a call of the rank.
struct Touch {
  std::uint32_t event = 0;
  std::uint32_t message = 0;
  Part part = Part::Post;
};

/// A part that lies in no call: begun by one that returned at once and was not recorded. Never a Receive.
struct Posting {
  Duration at{};
  std::uint32_t message = 0;
  Part part = Part::Post;
};

/// The messages of a Run by rank; indices into `Run::messages` and the rank's events.
struct PlacedMessages {
  std::vector<std::vector<Touch>> touches;     ///< per rank, by event
  std::vector<std::vector<Posting>> postings;  ///< per rank, by time
  std::vector<std::uint32_t> sender;           ///< per message, index into `Run::ranks`
  std::vector<std::uint32_t> receiver;
  std::size_t unplaced = 0;  ///< messages that complete in no call, or of ranks that are not there
};

/// Whether an event is a wait in which messages may complete.
[[nodiscard]] inline bool may_complete_messages(const trace::EventColumns& e, std::size_t i) {
  if (e.kind[i] != trace::EventKind::Wait) return false;
  const auto kind = static_cast<trace::WaitKind>(e.op[i]);
  return kind == trace::WaitKind::Peer || kind == trace::WaitKind::Request;
}

/// Cost: O(messages log messages).
[[nodiscard]] PlacedMessages place_messages(const Matched& matched);

}  // namespace cox::diagnose
