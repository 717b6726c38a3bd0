// SPDX-License-Identifier: Apache-2.0
// Whether messages of one group's collectives, one after the other, meet in a port or a card on one switch.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "simulate/collective/meetings.hpp"
#include "simulate/collective/setup.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/plan/transfer.hpp"

namespace cox::simulate::training {

/// Whether rounds are played that max-plus knows.
bool Plan::asks_who_meets() const {
  return scenario_.price == model::CollectivePrice::Rounds &&
         scenario_.protocol == model::Protocol::Rendezvous && scenario_.policy.in_step();
}

/// Whether members of a group come to its collectives at the same time: nothing is drawn, all compute as long, and what they wait for
/// takes as long.
bool Plan::come_together() const {
  bool alike = is_quiet(scenario_) && slowness_.empty() && !job().input.takes_time() && job().pace.empty();
  for (int s = 0; s + 1 < stages() && alike; ++s)
    for (int d = 1; d < layout().data; ++d) {
      const auto inside = [&](int replica) {
        return goes_inside(replica * stages() + s, replica * stages() + s + 1);
      };
      alike = alike && inside(d) == inside(0);
    }
  return alike;
}

/// If none do, a card and a scale-up port are two ports for max-plus, too. Parts that differ by a byte are no reason to play a step.
bool Plan::meet(GroupCosts& group, const std::vector<model::Schedule>& schedules,
                const std::vector<int>& devices, bool together) {
  // Channels of a ring share ports as all of a round does (`share_ports`) while members are as far as each other.
  const auto is_ring = [&](const model::Schedule& s) {
    return passes_on(s) || (together && s.spec().algorithm == model::Algorithm::Ring);
  };
  if (std::ranges::all_of(schedules, is_ring)) {
    for (const model::Schedule& s : schedules)
      parts_differ_ =
          parts_differ_ || (s.lanes() > 1 && s.spec().bytes.count() % (s.ranks() * s.lanes()) != 0);
    return false;
  }
  if (std::ranges::any_of(schedules, [](const model::Schedule& s) { return s.participants() != s.ranks(); }))
    return true;
  Turns turns{.schedules = schedules,
              .devices = devices,
              .groups = static_cast<int>(devices.size()) / group.members,
              .together = together,
              .alike = 0,
              .delays = model::disturbs_messages(scenario_) || scenario_.fabric.timeouts.happen()};
  bool meets = may_meet(scenario_.cluster, scenario_.seed, turns);
  if (meets && together) {
    turns.alike = Turns{}.alike;
    meets = may_meet(scenario_.cluster, scenario_.seed, turns);
    parts_differ_ = parts_differ_ || !meets;
  }
  group.links.own_ways = !meets;
  return meets;
}

/// All-reduces of tensor groups, and all-gathers of context groups, whose members come together.
Status Plan::find_who_meets_inside() {
  if (!asks_who_meets()) return {};
  for (const bool tensor : {true, false}) {
    GroupCosts& group = tensor ? tensor_ : context_;
    const auto kind = tensor ? model::Collective::AllReduce : model::Collective::AllGather;
    if (group.members == 1) continue;
    std::set<std::int64_t> sizes;
    for (int l = 0; l < static_cast<int>(job().layers.size()); ++l) sizes.insert(activations_of(l).count());
    sizes.erase(0);
    std::vector<model::Schedule> schedules;
    for (const std::int64_t bytes : sizes) {
      COX_TRY(model::Schedule made, inner_schedule({.kind = kind, .bytes = Bytes{bytes}}));
      schedules.push_back(std::move(made));
    }
    const int apart = tensor ? 1 : layout().tensor;
    std::vector<int> devices;
    for (int unit = 0; unit < units(); ++unit)
      for (int g = 0; g < ranks_per_unit() / group.members; ++g)
        for (int m = 0; m < group.members; ++m)
          devices.push_back(
              device_of(unit * ranks_per_unit() + (tensor ? g * group.members : g) + m * apart));
    inner_lists_meet_ = meet(group, schedules, devices, true) || inner_lists_meet_;
  }
  return {};
}

/// Data collectives and exchanges of experts, as the programs have them.
Status Plan::find_who_meets() {
  if (network_ || striped_ || !asks_who_meets()) return {};
  for (const ReplicaGroup of : kAllReplicaGroups) {
    GroupCosts& group = costs_[static_cast<std::size_t>(of)];
    if (!uses(of) || group.members == 1) continue;
    std::set<std::pair<model::Collective, std::int64_t>> all;
    for (const auto& stages : code_)
      for (const StageCode& stage : stages) {
        for (const DataCollective& c : stage.data)
          if (c.of == of) all.emplace(c.kind, c.bytes.count());
        for (const Bytes bytes : stage.exchanges)
          if (of == ReplicaGroup::Experts) all.emplace(model::Collective::AllToAll, bytes.count());
      }
    std::vector<model::Schedule> schedules;
    for (const auto& [kind, bytes] : all) {
      if (bytes == 0) continue;
      COX_TRY(model::Schedule made, schedule(kind, Bytes{bytes}, of));
      schedules.push_back(std::move(made));
    }
    if (schedules.empty()) continue;
    const int beside = ranks_per_unit() / groups_.ranks_of_member(of);
    std::vector<int> devices;
    for (int stage = 0; stage < stages(); ++stage)
      for (int g = 0; g < groups_.count(of); ++g) {
        const std::vector<int> some =
            devices_of(*this, {.of = of, .stage = stage, .group = g}, group.members, beside);
        devices.insert(devices.end(), some.begin(), some.end());
      }
    lists_meet_ = meet(group, schedules, devices, come_together()) || lists_meet_;
  }
  return {};
}

}  // namespace cox::simulate::training
