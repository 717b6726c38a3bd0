// SPDX-License-Identifier: Apache-2.0
/// \file
/// A lane under LogGOPS, event by event: where messages come in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/max_plus/message_parts.hpp"
#include "simulate/max_plus/regular_rounds.hpp"

namespace cox::simulate {

/// What the event engine does with the lane's GOAL schedule (cox/simulate/goal.hpp; each participant has a processor and
/// two ports for the lane), with costs by link, noise and a calculation behind each message that is added up. A receive takes the
/// message of its own round and place: one that a draw holds up is not overtaken by the next of the same pair (as in MPI).
/// Memory: 100 to 200 bytes per participant and message on its way or not yet received; lists 40 bytes per message, regular
/// rounds 200 bytes each. Cost: O(messages log participants), and of each receive all that
/// has come to the participant before its own receive.
/// Held by: tests/property/loggops_laws.cpp (equal to the event engine), src/simulate/max_plus/loggops_test.cpp (by hand)
class LogGopsEvents {
 public:
  /// The first `rounds` of the lane; `costs` by place. Both outlive it.
  LogGopsEvents(const model::Schedule& schedule, int lane, std::int64_t rounds, const LinkCosts& costs);
  /// `ready` by place, in picoseconds, one per participant; becomes when each processor is done. Returns the number of messages.
  std::int64_t run(const MessageDraws& draws, std::span<double> ready);

 private:
  // In the order in which an event makes them ready.
  enum class Kind : std::uint8_t { Send, Receive, Calculate, Arrival };
  /// One side of a message: the `index`-th of its sends, or receives, in the `round`-th round of a participant.
  struct Side {
    std::uint32_t participant = 0;
    std::uint32_t round = 0;
    std::uint32_t index = 0;
  };
  struct Event {
    double time = 0;
    std::uint64_t order = 0;
    Side side;
    std::uint32_t at = 0;  ///< where it happens: of an arrival the receiver
    Kind kind = Kind::Send;
    bool waits = false;  ///< has found its processor or port busy
  };
  /// By time and order. Each has four behind it, so that few are looked at from the first to the last.
  class Queue {
   public:
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    void push(const Event& e);
    [[nodiscard]] Event pop();

   private:
    struct Key {
      std::uint64_t time;  ///< in bits that are ordered as it is
      std::uint64_t order;
      std::uint32_t slot;
      /// Without a branch: which comes first is as good as random.
      [[nodiscard]] bool before(const Key& other) const {
        return (time < other.time) | ((time == other.time) & (order < other.order));
      }
    };
    std::vector<Key> heap_;
    std::vector<Event> events_;
    std::vector<std::uint32_t> free_;  ///< of `events_`
  };
  struct LaterOrder {
    bool operator()(const Event& a, const Event& b) const { return a.order > b.order; }
  };
  /// Who waits for the same processor and port: the first is in the queue, the others behind it.
  struct Queued {
    std::uint64_t first = 0;
    std::vector<Event> others;
  };
  struct Participant {
    double cpu = 0;  // free at
    double out = 0;
    double in = 0;
    std::uint32_t open = 0;  ///< operations of its round that hold up the next one
    bool waits_for_one = false;
    Side posted;  ///< the receive that waits
    std::size_t first_unexpected = 0;
    std::vector<Side> unexpected;  ///< came before their receive
    Queued sends;
    Queued arrivals;
  };
  struct Message {
    int peer = 0;
    Bytes bytes{};
    model::Combine combine = model::Combine::Copy;
    std::int64_t round = 0;    ///< of the schedule
    std::int64_t ordinal = 0;  ///< among those that its receiver gets in the round
  };
  struct Round {
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    std::uint32_t first_send = 0;
    std::uint32_t first_receive = 0;
    /// A rank that receives one message and sends at most one goes on when it has received.
    [[nodiscard]] bool receive_is_enough() const { return receives == 1 && sends <= 1; }
  };
  struct Lists {
    std::vector<Round> rounds;
    std::vector<Message> sends;
    std::vector<Message> receives;
  };

  void make_lists();
  [[nodiscard]] std::uint32_t rounds_of(std::uint32_t participant) const;
  [[nodiscard]] Round round_of(const Side& side) const;
  [[nodiscard]] Message sent(const Side& side) const;
  [[nodiscard]] Message received(const Side& side) const;
  /// Of a receive, without the bytes, which take the longest to find.
  [[nodiscard]] int source(const Side& side) const;
  [[nodiscard]] bool is_one(const Side& send, const Side& receive) const;
  [[nodiscard]] model::Combine combine(const Side& side) const;
  [[nodiscard]] MessageParts parts(std::uint32_t from, const Message& message);
  [[nodiscard]] const model::MessageCost& cost_of(int from, int to) const;

  void handle(const Event& e);
  void wait(const Event& e, double until, Queued& waiting);
  void next_of(Queued& waiting, double free);
  void send(const Event& e, Participant& p);
  void receive(const Event& e, Participant& p);
  void arrive(const Event& e, Participant& p);
  void release_sender(const Side& send, double at);
  void send_is_done(const Side& send);
  void receive_is_done(const Side& receive);
  void is_combined(const Side& receive);
  void close_one(const Side& side);
  void enter(std::uint32_t participant, std::uint32_t round);
  void enable(Kind kind, const Side& side);
  void push_enabled();

  /// Parts that were asked for last.
  struct Known {
    const model::MessageCost* cost = nullptr;
    Bytes bytes{};
    model::Combine combine = model::Combine::Copy;
    MessageParts parts;
  };

  const model::Schedule& schedule_;
  int lane_;
  std::int64_t rounds_;
  const LinkCosts& costs_;
  std::vector<model::RegularRound> regular_;  ///< those in which messages are sent
  std::vector<std::int64_t> numbers_;         ///< of these in the schedule
  std::vector<Lists> lists_;                  ///< by participant; empty where rounds are regular
  Known known_[2];                            ///< of even and odd sizes: pieces of a buffer differ by a byte
  const MessageDraws* draws_ = nullptr;
  std::vector<Participant> participants_;
  Queue queue_;
  std::vector<Event> enabled_;  ///< by the event at hand
  std::uint64_t number_ = 0;
  std::int64_t messages_ = 0;
};

}  // namespace cox::simulate
