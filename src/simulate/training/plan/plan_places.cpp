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
  COX_CHECK(check_places(s, plays_links(s, model::Workload::Training), s.policy.in_step()));
  COX_TRY(devices_, devices_of_job(s, s.seed, ranks()));
  slowness_ = slowness_of(s.cluster, devices_);
  if (s.job.places.rule == model::PlaceRule::Packed) return {};
  if (job().input.prepare > Seconds{} || job().input.link > Bandwidth{})
    return fail({.code = Errc::InvalidInput,
                 .id = "simulate-003",
                 .message = "who shares a node's cores and link for input is counted in the order of ranks",
                 .hint = "leave job.placement out, or job.input",
                 .where = std::nullopt});
  const model::Layout& l = layout();
  const int unit = ranks_per_unit();
  const auto rank = [&](int replica, int stage, int c) {
    return (replica * stages() + stage) * unit + c * l.tensor;
  };
  std::vector<std::vector<int>> data, experts;
  for (int stage = 0; stage < stages(); ++stage) {
    std::vector<int>& group = data.emplace_back();
    for (int d = 0; d < l.data; ++d)
      for (int c = 0; c < l.context; ++c) group.push_back(rank(d, stage, c));
    for (int first = 0; first < l.data; first += l.expert)
      for (int c = 0; c < l.context; ++c) {
        std::vector<int>& exchange = experts.emplace_back();
        for (int e = 0; e < l.expert; ++e) exchange.push_back(rank(first + e, stage, c));
      }
  }
  data_.per_node = sharing_a_node(data);
  expert_.per_node = sharing_a_node(experts);
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
