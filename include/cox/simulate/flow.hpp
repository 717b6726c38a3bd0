// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flow engine: messages as fluid flows that share links by max-min fairness.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/timeouts.hpp"

namespace cox::simulate {

/// One message of a collective. `from` and `to` are places of the schedule.
struct FlowMessage {
  int lane = 0;
  std::int64_t round = 0;
  int from = 0;
  int to = 0;
  Bytes bytes{};
  Seconds begin{};  ///< both ends ready (eager: the sender)
  Seconds end{};    ///< last byte arrived
};

/// Lost goodput where many flows meet at one receiver (`Fabric::incast_loss`): with n > `fan_in` flows on the
/// last link into a node its capacity is multiplied by max(`floor_ratio`, fan_in / n).
/// Source of the effect: Phanishayee et al., FAST 2008 (goodput of synchronized reads collapses by about an
/// order of magnitude from a handful of senders on). The form and the defaults are ours.
struct IncastModel {
  int fan_in = 8;            ///< flows whose windows the switch's buffer holds
  double floor_ratio = 0.1;  ///< what is left at worst
};

/// Flows of other jobs between random ranks, on and off by seed: each time on (off) is uniform in
/// (0, 2 mean_on) ((0, 2 mean_off)). Beside `Fabric::background_load`, which is constant.
struct BackgroundFlows {
  int flows = 0;
  Seconds mean_on{1e-3};
  Seconds mean_off{1e-3};
};

/// How flows that meet on a full link divide it.
enum class Sharing : std::uint8_t {
  Equal,        ///< max-min fair
  ByRoundTrip,  ///< weighted by 1 / latency of the way, as TCP's window does and SimGrid's CM02 assumes
};

struct FlowOptions {
  bool memo = true;              ///< repeat a state's course instead of solving it again
  const Noise* noise = nullptr;  ///< per-message noise
  /// of messages between nodes; those of full ports are the fabric's
  const TimeoutDraws* timeouts = nullptr;
  std::int64_t step = 0;
  std::int64_t number = 0;
  std::uint64_t seed = 1;  ///< of the hashes of ECMP and of background flows
  /// EagerGap is Eager: here the links are the ports.
  model::Protocol protocol = model::Protocol::Rendezvous;
  Sharing sharing = Sharing::Equal;
  IncastModel incast{};
  BackgroundFlows background{};
  std::vector<Bandwidth> limits{};  ///< of flows that do not take all that links give
  /// What a message costs instead of `idle`, its time on an idle network; the difference passes before its
  /// first byte leaves (eager: behind its last). Beside `noise`, for what is not in a scenario. The message's `end` is not known yet.
  std::function<Seconds(const FlowMessage&, Seconds idle)> disturb{};
  /// Called for each message when it has arrived, in the order of arrival; from one thread. Turns `memo` off.
  std::function<void(const FlowMessage&)> on_message{};
  /// Told now and then how many messages have begun: a collective may be minutes of work.
  std::function<void(std::int64_t)> progress{};
};

struct FlowOutcome {
  bool memo = false;          ///< it was used
  bool bounded = false;       ///< eager: a rank waited only since too many of its messages were under way
  std::int64_t recurred = 0;  ///< times that a collective went as one before it, and was not played
  std::int64_t messages = 0;
  Seconds behind_ranks{};          ///< when the last server or switch is done; zero where there are none
  std::int64_t solved = 0;         ///< times that rates were brought up to date
  std::int64_t evaluated = 0;      ///< links that were looked at for it
  std::int64_t played = 0;         ///< messages, those that the memo skipped left out
  std::int64_t peak_flows = 0;     ///< most that shared the network at once
  std::vector<double> link_bytes;  ///< per link of the network: sum over the flows that crossed it
};

/// Moves arrivals to departures, as `run_collective` does, with links shared. `rank_of[place]` is the rank
/// (device) that place `place` of the schedule sits on, for every participant. A flow begins its latency when
/// both ends are ready (rendezvous; eager: its bytes when its sender's port is free) and ends when its last byte arrives; a rank goes on when all that it
/// receives in a round has arrived. Several sends of one rank in one round go one after the other.
/// Routing, switching, incast loss, pause, background load and full ports are those of `fabric`.
/// Errors: none of input; asserted preconditions. Cost: O(changes x affected flows); memoised: until the
/// state repeats. Memory: O(links + participants x alike rounds under way). Held by:
/// src/simulate/flow/flow_test.cpp (hand-solved cases), tests/oracle (SimGrid), docs/accuracy.md.
[[nodiscard]] FlowOutcome run_flows(const model::Schedule& schedule, const Network& network,
                                    const model::Fabric& fabric, std::span<const int> rank_of,
                                    const FlowOptions& options, std::span<Seconds> times);

}  // namespace cox::simulate
