// SPDX-License-Identifier: Apache-2.0
// What links there are, and what they are called. The ways over them are in routes.cpp.
#include "cox/simulate/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cox/base/file.hpp"

#include "simulate/flow/graph_routes.hpp"

namespace cox::simulate {
namespace {

constexpr std::int64_t kMostLinks = std::int64_t{1} << 23;
constexpr std::size_t kMostGraphBytes = 16'000'000;

Error misfit(std::string message, std::string hint) {
  return {.code = Errc::Infeasible,
          .id = "simulate-005",
          .message = std::move(message),
          .hint = std::move(hint),
          .where = std::nullopt};
}

NetworkLink named(std::string name, const model::Link& link) {
  const bool unlimited = link.bandwidth.in_bytes_per_s() <= 0;
  return {.name = std::move(name),
          .latency = link.latency,
          .bandwidth =
              unlimited ? Bandwidth::bytes_per_s(std::numeric_limits<double>::infinity()) : link.bandwidth};
}

bool positive(Bandwidth b) {
  return b.in_bytes_per_s() > 0;
}

}  // namespace

Status Network::reserve(std::int64_t more) {
  const std::int64_t total = static_cast<std::int64_t>(links_.size()) + more;
  if (total > kMostLinks)
    return fail(misfit(fmt::format("the network has {} links, at most {}", total, kMostLinks),
                       "describe a smaller cluster, or use the max-plus engine"));
  links_.reserve(static_cast<std::size_t>(total));
  return {};
}

Status Network::check() const {
  const model::Cluster& c = cluster_;
  if (c.nodes < 1 || c.devices_per_node < 1)
    return fail(misfit(
        fmt::format("{} nodes of {} devices, wanted at least one of each", c.nodes, c.devices_per_node),
        "set cluster.nodes and cluster.devices_per_node"));
  if (c.ranks() > std::numeric_limits<int>::max())
    return fail(misfit(fmt::format("{} ranks, at most {}", c.ranks(), std::numeric_limits<int>::max()),
                       "describe a smaller cluster"));
  if (c.devices_per_node > 1 && !positive(c.scale_up.bandwidth) && !positive(c.pcie.bandwidth))
    return fail(
        misfit("devices of a node have no link between them", "set cluster.scale_up or cluster.pcie"));
  const bool has_nics = fabric_.kind != model::FabricKind::Torus && fabric_.kind != model::FabricKind::Graph;
  if (has_nics && c.nodes > 1 && (c.nics_per_node < 1 || !positive(c.nic.bandwidth)))
    return fail(misfit("nodes have no NIC with a bandwidth", "set cluster.nics_per_node and cluster.nic"));
  for (const model::NodeClass& one : c.classes)
    if (one.first < 0 || one.count < 1 || one.first > c.nodes - one.count || one.nics > c.nics_per_node ||
        c.classes.size() > 65'000)
      return fail(misfit(
          fmt::format("a class of nodes {} to {} with {} cards, in a cluster of {} nodes with {}", one.first,
                      std::int64_t{one.first} + one.count - 1, one.nics, c.nodes, c.nics_per_node),
          "set first, count and nics of each class"));
  const auto foreign = [&](const std::vector<int>& nic_of) {
    return std::ranges::any_of(nic_of, [&](int nic) { return nic < 0 || nic >= c.nics_per_node; });
  };
  if (c.sockets < 1 || foreign(c.nic_of) ||
      std::ranges::any_of(c.classes, [&](const model::NodeClass& one) { return foreign(one.nic_of); }))
    return fail(misfit("a device uses a card that its node does not have", "set cluster.nic_of"));
  if (fabric_.kind == model::FabricKind::RailOptimised && c.nics_per_node > c.devices_per_node)
    return fail(misfit(fmt::format("{} rails for {} devices a node: a rail needs a device", c.nics_per_node,
                                   c.devices_per_node),
                       "set cluster.nics_per_node to at most cluster.devices_per_node"));
  return {};
}

/// What each kind of node says of its devices.
void Network::plan_devices() {
  const model::Cluster& c = cluster_;
  const auto add = [&](const model::NodeClass* of) {
    for (int d = 0; d < c.devices_per_node; ++d)
      devices_.push_back({.nic = model::nic_of(c, of, d), .reach = model::reach_of(c, of, d)});
  };
  add(nullptr);
  for (const model::NodeClass& one : c.classes) add(&one);
  if (c.classes.empty()) return;
  kinds_.assign(static_cast<std::size_t>(c.nodes), 0);
  for (std::size_t k = 0; k < c.classes.size(); ++k)
    for (int n = c.classes[k].first; n < c.classes[k].first + c.classes[k].count; ++n)
      kinds_[static_cast<std::size_t>(n)] = static_cast<std::uint16_t>(k + 1);
}

model::Link Network::nic_link(int node) const {
  model::Link link = cluster_.nic;
  if (const std::size_t kind = kind_of(node); kind > 0) {
    const model::Link& own = cluster_.classes[kind - 1].nic;
    if (own.latency > Seconds{}) link.latency = own.latency;
    if (positive(own.bandwidth)) link.bandwidth = own.bandwidth;
  }
  return link;
}

/// Links to cards that are not at a device's own PCIe switch, where any device has such a card.
Status Network::add_reach() {
  const model::Cluster& c = cluster_;
  has_reach_ = has_nics_ && (model::any_reaches(c, model::NicReach::Bridge) ||
                             model::any_reaches(c, model::NicReach::Socket));
  first_bridge_ = first_socket_ = next();
  if (!has_reach_) return {};
  COX_CHECK(reserve(2 * std::int64_t{c.nodes} * (c.sockets + 1)));
  for (const char* way : {"out", "in"})
    for (int n = 0; n < c.nodes; ++n)
      for (int s = 0; s < c.sockets; ++s)
        links_.push_back(named(c.sockets == 1 ? fmt::format("n{}.bridge-{}", n, way)
                                              : fmt::format("n{}.s{}.bridge-{}", n, s, way),
                               c.bridge));
  first_socket_ = next();
  for (const char* way : {"out", "in"})
    for (int n = 0; n < c.nodes; ++n)
      links_.push_back(named(fmt::format("n{}.sockets-{}", n, way), c.socket));
  return {};
}

Status Network::add_nodes() {
  const model::Cluster& c = cluster_;
  ranks_ = static_cast<int>(c.ranks());
  plan_devices();
  has_scale_up_ = c.devices_per_node > 1 && positive(c.scale_up.bandwidth);
  has_pcie_ = positive(c.pcie.bandwidth) || c.pcie.latency.count() > 0;
  has_nics_ =
      c.nodes > 1 && fabric_.kind != model::FabricKind::Torus && fabric_.kind != model::FabricKind::Graph;
  const std::int64_t ports = has_nics_ ? std::int64_t{c.nodes} * c.nics_per_node : 0;
  COX_CHECK(reserve(std::int64_t{ranks_} * 2 * (int{has_scale_up_} + int{has_pcie_}) + 2 * ports));
  const auto device = [&](int rank) {
    return c.devices_per_node == 1 && !has_pcie_
               ? fmt::format("n{}", rank)
               : fmt::format("n{}.d{}", node_of(rank), rank % c.devices_per_node);
  };
  const auto inside = [&](int rank, const char* bus) { return fmt::format("n{}.{}", node_of(rank), bus); };
  // Each direction carries half of the latency: the whole is that from device to device.
  const model::Link half{.latency = c.scale_up.latency / 2, .bandwidth = c.scale_up.bandwidth};
  for (int r = 0; has_scale_up_ && r < ranks_; ++r)
    links_.push_back(named(device(r) + "->" + inside(r, "scale-up"), half));
  for (int r = 0; has_scale_up_ && r < ranks_; ++r)
    links_.push_back(named(inside(r, "scale-up") + "->" + device(r), half));
  first_pcie_ = next();
  for (int r = 0; has_pcie_ && r < ranks_; ++r)
    links_.push_back(named(device(r) + "->" + inside(r, "pcie"), c.pcie));
  for (int r = 0; has_pcie_ && r < ranks_; ++r)
    links_.push_back(named(inside(r, "pcie") + "->" + device(r), c.pcie));
  first_nic_ = next();
  for (int up = 1; up >= 0; --up)
    for (std::int64_t p = 0; p < ports; ++p) {
      const int node = static_cast<int>(p / c.nics_per_node);
      const int nic = static_cast<int>(p % c.nics_per_node);
      const std::string host =
          c.nics_per_node == 1 ? fmt::format("n{}", node) : fmt::format("n{}.nic{}", node, nic);
      std::string peer = "switch";
      if (leaves_ > 0) peer = fmt::format("leaf{}", leaf_of({node, nic}));
      if (fabric_.kind == model::FabricKind::Dragonfly)
        peer = fmt::format("router{}", node / fabric_.dragonfly_hosts);
      links_.push_back(named(up ? host + "->" + peer : peer + "->" + host, nic_link(node)));
    }
  COX_CHECK(add_reach());
  first_fabric_link_ = next();
  return {};
}

Status Network::add_tree() {
  if (leaves_ <= 1) return {};
  const bool three = fabric_.tiers == 3;
  const std::int64_t pods = three ? (leaves_ + fabric_.leaves_per_pod - 1) / fabric_.leaves_per_pod : 0;
  const std::int64_t core_links = three ? pods * up_links_ * cores_ : 0;
  COX_CHECK(reserve(2 * (std::int64_t{leaves_} * up_links_ + core_links)));
  const auto above = [&](int leaf, int u) {
    return three ? fmt::format("agg{}.{}", leaf / fabric_.leaves_per_pod, u) : fmt::format("spine{}", u);
  };
  for (int up = 1; up >= 0; --up)
    for (int leaf = 0; leaf < leaves_; ++leaf)
      for (int u = 0; u < up_links_; ++u) {
        const std::string low = fmt::format("leaf{}", leaf);
        links_.push_back(named(up ? low + "->" + above(leaf, u) : above(leaf, u) + "->" + low, fabric_.link));
      }
  first_core_ = next();
  for (int up = 1; three && up >= 0; --up)
    for (int pod = 0; pod < pods; ++pod)
      for (int u = 0; u < up_links_; ++u)
        for (int c = 0; c < cores_; ++c) {
          const std::string low = fmt::format("agg{}.{}", pod, u);
          const std::string core = fmt::format("core{}.{}", u, c);
          links_.push_back(named(up ? low + "->" + core : core + "->" + low, fabric_.link));
        }
  return {};
}

Status Network::add_torus() {
  std::int64_t product = 1;
  for (const int extent : fabric_.torus) {
    if (extent < 1)
      return fail(
          misfit(fmt::format("a torus dimension of {}, wanted at least 1", extent), "set fabric.torus"));
    product = std::min<std::int64_t>(product * extent, std::int64_t{1} << 31);
  }
  if (product != cluster_.nodes || fabric_.torus.empty())
    return fail(misfit(fmt::format("the torus has {} routers for {} nodes",
                                   fabric_.torus.empty() ? 0 : product, cluster_.nodes),
                       "make the product of fabric.torus equal to cluster.nodes"));
  for (const int extent : fabric_.torus) {
    torus_first_.push_back(torus_degree_);
    torus_degree_ += std::min(extent - 1, 2);
  }
  COX_CHECK(reserve(std::int64_t{cluster_.nodes} * torus_degree_));
  for (int node = 0; node < cluster_.nodes; ++node) {
    int stride = 1;
    for (const int extent : fabric_.torus) {
      const int place = node / stride % extent;
      for (int way = 0; way < std::min(extent - 1, 2); ++way) {
        const int next_place = (place + (way == 0 ? 1 : extent - 1)) % extent;
        links_.push_back(
            named(fmt::format("n{}->n{}", node, node + (next_place - place) * stride), fabric_.link));
      }
      stride *= extent;
    }
  }
  return {};
}

Status Network::add_dragonfly() {
  const std::int64_t g = fabric_.dragonfly_groups;
  const std::int64_t a = fabric_.dragonfly_routers;
  COX_CHECK(reserve(g * a * (a - 1) + g * (g - 1)));
  for (int group = 0; group < g; ++group)
    for (int from = 0; from < a; ++from)
      for (int to = 0; to < a; ++to)
        if (to != from)
          links_.push_back(
              named(fmt::format("router{}->router{}", group * a + from, group * a + to), fabric_.link));
  first_global_ = next();
  // Group i's k-th cable is at its router k / ceil((g - 1) / a).
  const std::int64_t cables = std::max<std::int64_t>((g - 1 + a - 1) / a, 1);
  for (int from = 0; from < g; ++from)
    for (int to = 0; to < g; ++to) {
      if (to == from) continue;
      const std::int64_t out = from * a + (to < from ? to : to - 1) / cables;
      const std::int64_t in = to * a + (from < to ? from : from - 1) / cables;
      links_.push_back(named(fmt::format("router{}->router{}", out, in), fabric_.link));
    }
  return {};
}

Status Network::add_graph() {
  COX_TRY(const std::string text, read_file(fabric_.graph_file, kMostGraphBytes));
  COX_TRY(const GraphText graph, parse_graph(text, fabric_.graph_file, cluster_.nodes));
  COX_TRY(GraphRoutes routes, GraphRoutes::make(graph, fabric_.graph_file, cluster_.nodes));
  COX_CHECK(reserve(static_cast<std::int64_t>(2 * graph.cables.size())));
  for (const GraphCable& cable : graph.cables) {
    const model::Link link{.latency = cable.latency, .bandwidth = cable.bandwidth};
    links_.push_back(named(graph.names[cable.a] + "->" + graph.names[cable.b], link));
    links_.push_back(named(graph.names[cable.b] + "->" + graph.names[cable.a], link));
  }
  for (const GraphCable& cable : graph.cables) {
    graph_into_node_.push_back(cable.b < static_cast<std::uint32_t>(cluster_.nodes));
    graph_into_node_.push_back(cable.a < static_cast<std::uint32_t>(cluster_.nodes));
  }
  graph_ = std::make_shared<const GraphRoutes>(std::move(routes));
  return {};
}

namespace {

// Leaves and their up-links; the ratio must come out in whole links.
Status plan_tree(const model::Cluster& c, const model::Fabric& f, int& leaves, int& up_links, int& cores) {
  const bool rails = f.kind == model::FabricKind::RailOptimised;
  if (f.hosts_per_leaf < 1 || (f.tiers != 2 && f.tiers != 3) || (f.tiers == 3 && f.leaves_per_pod < 1))
    return fail(misfit(fmt::format("a tree of {} tiers with {} hosts a leaf and {} leaves a pod", f.tiers,
                                   f.hosts_per_leaf, f.leaves_per_pod),
                       "set fabric.tiers to 2 or 3, and at least one host a leaf and one leaf a pod"));
  const std::int64_t groups = (std::int64_t{c.nodes} + f.hosts_per_leaf - 1) / f.hosts_per_leaf;
  const std::int64_t all = rails ? groups * c.nics_per_node : groups;
  const double down = static_cast<double>(f.hosts_per_leaf) * (rails ? 1 : c.nics_per_node);
  if (all > kMostLinks)
    return fail(misfit(fmt::format("{} leaf switches, at most {}", all, kMostLinks), "use larger leaves"));
  leaves = static_cast<int>(all);
  if (leaves == 1) return {};
  if (!(f.oversubscription > 0) || !positive(f.link.bandwidth))
    return fail(misfit("links between switches need a bandwidth and a ratio above 0",
                       "set fabric.link and fabric.oversubscription"));
  const double up = down / f.oversubscription;
  if (!(up < 1e6) || std::abs(up - std::round(up)) > 1e-9 * up || up < 0.5)
    return fail(misfit(fmt::format("{} down-links of a leaf at {}:1 are {} up-links, wanted a whole number",
                                   down, f.oversubscription, up),
                       "choose fabric.oversubscription so that it divides the down-links of a leaf"));
  up_links = static_cast<int>(std::lround(up));
  if (f.tiers != 3) return {};
  const double above = f.leaves_per_pod / f.pod_oversubscription;
  if (!(f.pod_oversubscription > 0) || !(above < 1e6) || std::abs(above - std::round(above)) > 1e-9 * above ||
      above < 0.5)
    return fail(misfit(fmt::format("{} leaves of a pod at {}:1 are {} cables up, wanted a whole number",
                                   f.leaves_per_pod, f.pod_oversubscription, above),
                       "choose fabric.pod_oversubscription so that it divides fabric.leaves_per_pod"));
  cores = static_cast<int>(std::lround(above));
  return {};
}

Status check_dragonfly(const model::Cluster& c, const model::Fabric& f) {
  const std::int64_t routers = std::int64_t{f.dragonfly_groups} * f.dragonfly_routers;
  if (f.dragonfly_groups < 1 || f.dragonfly_routers < 1 || f.dragonfly_hosts < 1 || routers > kMostLinks ||
      routers * f.dragonfly_hosts < c.nodes)
    return fail(misfit(fmt::format("a dragonfly of {} groups of {} routers of {} hosts for {} nodes",
                                   f.dragonfly_groups, f.dragonfly_routers, f.dragonfly_hosts, c.nodes),
                       "set fabric.dragonfly_groups, _routers and _hosts so that every node has a place"));
  return {};
}

}  // namespace

Result<Network> Network::make(const model::Cluster& cluster, const model::Fabric& fabric) {
  using enum model::FabricKind;
  Network network;
  network.cluster_ = cluster;
  network.fabric_ = fabric;
  COX_CHECK(network.check());
  if (fabric.kind == FatTree || fabric.kind == RailOptimised)
    COX_CHECK(plan_tree(cluster, fabric, network.leaves_, network.up_links_, network.cores_));
  if (fabric.kind == Dragonfly) COX_CHECK(check_dragonfly(cluster, fabric));
  COX_CHECK(network.add_nodes());
  const bool needs_links = cluster.nodes > 1 && (fabric.kind == Torus || fabric.kind == Dragonfly);
  if (needs_links && !positive(fabric.link.bandwidth))
    return fail(misfit("links between switches have no bandwidth", "set fabric.link"));
  if (cluster.nodes == 1 && fabric.kind != Graph) return network;
  switch (fabric.kind) {
    case FullBisection:
      break;
    case FatTree:
    case RailOptimised:
      COX_CHECK(network.add_tree());
      break;
    case Torus:
      COX_CHECK(network.add_torus());
      break;
    case Dragonfly:
      COX_CHECK(network.add_dragonfly());
      break;
    case Graph:
      COX_CHECK(network.add_graph());
      break;
  }
  return network;
}

}  // namespace cox::simulate
