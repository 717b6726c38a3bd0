// SPDX-License-Identifier: Apache-2.0
#include "cox/model/nccl_cost.hpp"

#include <algorithm>

#include "model/phases.hpp"

namespace cox::model {
namespace {

constexpr std::array kProtocols = {NcclProtocol::LL, NcclProtocol::LL128, NcclProtocol::Simple};

/// The hops that data makes one after the other, what crosses each link,
/// and whether slices follow each other.
struct Way {
  std::int64_t hops_inside = 0;
  std::int64_t hops_across = 0;
  double wire_bytes = 0;
  bool pipelined = false;
};

std::optional<Way> way_of(const CollectiveSpec& s, NcclAlgorithm algorithm, std::int64_t nodes,
                          int per_node) {
  const double n = static_cast<double>(s.bytes.count());
  const std::int64_t p = s.ranks;
  const bool both = s.kind == Collective::AllReduce;
  if (algorithm == NcclAlgorithm::Tree) {
    if (!both) return std::nullopt;
    // Chains inside the nodes hang on two binary trees of nodes; every byte goes up and down.
    return Way{2 * (std::min<std::int64_t>(p, per_node) - 1), std::int64_t{2} * ceil_log2(nodes), 2 * n,
               true};
  }
  if (algorithm != NcclAlgorithm::Ring) return std::nullopt;
  const std::int64_t rounds = both ? 2 : 1;
  const std::int64_t across = rounds * (nodes - 1);
  const std::int64_t inside = rounds * (p - 1) - across;
  switch (s.kind) {
    case Collective::AllReduce:
    case Collective::ReduceScatter:
    case Collective::AllGather:
      return Way{inside, across, static_cast<double>(rounds * (p - 1)) / static_cast<double>(p) * n, false};
    case Collective::Broadcast:
    case Collective::Reduce:
      return Way{inside, across, n, true};
    default:
      return std::nullopt;
  }
}

double rate_of(const NcclCost& c, NcclProtocol protocol, std::int64_t nodes) {
  const double link = nodes > 1 ? std::min(c.inside, c.across).in_bytes_per_s() : c.inside.in_bytes_per_s();
  double channel = link * c.carried_ratio.at(static_cast<std::size_t>(protocol));
  if (protocol == NcclProtocol::LL128 && c.ll128_limit > Bandwidth{})
    channel = std::min(channel, c.ll128_limit.in_bytes_per_s());
  const double data = channel * c.channels;
  if (protocol != NcclProtocol::LL) return data;
  const Bandwidth limit = c.ll_limit.at(nodes > 2 ? 2 : static_cast<std::size_t>(nodes - 1));
  return limit > Bandwidth{} ? std::min(data, limit.in_bytes_per_s()) : data;
}

double time_of(const CollectiveSpec& s, const NcclCost& c, const Way& way, NcclAlgorithm algorithm,
               NcclProtocol protocol, std::int64_t nodes) {
  const auto i = static_cast<std::size_t>(protocol);
  const bool ring = algorithm == NcclAlgorithm::Ring;
  const auto of = [&](const NcclCost::Latencies& l) { return (ring ? l.ring : l.tree).at(i).count(); };
  const double rate = rate_of(c, protocol, nodes);
  double t = c.launch.count() + of(c.base) + static_cast<double>(way.hops_inside) * of(c.hop_inside) +
             static_cast<double>(way.hops_across) * of(c.hop_across) + way.wire_bytes / rate;
  if (way.pipelined) {
    // The first slice goes all the way before the stream is everywhere.
    const double share = static_cast<double>(s.bytes.count()) / c.channels;
    const double slot = static_cast<double>(c.buffer.at(i).count()) / c.slots * c.carried_ratio.at(i);
    const double slice = std::min(slot, share / c.pieces);
    const auto further =
        static_cast<double>(std::max<std::int64_t>(0, way.hops_inside + way.hops_across - 1));
    t += further * slice / (rate / c.channels);
  }
  return t;
}

/// Where switches add: one formula each, of protocol Simple, as ncclTopoTuneModel of src/graph/tuning.cc (NCCL 2.30)
/// has it. Several nodes: all-reduce only.
std::optional<double> switched_time(const CollectiveSpec& s, const NcclCost& c, NcclAlgorithm algorithm,
                                    std::int64_t nodes) {
  using enum NcclAlgorithm;
  const bool both = s.kind == Collective::AllReduce;
  const bool scatters = s.kind == Collective::ReduceScatter || s.kind == Collective::AllGather;
  const double n = static_cast<double>(s.bytes.count());
  const double here = std::min(s.ranks, c.ranks_per_node);
  const double inside = c.inside.in_bytes_per_s();
  const double across = c.across.in_bytes_per_s();
  const double micro = 1e-6;
  if (algorithm == Nvls || algorithm == NvlsTree) {
    const bool tree = algorithm == NvlsTree;
    if (!c.nvls || c.channels < 2 || !(both || (scatters && !tree)) || here < 2) return std::nullopt;
    if (tree ? nodes == 1 : nodes > 1 && !(c.collnet && both)) return std::nullopt;
    double channel = inside * c.nvls_efficiency * (c.channels - 1) / c.channels;
    channel *= both ? 2 : (here - 1) / here;
    if (nodes > 1) channel = std::min(channel, across * (tree && nodes == 2 ? 2 : 1));
    // The links inside a node are the other limit, of a tree over nodes too: more nodes are never faster than one.
    if (nodes == 1 || tree) channel = std::min(channel, inside);
    if (tree) channel = std::min(channel, c.nvls_tree_limit.at(nodes > 2 ? 1 : 0).in_bytes_per_s());
    const double bytes = both ? 2.0 * (s.ranks - 1) / s.ranks * n : n;
    const double hops = tree ? 2 * floor_log2(nodes) * 20.9 : nodes > 1 ? 18 : 0;
    return c.launch.count() + (25 + hops) * micro + bytes / (c.channels * channel);
  }
  if (!c.collnet || nodes == 1 || !both) return std::nullopt;
  double rate = c.channels * std::min(inside, across) / 2;
  if (algorithm == CollNetChain) return c.launch.count() + (2 * (here - 1) * 2.8 + 30) * micro + n / rate;
  // Direct: works at full speed where each device has a network card; 0.4 us for each device of a node.
  const double devices_per_channel = here / c.channels;
  rate *= 0.85 / (devices_per_channel - (devices_per_channel - 1) / 2);
  return c.launch.count() + (2 * (std::min(1.0, here - 1) * 3.7 + (here - 1) * 0.4) + 31) * micro + n / rate;
}

bool is_usable(const CollectiveSpec& s, const NcclCost& c) {
  return s.ranks >= 1 && s.bytes >= Bytes{0} && c.ranks_per_node >= 1 && c.channels >= 1 && c.slots >= 1 &&
         c.pieces >= 1 && (s.ranks == 1 || c.ranks_per_node == 1 || c.inside > Bandwidth{}) &&
         (s.ranks <= c.ranks_per_node || c.across > Bandwidth{});
}

}  // namespace

std::string_view name_of(NcclProtocol p) {
  switch (p) {
    case NcclProtocol::LL:
      return "LL";
    case NcclProtocol::LL128:
      return "LL128";
    case NcclProtocol::Simple:
      return "Simple";
  }
  return "?";
}

std::string_view name_of(NcclAlgorithm a) {
  switch (a) {
    case NcclAlgorithm::Ring:
      return "Ring";
    case NcclAlgorithm::Tree:
      return "Tree";
    case NcclAlgorithm::CollNetDirect:
      return "CollNetDirect";
    case NcclAlgorithm::CollNetChain:
      return "CollNetChain";
    case NcclAlgorithm::Nvls:
      return "NVLS";
    case NcclAlgorithm::NvlsTree:
      return "NVLSTree";
  }
  return "?";
}

std::optional<NcclEstimate> nccl_time(const CollectiveSpec& s, const NcclCost& c) {
  using enum NcclAlgorithm;
  if (!is_usable(s, c)) return std::nullopt;
  const std::int64_t nodes = (std::int64_t{s.ranks} + c.ranks_per_node - 1) / c.ranks_per_node;
  NcclCost cost = c;
  // One rank a node: nothing stays inside.
  if (c.ranks_per_node == 1) cost.inside = c.across;
  std::optional<NcclEstimate> best;
  const auto offer = [&](double time, NcclAlgorithm a, NcclProtocol p) {
    if (!best || Seconds{time} < best->time) best = NcclEstimate{Seconds{time}, a, p};
  };
  for (const NcclAlgorithm a : {Ring, Tree, CollNetDirect, CollNetChain, Nvls, NvlsTree}) {
    if (c.algorithm && *c.algorithm != a) continue;
    const auto way = way_of(s, a, nodes, c.ranks_per_node);
    const auto switched = way ? std::nullopt : switched_time(s, cost, a, nodes);
    if (!way && !switched) continue;
    // One rank copies, no bytes launch nothing.
    if (s.ranks == 1 || s.bytes == Bytes{0})
      return NcclEstimate{s.bytes == Bytes{0} ? Seconds{} : c.launch, a, NcclProtocol::Simple};
    for (const NcclProtocol p : kProtocols) {
      if ((p == NcclProtocol::LL128 && !c.ll128) || (c.protocol && *c.protocol != p)) continue;
      if (way) offer(time_of(s, cost, *way, a, p, nodes), a, p);
      if (switched && p == NcclProtocol::Simple) offer(*switched, a, p);
    }
  }
  return best;
}

}  // namespace cox::model
