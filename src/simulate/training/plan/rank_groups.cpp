// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/plan/rank_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace cox::simulate::training {
namespace {

/// Place of each unit's class in the cluster's list, -1 where it has none; all -1 where a unit is on nodes of two.
std::vector<int> classes_of_units(const Plan& plan) {
  const model::Cluster& cluster = plan.scenario().cluster;
  std::vector<int> out(static_cast<std::size_t>(plan.units()), -1);
  if (cluster.classes.empty()) return out;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const model::NodeClass* of = class_of(cluster, plan.device_of(rank) / cluster.devices_per_node);
    const int at = of == nullptr ? -1 : static_cast<int>(of - cluster.classes.data());
    int& unit = out[static_cast<std::size_t>(rank / plan.ranks_per_unit())];
    if (rank % plan.ranks_per_unit() != 0 && unit != at) {
      std::ranges::fill(out, -1);
      return out;
    }
    unit = at;
  }
  return out;
}

}  // namespace

RankGroups::RankGroups(const Plan& plan) {
  const std::vector<int> classes = classes_of_units(plan);
  const bool parted = std::ranges::any_of(classes, [](int c) { return c >= 0; });
  std::map<std::pair<int, int>, int> group;  // of (stage, class)
  for (std::size_t u = 0; u < classes.size(); ++u)
    group.emplace(std::pair{static_cast<int>(u) % plan.stages(), classes[u]}, 0);
  for (auto& [key, at] : group) {
    const auto& [stage, of] = key;
    at = static_cast<int>(names.size());
    std::string name = fmt::format("stage {}", stage);
    if (parted && of < 0) name += ", other nodes";
    if (parted && of >= 0) {
      const std::string& said = plan.scenario().cluster.classes[static_cast<std::size_t>(of)].name;
      name += said.empty() ? fmt::format(", class {}", of) : ", " + said;
    }
    keys.push_back(key);
    names.push_back(std::move(name));
  }
  ranks.resize(names.size());
  for (std::size_t u = 0; u < classes.size(); ++u) {
    of_unit.push_back(group.at({static_cast<int>(u) % plan.stages(), classes[u]}));
    ranks[static_cast<std::size_t>(of_unit.back())] += plan.ranks_per_unit();
  }
}

}  // namespace cox::simulate::training
