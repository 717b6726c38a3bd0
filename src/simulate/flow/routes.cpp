// SPDX-License-Identifier: Apache-2.0
// The ways through a network, computed from the numbers of both ends.
#include <algorithm>

#include "cox/base/assert.hpp"
#include "cox/simulate/network.hpp"

#include "simulate/flow/graph_routes.hpp"

namespace cox::simulate {
namespace {

constexpr int kMostPaths = 1 << 20;

LinkIndex at(LinkIndex first, std::int64_t offset) {
  return first + static_cast<LinkIndex>(offset);
}

}  // namespace

std::size_t Network::kind_of(int node) const {
  return kinds_.empty() ? 0 : kinds_[static_cast<std::size_t>(node)];
}

Network::Port Network::port_of(int rank) const {
  const int node = node_of(rank);
  const auto d = static_cast<std::size_t>(cluster_.devices_per_node);
  return {.node = node, .nic = devices_[kind_of(node) * d + static_cast<std::size_t>(rank) % d].nic};
}

void Network::reach(int rank, bool out_of, std::vector<LinkIndex>& out) const {
  if (!has_reach_) return;
  const int node = node_of(rank);
  const int device = rank % cluster_.devices_per_node;
  const model::NicReach way = devices_[kind_of(node) * static_cast<std::size_t>(cluster_.devices_per_node) +
                                       static_cast<std::size_t>(device)]
                                  .reach;
  const std::int64_t side = out_of ? 0 : cluster_.nodes;
  const std::int64_t socket = std::int64_t{device} * cluster_.sockets / cluster_.devices_per_node;
  if (way == model::NicReach::Bridge)
    out.push_back(at(first_bridge_, (side + node) * cluster_.sockets + socket));
  if (way == model::NicReach::Socket) out.push_back(at(first_socket_, side + node));
}

int Network::leaf_of(Port port) const {
  const int group = port.node / fabric_.hosts_per_leaf;
  return fabric_.kind == model::FabricKind::RailOptimised ? group * cluster_.nics_per_node + port.nic : group;
}

bool Network::leaves_pod(int leaf_a, int leaf_b) const {
  return fabric_.tiers == 3 && leaf_a / fabric_.leaves_per_pod != leaf_b / fabric_.leaves_per_pod;
}

bool Network::into_node(LinkIndex link) const {
  if (!graph_into_node_.empty())
    return link >= first_fabric_link_ && graph_into_node_[link - first_fabric_link_];
  const std::int64_t ports = std::int64_t{cluster_.nodes} * cluster_.nics_per_node;
  return has_nics_ && link >= at(first_nic_, ports) && link < at(first_nic_, 2 * ports);
}

int Network::paths_between(Port from, Port to) const {
  using enum model::FabricKind;
  switch (fabric_.kind) {
    case FatTree:
    case RailOptimised: {
      const int a = leaf_of(from);
      const int b = leaf_of(to);
      if (a == b) return 1;
      const std::int64_t n = std::int64_t{up_links_} * (leaves_pod(a, b) ? cores_ : 1);
      return static_cast<int>(std::min<std::int64_t>(n, kMostPaths));
    }
    case Torus: {
      int differing = 0;
      std::int64_t stride = 1;
      for (const int extent : fabric_.torus) {
        differing += from.node / stride % extent != to.node / stride % extent ? 1 : 0;
        stride *= extent;
      }
      return std::max(differing, 1);
    }
    case Dragonfly: {
      const int per_group = fabric_.dragonfly_routers * fabric_.dragonfly_hosts;
      const bool detours =
          fabric_.routing == model::Routing::Adaptive || fabric_.routing == model::Routing::Spray;
      return detours && from.node / per_group != to.node / per_group ? fabric_.dragonfly_groups - 1 : 1;
    }
    case Graph:
      return graph_->paths(from.node, to.node);
    case FullBisection:
      break;
  }
  return 1;
}

int Network::paths(int from, int to) const {
  if (node_of(from) == node_of(to)) return 1;
  return paths_between(port_of(from), port_of(to));
}

int Network::static_choice(int from, int to) const {
  using enum model::FabricKind;
  if (node_of(from) == node_of(to)) return 0;
  const Port port = port_of(to);
  switch (fabric_.kind) {
    case FatTree:
      return static_cast<int>((std::int64_t{port.node} * cluster_.nics_per_node + port.nic) %
                              paths(from, to));
    case RailOptimised:
    case Graph:
      return port.node % paths(from, to);
    case FullBisection:
    case Torus:
    case Dragonfly:
      break;
  }
  return 0;
}

void Network::route(int from, int to, int choice, std::vector<LinkIndex>& out) const {
  COX_ASSERT(from >= 0 && from < ranks_ && to >= 0 && to < ranks_, "a rank that the network does not have");
  out.clear();
  if (from == to) return;
  const bool same_node = node_of(from) == node_of(to);
  if (same_node && has_scale_up_) {
    out.push_back(static_cast<LinkIndex>(from));
    out.push_back(at(0, std::int64_t{ranks_} + to));
    return;
  }
  if (same_node) {
    if (has_pcie_) out.push_back(at(first_pcie_, from));
    if (has_pcie_) out.push_back(at(first_pcie_, std::int64_t{ranks_} + to));
    return;
  }
  const Port a = port_of(from);
  const Port b = port_of(to);
  leave_node(from, out);
  cross_fabric(a, b, choice % paths_between(a, b), out);
  enter_node(to, out);
}

// Of a node that is the only one, the first switch is the one between its devices.
void Network::leave_node(int rank, std::vector<LinkIndex>& out) const {
  if (cluster_.nodes == 1 && has_scale_up_) return out.push_back(at(0, rank));
  const Port port = port_of(rank);
  if (has_pcie_) out.push_back(at(first_pcie_, rank));
  reach(rank, true, out);
  if (has_nics_) out.push_back(at(first_nic_, std::int64_t{port.node} * cluster_.nics_per_node + port.nic));
}

void Network::enter_node(int rank, std::vector<LinkIndex>& out) const {
  if (cluster_.nodes == 1 && has_scale_up_) return out.push_back(at(0, std::int64_t{ranks_} + rank));
  const Port port = port_of(rank);
  const std::int64_t node = std::int64_t{cluster_.nodes} + port.node;
  if (has_nics_) out.push_back(at(first_nic_, node * cluster_.nics_per_node + port.nic));
  reach(rank, false, out);
  if (has_pcie_) out.push_back(at(first_pcie_, std::int64_t{ranks_} + rank));
}

void Network::cross_fabric(Port from, Port to, int choice, std::vector<LinkIndex>& out) const {
  using enum model::FabricKind;
  switch (fabric_.kind) {
    case FullBisection:
      return;
    case FatTree:
    case RailOptimised:
      return cross_tree(leaf_of(from), leaf_of(to), choice, out);
    case Torus:
      return cross_torus(from.node, to.node, choice, out);
    case Dragonfly:
      return cross_dragonfly(from.node / fabric_.dragonfly_hosts, to.node / fabric_.dragonfly_hosts, choice,
                             out);
    case Graph:
      return graph_->route(from.node, to.node, choice, first_fabric_link_, out);
  }
}

void Network::cross_tree(int leaf_a, int leaf_b, int choice, std::vector<LinkIndex>& out) const {
  if (leaf_a == leaf_b) return;
  const std::int64_t down = std::int64_t{leaves_} * up_links_;
  const int u = choice % up_links_;
  out.push_back(at(first_fabric_link_, std::int64_t{leaf_a} * up_links_ + u));
  if (leaves_pod(leaf_a, leaf_b)) {
    const std::int64_t pods = (leaves_ + fabric_.leaves_per_pod - 1) / fabric_.leaves_per_pod;
    const std::int64_t core = choice / up_links_ % cores_;
    const auto trunk = [&](int leaf) {
      return (std::int64_t{leaf / fabric_.leaves_per_pod} * up_links_ + u) * cores_ + core;
    };
    out.push_back(at(first_core_, trunk(leaf_a)));
    out.push_back(at(first_core_, pods * up_links_ * cores_ + trunk(leaf_b)));
  }
  out.push_back(at(first_fabric_link_, down + std::int64_t{leaf_b} * up_links_ + u));
}

// Dimension by dimension, the shorter way round (forward where both are equal). Choice c begins with the c-th
// of the dimensions in which the ends differ.
void Network::cross_torus(int from, int to, int choice, std::vector<LinkIndex>& out) const {
  const std::size_t dimensions = fabric_.torus.size();
  std::size_t first = 0;
  std::int64_t stride = 1;
  for (int seen = 0; first < dimensions; stride *= fabric_.torus[first++])
    if (from / stride % fabric_.torus[first] != to / stride % fabric_.torus[first] && seen++ == choice) break;
  if (first == dimensions) return;
  std::int64_t node = from;
  for (std::size_t i = 0, d = first; i < dimensions; ++i) {
    const int extent = fabric_.torus[d];
    const auto target = static_cast<int>(to / stride % extent);
    auto place = static_cast<int>(node / stride % extent);
    const int ahead = (target - place + extent) % extent;
    const bool forward = 2 * ahead <= extent;
    while (place != target) {
      const int way = forward || extent == 2 ? 0 : 1;
      out.push_back(at(first_fabric_link_, node * torus_degree_ + torus_first_[d] + way));
      const int moved = (place + (forward ? 1 : extent - 1)) % extent;
      node += (moved - place) * stride;
      place = moved;
    }
    stride = d + 1 == dimensions ? 1 : stride * extent;
    d = d + 1 == dimensions ? 0 : d + 1;
  }
}

void Network::cross_group(int group, int from, int to, std::vector<LinkIndex>& out) const {
  if (from == to) return;
  const std::int64_t a = fabric_.dragonfly_routers;
  out.push_back(at(first_fabric_link_, (group * a + from) * (a - 1) + (to < from ? to : to - 1)));
}

// Group i's cable to group j is the k-th of its own, k = j or j - 1, and k / ceil((g - 1) / a) is its router.
void Network::cross_dragonfly(int from, int to, int choice, std::vector<LinkIndex>& out) const {
  const int g = fabric_.dragonfly_groups;
  const int a = fabric_.dragonfly_routers;
  const int cables = std::max((g - 1 + a - 1) / a, 1);
  const int last = to / a;
  int group = from / a;
  int router = from % a;
  const auto cross_to = [&](int next) {
    const int out_cable = next < group ? next : next - 1;
    const int in_cable = group < next ? group : group - 1;
    cross_group(group, router, out_cable / cables, out);
    out.push_back(at(first_global_, std::int64_t{group} * (g - 1) + out_cable));
    group = next;
    router = in_cable / cables;
  };
  if (group != last) {
    // The choice-th group that is neither end.
    if (choice > 0) {
      int through = choice - 1;
      if (through >= std::min(group, last)) ++through;
      if (through >= std::max(group, last)) ++through;
      cross_to(through);
    }
    cross_to(last);
  }
  cross_group(group, router, to % a, out);
}

}  // namespace cox::simulate
