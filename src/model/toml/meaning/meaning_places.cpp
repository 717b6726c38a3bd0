// SPDX-License-Identifier: Apache-2.0
// Which keys about places have a meaning.
#include <algorithm>

#include "model/toml/meaning/sections.hpp"

namespace cox::model {
namespace {

bool has_cards(const Draft& d) {
  return d.scenario.fabric.kind != FabricKind::Torus && d.scenario.fabric.kind != FabricKind::Graph;
}

/// Which card a device uses is a matter of links that are played.
std::optional<Unread> unread_reach(std::string_view key, const Draft& d) {
  const Cluster& c = d.scenario.cluster;
  if (c.nodes == 1) return one_node();
  if (!has_cards(d))
    return Unread{.chooses = "fabric.kind", .hint = "nodes have no cards there: leave it out"};
  std::optional<Unread> played = unless(plays_links(d), no_links(d));
  if (key == "cluster.nic_of") return played;
  Unread nobody = {.chooses = "cluster.nic_of",
                   .hint = "each device has a card that it reaches without: give cluster.nic_of",
                   .others = {kNodeClassArray}};
  const bool bridge = any_reaches(c, NicReach::Bridge);
  const bool socket = any_reaches(c, NicReach::Socket);
  const bool used = key == "cluster.sockets"             ? bridge || socket
                    : key.starts_with("cluster.bridge.") ? bridge
                                                         : socket;
  if (!used) return nobody;
  return played;
}

std::optional<Unread> unread_in_job_places(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  if (w == Workload::Goal || w == Workload::Iteration)
    return Unread{.chooses = "job.workload", .whose = "collective, training or chakra"};
  if (key == "job.placement" && d.job.places.rule == PlaceRule::Packed) return std::nullopt;  // as ever
  if (key == "job.nodes" && d.job.places.nodes.empty()) return std::nullopt;                  // all of them
  if (d.scenario.cluster.nodes == 1) return one_node();
  if (key == "job.placement_file" && d.job.places.rule != PlaceRule::File)
    return Unread{.chooses = "job.placement", .whose = "file"};
  return unless(plays_links(d), no_links(d));
}

}  // namespace

std::optional<Unread> unread_in_places(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  if (key.starts_with("job.")) return unread_in_job_places(key, d);
  if (key == kNodeClassArray)
    return unless(w == Workload::Collective || w == Workload::Training,
                  {.chooses = "job.workload", .whose = "collective or training"});
  if (key != kNeighbourArray) {
    if (w == Workload::Goal || w == Workload::Iteration) return no_links(d);
    return unread_reach(key, d);
  }
  if (w != Workload::Collective && w != Workload::Training)
    return Unread{.chooses = "job.workload", .whose = "collective or training"};
  if (w == Workload::Training && d.scenario.policy.kind == PolicyKind::Backup)
    return Unread{.chooses = "policy.kind",
                  .whose = "synchronous, local-sgd or a policy with servers",
                  .not_simulated = true};
  if (d.scenario.cluster.nodes == 1) return one_node();
  return unless(plays_links(d), no_links(d));
}

}  // namespace cox::model
