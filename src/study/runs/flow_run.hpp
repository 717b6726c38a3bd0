// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collectives on links that are shared, by the flow engine.
#pragma once

#include <cstdint>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"

namespace cox::study {

/// Nodes of `devices` devices behind a switch that is never full. Each node has `rails` NICs, which neighbouring devices
/// share in equal numbers: device i of d has NIC i rails / d. `nic` is the whole way from node to node: half of its latency
/// at each end.
[[nodiscard]] model::Cluster railed_cluster(int nodes, int devices, const model::Link& inside,
                                            const model::Link& nic, int rails);

/// Where ranks sit.
enum class Placing : std::uint8_t {
  InOrder,  ///< rank r on device r: nodes are filled one after the other
  Dealt,    ///< rank r on node r mod nodes: neighbours are on different nodes
};
/// When the last rank leaves, where all arrive at zero; messages that leave or enter a node over one NIC at the same time
/// share it. Errors: model-001, simulate-005. Held by: src/study/runs/flow_run_test.cpp (trees in closed form)
[[nodiscard]] Result<Seconds> shared_time(const model::CollectiveSpec& spec, const model::Cluster& cluster,
                                          Placing placing = Placing::InOrder);

/// The same of a tree's all-reduce in closed form, where ranks, nodes and devices are powers of two and `rails` divides the
/// devices: two rounds per level. In order only one device of a node crosses at a time; dealt, all of them do.
[[nodiscard]] Seconds tree_on_rails(const model::CollectiveSpec& spec, const model::Cluster& cluster,
                                    Placing placing);

}  // namespace cox::study
