// SPDX-License-Identifier: Apache-2.0
// Whether a step's collectives have their links to themselves, so that no network has to be played.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "simulate/flow/own_links.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/plan/transfer.hpp"

namespace cox::simulate::training {

/// Where the engine is ours to choose, and all that goes between units are the data collectives of one stage: each
/// group's one after the other. Hashes of ECMP are of the seed, which is not the plan's.
bool Plan::may_own_links() const {
  const model::Fabric& fabric = scenario_.fabric;
  return network_ != nullptr && !inner_on_network_ && max_plus_may_stand_in(scenario_) &&
         has_fixed_routes(fabric) && fabric.routing == model::Routing::Static && stages() == 1 &&
         layout().expert == 1;
}

Status Plan::find_own_links() {
  if (!may_own_links()) return {};
  OwnLinks own(*network_, scenario_.fabric, scenario_.seed, scenario_.fabric.timeouts.happen());
  std::map<ReplicaGroup, int> teams;
  for (const ReplicaGroup of : kDataGroups) {
    if (!uses(of)) continue;
    const int beside = ranks_per_unit() / groups_.ranks_of_member(of);
    std::vector<int> devices;
    for (int g = 0; g < groups_.count(of); ++g) {
      const std::vector<int> some = devices_of(*this, {.of = of, .group = g}, costs(of).members, beside);
      devices.insert(devices.end(), some.begin(), some.end());
    }
    teams[of] = own.add_team(std::move(devices), beside * groups_.count(of));
  }
  for (std::size_t m = 0; m < std::size(code_); ++m) {
    std::map<std::tuple<ReplicaGroup, model::Collective, std::int64_t>, int> times;
    for (const StageCode& stage : code_[m]) {
      for (const DataCollective& c : stage.data) ++times[{c.of, c.kind, c.bytes.count()}];
    }
    if (!code_[m].empty()) own_link_bytes_[m].assign(network_->links().size(), 0);
    for (const auto& [what, often] : times) {
      const auto& [of, kind, bytes] = what;
      COX_TRY(const model::Schedule schedule, this->schedule(kind, Bytes{bytes}, of));
      if (!own.add(teams.at(of), schedule)) return {};
      own.carry(teams.at(of), schedule, often, own_link_bytes_[m]);
    }
  }
  std::map<ReplicaGroup, LinkCosts> found;
  for (const auto& [of, team] : teams) {
    std::optional<LinkCosts> links = own.costs(team);
    if (!links) return {};
    found[of] = *std::move(links);
  }
  for (auto& [of, links] : found) costs_[static_cast<std::size_t>(of)].links = std::move(links);
  own_links_ = true;
  return {};
}

}  // namespace cox::simulate::training
