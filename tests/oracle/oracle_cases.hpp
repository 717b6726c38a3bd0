// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the flow engine and SimGrid are both asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/simulate/flow.hpp"

namespace cox::oracle {

/// A collective, by which devices, and when they come to it.
struct Part {
  model::CollectiveSpec spec{};
  std::vector<int> rank_of{};
  std::vector<Seconds> arrivals{};  ///< empty = all at zero
  /// It is done again: [time][member] before which a member does not begin, nor before its last one is over.
  std::vector<std::vector<Seconds>> again{};
};

struct Case {
  std::string name;
  bool shares = false;  ///< messages meet on links
  model::Cluster cluster{};
  model::Fabric fabric{};
  std::vector<Part> parts{};              ///< on the network at the same time
  std::int64_t rounds = -1;               ///< compared up to the end of these; -1 = all
  std::optional<model::Scenario> step{};  ///< what we simulate; `parts` are what it does on the network
};

[[nodiscard]] std::vector<Case> all_cases();
/// Several collectives at once.
[[nodiscard]] std::vector<Case> concurrent_cases();

/// When each part's last message has arrived, by the flow engine; of a step, when it is over. `schedules` are of the parts.
[[nodiscard]] std::vector<Seconds> by_flows(const Case& c, const simulate::Network& network,
                                            const std::vector<model::Schedule>& schedules,
                                            simulate::Sharing sharing, simulate::FlowOutcome& outcome);

}  // namespace cox::oracle
