// SPDX-License-Identifier: Apache-2.0
// Who sums gradients, where a policy does not wait for all.
#include <algorithm>

#include "simulate/collective/shared_cards.hpp"
#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

int spread_per_node(const GroupCosts& group, int members) {
  const int nodes = (group.members + group.per_node - 1) / group.per_node;
  return std::max(1, (members + nodes - 1) / nodes);
}

int Plan::summing(ReplicaGroup of) const {
  const int all = costs(of).members;
  const bool among_workers = of == ReplicaGroup::All || of == ReplicaGroup::Copies;
  if (scenario_.policy.kind != model::PolicyKind::Backup || !among_workers) return all;
  const int workers = layout().data / job().replicas_per_worker();
  return all / workers * std::max(1, workers - scenario_.policy.backups);
}

Bytes Plan::widest_stage() const {
  Bytes widest{};
  for (int s = 0; s < stages(); ++s) widest = std::max(widest, stage_bytes(s));
  return widest;
}

/// Sums of one step among backup workers on a shared network, where nothing asks for links but the fabric: more than are
/// played soon.
Result<bool> Plan::too_many_for_backups() const {
  if (scenario_.policy.kind != model::PolicyKind::Backup || scenario_.engine != model::EngineKind::Auto ||
      scenario_.fabric.timeouts.of_ports() ||
      model::needs_links(scenario_.cluster, scenario_.job.places, scenario_.neighbours))
    return false;
  const ReplicaGroup of = job().is_hybrid() ? ReplicaGroup::Copies : ReplicaGroup::All;
  COX_TRY(const model::Schedule made, schedule(model::Collective::AllReduce, Bytes{}, of, summing(of)));
  const double groups = double{1} * ranks() / std::max(1, costs(of).members);  // of all stages
  return about_messages(made) * groups > static_cast<double>(kMostPlayed);
}

}  // namespace cox::simulate::training
