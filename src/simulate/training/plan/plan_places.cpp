// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a training job sit, and which members of its groups therefore share a node.
#include <algorithm>
#include <utility>
#include <vector>

#include "simulate/flow/places.hpp"
#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

Status Plan::set_places() {
  const model::Scenario& s = scenario_;
  COX_CHECK(
      check_places(s, plays_links(s, model::Workload::Training), s.policy.kind != model::PolicyKind::Backup));
  COX_TRY(devices_, devices_of_job(s, s.seed, ranks()));
  slowness_ = slowness_of(s.cluster, devices_);
  if (s.job.places.rule == model::PlaceRule::Packed) return {};
  if (job().input.prepare > Seconds{} || job().input.link > Bandwidth{})
    return fail({.code = Errc::InvalidInput,
                 .id = "simulate-003",
                 .message = "who shares a node's cores and link for input is counted in the order of ranks",
                 .hint = "leave job.placement out, or job.input",
                 .where = std::nullopt});
  for (const ReplicaGroup of : kAllReplicaGroups) {
    std::vector<std::vector<int>> groups;
    for (int stage = 0; stage < stages(); ++stage)
      for (int group = 0; group < groups_.count(of); ++group)
        for (int c = 0; c < layout().context; c += groups_.ranks_of_member(of))
          groups.push_back(members_of(of, group, stage, c));
    costs_[static_cast<std::size_t>(of)].per_node = sharing_a_node(groups);
  }
  return {};
}

/// How many neighbours of each group share a node, the same everywhere; 1 where that is not so.
int Plan::sharing_a_node(const std::vector<std::vector<int>>& groups) const {
  const auto node = [&](int rank) { return device_of(rank) / scenario_.cluster.devices_per_node; };
  const std::vector<int>& one = groups.front();
  const auto other = std::ranges::find_if(one, [&](int r) { return node(r) != node(one.front()); });
  const auto run = static_cast<std::size_t>(other - one.begin());
  for (const std::vector<int>& group : groups) {
    if (group.size() % run != 0) return 1;
    for (std::size_t i = 0; i < group.size(); ++i)
      if (node(group[i]) != node(group[i / run * run])) return 1;
  }
  return static_cast<int>(run);
}

}  // namespace cox::simulate::training
