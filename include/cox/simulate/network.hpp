// SPDX-License-Identifier: Apache-2.0
/// \file
/// A cluster's fabric as directed links with routes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

using LinkIndex = std::uint32_t;
struct GraphRoutes;

struct NetworkLink {
  std::string name;  ///< `n3->leaf0`
  Seconds latency{};
  Bandwidth bandwidth{};  ///< infinite where the cluster sets no limit (PCIe)
};

/// Links, and the way from any rank to any other. Immutable after `make`; const calls from any thread.
///
/// Inside a node: a scale-up link out of and into each device; towards the fabric a PCIe link of the device
/// and the NIC that device i of d shares with its neighbours, NIC i * n / d of n, unless the cluster or the class of
/// the node says another; to that lead the links of a bridge or between sockets. A torus has no NICs: its
/// routers are the nodes. What each fabric looks like: docs/concepts/flow-engine.md.
/// Memory: linear in links; a graph file adds a table of nodes x vertices of at most 2^24 entries.
/// Held by: src/simulate/flow/network_test.cpp
class Network {
 public:
  /// Errors: simulate-005 (fabric and cluster do not fit; graph file), base-002 to base-004 (graph file).
  [[nodiscard]] static Result<Network> make(const model::Cluster& cluster, const model::Fabric& fabric);

  [[nodiscard]] const std::vector<NetworkLink>& links() const { return links_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int ranks_per_node() const { return cluster_.devices_per_node; }
  /// Number of paths between two ranks that routing may choose from: all of equal length,
  /// except that a dragonfly under adaptive routing or spraying has the ways through each third group
  /// behind the direct one (Valiant).
  [[nodiscard]] int paths(int from, int to) const;
  /// The path of static routing: destination modulo up-links in trees, the first dimension first in a torus,
  /// the direct one in a dragonfly, destination modulo `paths` in a graph.
  [[nodiscard]] int static_choice(int from, int to) const;
  /// Links of path `choice` (taken modulo `paths`) in order; clears `out`. Nothing from a rank to itself.
  void route(int from, int to, int choice, std::vector<LinkIndex>& out) const;
  /// Links from a rank to its first switch, and from its last one to it; appended to `out`.
  void leave_node(int rank, std::vector<LinkIndex>& out) const;
  void enter_node(int rank, std::vector<LinkIndex>& out) const;
  /// True for links between switches (or torus routers): those that other jobs use too.
  [[nodiscard]] bool between_switches(LinkIndex link) const { return link >= first_fabric_link_; }
  /// True for the last link of the fabric into a node: where incast meets.
  [[nodiscard]] bool into_node(LinkIndex link) const;
  /// Node of a rank.
  [[nodiscard]] int node_of(int rank) const { return rank / cluster_.devices_per_node; }

 private:
  struct Port {  ///< of a node into the fabric
    int node;
    int nic;
  };
  [[nodiscard]] Port port_of(int rank) const;
  [[nodiscard]] std::size_t kind_of(int node) const;
  [[nodiscard]] model::Link nic_link(int node) const;
  /// Appends what lies between a device and a card that is not at its PCIe switch.
  void reach(int rank, bool out_of, std::vector<LinkIndex>& out) const;
  void plan_devices();
  [[nodiscard]] Status add_reach();
  [[nodiscard]] int leaf_of(Port port) const;
  [[nodiscard]] int up_links() const { return up_links_; }
  [[nodiscard]] bool leaves_pod(int leaf_a, int leaf_b) const;
  [[nodiscard]] int paths_between(Port from, Port to) const;
  void cross_fabric(Port from, Port to, int choice, std::vector<LinkIndex>& out) const;
  void cross_tree(int leaf_a, int leaf_b, int choice, std::vector<LinkIndex>& out) const;
  void cross_torus(int from, int to, int choice, std::vector<LinkIndex>& out) const;
  void cross_dragonfly(int from, int to, int choice, std::vector<LinkIndex>& out) const;
  void cross_group(int group, int from, int to, std::vector<LinkIndex>& out) const;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Status add_nodes();
  [[nodiscard]] Status add_tree();
  [[nodiscard]] Status add_torus();
  [[nodiscard]] Status add_dragonfly();
  [[nodiscard]] Status add_graph();
  [[nodiscard]] Status reserve(std::int64_t more);
  LinkIndex next() const { return static_cast<LinkIndex>(links_.size()); }

  model::Cluster cluster_{};
  model::Fabric fabric_{};
  std::vector<NetworkLink> links_;
  int ranks_ = 0;
  bool has_scale_up_ = false;
  bool has_pcie_ = false;
  bool has_nics_ = false;
  LinkIndex first_pcie_ = 0;
  LinkIndex first_nic_ = 0;
  LinkIndex first_bridge_ = 0;  ///< out of each socket of each node, then into each
  LinkIndex first_socket_ = 0;  ///< out of the sockets of each node, then into them
  bool has_reach_ = false;
  struct Device {  ///< of a node of one kind
    int nic;
    model::NicReach reach;
  };
  std::vector<Device> devices_;       ///< [kind][device]: nodes of no class, then those of each
  std::vector<std::uint16_t> kinds_;  ///< per node; empty = all of no class
  LinkIndex first_fabric_link_ = 0;
  // Trees.
  int leaves_ = 0;
  int up_links_ = 0;
  int cores_ = 0;  ///< three tiers: cables up of each switch above a pod's leaves
  LinkIndex first_core_ = 0;
  // Torus: links of one node, and where those of each dimension begin.
  int torus_degree_ = 0;
  std::vector<int> torus_first_{};
  // Dragonfly.
  LinkIndex first_global_ = 0;
  std::shared_ptr<const GraphRoutes> graph_{};
  std::vector<bool> graph_into_node_{};
};

}  // namespace cox::simulate
