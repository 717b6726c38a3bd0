// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collectives on links that are shared, by the flow engine.
#pragma once

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"

namespace cox::study {

/// Nodes of `devices` devices with one NIC each behind a switch that is never full. `nic` is the whole way
/// from node to node: half of its latency at each end.
[[nodiscard]] model::Cluster one_nic_cluster(int nodes, int devices, const model::Link& inside,
                                             const model::Link& nic);
/// When the last rank leaves, where all arrive at zero and rank r sits on device r.
/// Errors: model-001, simulate-005.
[[nodiscard]] Result<Seconds> shared_time(const model::CollectiveSpec& spec, const model::Cluster& cluster);

}  // namespace cox::study
