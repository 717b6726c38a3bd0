// SPDX-License-Identifier: Apache-2.0
// Whether a step's collectives have their links to themselves, so that no network has to be played.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "simulate/flow/own_links.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/plan/transfer.hpp"

namespace cox::simulate::training {

/// Where the engine is ours to choose, and all that goes between units are the data collectives of one stage: one
/// stream per rank, one collective after the other. Hashes of ECMP are of the seed, which is not the plan's.
bool Plan::may_own_links() const {
  const model::Fabric& fabric = scenario_.fabric;
  return network_ != nullptr && !inner_on_network_ && max_plus_may_stand_in(scenario_) &&
         has_fixed_routes(fabric) && fabric.routing == model::Routing::Static && stages() == 1 &&
         layout().expert == 1;
}

Status Plan::find_own_links() {
  if (!may_own_links()) return {};
  const int groups = ranks_per_unit() / layout().context;
  OwnLinks own(*network_, scenario_.fabric, scenario_.seed, scenario_.fabric.timeouts.happen());
  const int team = own.add_team(
      devices_of(*this, {.kind = TransferKind::Data}, data_.members, groups, layout().context), groups);
  for (std::size_t m = 0; m < std::size(code_); ++m) {
    std::map<std::pair<model::Collective, std::int64_t>, int> times;
    for (const StageCode& stage : code_[m]) {
      for (const DataCollective& c : stage.data) ++times[{c.kind, c.bytes.count()}];
    }
    if (!code_[m].empty()) own_link_bytes_[m].assign(network_->links().size(), 0);
    for (const auto& [what, often] : times) {
      COX_TRY(const model::Schedule schedule, this->schedule(what.first, Bytes{what.second}, data_.members));
      if (!own.add(team, schedule)) return {};
      own.carry(team, schedule, often, own_link_bytes_[m]);
    }
  }
  std::optional<LinkCosts> costs = own.costs(team);
  if (!costs) return {};
  data_.links = *std::move(costs);
  own_links_ = true;
  return {};
}

}  // namespace cox::simulate::training
