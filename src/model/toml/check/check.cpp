// SPDX-License-Identifier: Apache-2.0
#include "model/toml/check/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units_text.hpp"
#include "cox/model/closed_form.hpp"

#include "model/toml/keys/values.hpp"
#include "model/toml/keys/words.hpp"
#include "model/toml/meaning/meaning.hpp"

namespace cox::model {
namespace {

/// Product of positive factors, or one beyond `kMostRanks` where it is more: nothing overflows.
std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t out = 1;
  for (const std::int64_t f : factors) {
    if (f > 0 && out > kMostRanks / f) return kMostRanks + 1;
    out *= f;
  }
  return out;
}

std::string ranks_text(const Cluster& cluster, const Places& places = {}) {
  if (!places.nodes.empty())
    return fmt::format("{} nodes of job.nodes x {} devices = {} ranks", places.nodes.size(),
                       cluster.devices_per_node, ranks_of(cluster, places));
  return fmt::format("{} nodes x {} devices = {} ranks", cluster.nodes, cluster.devices_per_node,
                     cluster.ranks());
}

Status check_cluster(const Cluster& cluster, const Notes& notes) {
  if (cluster.ranks() > kMostRanks)
    return notes.clash({"cluster.nodes", "cluster.devices_per_node"},
                       fmt::format("{}, expected at most {}", ranks_text(cluster), kMostRanks),
                       "simulate a part of the cluster that repeats");
  return {};
}

/// Rails and up-links are whole.
Status check_tree(const Cluster& cluster, const Fabric& fabric, const Notes& notes) {
  const bool rails = fabric.kind == FabricKind::RailOptimised;
  if (cluster.nodes == 1) return {};
  if (rails && cluster.nics_per_node > cluster.devices_per_node)
    return notes.clash(
        {"cluster.nics_per_node", "cluster.devices_per_node", "fabric.kind"},
        fmt::format("cluster.nics_per_node = {} of nodes of {} devices: each rail needs a device",
                    cluster.nics_per_node, cluster.devices_per_node),
        "set cluster.nics_per_node to at most cluster.devices_per_node");
  if (!rails && fabric.kind != FabricKind::FatTree) return {};
  const double down = static_cast<double>(fabric.hosts_per_leaf) * (rails ? 1 : cluster.nics_per_node);
  const double up = down / fabric.oversubscription;
  const double cores = fabric.leaves_per_pod / fabric.pod_oversubscription;
  if (fabric.tiers == 3 && !(cores >= 0.5 && std::abs(cores - std::round(cores)) <= 1e-9 * cores))
    return notes.clash(
        {"fabric.pod_oversubscription", "fabric.leaves_per_pod"},
        fmt::format("fabric.pod_oversubscription = {}: {} leaves of a pod would have {} cables up",
                    fabric.pod_oversubscription, fabric.leaves_per_pod, cores),
        "choose one that divides fabric.leaves_per_pod");
  const bool one_leaf = cluster.nodes <= fabric.hosts_per_leaf && (!rails || cluster.nics_per_node == 1);
  if (one_leaf || (up >= 0.5 && std::abs(up - std::round(up)) <= 1e-9 * up)) return {};
  return notes.clash(
      {"fabric.oversubscription", "fabric.hosts_per_leaf", "cluster.nics_per_node"},
      fmt::format("fabric.oversubscription = {}: {} down-links of a leaf would have {} up-links",
                  fabric.oversubscription, down, up),
      "choose one that divides the down-links of a leaf");
}

/// What keeps ports from overflowing beside what lets them.
Status check_timeouts(const Fabric& fabric, const Notes& notes) {
  if (!fabric.timeouts.of_ports()) return {};
  const auto beside = [&](std::string_view other, std::string_view why) {
    return notes.clash({"fabric.timeout.flows", other},
                       fmt::format("fabric.timeout.flows beside {}: {}", other, why), "keep one of them");
  };
  if (fabric.pause) return beside("fabric.pause", "pause frames keep ports from overflowing");
  if (fabric.incast_loss) return beside("fabric.incast_loss", "two models of the same loss");
  if (fabric.switching == Switching::StoreAndForward)
    return beside("fabric.switching", "a switch that stores whole messages has room for them");
  return {};
}

Status check_fabric(const Cluster& cluster, const Fabric& fabric, const Notes& notes) {
  COX_CHECK(check_timeouts(fabric, notes));
  if (fabric.kind == FabricKind::Torus) {
    if (fabric.torus.size() > 6)
      return notes.clash({"fabric.torus"},
                         fmt::format("fabric.torus has {} dimensions, expected 1 to 6", fabric.torus.size()),
                         "");
    std::int64_t nodes = 1;
    for (const int extent : fabric.torus) nodes = product({nodes, extent});
    if (nodes != cluster.nodes)
      return notes.clash({"fabric.torus", "fabric.kind"},
                         fmt::format("fabric.torus = [{}] does not hold cluster.nodes = {}",
                                     fmt::join(fabric.torus, ", "), cluster.nodes),
                         "the product of the extents is the number of nodes");
  }
  if (fabric.kind == FabricKind::Dragonfly) {
    const std::int64_t hosts =
        product({fabric.dragonfly_groups, fabric.dragonfly_routers, fabric.dragonfly_hosts});
    if (hosts < cluster.nodes)
      return notes.clash(
          {"fabric.dragonfly.groups", "fabric.dragonfly.routers", "fabric.dragonfly.hosts", "fabric.kind"},
          fmt::format(
              "fabric.dragonfly has {} groups x {} routers x {} hosts, which do not hold cluster.nodes = {}",
              fabric.dragonfly_groups, fabric.dragonfly_routers, fabric.dragonfly_hosts, cluster.nodes),
          "say all three of fabric.dragonfly.groups, routers and hosts");
  }
  COX_CHECK(check_tree(cluster, fabric, notes));
  if (fabric.kind == FabricKind::Graph && fabric.graph_file.empty())
    return notes.clash({"fabric.kind"}, "fabric.kind is \"graph\" and fabric.graph_file is missing",
                       "name the file with the links");
  return {};
}

/// Messages have to end: where the job sends any, some bandwidth is known.
Status check_cost(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  const JobKeys& job = draft.job;
  // A schedule of messages may come with its own parameters (cox simulate --loggops);
  // an iteration has a link.
  if (job.workload == Workload::Goal || (job.workload == Workload::Iteration && !reduces_on_cluster(draft)))
    return {};
  const bool across = s.cluster.nodes > 1 && !is_measured("cost.across.bandwidth", draft);
  const bool inside = s.cluster.devices_per_node > 1 && !is_measured("cost.inside.bandwidth", draft);
  if (across && s.fabric.kind != FabricKind::Graph && s.across.per_byte == TimePerByte{} &&
      !notes.said("cost.across.bandwidth"))
    return notes.clash({"cluster.nodes"}, "no bandwidth between nodes is given",
                       "name a cluster.preset, or write cluster.nic.bandwidth or cost.across.bandwidth");
  if (inside && s.inside.per_byte == TimePerByte{} && !notes.said("cost.inside.bandwidth"))
    return notes.clash({"cluster.devices_per_node"}, "no bandwidth inside a node is given",
                       "name a cluster.preset, or write cluster.scale_up.bandwidth or cost.inside.bandwidth");
  if (s.fabric.kind == FabricKind::Graph || s.protocol == Protocol::LogGops) return {};
  const bool links = s.fabric.kind == FabricKind::Torus
                         ? s.fabric.link.bandwidth > Bandwidth{}
                         : s.cluster.nic.bandwidth > Bandwidth{} && s.fabric.link.bandwidth > Bandwidth{};
  const bool played = s.engine == EngineKind::Flow || plays_links(draft);
  if (played && s.cluster.nodes > 1 && !links)
    return notes.clash(
        {"engine", "fabric.kind", "cluster.nodes"},
        fmt::format("{} links, and their bandwidth is not given",
                    s.engine == EngineKind::Flow ? "engine \"flow\" shares" : "the job's messages share"),
        "write cluster.nic.bandwidth and fabric.link.bandwidth");
  if (played && s.cluster.devices_per_node > 1 && s.cluster.scale_up.bandwidth == Bandwidth{} &&
      s.cluster.pcie.bandwidth == Bandwidth{})
    return notes.clash({"cluster.devices_per_node", "cost.inside.bandwidth"},
                       "links are played, and none between devices of a node has a bandwidth",
                       "write cluster.scale_up.bandwidth or cluster.pcie.bandwidth");
  return {};
}

/// What a closed form needs: equal messages, and a formula.
Status check_closed_form(const Scenario& s, const CollectiveSpec& c, const Notes& notes) {
  const bool served = c.algorithm == Algorithm::ParameterServer || c.algorithm == Algorithm::InNetwork;
  const bool across = s.cluster.nodes > 1 && (served || c.ranks > s.cluster.devices_per_node);
  if (across && !served && s.cluster.devices_per_node > 1)
    return notes.clash({"engine"},
                       "engine \"closed-form\": messages inside a node and across nodes cost differently",
                       "leave `engine` out, or say max-plus");
  if (!closed_form(c, across ? s.across : s.inside))
    return notes.clash(
        {"engine"},
        fmt::format("engine \"closed-form\": {} of these ranks and chunks has none", name_of(c.algorithm)),
        "leave `engine` out, or say max-plus");
  return {};
}

Status check_collective(const Scenario& s, const JobKeys& job, const Notes& notes) {
  const CollectiveSpec& c = job.collective;
  if (c.ranks > ranks_of(s.cluster, job.places))
    return notes.clash({"job.collective.ranks"},
                       fmt::format("job.collective.ranks = {}, but the cluster has {}", c.ranks,
                                   ranks_text(s.cluster, job.places)),
                       "");
  if (c.root >= c.ranks)
    return notes.clash({"job.collective.root"},
                       fmt::format("job.collective.root = {}, expected 0 to {}", c.root, c.ranks - 1), "");
  const auto algorithm = name_of(c.algorithm);
  const bool grouped = c.algorithm == Algorithm::Hierarchical2 || c.algorithm == Algorithm::Hierarchical3 ||
                       c.algorithm == Algorithm::TwoLevel ||
                       (c.algorithm == Algorithm::Ring && c.channels > 1);
  if (grouped && c.ranks % c.group != 0)
    return notes.clash(
        {"job.collective.group", "job.collective.algorithm", "job.collective.channels"},
        fmt::format("job.collective.group = {} does not divide {} ranks ({})", c.group, c.ranks, algorithm),
        "choose a group that divides, or another number of ranks");
  if (c.algorithm == Algorithm::Hierarchical3 && c.ranks / c.group % c.group2 != 0)
    return notes.clash({"job.collective.group2", "job.collective.algorithm"},
                       fmt::format("job.collective.group2 = {} does not divide {} groups of {} ranks",
                                   c.group2, c.ranks / c.group, c.group),
                       "");
  // All that is sent in one step, both ways, is counted in 64 bits.
  constexpr std::int64_t kMostMoved = std::int64_t{1} << 62;
  if (c.bytes.count() > kMostMoved / (std::int64_t{2} * std::max(c.ranks, 1)))
    return notes.clash(
        {"job.collective.bytes"},
        fmt::format("job.collective.bytes = {} on {} ranks is more than 64 bits count", spelled(c.bytes),
                    c.ranks),
        fmt::format("at most {}", spelled(Bytes{kMostMoved / (std::int64_t{2} * std::max(c.ranks, 1))})));
  if (s.price != CollectivePrice::Rounds) return {};        // it has no rounds
  if (job.compression.kind != Compressor::None) return {};  // what carries it is asked for in check_price
  // Which algorithm does which collective is the schedule's business; here it gets its line.
  if (const auto made = Schedule::make(c); !made)
    return notes.clash({"job.collective.algorithm", "job.collective.kind", "job.collective.ranks"},
                       "job.collective: " + made.error().message, made.error().hint);
  const bool formula = s.engine == EngineKind::ClosedForm && s.price == CollectivePrice::Rounds;
  return formula ? check_closed_form(s, c, notes) : Status{};
}

/// Sets of shards are whole, and experts cross none of them.
Status check_shards(const TrainingJob& job, const Notes& notes) {
  const Layout& l = job.layout;
  if (l.shard == 0) return {};
  if (l.data % l.shard != 0)
    return notes.clash(
        {"job.layout.shard", "job.layout.data"},
        fmt::format("job.layout.shard = {} does not divide job.layout.data = {}", l.shard, l.data),
        "each set of shards is held by as many replicas; 0 spreads one set over all");
  if (l.shard == 1 && l.context == 1)
    return notes.clash({"job.layout.shard"}, "job.layout.shard = 1: a replica holds all shards by itself",
                       "leave job.zero_stage out, or let several replicas share");
  if (l.expert > 1 && l.shard % l.expert != 0 && l.expert % l.shard != 0)
    return notes.clash(
        {"job.layout.shard", "job.layout.expert"},
        fmt::format(
            "job.layout.shard = {} and job.layout.expert = {}: groups of replicas that cut through each other",
            l.shard, l.expert),
        "let one be a multiple of the other");
  return {};
}

Status check_layout(const Scenario& s, const JobKeys& job, const Notes& notes) {
  const Layout& l = job.training.layout;
  const std::initializer_list<std::string_view> keys = {"job.layout.data", "job.layout.tensor",
                                                        "job.layout.pipeline", "job.layout.context",
                                                        "job.layout.expert"};
  const std::int64_t split = product({l.data, l.tensor, l.pipeline, l.context});
  if (split != ranks_of(s.cluster, job.places))
    return notes.clash(
        keys,
        fmt::format("job.layout is data {} x tensor {} x pipeline {} x context {} = {} ranks, but the "
                    "cluster has {}",
                    l.data, l.tensor, l.pipeline, l.context,
                    split > kMostRanks ? std::string("too many") : fmt::format("{}", split),
                    ranks_text(s.cluster, job.places)),
        "leave job.layout.data out to have it derived");
  if (s.fabric.kind != FabricKind::Torus && s.cluster.devices_per_node % l.tensor != 0)
    return notes.clash(
        {"job.layout.tensor"},
        fmt::format("job.layout.tensor = {} on nodes of {} devices: a tensor group would leave its node, "
                    "and only the devices of a node share a scale-up fabric",
                    l.tensor, s.cluster.devices_per_node),
        "choose a divisor of cluster.devices_per_node, or describe the scale-up domain as one node");
  if (l.data % l.expert != 0)
    return notes.clash(
        {"job.layout.expert", "job.layout.data"},
        fmt::format("job.layout.expert = {} does not divide job.layout.data = {}", l.expert, l.data),
        "experts are spread over data-parallel ranks");
  return check_shards(job.training, notes);
}

/// An algorithm that does none of a step's collectives would be replaced by the ring in all of them.
Status check_step_algorithm(const JobKeys& keys, const Notes& notes) {
  using enum Collective;
  const TrainingJob& job = keys.training;
  if (!notes.said("job.collective.algorithm")) return {};
  std::vector<Collective> kinds = {AllReduce};
  if (keys.compression.kind == Compressor::Sparse) kinds = {AllGather};
  if (job.zero_stage > 0) kinds = {ReduceScatter, AllGather};
  if (job.is_hybrid()) kinds.push_back(AllReduce);
  if (job.layout.expert > 1) kinds.push_back(AllToAll);
  const bool any = std::any_of(kinds.begin(), kinds.end(), [&](Collective kind) {
    return Schedule::make({.kind = kind,
                           .algorithm = keys.collective.algorithm,
                           .ranks = 4,
                           .bytes = Bytes{64},
                           .group = 2})
        .has_value();
  });
  const Algorithm algorithm = keys.collective.algorithm;
  if (algorithm == Algorithm::ParameterServer || algorithm == Algorithm::InNetwork)
    return notes.clash(
        {"job.collective.algorithm"},
        fmt::format("job.collective.algorithm = \"{}\" in a step, which has neither servers nor switches",
                    name_of(algorithm)),
        "[policy] has servers; or choose an algorithm among the ranks");
  if (any) return {};
  return notes.clash(
      {"job.collective.algorithm"},
      fmt::format("job.collective.algorithm = \"{}\" does none of the collectives of such a step",
                  name_of(keys.collective.algorithm)),
      "a step sums gradients (all-reduce), or shards of them (reduce-scatter, all-gather), and exchanges "
      "tokens of experts (all-to-all)");
}

Status check_training(const Scenario& s, const JobKeys& keys, const Notes& notes) {
  const TrainingJob& job = keys.training;
  if (job.layers.empty())
    return notes.clash({"job.workload"}, "training needs layers, and none are given",
                       "write [[job.layers]], or [job.model] to have them derived");
  const auto layers = static_cast<std::int64_t>(job.layers.size());
  if (layers > kMostLayers)
    return notes.clash({kLayerArray}, fmt::format("job.layers has more than {} layers", kMostLayers), "");
  COX_CHECK(check_layout(s, keys, notes));
  COX_CHECK(check_step_algorithm(keys, notes));
  const bool interleaved = job.schedule == PipelineSchedule::Interleaved;
  if (job.interleave > 1 && !interleaved)
    return notes.clash(
        {"job.interleave"},
        fmt::format("job.interleave = {} has a meaning for schedule \"interleaved\" only, which is \"{}\"",
                    job.interleave, pipeline_words()[static_cast<std::size_t>(job.schedule)]),
        "write job.schedule = \"interleaved\"");
  const std::int64_t chunks = product({job.layout.pipeline, job.interleave});
  // Stages may differ by a layer; the chunks of an interleaved schedule may not (Narayanan et al. 2021).
  if (layers < chunks || (interleaved && layers % chunks != 0))
    return notes.clash(
        {"job.interleave", "job.layout.pipeline", kLayerArray, "job.model.layers"},
        fmt::format("{} layers do not split into pipeline {} x interleave {} = {}{} chunks", layers,
                    job.layout.pipeline, job.interleave, chunks, interleaved ? " equal" : ""),
        interleaved ? "choose a pipeline and an interleave whose product divides the layers"
                    : "use fewer stages");
  if (interleaved && job.micro_batches % job.layout.pipeline != 0)
    return notes.clash({"job.micro_batches", "job.schedule"},
                       fmt::format("job.micro_batches = {} is no multiple of job.layout.pipeline = {}, which "
                                   "schedule \"interleaved\" needs",
                                   job.micro_batches, job.layout.pipeline),
                       "");
  if (const auto mode = keys.iteration.pace.find("mode");
      mode != keys.iteration.pace.end() && mode->second != "off" && job.layout.data == 1)
    return notes.clash({"pace.mode"}, "pace.mode with a single replica: nobody waits for another one",
                       "leave [pace] out, or give job.layout.data");
  if (job.moe_layers > layers)
    return notes.clash({"job.moe_layers"},
                       fmt::format("job.moe_layers = {}, but there are {} layers", job.moe_layers, layers),
                       "");
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  for (const Layer& layer : job.layers)
    if (layer.gradients.count() > kMost || layer.activations.count() > kMost)
      return notes.clash({kLayerArray, "job.model.parameters"},
                         "a layer of more than 1PiB, expected at most that", "");
  return {};
}

/// A paced job: what its parts need of each other.
Status check_iteration(const Scenario& s, const JobKeys& job, const Notes& notes) {
  const IterationWork& i = job.iteration.iteration;
  const auto imbalance = imbalance_words()[static_cast<std::size_t>(i.imbalance)];
  if (i.link == Bandwidth{}) {
    if (i.fetch > Bytes{})
      return notes.clash(
          {"iteration.fetch"},
          fmt::format("iteration.fetch is {}, and there is no link to carry it", spelled(i.fetch)),
          "give iteration.link a bandwidth");
    const bool across = s.cluster.nodes > 1;
    const bool carried = (across ? s.across : s.inside).per_byte > TimePerByte{};
    if (i.reduce > Bytes{} && !carried && s.fabric.kind != FabricKind::Graph)
      return notes.clash(
          {"iteration.reduce"},
          fmt::format("iteration.reduce is {}, and there is no link to carry it", spelled(i.reduce)),
          "give iteration.link a bandwidth, or name a cluster.preset or the links of the cluster");
  }
  if (i.slow_ranks > s.cluster.ranks())
    return notes.clash(
        {"iteration.slow_ranks"},
        fmt::format("iteration.slow_ranks = {}, but the cluster has {}", i.slow_ranks, ranks_text(s.cluster)),
        "");
  if (i.jitter == JitterLaw::Exponential && i.spread > 1)
    return notes.clash(
        {"iteration.spread"},
        fmt::format("iteration.spread = {} with jitter \"exponential\", expected at most 1", i.spread),
        "lognormal can be wider");
  if (notes.said("iteration.link") && i.fetch == Bytes{} && i.reduce == Bytes{})
    return notes.clash({"iteration.link"}, "iteration.link carries nothing",
                       "give iteration.fetch or iteration.reduce");
  if (notes.said("iteration.jitter") && i.jitter != JitterLaw::None && i.spread == 0)
    return notes.clash({"iteration.jitter"}, "iteration.jitter with iteration.spread = 0 changes nothing",
                       "give iteration.spread");
  if (notes.said("iteration.spread") && i.jitter == JitterLaw::None)
    return notes.clash({"iteration.spread"}, "iteration.spread has no meaning for iteration.jitter \"none\"",
                       "say lognormal or exponential");
  if (notes.said("iteration.imbalance") && i.imbalance != Imbalance::None &&
      (i.slow_ranks == 0 || i.slow_factor == 1))
    return notes.clash({"iteration.imbalance"},
                       fmt::format("iteration.imbalance is \"{}\", and no rank is slow", imbalance),
                       "give iteration.slow_ranks and iteration.slow_factor");
  for (const std::string_view key : {"iteration.slow_ranks", "iteration.slow_factor", "iteration.episode"})
    if (notes.said(std::string(key)) && (i.imbalance == Imbalance::None ||
                                         (key == "iteration.episode" && i.imbalance != Imbalance::Rotating)))
      return notes.clash({key},
                         fmt::format("{} has no meaning for iteration.imbalance \"{}\"", key, imbalance),
                         key == "iteration.episode" ? "only rotating has one" : "say persistent or rotating");
  return {};
}

/// A trace does not say which of a collective's ranks make a group.
Status check_trace_algorithm(const JobKeys& job, const Notes& notes) {
  using enum Algorithm;
  const Algorithm a = job.collective.algorithm;
  if (job.workload != Workload::Chakra || (a != Hierarchical2 && a != Hierarchical3 && a != TwoLevel))
    return {};
  return notes.clash(
      {"job.collective.algorithm"},
      fmt::format("job.collective.algorithm = \"{}\" of a trace, whose collectives have no groups",
                  name_of(a)),
      "choose one without groups, such as ring or halving-doubling");
}

Status check_job(const Scenario& s, const JobKeys& job, const Notes& notes) {
  switch (job.workload) {
    case Workload::Collective:
      return check_collective(s, job, notes);
    case Workload::Training:
      return check_training(s, job, notes);
    case Workload::Iteration:
      return check_iteration(s, job, notes);
    case Workload::Goal:
    case Workload::Chakra:
      if (job.file.empty())
        return notes.clash({"job.workload"},
                           fmt::format("job.workload is \"{}\" and job.file is missing",
                                       workload_words()[static_cast<std::size_t>(job.workload)]),
                           "name the file to replay");
      return check_trace_algorithm(job, notes);
  }
  return {};
}

/// Which engines run the job.
Status check_engine(const Scenario& s, const JobKeys& job, const Notes& notes) {
  using enum EngineKind;
  const EngineKind e = s.engine;
  if (e == Auto) return {};
  const auto refuse = [&](std::string what, std::string hint) {
    return notes.clash({"engine"}, fmt::format("engine \"{}\" does not run {}", name_of(e), what),
                       std::move(hint));
  };
  switch (job.workload) {
    case Workload::Collective:
      if (e == Event) return refuse("single collectives", "leave `engine` out, or say max-plus or flow");
      return {};
    case Workload::Training: {
      const bool steps = s.policy.in_step();
      if (e == Flow && !steps && s.price != CollectivePrice::Rounds) return {};  // check_price says why
      if (e == ClosedForm) return refuse("training", "leave `engine` out, or say max-plus or flow");
      if (steps && e == Event)
        return refuse("synchronous steps", "leave `engine` out, or say max-plus or flow");
      if (!steps && e != Event && !(e == Flow && plays_links(s, job.workload)))
        return refuse(
            fmt::format("policy.kind \"{}\"", policy_words()[static_cast<std::size_t>(s.policy.kind)]),
            "leave `engine` out, or say event");
      return {};
    }
    case Workload::Goal:
    case Workload::Iteration:
      if (e != Event)
        return refuse(job.workload == Workload::Goal ? "GOAL schedules" : "iterations",
                      "leave `engine` out, or say event");
      return {};
    case Workload::Chakra:
      if (e == ClosedForm || e == MaxPlus)
        return refuse("traces", "leave `engine` out, or say event or flow");
  }
  return {};
}

/// Forms and protocols that the engine would take for others.
Status check_forms(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  if (s.engine == EngineKind::ClosedForm && s.protocol != Protocol::Rendezvous)
    return notes.clash(
        {"cost.protocol"},
        fmt::format("cost.protocol \"{}\" has no meaning for engine \"closed-form\"", name_of(s.protocol)),
        "only rendezvous has closed forms: say max-plus, or leave cost.protocol out");
  if (s.engine == EngineKind::Flow && s.protocol == Protocol::EagerGap)
    return notes.clash({"cost.protocol"}, "cost.protocol \"eager-gap\" has no meaning for engine \"flow\"",
                       "there the links are the ports: say eager");
  if (s.protocol == Protocol::EagerGap && plays_links(draft))
    return notes.clash(
        {"cost.protocol"},
        "cost.protocol \"eager-gap\" has no meaning where messages are played on links, which this fabric, "
        "these places or these neighbours ask for",
        "there the links are the ports: say eager");
  return {};
}

/// A cost that is said twice: as that of a message, and by the links of its way.
Status check_overridden(const Draft& draft, const Notes& notes) {
  if (plays_links(draft)) return {};
  const auto said = [&](std::string_view key) { return notes.first_of_file(key).has_value(); };
  const auto twice = [&](std::string_view cost, std::initializer_list<std::string_view> ways) -> Status {
    for (const std::string_view way : ways)
      if (const auto key = notes.first_of_file(way); key && said(cost))
        return notes.clash({*key}, fmt::format("{} beside {}, which says what a message costs", *key, cost),
                           "keep one of them");
    return {};
  };
  COX_CHECK(twice("cost.inside.latency", {"cluster.scale_up.latency"}));
  COX_CHECK(twice("cost.inside.bandwidth", {"cluster.scale_up.bandwidth"}));
  COX_CHECK(twice("cost.across.latency", {"cluster.nic.latency", "fabric.link.latency"}));
  COX_CHECK(twice("cost.across.bandwidth", {"cluster.nic.bandwidth", "fabric.link.bandwidth"}));
  // The way of a message through a graph is not counted: there its cost has to be said.
  if (!said("cost.across.latency") || !said("cost.across.bandwidth") ||
      draft.scenario.fabric.kind == FabricKind::Graph)
    return {};
  COX_CHECK(twice("cost.across.latency", {"fabric.kind", "fabric.tiers", "fabric.leaves_per_pod"}));
  const bool inside = draft.scenario.cluster.devices_per_node > 1 && draft.job.workload != Workload::Goal;
  if (!inside || (said("cost.inside.latency") && said("cost.inside.bandwidth")))
    return twice("cost.across.latency", {"cluster.pcie."});
  return {};
}

/// A value below the root as a file spells it.
std::string value_of(std::string_view name, const Draft& draft) {
  Draft copy = draft;  // text_of takes what it could also write to
  for (const Key<Draft>& key : root_keys())
    if (key.name == name) {
      const std::string_view quote = is_quoted(key.field) ? "\"" : "";
      return fmt::format("{}{}{}", quote, text_of(key, copy), quote);
    }
  return {};
}

bool is_by_option(const Unread& reason, const Notes& notes) {
  const auto is_option = [&](std::string_view key) {
    const Note* note = notes.find(std::string(key));
    return note != nullptr && note->is_option();
  };
  return is_option(reason.chooses) || std::ranges::any_of(reason.others, is_option);
}

/// What the file says and nothing would read is refused, so that nobody believes in it. Where --set changed
/// the choosing key, the file's own keys may lose their meaning: that is what trying alternatives is.
Status check_meanings(const Draft& draft, const Notes& notes) {
  for (const auto& [key, at] : notes.of_file()) {
    const std::optional<Unread> reason = why_unread(key, draft);
    if (!reason) continue;
    if (!notes.find(key)->is_option() && is_by_option(*reason, notes)) continue;
    const bool array =
        key == kNoiseArray || key == kClassArray || key == kNodeClassArray || key == kNeighbourArray;
    const std::string shown = array ? "[[" + key + "]]" : key;
    return notes.clash(
        {key},
        fmt::format("{} {} for {} {}", shown, reason->not_simulated ? "is not simulated" : "has no meaning",
                    reason->chooses, value_of(reason->chooses, draft)),
        reason->hint.empty() ? fmt::format("only {} {}: change {}, or leave {} out", reason->whose,
                                           reason->not_simulated ? "is" : "has one", reason->chooses, shown)
                             : std::string(reason->hint));
  }
  return {};
}

}  // namespace

Status check(const Draft& draft, const Notes& notes) {
  const Scenario& s = draft.scenario;
  const JobKeys& job = draft.job;
  COX_CHECK(check_cluster(s.cluster, notes));
  COX_CHECK(check_fabric(s.cluster, s.fabric, notes));
  COX_CHECK(check_places(draft, notes));
  COX_CHECK(check_job(s, job, notes));
  COX_CHECK(check_engine(s, job, notes));
  COX_CHECK(check_cost(draft, notes));
  if (s.fabric.kind == FabricKind::Graph &&
      (job.workload != Workload::Iteration || reduces_on_cluster(draft)) && s.cluster.nodes > 1 &&
      !plays_links(draft) && s.across.per_byte == TimePerByte{})
    return notes.clash(
        {"engine", "policy.kind", "job.workload", "fabric.kind"},
        "what a message through fabric.graph_file costs is not known where its links are not played",
        "write cost.across.latency and cost.across.bandwidth, or let the flow engine run it");
  COX_CHECK(check_noise(draft, notes));
  COX_CHECK(check_running(draft, notes));
  COX_CHECK(check_policy(draft, notes));
  COX_CHECK(check_price(draft, notes));
  COX_CHECK(check_meanings(draft, notes));
  COX_CHECK(check_links(draft, notes));
  COX_CHECK(check_overridden(draft, notes));
  COX_CHECK(check_forms(draft, notes));
  return check_says_a_job(notes);
}

}  // namespace cox::model
