// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the flow engine and SimGrid are both asked.
#pragma once

#include <string>
#include <vector>

#include "cox/simulate/flow.hpp"

namespace cox::oracle {

struct Case {
  std::string name;
  bool shares = false;  ///< messages meet on links
  model::Cluster cluster{};
  model::Fabric fabric{};
  model::CollectiveSpec spec{};
  std::vector<int> rank_of{};
  std::vector<Seconds> arrivals{};  ///< empty = all at zero
  std::int64_t rounds = -1;         ///< compared up to the end of these; -1 = all
};

[[nodiscard]] std::vector<Case> all_cases();

/// When the last message of the case has arrived, by the flow engine.
[[nodiscard]] Seconds by_flows(const Case& c, const simulate::Network& network,
                               const model::Schedule& schedule, simulate::Sharing sharing,
                               simulate::FlowOutcome& outcome);

}  // namespace cox::oracle
