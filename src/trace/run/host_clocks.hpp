// SPDX-License-Identifier: Apache-2.0
/// \file
/// Clocks of several hosts, put side by side by the collectives that their ranks took part in together.
///
/// Nobody leaves a barrier, all-reduce, all-gather, all-to-all or reduce-scatter before the last one has
/// entered. So each such operation bounds the difference of two clocks from both sides, and when its members
/// leave tells it nearly. Raw counters are never compared: times are those of each host's monotonic clock.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cox/trace/run.hpp"

#include "trace/clocks/clock_link.hpp"
#include "trace/raw/process_file.hpp"
#include "trace/run/communicators.hpp"

namespace cox::trace {

/// Where a process's times lie before hosts are compared: every host has an axis of its own, which begins
/// near its first process's start.
struct ClockedProcess {
  std::size_t node = 0;
  std::optional<Duration> zero;  ///< its time zero on its host's axis; nothing = not known
};

/// One host's clock.
struct HostClock {
  /// The node whose axis `correction` leads to; the node itself where nothing is known.
  std::size_t root = 0;
  ClockLine correction;     ///< to add to times of the node's own axis, over that axis
  Duration residual{};      ///< summed along the way to the root
  Duration half_width{};    ///< of the causal window, summed along the way
  double drift_error = 0;   ///< standard error, over all links of the way; 0 = too short to tell a drift
  std::size_t samples = 0;  ///< operations behind the last link of the way
};

/// Every node's clock against the first node that it can be compared with: the lowest one of its component.
///
/// Formula: per communicator a star from its lowest node, links of the same two nodes together; `fit_link` on
///          each; then a spanning tree of the best links.
/// Cost:    O(events) to collect, memory bounded: operations are sampled evenly over the run.
/// Held by: src/trace/run/host_clocks_test.cpp
[[nodiscard]] std::vector<HostClock> estimate_host_clocks(const std::vector<ProcessFile>& processes,
                                                          const std::vector<ClockedProcess>& clocked,
                                                          const MatchedCommunicators& communicators,
                                                          std::size_t nodes, int threads);

}  // namespace cox::trace
