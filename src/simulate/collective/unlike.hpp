// SPDX-License-Identifier: Apache-2.0
/// \file
/// Classes of nodes that are unlike the others in nothing.
#pragma once

#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// Whether nodes of a class are unlike others in anything but their name.
/// Held by: src/simulate/attribution/switches_test.cpp
[[nodiscard]] inline bool is_unlike(const model::NodeClass& c) {
  return c.speed != 1 || c.memory > Bytes{} || c.nics > 0 || c.nic.latency > Seconds{} ||
         c.nic.bandwidth > Bandwidth{} || !c.nic_of.empty() || c.busy > Power{} || c.transfer > Power{} ||
         c.wait > Power{} || c.idle > Power{} || c.node_hour > 0;
}

}  // namespace cox::simulate
