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

std::optional<Way> way_of(const CollectiveSpec& s, Algorithm algorithm, std::int64_t nodes, int per_node) {
  const double n = static_cast<double>(s.bytes.count());
  const std::int64_t p = s.ranks;
  const bool both = s.kind == Collective::AllReduce;
  if (algorithm == Algorithm::DoubleBinaryTree) {
    if (!both) return std::nullopt;
    // Chains inside the nodes hang on two binary trees of nodes; every byte goes up and down.
    return Way{2 * (std::min<std::int64_t>(p, per_node) - 1), std::int64_t{2} * ceil_log2(nodes), 2 * n,
               true};
  }
  if (algorithm != Algorithm::Ring) return std::nullopt;
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

double time_of(const CollectiveSpec& s, const NcclCost& c, const Way& way, Algorithm algorithm,
               NcclProtocol protocol, std::int64_t nodes) {
  const auto i = static_cast<std::size_t>(protocol);
  const bool ring = algorithm == Algorithm::Ring;
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

std::optional<NcclEstimate> nccl_time(const CollectiveSpec& s, const NcclCost& c) {
  if (!is_usable(s, c)) return std::nullopt;
  const std::int64_t nodes = (std::int64_t{s.ranks} + c.ranks_per_node - 1) / c.ranks_per_node;
  NcclCost cost = c;
  // One rank a node: nothing stays inside.
  if (c.ranks_per_node == 1) cost.inside = c.across;
  std::optional<NcclEstimate> best;
  for (const Algorithm a : {Algorithm::Ring, Algorithm::DoubleBinaryTree}) {
    const auto way = way_of(s, a, nodes, c.ranks_per_node);
    if (!way || (c.algorithm && *c.algorithm != a)) continue;
    // One rank copies, no bytes launch nothing.
    if (s.ranks == 1 || s.bytes == Bytes{0})
      return NcclEstimate{s.bytes == Bytes{0} ? Seconds{} : c.launch, a, NcclProtocol::Simple};
    for (const NcclProtocol p : kProtocols) {
      if ((p == NcclProtocol::LL128 && !c.ll128) || (c.protocol && *c.protocol != p)) continue;
      const Seconds t{time_of(s, cost, *way, a, p, nodes)};
      if (!best || t < best->time) best = NcclEstimate{t, a, p};
    }
  }
  return best;
}

}  // namespace cox::model
