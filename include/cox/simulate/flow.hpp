// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flow engine: messages as fluid flows that share links by max-min fairness.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/noise.hpp"

namespace cox::simulate {

struct FlowOptions {
  bool memo = true;              ///< repeat a state's course instead of solving it again
  const Noise* noise = nullptr;  ///< per-message noise
  std::int64_t step = 0;
  std::int64_t number = 0;
  std::uint64_t seed = 1;  ///< of the hashes of ECMP
};

struct FlowOutcome {
  bool memo = false;  ///< it was used
  std::int64_t messages = 0;
  std::int64_t solved = 0;         ///< max-min problems that were solved
  std::vector<double> link_bytes;  ///< per link of the network: sum over the flows that crossed it
};

/// Moves arrivals to departures, as `run_collective` does, with links shared. `rank_of[place]` is the rank
/// (device) that place `place` of the schedule sits on. A flow begins its latency when both ends are ready
/// (rendezvous) and ends when its last byte arrives. Errors: none of input; asserted preconditions. Cost:
/// O(changes x affected flows); memoised: one period of the state. Held by: src/simulate/flow_test.cpp
/// (hand-solved max-min), tests/oracle (SimGrid).
[[nodiscard]] FlowOutcome run_flows(const model::Schedule& schedule, const Network& network,
                                    const model::Fabric& fabric, std::span<const int> rank_of,
                                    const FlowOptions& options, std::span<Seconds> times);

/// Max-min fair rates of flows over links, from scratch: the definition that the incremental solver is tested
/// against. `routes[f]` are links; result in bytes per second. Source: Bertsekas, Gallager 1992,
/// section 6.5.2.
[[nodiscard]] std::vector<Bandwidth> max_min_rates(std::span<const Bandwidth> links,
                                                   std::span<const std::vector<LinkIndex>> routes,
                                                   std::span<const double> weights = {});

}  // namespace cox::simulate
