// SPDX-License-Identifier: Apache-2.0
// What of a step may meet at a port, and whether it is played there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/collective/shared_cards.hpp"
#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {
namespace {

bool stays_in_node(const GroupCosts& g) {
  return g.members > 1 && g.per_node > 1;
}

}  // namespace

bool has_one_way(const model::Cluster& c) {
  return c.nodes > 1 && c.devices_per_node > 1 && c.scale_up.bandwidth <= Bandwidth{} &&
         c.pcie.bandwidth > Bandwidth{};
}

bool Plan::stages_leave_nodes() const {
  for (int d = 0; d < layout().data; ++d)
    for (int s = 0; s + 1 < stages(); ++s)
      if (node_of(rank_of(d, s, 0)) != node_of(rank_of(d, s + 1, 0))) return true;
  return false;
}

bool Plan::stages_share_nodes() const {
  for (int d = 0; d < layout().data; ++d)
    for (int s = 0; s + 1 < stages(); ++s)
      if (node_of(rank_of(d, s, 0)) == node_of(rank_of(d, s + 1, 0))) return true;
  return false;
}

/// What a unit waits for in place (experts, its own ranks) is one stream. What crosses PCIe is across, wherever it goes.
std::vector<std::string_view> Plan::streams(Way way) const {
  std::vector<std::string_view> kinds;
  const bool across = way == Way::Across, both = across && has_one_way(scenario_.cluster);
  const auto goes = [&](const GroupCosts& g) {
    return (across && leaves_node(g)) || ((!across || both) && stays_in_node(g));
  };
  const bool sums = needs(Meeting::Gradients) || needs(Meeting::Parameters) || job().is_hybrid();
  if (sums && goes(costs(sharing())))
    kinds.emplace_back(job().zero_stage > 0 ? "scatters and gathers" : "sums over replicas");
  if (job().is_hybrid() && uses(ReplicaGroup::Copies) && goes(costs(ReplicaGroup::Copies)))
    kinds.emplace_back("sums among copies");
  if ((across && stages_leave_nodes()) || ((!across || both) && stages_share_nodes()))
    kinds.emplace_back("messages between stages");
  if (uses(ReplicaGroup::Experts) && layout().expert > 1 && goes(costs(ReplicaGroup::Experts)))
    kinds.emplace_back("exchanges of experts");
  else if (goes(tensor_) || goes(context_))
    kinds.emplace_back("messages of tensor and context groups");
  return kinds;
}

/// Groups beside each other that send through one card, or rounds of one group of which the card carries several messages:
/// all but a ring in the order of ranks.
bool Plan::groups_share_cards() const {
  const model::Cluster& c = scenario_.cluster;
  if (c.nodes == 1 || c.nics_per_node >= c.devices_per_node) return false;
  if (stages_leave_nodes()) return true;
  return std::ranges::any_of(kAllReplicaGroups, [&](ReplicaGroup of) {
    const bool ring = of != ReplicaGroup::Experts && job().collective.algorithm == model::Algorithm::Ring &&
                      job().collective.channels == 1;
    return uses(of) && leaves_node(costs(of)) && !(ring && costs(of).per_node == c.devices_per_node);
  });
}

/// Two directions of a ring, or two trees, go through one port or card of a rank.
bool Plan::lanes_share_ports() const {
  const auto two = [](const Result<model::Schedule>& made) {
    return made && made->lanes() > 1 && made->spec().algorithm != model::Algorithm::Ring;
  };
  return std::ranges::any_of(kDataGroups, [&](ReplicaGroup of) {
    return uses(of) && costs(of).members > 1 && two(schedule(gradients(Bytes{1}, of).kind, Bytes{1}, of));
  });
}

bool Plan::may_meet_at_ports() const {
  const std::size_t across = streams(Way::Across).size(), inside = streams(Way::Inside).size();
  // A rank begins its next message before the one that it sent is there.
  const bool eager = scenario_.protocol == model::Protocol::Eager && across + inside > 0;
  // What is drawn for each message of a tensor or context group only links have.
  const bool drawn_inside =
      (scenario_.fabric.timeouts.happen() && (leaves_node(tensor_) || leaves_node(context_))) ||
      (disturbs_messages(scenario_) && inner_would_meet());
  const bool two_ways = stages() > 2;  // forward from one, backward from another
  return across > 1 || inside > 1 || eager || two_ways || drawn_inside || exchanges_meet() ||
         groups_share_cards() || lanes_share_ports() || lists_meet_ || inner_lists_meet_;
}

/// A rank goes on to its next message while the one before is in its card.
bool Plan::exchanges_meet() const {
  return scenario_.cluster.devices_per_node > 1 && layout().expert > 1 && uses(ReplicaGroup::Experts) &&
         leaves_node(costs(ReplicaGroup::Experts));
}

/// Of a step of the kind that has the most, about.
Result<double> Plan::messages_of_step() const {
  double most = 0;
  for (const auto& stages : code_) {
    double all = inner_on_network_ ? inner_messages() : 0;
    for (const StageCode& stage : stages) {
      for (const DataCollective& c : stage.data) {
        COX_TRY(const model::Schedule made, schedule(c.kind, c.bytes, c.of));
        all +=
            about_messages(made) * groups_.count(c.of) * (ranks_per_unit() / groups_.ranks_of_member(c.of));
      }
      COX_TRY(const model::Schedule exchange,
              schedule(model::Collective::AllToAll, Bytes{}, ReplicaGroup::Experts));
      all += about_messages(exchange) * static_cast<double>(stage.exchanges.size()) *
             groups_.count(ReplicaGroup::Experts) * ranks_per_unit();
      const auto sends = std::ranges::count(stage.code, Instruction::Code::Send, &Instruction::code);
      all += static_cast<double>(sends) * layout().data * ranks_per_unit();
    }
    most = std::max(most, all);
  }
  return most;
}

/// Where `engine` is ours to choose, one switch is between all nodes, and what the step sends may meet at a port: played
/// on links, if these cost what the scenario says and a step has not too many messages. How many steps and seeds there are
/// does not count: it would change how long a step takes.
Status Plan::play_ports() {
  if (network_ || !scenario_.policy.in_step() || !may_meet_at_ports()) return {};
  auto network = Network::make(scenario_.cluster, scenario_.fabric);
  if (!network || !network_may_stand_in(scenario_, *network)) return {};  // no links are said, or others
  take_network(std::make_shared<const Network>(*std::move(network)));
  COX_TRY(const double messages, messages_of_step());
  if (messages <= static_cast<double>(kMostPlayed)) return write_programs();
  network_.reset();
  inner_meets_ = inner_on_network_ = false;
  return {};
}

std::string Plan::met_at_ports() const {
  if (scenario_.price != model::CollectivePrice::Rounds || network_ || server_network_ || striped_) return {};
  for (const Way way : {Way::Across, Way::Inside}) {
    const std::vector<std::string_view> kinds = streams(way);
    const bool across = way == Way::Across, pcie = across && has_one_way(scenario_.cluster);
    if (kinds.size() > 1)
      return fmt::format("what {} at the same time through one {} ({}): each has it to itself{}",
                         pcie     ? "a rank sends or gets"
                         : across ? "leaves a rank's node"
                                  : "goes between devices of a node",
                         pcie     ? "PCIe link"
                         : across ? "card"
                                  : "port",
                         fmt::join(kinds, ", "), flow_does_it());
  }
  if (lanes_share_ports())
    return fmt::format(
        "two directions of a ring, or two trees, at one port or card: each has one of its own{}",
        flow_does_it());
  if (stages() > 2)
    return fmt::format(
        "messages from the stage before and the stage behind that come to a rank at the same time: each has its port to "
        "itself{}",
        flow_does_it());
  if (lists_meet_ || inner_lists_meet_)
    return fmt::format(
        "messages of one collective, or of it and the next, that meet in a rank's port or card: each has it to "
        "itself{}",
        flow_does_it());
  if (groups_share_cards() && !meets_unpriced_at_cards())
    return fmt::format(
        "messages of one group at a card that its devices share: each has its part of it, as if all ranks came together{}",
        flow_does_it());
  if (scenario_.protocol == model::Protocol::EagerGap &&
      !(streams(Way::Across).empty() && streams(Way::Inside).empty()))
    return fmt::format(
        "what a rank still sends of one collective when the next begins: ports are free then{}",
        flow_does_it());
  return {};
}

}  // namespace cox::simulate::training
