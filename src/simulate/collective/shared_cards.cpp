// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/shared_cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cox::simulate {
namespace {

bool is_plain(const model::MessageCost& c) {
  return c.form == model::CostForm::AlphaBeta && c.reduce == TimePerByte{};
}

bool are_close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

/// Whether a message from one device to another takes over its links what `cost` says.
bool is_cost_of_way(const Network& network, int from, int to, const model::MessageCost& cost) {
  std::vector<LinkIndex> way;
  network.route(from, to, 0, way);
  Seconds latency{};
  double slowest = 0;
  for (const LinkIndex link : way) {
    latency += network.links()[link].latency;
    slowest = std::max(slowest, 1 / network.links()[link].bandwidth.in_bytes_per_s());
  }
  return are_close(latency.count(), cost.latency.count()) &&
         are_close(slowest, cost.per_byte.over(Bytes{1}).count());
}

/// Whether links say what the scenario's costs say.
bool are_costs_of(const Network& network, const model::Scenario& s) {
  const int devices = s.cluster.devices_per_node;
  return s.price == model::CollectivePrice::Rounds && is_plain(s.across) && is_plain(s.inside) &&
         (s.cluster.nodes == 1 || is_cost_of_way(network, 0, devices, s.across)) &&
         (devices == 1 || is_cost_of_way(network, 0, 1, s.inside));
}

}  // namespace

bool is_affordable(const model::Schedule& schedule) {
  std::int64_t messages = 0;
  std::vector<model::Transfer> round;
  for (int lane = 0; lane < schedule.lanes(); ++lane)
    for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
      schedule.transfers(k, round, lane);
      messages += static_cast<std::int64_t>(round.size());
      if (messages > kMostPlayed) return false;
    }
  return true;
}

std::int64_t card_of(const model::Cluster& c, std::int64_t device) {
  const std::int64_t devices = std::max(1, c.devices_per_node), cards = std::max(1, c.nics_per_node);
  return device / devices * cards + device % devices * cards / devices;
}

bool has_lists(const model::Schedule& schedule) {
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    const std::int64_t rounds = schedule.rounds(lane);
    if (rounds > 0 && (!schedule.regular(0, lane) || !schedule.regular(rounds - 1, lane))) return true;
  }
  return false;
}

double about_messages(const model::Schedule& schedule) {
  double all = 0;
  for (int lane = 0; lane < schedule.lanes(); ++lane)
    all += static_cast<double>(schedule.rounds(lane)) * schedule.participants();
  return all;
}

bool shares_cards_both_ways(const model::Scenario& s, const model::Schedule& schedule) {
  const model::Algorithm a = schedule.spec().algorithm;
  return s.cluster.nodes > 1 && schedule.lanes() == 2 &&
         (a == model::Algorithm::BidirectionalRing || a == model::Algorithm::DoubleBinaryTree);
}

bool meets_in_exchange(const model::Scenario& s, const model::Schedule& schedule) {
  return s.cluster.nodes > 1 && s.cluster.devices_per_node > 1 &&
         schedule.spec().algorithm == model::Algorithm::Direct;
}

bool shares_cards_in_lists(const model::Scenario& s, const model::Schedule& schedule) {
  return s.cluster.nodes > 1 && s.cluster.nics_per_node < s.cluster.devices_per_node &&
         schedule.spec().algorithm != model::Algorithm::Direct && has_lists(schedule);
}

std::string serves_in_turn_note(const model::Schedule& schedule) {
  constexpr std::int64_t kLooked = 64;  // trees have full rounds soon
  // Two trees at one card are told by whoever prices them; inside a node nobody tells.
  if (schedule.participants() != schedule.ranks() || schedule.lanes() > 1 || !has_lists(schedule)) return {};
  std::vector<model::Transfer> round;
  std::vector<int> ends;
  for (std::int64_t k = 0; k < std::min(kLooked, schedule.rounds()); ++k) {
    schedule.transfers(k, round);
    for (const auto end : {&model::Transfer::from, &model::Transfer::to}) {
      ends.clear();
      for (const model::Transfer& m : round) ends.push_back(m.*end);
      std::ranges::sort(ends);
      if (std::ranges::adjacent_find(ends) != ends.end())
        return fmt::format(
            "{}: what a rank sends or gets in one round goes through its port one after the other; on links it is shared "
            "(--engine flow), and a binary tree over eight nodes is a ninth shorter",
            name_of(schedule.spec().algorithm));
    }
  }
  return {};
}

bool network_may_stand_in(const model::Scenario& s, const Network& network) {
  const bool shares = s.protocol == model::Protocol::Rendezvous || s.protocol == model::Protocol::Eager;
  return s.engine == model::EngineKind::Auto && shares && are_costs_of(network, s);
}

bool flow_may_stand_in(const model::Scenario& s, const model::Schedule& schedule, const Network& network) {
  return network_may_stand_in(s, network) && is_affordable(schedule);
}

}  // namespace cox::simulate
