// SPDX-License-Identifier: Apache-2.0
// Who sums gradients, where a policy does not wait for all, and whether what workers send is played on links.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulate/collective/meetings.hpp"
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
  COX_TRY(const double messages, messages_among_workers());
  return messages > static_cast<double>(kMostPlayed);
}

/// In a step: the sums of backup workers, or what goes to servers and comes back.
Result<double> Plan::messages_among_workers() const {
  if (scenario_.policy.has_servers())
    return 2.0 * layout().data * senders_of_replica() * std::max(1, scenario_.policy.servers);
  const ReplicaGroup of = job().is_hybrid() ? ReplicaGroup::Copies : ReplicaGroup::All;
  COX_TRY(const model::Schedule made, schedule(model::Collective::AllReduce, Bytes{}, of, summing(of)));
  const double groups = double{1} * ranks() / std::max(1, costs(of).members);  // of all stages
  return about_messages(made) * groups;
}

/// Ranks of a replica that send a part of its gradients to the servers.
int Plan::senders_of_replica() const {
  return stages() * (job().is_hybrid() ? ranks_per_unit() : layout().tensor);
}

/// Cost: O(ranks).
bool Plan::workers_share_nodes() const {
  constexpr int kNobody = -1;
  const int ranks_of_worker = ranks_per_unit() * stages() * job().replicas_per_worker();
  std::vector<int> first(static_cast<std::size_t>(scenario_.cluster.nodes), kNobody);
  for (int rank = 0; rank < ranks(); ++rank) {
    int& worker = first[static_cast<std::size_t>(node_of(rank))];
    if (worker == kNobody) worker = rank / ranks_of_worker;
    if (worker != rank / ranks_of_worker) return true;
  }
  return false;
}

/// A server is on a node with ranks on other devices than its own, which reach it by other ways than those of other nodes.
bool Plan::servers_have_ranks_beside() const {
  const model::Cluster& c = scenario_.cluster;
  return scenario_.policy.has_servers() && c.nodes > 1 && std::min(c.devices_per_node, ranks()) > 1;
}

/// Two workers may have a card or a link in common: they sit on one node, or there is more than one switch.
bool Plan::workers_share_links() const {
  const bool several = layout().data > job().replicas_per_worker();
  return several && (workers_share_nodes() || scenario_.fabric.kind != model::FabricKind::FullBisection);
}

/// Several ranks of one worker take part in a sum (its replicas under hybrid sharding, context groups), and two of them, or of those
/// beside them, are on one node. Cost: O(ranks).
bool Plan::sums_have_ranks_of_a_node() const {
  const int each = job().is_hybrid() ? job().replicas_per_worker() / layout().shard
                                     : layout().context * job().replicas_per_worker();
  if (scenario_.policy.kind != model::PolicyKind::Backup || each < 2) return false;
  std::vector<int> of_stage(
      static_cast<std::size_t>(scenario_.cluster.nodes) * static_cast<std::size_t>(stages()), 0);
  const int beside = ranks_per_unit() / layout().context;
  for (int rank = 0; rank < ranks(); ++rank) {
    const int stage = rank / ranks_per_unit() % stages();
    if (++of_stage[static_cast<std::size_t>(node_of(rank) * stages() + stage)] > beside) return true;
  }
  return false;
}

/// Of backup workers, who come when they have computed: messages of a ring or a chain have ports of one receiver each, and wait for it; others
/// meet in a card.
bool Plan::sums_meet_in_cards() const {
  if (scenario_.policy.kind != model::PolicyKind::Backup) return false;
  if (scenario_.protocol != model::Protocol::Rendezvous) return true;
  const ReplicaGroup of = job().is_hybrid() ? ReplicaGroup::Copies : ReplicaGroup::All;
  const auto made = schedule(model::Collective::AllReduce, Bytes{1}, of, summing(of));
  return made && !passes_on(*made);
}

/// Of backup workers.
bool Plan::sums_share_cards_both_ways() const {
  if (scenario_.policy.kind != model::PolicyKind::Backup) return false;
  const ReplicaGroup of = job().is_hybrid() ? ReplicaGroup::Copies : ReplicaGroup::All;
  const auto made = schedule(model::Collective::AllReduce, Bytes{1}, of, summing(of));
  return made && shares_cards_both_ways(scenario_, *made);
}

/// Arithmetic has one price for all that goes between workers, a card for each device and direction of a ring, and a server's port for
/// each rank of a replica.
bool Plan::workers_meet() const {
  const model::Cluster& c = scenario_.cluster;
  const bool share_cards = c.nodes > 1 && c.nics_per_node < std::min(c.devices_per_node, ranks());
  const bool share_servers =
      scenario_.policy.has_servers() && (senders_of_replica() > 1 || servers_have_ranks_beside());
  return share_cards || share_servers || workers_share_nodes() || sums_have_ranks_of_a_node() ||
         sums_meet_in_cards() || sums_share_cards_both_ways();
}

const model::MessageCost& Plan::among_workers() const {
  const model::Cluster& c = scenario_.cluster;
  return c.nodes == 1 && c.devices_per_node > 1 ? scenario_.inside : scenario_.across;
}

/// Where `engine` is ours to choose and workers without a common step share nodes or cards, or messages of a sum or of one worker may meet: played on links, if these cost what the
/// scenario says and a step has not too many messages.
Status Plan::play_workers() {
  if (server_network_ || scenario_.policy.in_step() || engine_for(scenario_) != model::EngineKind::MaxPlus ||
      !(workers_meet() || (workers_send_inside() && may_meet_at_ports())))
    return {};
  auto network = Network::make(scenario_.cluster, scenario_.fabric);
  if (!network || !network_may_stand_in(scenario_, *network)) return {};  // no links are said, or others
  COX_TRY(const double messages, messages_among_workers());
  misses_links_ = messages > static_cast<double>(kMostPlayed);
  if (!misses_links_) take_network(std::make_shared<const Network>(*std::move(network)));
  return {};
}

/// Between stages, among experts, or in the group that holds a set of shards.
bool Plan::workers_send_inside() const {
  return stages() > 1 || (layout().expert > 1 && job().moe_layers > 0) ||
         (job().is_hybrid() && costs(ReplicaGroup::Shards).members > 1);
}

/// Where the fabric or places ask for links, or messages of a worker may meet at a port or those of another worker, what it sends within
/// itself goes over them, too: beside what others send, where these may meet it. Else it costs what the scenario says. Input comes by a
/// clock of its own, which may be behind that of the network, so that workers with input are played one by one.
Status Plan::play_inside_workers() {
  model::Scenario ours = scenario_;
  ours.engine = model::EngineKind::Auto;
  if (!server_network_ || !workers_send_inside() ||
      !(plays_links(ours, model::Workload::Training) || may_meet_at_ports() || workers_share_links()))
    return {};
  COX_TRY(const double messages, messages_of_step());
  workers_on_links_ =
      messages <= static_cast<double>(kMostPlayed) || scenario_.engine == model::EngineKind::Flow;
  workers_together_ = workers_on_links_ && workers_share_links() && !job().input.takes_time();
  return {};
}

std::vector<std::string> Plan::unmodelled_among_workers() const {
  const model::PolicySpec& policy = scenario_.policy;
  std::vector<std::string> all;
  // A step has a network of its own, and workers that do not wait for each other may be in different ones.
  const bool apart = !scenario_.cluster.classes.empty() ||
                     std::ranges::any_of(scenario_.noise, [](const model::NoiseSource& n) { return !n.off; });
  if (policy.kind == model::PolicyKind::LocalSgd && policy.local_steps > 1 && apart &&
      workers_share_links() && (workers_send_inside() || leaves_node(tensor_) || leaves_node(context_)))
    all.emplace_back(
        "cards and links that workers share which are in different steps between averages: each step has them to itself");
  if (policy.in_step()) return all;
  if (!server_network_ && engine_for(scenario_) == model::EngineKind::Flow)
    all.emplace_back(
        scenario_.fabric.kind == model::FabricKind::Graph
            ? "links that workers share, who have no common step"
            : "links that workers share: more messages than can be played soon (--engine flow does it)");
  const bool beside_servers = workers_together_ && policy.has_servers();
  const bool sends_inside = ranks_per_unit() > 1 || (workers_send_inside() && !beside_servers);
  const bool groups_leave = leaves_node(tensor_) || leaves_node(context_);
  if (server_network_ && ((workers_send_inside() && !workers_together_) || groups_leave) &&
      workers_share_links())
    all.emplace_back(
        "messages that two workers send, each within itself, through one card or link: each has it to itself");
  if (server_network_ && sends_inside)
    all.emplace_back(policy.has_servers()
                         ? "messages inside a worker on links that those to the servers cross"
                         : "messages inside a worker on links that sums among workers cross");
  const bool by_rounds = scenario_.price == model::CollectivePrice::Rounds;
  if (!server_network_ && scenario_.cluster.nodes > 1 && (policy.has_servers() || by_rounds) &&
      (policy.has_servers() || policy.backups > 0) && workers_share_nodes())
    all.push_back(fmt::format("messages between workers of a node: they cost what those between nodes do{}",
                              flow_does_it()));
  if (!server_network_ && scenario_.cluster.nodes > 1 && by_rounds && sums_have_ranks_of_a_node())
    all.push_back(
        fmt::format("messages of a sum between ranks of a node: they cost what those between nodes do{}",
                    flow_does_it()));
  if (!server_network_ && by_rounds && sums_meet_in_cards())
    all.push_back(fmt::format("messages of a sum that meet in a rank's port or card: each has it to itself{}",
                              flow_does_it()));
  if (!server_network_ && servers_have_ranks_beside() && !workers_share_nodes())
    all.push_back(fmt::format(
        "messages to servers of their own node: they cost what those between nodes do{}", flow_does_it()));
  if (!server_network_ && policy.has_servers() && senders_of_replica() > 1)
    all.push_back(fmt::format("what {} ranks of a replica send to one server: each has a port of it{}",
                              senders_of_replica(), flow_does_it()));
  if (!server_network_ && by_rounds && sums_share_cards_both_ways())
    all.push_back(fmt::format(
        "two directions of a ring, or two trees, at one card: each has a card of its own{}", flow_does_it()));
  const model::Fabric& fabric = scenario_.fabric;
  const bool only_links = fabric.background_load > 0 ||
                          fabric.switching == model::Switching::StoreAndForward ||
                          model::has_unlike_ways(scenario_.cluster);
  if (only_links && workers_send_inside() && !workers_on_links_)
    all.push_back(fmt::format(
        "background load, store and forward, and cards of classes in what a worker sends between its stages, experts and "
        "shards{}",
        server_network_ ? flow_does_it() : ""));
  if (server_network_ && only_links && groups_leave)
    all.emplace_back(
        "background load, store and forward, and cards of classes in what tensor and context groups of a worker send");
  if (server_network_ && !workers_on_links_ && workers_send_inside() && may_meet_at_ports())
    all.push_back(fmt::format(
        "messages of a worker's stages, experts and shards that meet at a port or card: more than can be played soon{}",
        flow_does_it()));
  const bool groups_share =
      groups_leave ||
      (ranks_per_unit() > 1 &&
       std::max(streams(Way::Inside).size(),
                has_one_way(scenario_.cluster) ? streams(Way::Across).size() : std::size_t{0}) > 1);
  if (server_network_ && groups_share)
    all.emplace_back(
        "messages of tensor and context groups on links that others of their worker, or of the fabric, use: each has its "
        "way to itself");
  if (policy.backups > 0)
    all.emplace_back(server_network_ ? "what a late worker reads, on links that the others use"
                                     : "what a late worker reads, on cards that the others use");
  return all;
}

}  // namespace cox::simulate::training
