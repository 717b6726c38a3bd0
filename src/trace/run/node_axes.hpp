// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where processes' times lie: on the axes of their nodes, and these on the Run's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cox/trace/run.hpp"

#include "trace/raw/process_file.hpp"
#include "trace/run/communicators.hpp"
#include "trace/run/host_clocks.hpp"

namespace cox::trace {

/// Times of a Run fit into `Duration` (106 days) with room for differences between them.
inline constexpr Int128 kLatestPs = Int128{TickScale::kPsPerDay} * 104;

/// Every node has an axis of its own, which begins at `base_ps` of its monotonic clock; the nodes' axes lie on the Run's.
struct NodeAxes {
  std::vector<Node> nodes;
  std::vector<std::optional<std::int64_t>> realtime_offset_ns;  // per node
  std::vector<Int128> base_ps;                                  // per node
  std::vector<HostClock> clocks;                                // per node: its axis against its root's
  // per node: where its root's axis begins on the first node's clock
  std::vector<std::optional<Int128>> start_ps;
  std::vector<ClockedProcess> processes;
};

/// Processes of one machine share its monotonic clock. Nodes lie side by side by what their ranks did together, where they
/// did nothing together by their realtime clocks.
[[nodiscard]] NodeAxes place_nodes(const std::vector<ProcessFile>& processes,
                                   const MatchedCommunicators& communicators, int threads);

/// From a process's own times to the Run's axis.
class Mover {
 public:
  Mover(const NodeAxes& placed, std::size_t process, Int128 origin)
      : correction_(placed.clocks[placed.processes[process].node].correction) {
    const ClockedProcess& p = placed.processes[process];
    const auto& start = placed.start_ps[p.node];
    if (!p.zero || !start) return;
    zero_ = *p.zero;
    shift_ = *start - origin;
    known_ = true;
  }
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] Int128 operator()(Duration t) const {
    const Int128 on_node = Int128{zero_.count()} + t.count();
    if (correction_.knots().empty()) return on_node + shift_;
    const Int128 bounded = std::clamp<Int128>(on_node, -kLatestPs, kLatestPs);
    return on_node + shift_ + correction_.at(Duration{static_cast<std::int64_t>(bounded)}).count();
  }

 private:
  const ClockLine& correction_;
  Duration zero_{};
  Int128 shift_ = 0;
  bool known_ = false;
};

/// When the first event began; of a job without one, when the first sample or activity did.
[[nodiscard]] std::optional<Int128> earliest(const std::vector<ProcessFile>& processes,
                                             const NodeAxes& placed);

/// What a node's own monotonic clock shows at the Run's origin, in picoseconds;
/// nothing where it cannot be placed.
[[nodiscard]] std::optional<Int128> clock_at_origin(const NodeAxes& placed, std::size_t i, Int128 origin);

/// What a node's clock shows more than the first node's at the Run's origin, and how it drifts.
void describe_clock(const NodeAxes& placed, std::size_t i, Int128 origin, NodeClock& out);

}  // namespace cox::trace
