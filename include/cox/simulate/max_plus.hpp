// SPDX-License-Identifier: Apache-2.0
/// \file
/// The max-plus engine: a collective from the ranks' arrivals to their departures, exact where each port's
/// order is fixed and nothing is shared. No message is materialised where a round is regular.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/message_cost.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/timeouts.hpp"

namespace cox::simulate {

/// What each message costs: by whether both ends are in one node, and, where set, per receiving rank: `into` for
/// all messages, `across_into` for those from another node. Servers and switches (participants behind the ranks)
/// are across from everybody; `of` is about ranks.
struct LinkCosts {
  model::MessageCost inside;
  model::MessageCost across;
  int ranks_per_node = 1;                         ///< 1: every message goes across
  std::vector<model::MessageCost> into{};         ///< per receiving rank, instead of both; empty = none
  std::vector<model::MessageCost> across_into{};  ///< per receiving rank, instead of `across`; empty = none
  /// Per lane and receiving place, instead of all others; empty = none. Asked by the engine, not by `of`.
  std::vector<std::vector<model::MessageCost>> by_lane{};
  /// No two messages of a rank are on one link at once: in lists none waits for the one before to leave an out-port, which may
  /// be another (a card beside a scale-up port, cables of a torus).
  bool own_ways = false;

  [[nodiscard]] bool uniform() const {
    return into.empty() && across_into.empty() && by_lane.empty() && ranks_per_node <= 1;
  }
  /// The one cost of all messages between `ranks` ranks; null where there are several.
  [[nodiscard]] const model::MessageCost* only(int ranks) const {
    if (!into.empty() || !by_lane.empty()) return nullptr;
    if (ranks_per_node <= 1) return across_into.empty() ? &across : nullptr;
    return ranks_per_node >= ranks ? &inside : nullptr;
  }
  [[nodiscard]] const model::MessageCost& of(int from, int to) const {
    if (!into.empty()) return into[static_cast<std::size_t>(to)];
    if (from / ranks_per_node == to / ranks_per_node) return inside;
    return across_into.empty() ? across : across_into[static_cast<std::size_t>(to)];
  }
};

struct CollectiveOptions {
  model::Protocol protocol = model::Protocol::Rendezvous;
  /// Use identities where costs are uniform (`closure` in the result) instead of sweeping every round.
  bool closure = true;
  std::int64_t first_rounds = -1;  ///< only so many of each lane; -1 = all
  const Noise* noise = nullptr;    ///< per-message noise
  std::int64_t step = 0;           ///< for the draws
  std::int64_t number = 0;         ///< of the collective in its step, for the draws
  int threads = 1;                 ///< lanes run beside each other
  /// Of messages between nodes; null = none. It and `nodes`, the node of each rank, outlive the engine. Servers and
  /// switches share no node with a rank.
  const TimeoutDraws* timeouts = nullptr;
  std::span<const int> nodes{};
  /// Who sits on each place, for noise that names ranks; empty = rank i on place i.
  std::vector<int> ranks{};
  /// Ports of lists and of EagerGap, and servers, are free from when the run before has left them, not when a run begins.
  bool ports_stay = false;
  /// Told now and then the part of a run that is over, by its first lane: with noise it may be minutes of work.
  std::function<void(double)> progress{};
};

struct CollectiveOutcome {
  bool closure = false;  ///< an identity was used
  /// LogGops: messages came in another order than that of the rounds, or rounds have none, so that ranks, ports and
  /// messages were played event by event.
  bool by_events = false;
  std::int64_t messages = 0;   ///< that were evaluated (closure: that it stands for)
  std::int64_t evaluated = 0;  ///< messages swept; ranks and rounds of an identity
  /// When the last server or switch is done; zero where there are none. A rank that only sends may leave
  /// before: the collective is over when both are.
  Seconds behind_ranks{};
};

/// Moves `times` (one per rank; arrivals) to departures.
/// Formula: per round, for the protocol p: docs/concepts/max-plus.md. Exact to double rounding.
/// Memory: O(ranks).
/// Cost: O(messages), or O(ranks + rounds) with closure.
/// Deterministic for any thread count and instruction set.
/// Held by: src/simulate/max_plus/max_plus_test.cpp, tests/property/simulate_laws.cpp.
CollectiveOutcome run_collective(const model::Schedule& schedule, const LinkCosts& costs,
                                 const CollectiveOptions& options, std::span<Seconds> times);

/// The same for many runs: keeps scratch memory and tables of costs from one to the next. `schedule` and
/// `costs` must outlive it. Threads: one object per thread.
class MaxPlus {
 public:
  MaxPlus(const model::Schedule& schedule, const LinkCosts& costs, const CollectiveOptions& options);
  MaxPlus(const model::Schedule& schedule, const LinkCosts&& costs,
          const CollectiveOptions& options) = delete;  ///< costs that would be gone
  MaxPlus(MaxPlus&& other) noexcept;
  MaxPlus& operator=(MaxPlus&& other) noexcept;
  MaxPlus(const MaxPlus&) = delete;
  MaxPlus& operator=(const MaxPlus&) = delete;
  ~MaxPlus();
  /// One run; `noise`, `step` and `number` in place of those in the options.
  CollectiveOutcome run(std::span<Seconds> times, const Noise* noise, std::int64_t step, std::int64_t number);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace cox::simulate
