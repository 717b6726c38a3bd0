// SPDX-License-Identifier: Apache-2.0
// Nodes that are unlike, and what of a message's way depends on places.
#include <algorithm>

#include "cox/model/scenario.hpp"

namespace cox::model {
namespace {

int cards(const Cluster& cluster, const NodeClass* of) {
  return of != nullptr && of->nics > 0 ? of->nics : cluster.nics_per_node;
}

bool says_ways(const NodeClass& c) {
  return c.nics > 0 || c.nic.latency > Seconds{} || c.nic.bandwidth > Bandwidth{} || !c.nic_of.empty();
}

/// Some device of such a node reaches its card so.
bool reaches(const Cluster& cluster, const NodeClass* of, NicReach reach) {
  for (int d = 0; d < cluster.devices_per_node; ++d)
    if (reach_of(cluster, of, d) == reach) return true;
  return false;
}

}  // namespace

const NodeClass* class_of(const Cluster& cluster, int node) {
  for (const NodeClass& c : cluster.classes)
    if (node >= c.first && node - c.first < c.count) return &c;
  return nullptr;
}

int nic_of(const Cluster& cluster, const NodeClass* of, int device) {
  const std::vector<int>& said = of != nullptr && !of->nic_of.empty() ? of->nic_of : cluster.nic_of;
  const auto at = static_cast<std::size_t>(device);
  const bool fewer = of != nullptr && of->nics > 0 && of->nic_of.empty();
  if (at < said.size() && !fewer) return said[at];
  return static_cast<int>(std::int64_t{device} * cards(cluster, of) / cluster.devices_per_node);
}

NicReach reach_of(const Cluster& cluster, const NodeClass* of, int device) {
  const std::int64_t devices = cluster.devices_per_node;
  const std::int64_t nics = cards(cluster, of);
  const std::int64_t nic = nic_of(cluster, of, device);
  if (nic == device * nics / devices) return NicReach::Own;
  const std::int64_t sockets = cluster.sockets;
  return device * sockets / devices == nic * sockets / nics ? NicReach::Bridge : NicReach::Socket;
}

bool any_reaches(const Cluster& cluster, NicReach reach) {
  std::int64_t classed = 0;
  for (const NodeClass& c : cluster.classes) {
    classed += c.count;
    if (reaches(cluster, &c, reach)) return true;
  }
  return classed < cluster.nodes && reaches(cluster, nullptr, reach);
}

bool has_unlike_ways(const Cluster& cluster) {
  if (std::any_of(cluster.classes.begin(), cluster.classes.end(), says_ways)) return true;
  for (int d = 0; d < static_cast<int>(cluster.nic_of.size()); ++d)
    if (cluster.nic_of[static_cast<std::size_t>(d)] !=
        std::int64_t{d} * cluster.nics_per_node / cluster.devices_per_node)
      return true;
  return false;
}

bool needs_links(const Cluster& cluster, const Places& places, const std::vector<Neighbour>& neighbours) {
  return cluster.nodes > 1 && (!places.packed() || has_unlike_ways(cluster) || !neighbours.empty());
}

}  // namespace cox::model
