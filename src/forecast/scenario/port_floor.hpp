// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a step takes at least, by the bytes that all ranks send through the ports of their servers.
#pragma once

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// The bytes that go into (or out of) the card of a server in a step, over its bandwidth. A sum is complete when the last rank's part of it
/// has come, and no rank begins the next step before it has it: so a step is no shorter, whatever overlaps, and one of a collective job is longer by
/// its compute.
///
/// Formula: (ranks - ranks of a node) bytes / servers / bandwidth of a card; more servers than nodes: as many of them to a node's cards.
/// Of training: all gradients of a replica, where each rank is one. Source: each of `ranks` workers pushes a shard of bytes / servers to each server
/// (Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter Server").
/// 0: no servers, one node, compression, classes of nodes, prices other than of messages, a policy that does not meet in every step.
/// Held by: src/forecast/scenario/port_floor_test.cpp
[[nodiscard]] Seconds port_floor(const model::Scenario& scenario);

}  // namespace cox::forecast
