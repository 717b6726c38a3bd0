// SPDX-License-Identifier: Apache-2.0
// Places that cannot be: nodes that are not there, cards that a node does not have, neighbours without a job.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include "cox/base/units_text.hpp"
#include "cox/model/schedule.hpp"

#include "model/toml/check/check.hpp"
#include "model/toml/keys/values.hpp"
#include "model/toml/keys/words.hpp"
#include "model/toml/meaning/sections.hpp"

namespace cox::model {
namespace {

/// Nodes of a list exist, and each is there once.
Status check_nodes(const std::vector<int>& nodes, bool once, const Cluster& cluster, const std::string& key,
                   const Notes& notes) {
  for (const int n : nodes)
    if (n >= cluster.nodes)
      return notes.clash({key}, fmt::format("{} names node {}, expected 0 to {}", key, n, cluster.nodes - 1),
                         "");
  std::vector<int> sorted = nodes;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (once && twice != sorted.end())
    return notes.clash({key}, fmt::format("{} names node {} twice", key, *twice),
                       "a rank sits on each device of a node");
  return {};
}

Status check_cards(const Cluster& cluster, const NodeClass* of, const std::string& key,
                   const std::vector<int>& nic_of, const Notes& notes) {
  const int nics = of != nullptr && of->nics > 0 ? of->nics : cluster.nics_per_node;
  if (!nic_of.empty() && static_cast<int>(nic_of.size()) != cluster.devices_per_node)
    return notes.clash({key},
                       fmt::format("{} has {} entries, expected one for each of {} devices of a node", key,
                                   nic_of.size(), cluster.devices_per_node),
                       "");
  bool says = nic_of.empty();
  for (std::size_t d = 0; d < nic_of.size(); ++d)
    says = says || nic_of[d] != static_cast<std::int64_t>(d) * nics / cluster.devices_per_node;
  if (!says && of == nullptr)
    return notes.clash({key}, fmt::format("{} says the cards that the devices have without it", key),
                       "leave it out");
  for (const int nic : nic_of)
    if (nic >= nics)
      return notes.clash(
          {key}, fmt::format("{} names card {}, and such a node has cards 0 to {}", key, nic, nics - 1), "");
  return {};
}

/// Power and price of a class: where those of the other nodes are known, too.
Status check_class_draw(const Draft& draft, const std::string& at, const Notes& notes) {
  const Scenario& s = draft.scenario;
  const bool training = draft.job.workload == Workload::Training;
  for (const char* key : {"power_busy", "power_transfer", "power_wait", "power_idle"})
    if (notes.said(at + "." + key) && !(training && s.power.known()))
      return notes.clash({at + "." + key},
                         fmt::format("{}.{} {}", at, key,
                                     training ? "without power.busy: what the other nodes draw is not known"
                                              : "is of training only"),
                         training ? "give power.busy" : "leave it out");
  if (notes.said(at + ".node_hour") && !(training && s.node_price.node_hour > 0))
    return notes.clash(
        {at + ".node_hour"},
        fmt::format("{}.node_hour {}", at,
                    training ? "without price.node_hour: what the other nodes cost is not known"
                             : "is of training only"),
        training ? "give price.node_hour" : "leave it out");
  return {};
}

/// What would let links be played that are not.
std::string links_hint(const Draft& draft) {
  const Unread reason = no_links(draft);
  if (reason.chooses == "engine" || reason.chooses == "fabric.kind") return "leave `engine` out, or say flow";
  return reason.hint.empty() ? fmt::format("only {} {} plays them", reason.chooses, reason.whose)
                             : reason.hint;
}

/// What a class says that nothing would read.
Status check_class(const Draft& draft, const NodeClass& c, const std::string& at, const Notes& notes) {
  const Scenario& s = draft.scenario;
  const auto said = [&](const char* key) { return notes.said(at + "." + key); };
  if (c.first >= s.cluster.nodes || c.count > s.cluster.nodes - c.first)
    return notes.clash({at + ".count", at + ".first", at},
                       fmt::format("{} is nodes {} to {}, but the cluster has {}", at, c.first,
                                   std::int64_t{c.first} + c.count - 1, s.cluster.nodes),
                       "the last node is cluster.nodes - 1");
  if (s.engine == EngineKind::ClosedForm)
    return notes.clash({at}, fmt::format("{} with engine \"closed-form\", which needs equal ranks", at),
                       "leave `engine` out");
  const bool computes = draft.job.workload == Workload::Training || draft.job.compute > Seconds{};
  if (said("speed") && !computes && draft.job.workload == Workload::Collective)
    return notes.clash({at + ".speed"}, fmt::format("{}.speed, and nothing computes", at),
                       "give job.compute");
  if (said("memory") && draft.job.workload != Workload::Training)
    return notes.clash({at + ".memory"}, fmt::format("{}.memory is of training only", at), "leave it out");
  if (said("memory") && !knows_memory(draft.job.training)) {
    const Unread reason = nothing_to_hold();
    return notes.clash({at + ".memory"}, fmt::format("{}.memory, and no layer says its gradients", at),
                       reason.hint);
  }
  COX_CHECK(check_class_draw(draft, at, notes));
  const bool cards = s.fabric.kind != FabricKind::Torus && s.fabric.kind != FabricKind::Graph;
  for (const char* key : {"nics", "nic_latency", "nic_bandwidth", "nic_of"}) {
    if (!said(key) || (cards && plays_links(draft) && s.cluster.nodes > 1)) continue;
    const std::string why = cards ? "where links are not played" : "on a fabric whose nodes have no cards";
    return notes.clash({at + "." + key}, fmt::format("{}.{} has no meaning {}", at, key, why),
                       cards ? links_hint(draft) : "leave it out");
  }
  if (c.nics > s.cluster.nics_per_node)
    return notes.clash({at + ".nics"},
                       fmt::format("{}.nics = {} is more than cluster.nics_per_node = {}", at, c.nics,
                                   s.cluster.nics_per_node),
                       "the cluster says the most that a node has, a class how many of them");
  return check_cards(s.cluster, &c, at + ".nic_of", c.nic_of, notes);
}

Status check_classes(const Draft& draft, const Notes& notes) {
  const Cluster& cluster = draft.scenario.cluster;
  for (std::size_t i = 0; i < cluster.classes.size(); ++i) {
    const NodeClass& c = cluster.classes[i];
    const std::string at = fmt::format("{}[{}]", kNodeClassArray, i);
    for (std::size_t j = 0; j < i; ++j) {
      const NodeClass& other = cluster.classes[j];
      if (c.first < other.first + other.count && other.first < c.first + c.count)
        return notes.clash({at + ".first", at},
                           fmt::format("{} and {}[{}] have nodes in common", at, kNodeClassArray, j), "");
    }
    COX_CHECK(check_class(draft, c, at, notes));
  }
  return {};
}

/// Devices of a node that move together: those that share layers.
int together(const Draft& draft) {
  const Layout& l = draft.job.training.layout;
  const int devices = draft.scenario.cluster.devices_per_node;
  if (draft.job.workload != Workload::Training) return 1;
  const std::int64_t unit = std::int64_t{l.tensor} * l.context;
  return static_cast<int>(std::min<std::int64_t>(unit, devices));
}

Status check_placement(const Draft& draft, const Notes& notes) {
  const Places& places = draft.job.places;
  const Cluster& cluster = draft.scenario.cluster;
  if (places.packed()) return {};
  COX_CHECK(check_nodes(places.nodes, true, cluster, "job.nodes", notes));
  const Layout& l = draft.job.training.layout;
  const std::int64_t unit = std::int64_t{l.tensor} * l.context;
  const int devices = cluster.devices_per_node;
  if (draft.job.workload == Workload::Training && unit % devices != 0 && devices % unit != 0)
    return notes.clash(
        {"job.placement", "job.nodes"},
        fmt::format("tensor x context = {} ranks do not fill nodes of {} devices, and cannot move as one",
                    unit, devices),
        "leave job.placement and job.nodes out, or choose a layout that fits");
  if (places.rule == PlaceRule::File && places.file.empty())
    return notes.clash({"job.placement"}, "job.placement is \"file\" and job.placement_file is missing",
                       "name the file with a device for each rank");
  const bool round = places.rule == PlaceRule::Scattered || places.rule == PlaceRule::ByRail;
  if (round && together(draft) == devices)
    return notes.clash({"job.placement"},
                       fmt::format("job.placement = \"{}\" is \"packed\" here: {} fill a node",
                                   place_words()[static_cast<std::size_t>(places.rule)],
                                   devices == 1 ? "single devices" : "ranks that stay together"),
                       "job.nodes says the order of the nodes; random and file move them, too");
  if (places.rule == PlaceRule::Packed) return {};
  const StepInput& input = draft.job.training.input;
  if (draft.job.workload == Workload::Training && (input.prepare > Seconds{} || input.link > Bandwidth{}))
    return notes.clash(
        {"job.placement"},
        "job.placement with job.input: who shares a node's cores and link is counted in the order of ranks",
        "leave job.placement out; job.nodes may be said");
  return {};
}

Status check_flows(const Neighbour& n, const std::string& at, const Notes& notes) {
  if (n.nodes.size() % 2 != 0)
    return notes.clash({at + ".nodes", at},
                       fmt::format("{}.nodes has {} entries, expected pairs: from, to", at, n.nodes.size()),
                       "");
  for (std::size_t i = 0; i < n.nodes.size(); i += 2)
    if (n.nodes[i] == n.nodes[i + 1])
      return notes.clash({at + ".nodes", at},
                         fmt::format("{}.nodes: a flow from node {} to itself uses no link", at, n.nodes[i]),
                         "");
  return {};
}

Status check_neighbour_job(const Draft& draft, const Neighbour& n, const std::string& at,
                           const Notes& notes) {
  const Cluster& cluster = draft.scenario.cluster;
  COX_CHECK(check_nodes(n.nodes, true, cluster, at + ".nodes", notes));
  const std::int64_t ranks = static_cast<std::int64_t>(n.nodes.size()) * cluster.devices_per_node;
  if (n.algorithm == Algorithm::ParameterServer || n.algorithm == Algorithm::InNetwork)
    return notes.clash({at + ".algorithm"},
                       fmt::format("{}.algorithm = \"{}\": a neighbour has neither servers nor switches", at,
                                   name_of(n.algorithm)),
                       "choose an algorithm among its ranks");
  if (n.kind == NeighbourKind::Training && (n.bytes.count() - 1) / n.bucket.count() >= kMostLayers)
    return notes.clash({at + ".bucket", at},
                       fmt::format("{}.bucket = {} makes more than {} buckets of {}", at, spelled(n.bucket),
                                   kMostLayers, spelled(n.bytes)),
                       "say a larger bucket");
  const bool training = n.kind == NeighbourKind::Training;
  const auto made = Schedule::make({.kind = training ? Collective::AllReduce : n.collective,
                                    .algorithm = n.algorithm,
                                    .ranks = static_cast<int>(ranks),
                                    .bytes = n.bytes,
                                    .group = cluster.devices_per_node});
  if (!made)
    return notes.clash({at + ".algorithm", at + ".collective", at},
                       fmt::format("{}: {}", at, made.error().message), made.error().hint);
  return {};
}

Status check_neighbours(const Draft& draft, const Notes& notes) {
  const auto& all = draft.scenario.neighbours;
  if (!all.empty() &&
      (draft.job.workload == Workload::Training || draft.job.workload == Workload::Collective) &&
      draft.scenario.price == CollectivePrice::Nccl)
    return notes.clash({kNeighbourArray}, "neighbours share links, and cost.form = \"nccl\" has none",
                       "leave cost.form out");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Neighbour& n = all[i];
    const std::string at = fmt::format("{}[{}]", kNeighbourArray, i);
    const bool flows = n.kind == NeighbourKind::Flows;
    const std::string_view kind = neighbour_words()[static_cast<std::size_t>(n.kind)];
    const bool training = n.kind == NeighbourKind::Training;
    for (const auto& [key, reads, whose] : {std::tuple{"period", flows, "flows"},
                                            {"rate", flows, "flows"},
                                            {"compute", !flows, "collective or training"},
                                            {"collective", !flows && !training, "collective"},
                                            {"algorithm", !flows, "collective or training"},
                                            {"backward", training, "training"},
                                            {"bucket", training, "training"},
                                            {"optimizer", training, "training"}})
      if (const std::string full = at + "." + key; notes.said(full) && !reads)
        return notes.clash({full}, fmt::format("{} has no meaning for kind \"{}\"", full, kind),
                           fmt::format("only {} has one", whose));
    if (n.nodes.size() < 2)
      return notes.clash({at + ".nodes", at},
                         fmt::format("{}.nodes has {} entries, expected at least 2", at, n.nodes.size()),
                         "say where it is");
    // Shorter bursts would be more events than anybody waits for.
    if (n.bytes < Bytes{1000} && (flows || training || n.collective != Collective::Barrier))
      return notes.clash({at + ".bytes", at},
                         fmt::format("{}.bytes is {}, expected at least 1kB", at, spelled(n.bytes)), "");
    COX_CHECK(check_nodes(n.nodes, false, draft.scenario.cluster, at + ".nodes", notes));
    COX_CHECK(flows ? check_flows(n, at, notes) : check_neighbour_job(draft, n, at, notes));
  }
  return {};
}

}  // namespace

/// An option may say that none are played: then what the file says of places is not its own mistake, and is not ignored either.
Status check_links(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  const Workload w = draft.job.workload;
  const bool sends = w == Workload::Collective || w == Workload::Training || w == Workload::Chakra;
  if (!sends || plays_links(draft) || !needs_links(s.cluster, draft.job.places, s.neighbours)) return {};
  for (const std::string_view key : {std::string_view("job.placement"), std::string_view("job.nodes"),
                                     std::string_view("cluster.nic_of"), kNeighbourArray, kNodeClassArray})
    if (notes.first_of_file(key))
      return notes.clash({key}, fmt::format("{} needs links that are played, and here none are", key),
                         links_hint(draft));
  return {};
}

Status check_places(const Draft& draft, const Notes& notes) {
  const Cluster& cluster = draft.scenario.cluster;
  if (notes.said("cluster.sockets") && cluster.sockets > cluster.devices_per_node)
    return notes.clash(
        {"cluster.sockets"},
        fmt::format("cluster.sockets = {} of nodes of {} devices: sockets without any change nothing",
                    cluster.sockets, cluster.devices_per_node),
        "at most cluster.devices_per_node");
  COX_CHECK(check_cards(cluster, nullptr, "cluster.nic_of", cluster.nic_of, notes));
  COX_CHECK(check_classes(draft, notes));
  COX_CHECK(check_placement(draft, notes));
  return check_neighbours(draft, notes);
}

}  // namespace cox::model
