// SPDX-License-Identifier: Apache-2.0
/// \file
/// One run of the flow engine: events in time order, rates brought up to date between them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cox/simulate/flow.hpp"

#include "simulate/flow/fair_shares.hpp"
#include "simulate/flow/rounds.hpp"
#include "simulate/kernels/time_heap.hpp"

namespace cox::simulate {

/// Where a rank stands in one lane.
struct LaneCell {
  std::int64_t round = -1;   ///< that it is in; -1 before its arrival
  std::int32_t pending = 0;  ///< messages of the round that have not arrived
};

enum class FlowPhase : std::uint8_t {
  Free,
  Latency,   ///< under way, no byte yet
  Queued,    ///< behind an earlier send of the same round
  Transfer,  ///< shares links
};

/// A message under way. What every event touches comes first, in one cache line.
struct alignas(64) MessageState {
  double left = 0;  ///< bytes, at `updated`
  double rate = 0;
  double updated = 0;  ///< seconds, as all times of the engine, since the first arrival
  double weight = 1;   ///< of its share
  double bytes = 0;
  std::int64_t round = 0;
  int from = -1;
  int to = -1;
  std::uint16_t lane = 0;
  FlowPhase phase = FlowPhase::Free;
  bool chained = false;       ///< goes after the `order` messages before it with the same `chain`
  bool sender_waits = false;  ///< its sender goes on only when it has arrived
  std::uint32_t stage = 0;    ///< store and forward: the link it is on
  int choice = -1;
  std::uint32_t order = 0;
  std::uint64_t chain = 0;
  std::uint32_t ordinal = 0;  ///< among what its receiver gets in its round, for the draws of noise
  double begin = 0;
  double latency = 0;            ///< of the whole way
  double idle_rate = 0;          ///< of the slowest link
  std::vector<Hop> hops{};       ///< kept while from, to and choice stay the same
  std::vector<Hop> all_links{};  ///< with those that have no limit, for the bytes
};

/// What repeats: rounds relative to rank 0's, and what is left of every message.
struct FlowSnapshot {
  bool taken = false;
  double at = 0;
  std::vector<LaneCell> cells;
  std::vector<FlowPhase> phases;
  std::vector<std::int64_t> rounds;  ///< per slot
  std::vector<std::uint32_t> stages;
  std::vector<int> peers;         ///< from, to, choice per slot
  std::vector<double> remaining;  ///< seconds at the present rate, per slot
  std::vector<double> link_bytes;
  std::int64_t messages = 0;
};

class FlowEngine {
 public:
  FlowEngine(const model::Schedule& schedule, const Network& network, const model::Fabric& fabric,
             std::span<const int> rank_of, const FlowOptions& options);
  FlowOutcome run(std::span<Seconds> times);

 private:
  using Slot = FlowSlot;
  [[nodiscard]] LaneCell& cell(int lane, int place) {
    return cells_[static_cast<std::size_t>(lane) * places_ + static_cast<std::size_t>(place)];
  }
  void arrive(int place);
  void enter(int lane, int place);
  void go_on(int lane, int place);
  void start(int lane, std::int64_t round, const RoundTable& table, std::uint32_t number);
  void finish_one(int lane, int place);
  Slot take_slot(int lane, int from);
  void find_way(MessageState& m);
  [[nodiscard]] int choose(int from, int to);
  void spray(MessageState& m, int from, int to);
  void use_path(MessageState& m, int choice, int from, int to);
  void use_switch(MessageState& m, int from, int to);
  void use_links(MessageState& m, int choice);
  void finish_way(MessageState& m);
  [[nodiscard]] double stage_latency(const MessageState& m, std::uint32_t stage) const;
  [[nodiscard]] double delay_of(const MessageState& m) const;
  void event(Slot slot);
  void begin_transfer(Slot slot);
  void end_transfer(Slot slot);
  void release_next(const MessageState& m);
  [[nodiscard]] std::uint64_t key(int lane, std::int64_t round, int place) const;
  [[nodiscard]] bool is_background(Slot slot) const {
    return slot >= first_background_ && slot < first_background_ + background_.size();
  }
  void deliver(Slot slot);
  void settle();
  void batch();
  [[nodiscard]] double next_event() const;

  // Memo.
  void look_for_period();
  [[nodiscard]] bool within_runs();
  [[nodiscard]] bool repeats();
  void take_snapshot();
  void skip_ahead();
  [[nodiscard]] double remaining(Slot slot) const;

  // Background flows.
  void add_background();
  void toggle_background(Slot slot);

  const model::Schedule& schedule_;
  const Network& network_;
  const model::Fabric& fabric_;
  std::span<const int> rank_of_;
  const FlowOptions& options_;
  const Noise* noise_ = nullptr;  ///< where it disturbs messages
  bool eager_ = false;
  std::size_t places_ = 0;
  int lanes_ = 0;
  int ranks_ = 0;
  std::vector<LaneRounds> rounds_;
  std::vector<LaneCell> cells_;
  std::vector<MessageState> slots_;
  std::vector<Slot> spare_;  ///< slots above the first of each sender and lane
  TimeHeap heap_;
  FairShares shares_;
  std::vector<std::int32_t> assigned_;  ///< adaptive routing: messages under way per link
  std::vector<LinkIndex> way_;
  /// Of messages that leave one after the other: how many of a chain have left, and who waits for which.
  std::unordered_map<std::uint64_t, std::uint32_t> sent_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Slot> queued_;
  /// Eager: messages that came before their receiver entered the round.
  std::unordered_map<std::uint64_t, std::int32_t> early_;
  std::vector<std::uint32_t> sends_;  ///< eager: messages begun so far, per sender and lane
  std::vector<int> by_arrival_;
  std::size_t arrived_ = 0;
  std::vector<double> arrivals_;
  std::vector<double> departures_;
  std::vector<int> lanes_left_;
  std::size_t unfinished_ = 0;
  double origin_ = 0;
  double now_ = 0;
  std::int64_t active_ = 0;
  FlowOutcome outcome_;

  bool memo_on_ = false;
  bool reference_moved_ = false;
  std::int64_t looked_ = 0;
  std::int64_t next_save_ = 0;
  FlowSnapshot saved_;

  struct Background {
    bool on = false;
    std::uint64_t toggles = 0;
  };
  std::vector<Background> background_;
  Slot first_background_ = 0;
};

}  // namespace cox::simulate
