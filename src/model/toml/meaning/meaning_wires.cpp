// SPDX-License-Identifier: Apache-2.0
// Which keys of nodes, of what joins them, and of what messages cost have a meaning.
#include <algorithm>
#include <string>
#include <utility>

#include "model/toml/meaning/sections.hpp"

namespace cox::model {
namespace {

std::optional<Unread> unread_inside(const Draft& d) {
  return unless(
      d.scenario.cluster.devices_per_node > 1,
      {.chooses = "cluster.devices_per_node", .hint = "a device alone sends nothing inside its node"});
}

/// Where cards of a node are divided without playing links: among channels, among the ranks of a node that cross
/// together, and in NCCL's model.
bool divides_cards(const Draft& d) {
  using enum Algorithm;
  const CollectiveSpec& c = d.job.collective;
  const bool training = d.job.workload == Workload::Training;
  if (!training && d.job.workload != Workload::Collective) return false;
  if (d.scenario.price == CollectivePrice::Nccl) return true;
  if (c.algorithm == Ring) return c.channels > 1;
  return training && is_synchronous(d) &&
         (c.algorithm == Hierarchical2 || c.algorithm == Hierarchical3 || c.algorithm == TwoLevel);
}

/// Who looks at the cards of a node beside the one that its only device sends through: NCCL's channels, the links of a tree
/// above a leaf, failures of links, and who is bound to another card.
bool sees_other_cards(const Draft& d) {
  const Scenario& s = d.scenario;
  return s.price == CollectivePrice::Nccl || (is_tree(d) && plays_links(d)) ||
         fails_per(d, FailureUnit::Link) || !s.cluster.nic_of.empty() ||
         std::ranges::any_of(s.cluster.classes,
                             [](const NodeClass& c) { return !c.nic_of.empty() || c.nics > 0; });
}

/// A key of the fabric that its kind does not have.
std::optional<Unread> unread_by_kind(std::string_view key, const Draft& d) {
  const FabricKind kind = d.scenario.fabric.kind;
  const auto only = [](bool reads, std::string whose) {
    return unless(reads, {.chooses = "fabric.kind", .whose = std::move(whose)});
  };
  if (key == "fabric.tiers") return only(kind == FabricKind::FatTree, "fat-tree");
  if (key == "fabric.leaves_per_pod" || key == "fabric.pod_oversubscription") {
    if (kind != FabricKind::FatTree) return only(false, "fat-tree");
    return unless(d.scenario.fabric.tiers == 3,
                  {.chooses = "fabric.tiers", .hint = "a tree of two tiers has no pods"});
  }
  if (key == "fabric.hosts_per_leaf") {
    // Nodes of one switch share the draws of a noise source with that scope, whatever the fabric.
    return unless(is_tree(d) || has_noise_of(d, NoiseScope::Switch),
                  {.chooses = "fabric.kind", .whose = "fat-tree or rail-optimised", .others = {kNoiseArray}});
  }
  if (key == "fabric.torus") return only(kind == FabricKind::Torus, "torus");
  if (key.starts_with("fabric.dragonfly.")) return only(kind == FabricKind::Dragonfly, "dragonfly");
  if (key == "fabric.graph_file") return only(kind == FabricKind::Graph, "graph");
  if (key.starts_with("fabric.link."))
    return only(kind != FabricKind::FullBisection && kind != FabricKind::Graph,
                "fat-tree, rail-optimised, torus or dragonfly");
  if (key == "fabric.oversubscription") return only(is_tree(d), "fat-tree or rail-optimised");
  if (key == "fabric.routing" || key == "fabric.background_load")
    return only(kind != FabricKind::FullBisection, "a kind with links between switches");
  if (key == "fabric.flows_per_connection")
    return unless(d.scenario.fabric.routing == Routing::Ecmp, {.chooses = "fabric.routing", .whose = "ecmp"});
  if (key == "fabric.incast_loss" || key == "fabric.timeout.flows")
    return only(kind != FabricKind::Torus, "a kind whose nodes hang at a switch");
  return std::nullopt;
}

bool adds_up(Collective kind) {
  return kind == Collective::AllReduce || kind == Collective::ReduceScatter || kind == Collective::Reduce;
}

/// What messages and sums take of the processors at both ends.
std::optional<Unread> unread_of_processors(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const bool reduce = key == "cost.reduce";
  if (w != Workload::Collective && w != Workload::Training)
    return Unread{.chooses = "job.workload",
                  .whose = reduce ? "collective or training" : "goal, collective or training"};
  // There cost.protocol has no meaning, which would be the next refusal.
  if (w == Workload::Training && !is_synchronous(d) && d.scenario.policy.kind != PolicyKind::Backup)
    return Unread{.chooses = "policy.kind", .whose = "synchronous, local-sgd or backup"};
  if (d.scenario.protocol != Protocol::LogGops) return Unread{.chooses = "cost.protocol", .whose = "loggops"};
  if (reduce && w == Workload::Collective && !adds_up(d.job.collective.kind))
    return Unread{.chooses = "job.collective.kind", .whose = "all-reduce, reduce-scatter or reduce"};
  if (reduce && w == Workload::Training && !sums_with_others(d.job.training) &&
      d.job.training.layout.tensor == 1)
    return single_replica("a single replica sums no gradients, and messages between stages are not added up");
  return std::nullopt;
}

/// Where messages are played or drawn one by one.
std::optional<Unread> unread_timeout(const Draft& d) {
  const Workload w = d.job.workload;
  if (w != Workload::Collective && w != Workload::Training)
    return Unread{.chooses = "job.workload", .whose = "collective or training"};
  if (d.scenario.price != CollectivePrice::Rounds) return Unread{.chooses = "cost.form", .whose = "rounds"};
  if (d.scenario.engine == EngineKind::ClosedForm)
    return Unread{.chooses = "engine", .hint = "a closed form loses nothing: say max-plus or flow"};
  return std::nullopt;
}

}  // namespace

Unread no_links(const Draft& d) {
  const Workload w = d.job.workload;
  if (w == Workload::Goal || w == Workload::Iteration)
    return {.chooses = "job.workload", .whose = "collective, training or chakra"};
  if (w == Workload::Training && !is_synchronous(d) && d.scenario.fabric.kind == FabricKind::Graph)
    return {.chooses = "policy.kind", .whose = "synchronous or local-sgd", .not_simulated = true};
  if (d.scenario.protocol == Protocol::LogGops)
    return {
        .chooses = "cost.protocol",
        .hint = d.scenario.engine == EngineKind::Auto
                    ? "under loggops each message has its way to itself: say another protocol, and links are "
                      "played"
                    : "under loggops each message has its way to itself: say another protocol, and leave "
                      "`engine` out, or say flow"};
  if (d.scenario.price != CollectivePrice::Rounds) return {.chooses = "cost.form", .whose = "rounds"};
  if (d.scenario.engine != EngineKind::Auto)
    return {.chooses = "engine", .hint = "only the flow engine plays links: leave `engine` out, or say flow"};
  if (d.scenario.cluster.nodes == 1) return one_node();
  return {.chooses = "fabric.kind",
          .hint = "there each device has the way to the one switch alone; engine = \"flow\" plays the links"};
}

std::optional<Unread> unread_in_cluster(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const FabricKind kind = d.scenario.fabric.kind;
  if (key == "cluster.device.memory") {
    if (w != Workload::Training) return Unread{.chooses = "job.workload", .whose = "training"};
    return unless(knows_memory(d.job.training), nothing_to_hold());
  }
  if (key == "cluster.device.peak") {
    if (w != Workload::Training) return Unread{.chooses = "job.workload", .whose = "training"};
    return unless(
        d.size.parameters > 0,
        {.chooses = "job.model.parameters",
         .hint = "[[job.layers]] say their times themselves; [job.model] derives them from the peak"});
  }
  if (w == Workload::Goal && key == "cluster.nodes")
    return unless(is_tree(d),
                  {.chooses = "job.workload", .hint = "the schedule says how many ranks there are"});
  if (w == Workload::Goal && (key == "cluster.devices_per_node" || key.starts_with("cluster.scale_up.")))
    return Unread{.chooses = "job.workload", .hint = "all messages of a schedule cost what cost.across says"};
  const bool ways = key == "cluster.nics_per_node" || key.starts_with("cluster.scale_up.") ||
                    key.starts_with("cluster.nic.") || key.starts_with("cluster.pcie.");
  if (w == Workload::Iteration)
    return unless(!ways, {.chooses = "job.workload", .hint = "its ranks share iteration.link"});
  const bool cards = kind != FabricKind::Torus && kind != FabricKind::Graph;
  if (key.starts_with("cluster.nic.") || key == "cluster.nics_per_node") {
    if (!cards)
      return Unread{.chooses = "fabric.kind",
                    .hint = kind == FabricKind::Torus ? "nodes of a torus have no cards: write fabric.link"
                                                      : "the links are those of fabric.graph_file"};
    // A card for each device is what all engines take; that some share one only the flow engine knows in general.
    const Cluster& c = d.scenario.cluster;
    if (key == "cluster.nics_per_node" && has_noise_of(d, NoiseScope::Rail)) return std::nullopt;
    const bool may_play = d.scenario.engine == EngineKind::Auto &&
                          d.scenario.price == CollectivePrice::Rounds &&
                          d.scenario.protocol != Protocol::LogGops;
    if (key == "cluster.nics_per_node" && !plays_links(d) && !divides_cards(d) && !may_play &&
        c.nics_per_node < c.devices_per_node)
      return no_links(d);
    if (c.nodes == 1) return one_node();
    if (key == "cluster.nics_per_node" && c.devices_per_node == 1 && c.nics_per_node > 1 &&
        !sees_other_cards(d))
      return Unread{.chooses = "cluster.devices_per_node",
                    .hint =
                        "a device sends through one card, and the others of its node lie idle: say the rate "
                        "of all in cluster.nic.bandwidth where messages are striped over them"};
    return std::nullopt;
  }
  if (key.starts_with("cluster.scale_up.")) return unread_inside(d);
  const Cluster& c = d.scenario.cluster;
  if (key.starts_with("cluster.pcie.") && (c.devices_per_node == 1 || c.scale_up.bandwidth > Bandwidth{}))
    return unless(c.nodes > 1, one_node());
  return std::nullopt;
}

std::optional<Unread> unread_in_fabric(std::string_view key, const Draft& d) {
  if (d.job.workload == Workload::Iteration)
    return Unread{.chooses = "job.workload", .whose = "collective, training, goal or chakra"};
  if (auto reason = unread_by_kind(key, d)) return reason;
  const bool of_links =
      is_one_of(key, {"fabric.oversubscription", "fabric.pod_oversubscription", "fabric.routing",
                      "fabric.flows_per_connection", "fabric.switching", "fabric.incast_loss", "fabric.pause",
                      "fabric.background_load", "fabric.timeout.flows"});
  // What of time-outs their own keys switch off; links may then be played no more, which is not why.
  if (auto reason = unread_beside(key, d)) return reason;
  if (of_links && !plays_links(d)) return no_links(d);
  if (key.starts_with("fabric.timeout."))
    if (auto reason = unread_timeout(d)) return reason;
  return unless(d.scenario.cluster.nodes > 1 || d.job.workload == Workload::Goal, one_node());
}

std::optional<Unread> unread_in_cost(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  if (w == Workload::Iteration)
    return Unread{.chooses = "job.workload", .hint = "its ranks share iteration.link"};
  if (key == "cost.form")
    return unless(w == Workload::Collective || w == Workload::Training,
                  {.chooses = "job.workload", .whose = "collective or training"});
  const CollectivePrice price = d.scenario.price;
  if (key == "cost.table")
    return unless(price == CollectivePrice::Table, {.chooses = "cost.form", .whose = "table"});
  if (key.starts_with("cost.nccl."))
    return unless(price == CollectivePrice::Nccl, {.chooses = "cost.form", .whose = "nccl"});
  if (price != CollectivePrice::Rounds && w == Workload::Collective)
    return Unread{.chooses = "cost.form", .whose = "rounds"};
  if (key == "cost.protocol") {
    if (w == Workload::Goal)
      return Unread{.chooses = "job.workload", .hint = "cost.across.eager_limit says which messages wait"};
    const PolicyKind kind = d.scenario.policy.kind;
    if (w == Workload::Training && !is_synchronous(d) && kind != PolicyKind::Backup)
      return Unread{.chooses = "policy.kind", .whose = "synchronous, local-sgd or backup"};
    const TrainingJob& t = d.job.training;
    if (w == Workload::Training && d.scenario.protocol != Protocol::LogGops && !sums_with_others(t) &&
        t.layout.tensor == 1)
      return single_replica("messages between stages have none but loggops");
    return std::nullopt;
  }
  const std::string_view name = key.substr(key.rfind('.') + 1);
  if (w == Workload::Goal && key != "cost.reduce") {
    if (key.starts_with("cost.inside."))
      return Unread{.chooses = "job.workload",
                    .hint = "all messages of a schedule cost what cost.across says"};
    return unless(name != "form",
                  {.chooses = "job.workload", .hint = "a schedule is simulated under LogGOPS"});
  }
  if (is_one_of(name, {"overhead", "gap", "overhead_per_byte", "eager_limit", "reduce"}))
    if (auto reason = unread_of_processors(key, d)) return reason;
  if (key == "cost.reduce") return std::nullopt;
  const PolicyKind kind = d.scenario.policy.kind;
  if (w == Workload::Training && name == "form" && !is_synchronous(d) && kind != PolicyKind::Backup)
    return Unread{.chooses = "policy.kind", .whose = "synchronous, local-sgd or backup"};
  if (!plays_links(d)) {
    if (key.starts_with("cost.inside.")) return unread_inside(d);
    return unless(d.scenario.cluster.nodes > 1, one_node());
  }
  const bool by_events = w == Workload::Chakra || (w == Workload::Training && !is_synchronous(d));
  return Unread{
      .chooses = d.scenario.engine == EngineKind::Flow ? "engine" : "fabric.kind",
      .hint = by_events
                  ? "messages cost what the links on their way say: write cluster.scale_up, cluster.nic and "
                    "fabric.link, or engine = \"event\""
                  : "messages cost what the links on their way say: write cluster.scale_up, cluster.nic and "
                    "fabric.link, or engine = \"max-plus\""};
}

}  // namespace cox::model
