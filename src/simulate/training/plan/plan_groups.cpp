// SPDX-License-Identifier: Apache-2.0
// Groups of ranks that communicate, and what their messages cost.
#include <algorithm>
#include <utility>
#include <vector>

#include "simulate/max_plus/shared_ports.hpp"
#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

bool Plan::uses(ReplicaGroup of) const {
  switch (of) {
    case ReplicaGroup::All:  // servers stand between the workers
      return !job().is_hybrid() && !scenario_.policy.has_servers();
    case ReplicaGroup::Shards:
      return job().is_hybrid();
    case ReplicaGroup::Copies:
      return job().is_hybrid() && !scenario_.policy.has_servers();
    case ReplicaGroup::Experts:
      break;
  }
  return job().moe_layers > 0;
}

bool Plan::gathers(ReplicaGroup of) const {
  return job().zero_stage > 0 && of == sharing();
}

Bytes Plan::shard_of(Bytes bytes) const {
  return model::chunk_bytes(bytes, costs(ReplicaGroup::Shards).members, 0);
}

/// How many neighbours in a group surely share a node where ranks are packed.
int Plan::packed_per_node(ReplicaGroup of) const {
  const model::Layout& l = layout();
  const int devices = std::max(1, scenario_.cluster.devices_per_node);
  const int replica = l.tensor * l.context * l.pipeline;
  // Stages lie between replicas, so only whole replicas in a node bring data-parallel ranks together.
  const int replicas = devices % replica == 0 ? devices / replica : 0;
  const int context = devices % l.tensor == 0 ? std::min(l.context, devices / l.tensor) : 1;
  const int alone = context > 0 && l.context % context == 0 ? context : 1;
  const int size = groups_.size(of);
  // Groups of neighbours begin anywhere in a node, so they are inside only where a node holds whole ones.
  const bool aligned = replicas > 0 && (replicas % size == 0 || size % replicas == 0);
  switch (of) {
    case ReplicaGroup::All:
      return replicas > 0 ? replicas * l.context : alone;
    case ReplicaGroup::Shards:
      return aligned ? replicas * l.context : replicas > 0 ? 1 : alone;
    case ReplicaGroup::Copies: {
      const int shard = groups_.size(ReplicaGroup::Shards);
      return replicas > shard && replicas % shard == 0 ? replicas / shard : 1;
    }
    case ReplicaGroup::Experts:
      break;
  }
  return aligned ? replicas : 1;
}

void Plan::set_groups() {
  const model::Layout& l = layout();
  const int devices = std::max(1, scenario_.cluster.devices_per_node);
  const auto costs = [&](int per_node, int members) {
    GroupCosts g;
    g.members = members;
    g.per_node = std::min(per_node, members);
    g.links.inside = scenario_.inside;
    g.links.across = scenario_.across;
    g.links.ranks_per_node = per_node;
    if (per_node >= members)
      g.links = {.inside = scenario_.inside, .across = scenario_.inside, .ranks_per_node = 1, .into = {}};
    return g;
  };
  tensor_ = costs(devices % l.tensor == 0 || l.tensor % devices == 0 ? devices : 1, l.tensor);
  context_ = costs(devices % l.tensor == 0 ? std::max(1, devices / l.tensor) : 1, l.context);
  for (const ReplicaGroup of : kAllReplicaGroups)
    costs_[static_cast<std::size_t>(of)] =
        costs(std::max(1, packed_per_node(of)), groups_.size(of) * groups_.ranks_of_member(of));
}

/// Of group `group` of a stage, those of its ranks that begin at context rank `c`, first tensor rank.
std::vector<int> Plan::members_of(ReplicaGroup of, int group, int stage, int c) const {
  std::vector<int> ranks;
  for (int m = 0; m < groups_.size(of); ++m)
    for (int i = 0; i < groups_.ranks_of_member(of); ++i)
      ranks.push_back(rank_of(groups_.replica_of(of, group, m), stage, (c + i) * layout().tensor));
  return ranks;
}

/// Where several messages of a group's collective meet at a port, each has a part of it.
Status Plan::share_ports() {
  for (const ReplicaGroup of : kAllReplicaGroups) {
    GroupCosts& group = costs_[static_cast<std::size_t>(of)];
    const bool exchange = of == ReplicaGroup::Experts;
    COX_TRY(const model::Schedule made,
            schedule(exchange ? model::Collective::AllToAll : model::Collective::AllReduce, Bytes{}, of));
    const bool meets = made.lanes() > 1 || made.spec().algorithm != model::Algorithm::Ring;
    if (group.per_node < group.members && meets)
      group.links =
          with_shared_ports(std::move(group.links), made, scenario_.cluster, members_of(of, 0, 0, 0));
  }
  return {};
}

}  // namespace cox::simulate::training
