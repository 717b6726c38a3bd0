// SPDX-License-Identifier: Apache-2.0
// Which engine a scenario stands for, and whether its messages share links.
#include <algorithm>

#include "cox/model/scenario.hpp"

namespace cox::model {
namespace {

bool may_share(const Scenario& s) {
  const Fabric& f = s.fabric;
  const bool shared = f.kind != FabricKind::FullBisection || f.background_load > 0 || f.incast_loss ||
                      f.pause || f.switching == Switching::StoreAndForward || f.timeouts.of_ports() ||
                      needs_links(s.cluster, s.job.places, s.neighbours);
  return shared && s.cluster.nodes > 1;
}

}  // namespace

EngineKind engine_for(const Scenario& s) {
  if (s.engine != EngineKind::Auto) return s.engine;
  // What messages take of processors the flow engine does not know.
  if (s.protocol == Protocol::LogGops) return EngineKind::MaxPlus;
  return s.plays_links || may_share(s) ? EngineKind::Flow : EngineKind::MaxPlus;
}

bool plays_links(const Scenario& s, Workload workload) {
  if (workload == Workload::Goal || workload == Workload::Iteration) return false;
  // Links of a graph file say nothing of what a worker sends inside itself.
  if (workload == Workload::Training && !s.policy.in_step() && s.fabric.kind == FabricKind::Graph)
    return false;
  return s.price == CollectivePrice::Rounds && engine_for(s) == EngineKind::Flow;
}

bool disturbs_messages(const Scenario& s) {
  return std::ranges::any_of(s.noise,
                             [](const NoiseSource& n) { return !n.off && n.target != NoiseTarget::Compute; });
}

bool max_plus_may_stand_in(const Scenario& s) {
  return s.engine == EngineKind::Auto && s.protocol == Protocol::Rendezvous && !disturbs_messages(s) &&
         !s.fabric.timeouts.of_ports() && s.neighbours.empty();
}

}  // namespace cox::model
