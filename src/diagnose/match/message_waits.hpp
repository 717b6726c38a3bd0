// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls in which ranks stood still for messages: whose, which ones, and whose came last.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

#include "diagnose/match/scan.hpp"

namespace cox::diagnose {

/// Messages of one peer that a call waits for. Numbers count from 1 per communicator, peer and direction;
/// 0 = none, or not recorded.
struct AwaitedMessages {
  std::int32_t peer = -1;  ///< index into `run.ranks`
  std::int32_t comm = -1;  ///< index into `run.communicators`
  std::uint32_t received = 0;
  std::uint32_t sent = 0;
  Duration sent_at{};  ///< when the last one to the peer was started
};

/// One call. Where a rank's waits lie inside each other only the outer one counts.
struct MessageWait {
  std::size_t event = 0;  ///< of the rank's events
  Duration begin{};
  Duration end{};         ///< `kStillRunning` where it had not returned
  std::size_t first = 0;  ///< into all the rank's AwaitedMessages
  std::size_t count = 0;
  bool more = false;       ///< it waits for messages whose peer is not known, too
  std::int32_t last = -1;  ///< the peer whose message came last; -1: not told
  Duration until{};        ///< until when it waited: that peer had sent; the rest is transfer. Else `end`
};

/// All waits for messages of a Run.
///
/// Formula: until = the latest, over the peers, of when the message that the call waits for was sent, as the
///          peer's own record with that message's number says; told only where ranks' clocks can be compared,
///          and where that is known of all peers whose messages the call receives. Messages match by number:
///          those of one peer and direction are taken in the order in which they were sent, whatever their
///          tags.
/// Cost:    O(events + waits log waits). Held by: src/diagnose/match/message_waits_test.cpp
class MessageWaits {
 public:
  MessageWaits() = default;
  MessageWaits(const trace::Run& run, const CommIndex& comms);
  /// Fills in whose message came last; for ranks whose clocks can be compared.
  void tell_last();

  [[nodiscard]] std::span<const MessageWait> of(std::size_t rank) const { return ranks_[rank].waits; }
  [[nodiscard]] std::span<const AwaitedMessages> awaited(std::size_t rank, const MessageWait& wait) const {
    return std::span(ranks_[rank].awaited).subspan(wait.first, wait.count);
  }
  /// The wait that an event is; null where it is none.
  [[nodiscard]] const MessageWait* find(std::size_t rank, std::size_t event) const;
  [[nodiscard]] bool any() const;
  /// The one rank that all others wait for: that 19 of 20 of each one's calls name, and no other. None of two ranks.
  [[nodiscard]] std::optional<std::size_t> server() const;
  /// Whether the records show that `from` has started message `number` to `to`; false: not known.
  [[nodiscard]] bool surely_sent(std::int32_t from, std::int32_t to, std::int32_t comm,
                                 std::uint32_t number) const;
  /// The same of a receive of message `number` that `from` sends.
  [[nodiscard]] bool surely_posted(std::int32_t from, std::int32_t to, std::int32_t comm,
                                   std::uint32_t number) const;

 private:
  struct OfRank {
    std::vector<MessageWait> waits;
    std::vector<AwaitedMessages> awaited;
  };
  struct Sent {
    std::uint32_t number = 0;
    Duration at{};
  };
  using Route = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  ///< communicator, from, to
  /// Whom the rank's calls name; -1 where not always the same.
  [[nodiscard]] std::int32_t always_named(std::size_t rank) const;
  void collect(const trace::Run& run, const CommIndex& comms, std::size_t rank);
  void find_last(MessageWait& wait, std::size_t rank);

  std::vector<OfRank> ranks_;
  std::map<Route, std::vector<Sent>> sent_;  ///< ascending
  std::map<Route, std::uint32_t> posted_;    ///< highest number
};

}  // namespace cox::diagnose
