// SPDX-License-Identifier: Apache-2.0
/// \file
/// A network that is solved by hand: two leaf switches and one up-link.
#pragma once

#include <utility>
#include <vector>

#include "cox/model/scenario.hpp"

namespace cox::test {

/// Two leaf switches of four hosts, one up-link each way of 1 GB/s.
inline model::Scenario two_leaves(std::vector<int> nodes, int steps) {
  model::Scenario s;
  s.cluster.nodes = 8;
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.fabric.link = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 4;
  s.fabric.oversubscription = 4;
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  s.job.steps = steps;
  s.job.places.nodes = std::move(nodes);
  return s;
}

}  // namespace cox::test
