// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/striped_ring.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

using model::MessageCost;

/// A message of a round: every round of a ring has the same.
struct RingHop {
  int lane;
  int place;  ///< that receives
  bool crosses;
  const std::vector<LinkIndex>& way;
};

template <class F>
void for_each_hop(const Network& network, const model::Schedule& schedule, std::span<const int> devices,
                  int groups, const F& f) {
  const int ranks = schedule.ranks();
  std::vector<LinkIndex> way;
  for (int g = 0; g < groups; ++g)
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      const model::PlaceOrder order = schedule.order(lane);
      const auto device = [&](int place) {
        return devices[static_cast<std::size_t>(g) * static_cast<std::size_t>(ranks) +
                       static_cast<std::size_t>(order.rank_at(place))];
      };
      for (int p = 0; p < ranks; ++p) {
        const int from = device(p == 0 ? ranks - 1 : p - 1);
        const int to = device(p);
        network.route(from, to, network.static_choice(from, to), way);
        f(RingHop{lane, p, network.node_of(from) != network.node_of(to), way});
      }
    }
}

}  // namespace

std::optional<LinkCosts> striped_costs(const Network& network, const model::Fabric& fabric,
                                       const model::Schedule& schedule, std::span<const int> devices,
                                       int groups) {
  const bool fixed = fabric.routing == model::Routing::Static &&
                     fabric.switching == model::Switching::CutThrough && fabric.background_load == 0;
  if (!fixed || schedule.spec().algorithm != model::Algorithm::Ring || schedule.lanes() < 2 ||
      schedule.rounds() == 0)
    return std::nullopt;
  COX_ASSERT(devices.size() == static_cast<std::size_t>(schedule.ranks()) * static_cast<std::size_t>(groups),
             "a device for every rank of every group");
  std::vector<int> messages(network.links().size());
  std::vector<bool> between(messages.size());
  for_each_hop(network, schedule, devices, groups, [&](const RingHop& hop) {
    for (const LinkIndex l : hop.way) {
      ++messages[l];
      if (hop.crosses) between[l] = true;
    }
  });
  const auto limited = [&](std::size_t l) {
    return network.links()[l].bandwidth.in_bytes_per_s() < std::numeric_limits<double>::infinity();
  };
  for (std::size_t l = 0; l < messages.size(); ++l)
    if (between[l] && messages[l] > 1 && limited(l)) return std::nullopt;
  LinkCosts costs;
  costs.by_lane.assign(static_cast<std::size_t>(schedule.lanes()),
                       std::vector<MessageCost>(static_cast<std::size_t>(schedule.ranks())));
  MessageCost inside;
  MessageCost across;
  for_each_hop(network, schedule, devices, groups, [&](const RingHop& hop) {
    MessageCost one;
    for (const LinkIndex l : hop.way) {
      const NetworkLink& link = network.links()[l];
      one.latency += link.latency;
      if (!limited(l)) continue;
      const double each = messages[l] / link.bandwidth.in_bytes_per_s();
      one.per_byte = std::max(one.per_byte, TimePerByte::seconds_per_byte(each));
    }
    MessageCost& most = hop.crosses ? across : inside;
    if (hop.crosses && one.latency >= most.latency) most = one;
    if (!hop.crosses) most.latency = std::max(most.latency, one.latency);
    if (!hop.crosses) most.per_byte = std::max(most.per_byte, one.per_byte);
    // Groups beside each other are alike in all that is usual; else the slower of them counts.
    MessageCost& into =
        costs.by_lane[static_cast<std::size_t>(hop.lane)][static_cast<std::size_t>(hop.place)];
    into.latency = std::max(into.latency, one.latency);
    into.per_byte = std::max(into.per_byte, one.per_byte);
  });
  if (inside.latency > across.latency || inside.per_byte > across.per_byte) return std::nullopt;
  return costs;
}

}  // namespace cox::simulate
