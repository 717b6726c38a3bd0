// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/meetings.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "cox/simulate/network.hpp"

#include "simulate/collective/setup.hpp"
#include "simulate/collective/shared_cards.hpp"
#include "simulate/flow/own_links.hpp"
#include "simulate/flow/places.hpp"
#include "simulate/max_plus/regular_rounds.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Transfer;

/// What messages of a round have in common.
struct RoundOf {
  double most = 0;  ///< bytes
  double least = 0;
  int inside = 0;  ///< as many through each port of a device that carries any; 0: none is inside a node
  int across = 0;  ///< the same of cards
};

/// Messages of rounds by port, both directions.
class Ports {
 public:
  Ports(const model::Cluster& cluster, std::span<const int> devices)
      : cluster_(cluster),
        devices_(devices),
        out_(static_cast<std::size_t>(
            std::max(cluster.ranks(), std::int64_t{cluster.nodes} * std::max(1, cluster.nics_per_node)))),
        in_(out_) {}

  /// Nothing where ports that carry any have unlike numbers, or some messages are inside a node and some are not.
  std::optional<RoundOf> look_at(std::span<const Transfer> round) {
    std::ranges::fill(out_, 0);
    std::ranges::fill(in_, 0);
    const bool crosses = is_across(round.front());
    RoundOf all{.most = 0, .least = static_cast<double>(round.front().bytes.count())};
    for (const Transfer& m : round) {
      if (is_across(m) != crosses) return std::nullopt;
      ++out_[port(m.from, crosses)];
      ++in_[port(m.to, crosses)];
      const auto bytes = static_cast<double>(m.bytes.count());
      all.most = std::max(all.most, bytes);
      all.least = std::min(all.least, bytes);
    }
    const int each = out_[port(round.front().from, crosses)];
    const auto is_alike = [each](int load) { return load == 0 || load == each; };
    if (!std::ranges::all_of(out_, is_alike) || !std::ranges::all_of(in_, is_alike)) return std::nullopt;
    (crosses ? all.across : all.inside) = each;
    return all;
  }

 private:
  [[nodiscard]] bool is_across(const Transfer& m) const {
    const int per_node = std::max(1, cluster_.devices_per_node);
    return devices_[static_cast<std::size_t>(m.from)] / per_node !=
           devices_[static_cast<std::size_t>(m.to)] / per_node;
  }
  [[nodiscard]] std::size_t port(int place, bool card) const {
    const int device = devices_[static_cast<std::size_t>(place)];
    return static_cast<std::size_t>(card ? card_of(cluster_, device) : device);
  }

  const model::Cluster& cluster_;
  std::span<const int> devices_;
  std::vector<int> out_;
  std::vector<int> in_;
};

/// Rates do not matter to who meets whom: one switch, and links where the scenario says none.
model::Cluster with_links(model::Cluster cluster) {
  const Bandwidth any = Bandwidth::gbyte_per_s(1);
  cluster.nics_per_node = std::max(1, cluster.nics_per_node);
  if (!(cluster.nic.bandwidth > Bandwidth{})) cluster.nic.bandwidth = any;
  if (!(cluster.scale_up.bandwidth > Bandwidth{}) && !(cluster.pcie.bandwidth > Bandwidth{}))
    cluster.scale_up.bandwidth = any;
  return cluster;
}

/// Whether all who begin together end each round together and each message has as many beside it in its ports as the costs of
/// max-plus have there (`with_shared_ports`): regular rounds of one lane whose messages are as long as each other, to the part
/// `alike` of all rounds. Cost: O(ranks x kinds of rounds + rounds).
bool stay_in_step(const model::Cluster& cluster, const model::Schedule& schedule,
                  std::span<const int> devices, double alike) {
  if (schedule.lanes() > 1) return false;
  Ports ports(cluster, devices);
  std::vector<Transfer> messages;
  std::optional<model::RegularRound> before;
  RoundOf kind;
  double all = 0, differ = 0;
  int inside = 0, across = 0;
  for (std::int64_t k = 0; k < schedule.rounds(); ++k) {
    const auto now = schedule.regular(k);
    if (!now) return false;
    if (now->size == 1) continue;
    if (!before || !same_sweep(*before, *now)) {
      schedule.transfers(k, messages);
      const auto found = ports.look_at(messages);
      if (!found) return false;
      kind = *found;
      if ((inside > 0 && kind.inside > 0 && inside != kind.inside) ||
          (across > 0 && kind.across > 0 && across != kind.across))
        return false;
      inside = std::max(inside, kind.inside);
      across = std::max(across, kind.across);
    }
    before = now;
    all += kind.most;
    differ += kind.most - kind.least;
  }
  return differ <= alike * all;
}

bool stay_in_step(const model::Cluster& cluster, const Turns& turns) {
  const std::size_t places = turns.devices.size() / static_cast<std::size_t>(turns.groups);
  for (std::size_t begin = 0; begin < turns.devices.size(); begin += places)
    for (const model::Schedule& schedule : turns.schedules)
      if (!stay_in_step(cluster, schedule, turns.devices.subspan(begin, places), turns.alike)) return false;
  return true;
}

/// Messages of lists are looked at one by one, those of regular rounds by their pattern.
bool may_be_listed(const Turns& turns) {
  const auto has = [&](const model::Schedule& schedule) {
    return schedule.regular(0) ||
           (turns.groups == 1 ? is_affordable(schedule)
                              : about_messages(schedule) * turns.groups <= static_cast<double>(kMostPlayed));
  };
  return std::ranges::all_of(turns.schedules, has);
}

}  // namespace

bool stay_in_step(const model::Scenario& s, const model::Schedule& schedule, std::span<const int> devices) {
  return is_quiet(s) && !s.fabric.timeouts.happen() &&
         slowness_of(s.cluster, {devices.begin(), devices.end()}).empty() &&
         stay_in_step(s.cluster, schedule, devices, Turns{}.alike);
}

bool passes_on(const model::Schedule& schedule) {
  const Algorithm a = schedule.spec().algorithm;
  return (a == Algorithm::Ring || a == Algorithm::Chain) && schedule.lanes() == 1;
}

bool may_meet(const model::Cluster& cluster, std::uint64_t seed, const Turns& turns) {
  if (turns.together && !turns.delays && stay_in_step(cluster, turns)) return false;
  if (!may_be_listed(turns)) return true;
  const model::Fabric one_switch;
  const auto network = Network::make(with_links(cluster), one_switch);
  if (!network) return true;
  OwnLinks own(*network, one_switch, seed, turns.delays);
  const int team = own.add_team({turns.devices.begin(), turns.devices.end()}, turns.groups);
  return !std::ranges::all_of(turns.schedules, [&](const model::Schedule& s) { return own.add(team, s); }) ||
         !own.costs(team);
}

bool may_meet(const model::Scenario& s, const model::Schedule& schedule, std::span<const int> devices) {
  if (schedule.spec().bytes == Bytes{} || schedule.ranks() < 2) return false;
  if (schedule.participants() != schedule.ranks()) return true;
  if (passes_on(schedule) && s.job.places.packed()) return false;
  return may_meet(
      s.cluster, s.seed,
      {.schedules = {&schedule, 1},
       .devices = devices,
       .together = is_quiet(s) && slowness_of(s.cluster, {devices.begin(), devices.end()}).empty(),
       .delays = model::disturbs_messages(s) || s.fabric.timeouts.happen()});
}

std::string what_meets(const model::Schedule& schedule) {
  if (schedule.participants() != schedule.ranks())
    return "servers and switches have ports of their own, and serve one message after the other; the flow engine puts them on "
           "devices of ranks, whose cards they share";
  return "messages that meet in a device's port or card, in a step or from one step to the next: each has all of it; the flow "
         "engine shares it";
}

}  // namespace cox::simulate
