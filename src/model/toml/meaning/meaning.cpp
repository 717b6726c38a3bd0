// SPDX-License-Identifier: Apache-2.0
#include "model/toml/meaning.hpp"

#include <algorithm>
#include <initializer_list>

namespace cox::model {
namespace {

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::optional<Unread> unless(bool reads, Unread reason) {
  if (reads) return std::nullopt;
  return reason;
}

bool has_noise_of(const Draft& d, NoiseScope scope) {
  const auto& noise = d.scenario.noise;
  return std::any_of(noise.begin(), noise.end(), [&](const NoiseSource& n) { return n.scope == scope; });
}

bool is_tree(const Draft& d) {
  return d.scenario.fabric.kind == FabricKind::FatTree || d.scenario.fabric.kind == FabricKind::RailOptimised;
}

/// Replicas keep one step.
bool is_synchronous(const Draft& d) {
  return d.scenario.policy.in_step();
}

/// Gradients are summed within the step, which is what buckets beside the backward pass and sharding are about.
bool sums_gradients(const Draft& d) {
  const PolicySpec& p = d.scenario.policy;
  return p.kind == PolicyKind::Synchronous || (p.kind == PolicyKind::LocalSgd && p.local_steps <= 1);
}

}  // namespace

bool reduces_on_cluster(const Draft& d) {
  const IterationWork& work = d.job.iteration.iteration;
  return d.job.workload == Workload::Iteration && work.link == Bandwidth{} && work.reduce > Bytes{} &&
         d.scenario.cluster.ranks() > 1;
}

namespace {

/// That all-reduce as the collective that it is priced as.
Draft reduce_of(const Draft& d) {
  Draft one = d;
  one.job.workload = Workload::Collective;
  one.job.collective = {.ranks = static_cast<int>(d.scenario.cluster.ranks()),
                        .bytes = d.job.iteration.iteration.reduce};
  one.scenario.engine = EngineKind::Auto;
  return one;
}

}  // namespace

bool plays_links(const Draft& d) {
  if (reduces_on_cluster(d)) return plays_links(reduce_of(d));
  return plays_links(d.scenario, d.job.workload);
}

bool is_measured(std::string_view key, const Draft& d) {
  if (d.scenario.price != CollectivePrice::Table) return false;
  const auto begins = [&](std::initializer_list<std::string_view> sections) {
    return std::any_of(sections.begin(), sections.end(),
                       [&](std::string_view s) { return key.starts_with(s); });
  };
  const bool inside = begins({"cluster.scale_up.", "cost.inside."});
  const bool across = key == "cluster.nics_per_node" ||
                      begins({"cluster.nic.", "cluster.pcie.", "cost.across."}) ||
                      (begins({"fabric."}) && key != "fabric.hosts_per_leaf");
  if (!inside && !across && key != "cost.protocol") return false;
  if (d.job.workload == Workload::Collective) return true;
  if (d.job.workload != Workload::Training || !is_synchronous(d)) return false;
  const Layout& l = d.job.training.layout;
  const std::int64_t unit = std::int64_t{l.tensor} * l.context;
  const std::int64_t devices = std::max(1, d.scenario.cluster.devices_per_node);
  if (l.pipeline == 1 || key == "cost.protocol") return true;
  return inside ? unit % devices == 0 : devices % (unit * l.pipeline) == 0;
}

namespace {

Unread one_node() {
  return {.chooses = "cluster.nodes", .hint = "no message leaves a single node: give cluster.nodes"};
}

}  // namespace

Unread no_links(const Draft& d) {
  const Workload w = d.job.workload;
  if (w == Workload::Goal || w == Workload::Iteration)
    return {.chooses = "job.workload", .whose = "collective, training or chakra"};
  if (w == Workload::Training && d.scenario.policy.kind == PolicyKind::Backup)
    return {.chooses = "policy.kind", .whose = "synchronous, local-sgd or a policy with servers"};
  if (d.scenario.price != CollectivePrice::Rounds) return {.chooses = "cost.form", .whose = "rounds"};
  if (d.scenario.engine != EngineKind::Auto)
    return {.chooses = "engine", .hint = "only the flow engine plays links: leave `engine` out, or say flow"};
  if (d.scenario.cluster.nodes == 1) return one_node();
  return {.chooses = "fabric.kind",
          .hint = "there each device has the way to the one switch alone; engine = \"flow\" plays the links"};
}

namespace {

std::optional<Unread> unread_at_the_top(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const bool file = w == Workload::Goal || w == Workload::Chakra;
  if (key == "replicas" && d.scenario.engine == EngineKind::ClosedForm)
    return Unread{.chooses = "engine", .hint = "nothing is drawn: leave replicas out"};
  if (key == "replicas")
    return unless(!file, {.chooses = "job.workload", .hint = "nothing is drawn: leave replicas out"});
  if (key == "seed")
    return unless(w != Workload::Goal,
                  {.chooses = "job.workload", .hint = "nothing is drawn: leave seed out"});
  if (key != kNoiseArray) return std::nullopt;
  if (w == Workload::Iteration)
    return Unread{.chooses = "job.workload",
                  .hint = "iteration.jitter and iteration.imbalance say what disturbs it"};
  if (file)
    return Unread{.chooses = "job.workload",
                  .hint = "what is played is as long as it was recorded: leave [[noise]] out"};
  return unless(d.scenario.engine != EngineKind::ClosedForm,
                {.chooses = "engine", .hint = "a closed form needs equal arrivals: say max-plus or flow"});
}

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

std::optional<Unread> unread_in_cluster(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const FabricKind kind = d.scenario.fabric.kind;
  if (key == "cluster.device.memory")
    return unless(w == Workload::Training, {.chooses = "job.workload", .whose = "training"});
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
    if (key == "cluster.nics_per_node" && !plays_links(d) && !divides_cards(d) &&
        c.nics_per_node < c.devices_per_node)
      return no_links(d);
    return unless(d.scenario.cluster.nodes > 1, one_node());
  }
  if (key.starts_with("cluster.scale_up.")) return unread_inside(d);
  const Cluster& c = d.scenario.cluster;
  if (key.starts_with("cluster.pcie.") && (c.devices_per_node == 1 || c.scale_up.bandwidth > Bandwidth{}))
    return unless(c.nodes > 1, one_node());
  return std::nullopt;
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
    return only(is_tree(d) || has_noise_of(d, NoiseScope::Switch), "fat-tree or rail-optimised");
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

/// Where messages are played or drawn one by one.
std::optional<Unread> unread_timeout(const Draft& d) {
  const Workload w = d.job.workload;
  if (w != Workload::Collective && w != Workload::Training)
    return Unread{.chooses = "job.workload", .whose = "collective or training"};
  if (d.scenario.price != CollectivePrice::Rounds) return Unread{.chooses = "cost.form", .whose = "rounds"};
  if (d.scenario.engine == EngineKind::ClosedForm)
    return Unread{.chooses = "engine", .hint = "a closed form loses nothing: say max-plus or flow"};
  if (w == Workload::Training && !is_synchronous(d))
    return Unread{.chooses = "policy.kind", .whose = "synchronous or local-sgd"};
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
  if (of_links && !plays_links(d)) return no_links(d);
  if (key.starts_with("fabric.timeout."))
    if (auto reason = unread_timeout(d)) return reason;
  return unless(d.scenario.cluster.nodes > 1 || d.job.workload == Workload::Goal, one_node());
}

std::optional<Unread> unread_in_collective(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const bool training = w == Workload::Training;
  const bool whole = d.scenario.price != CollectivePrice::Rounds && (training || w == Workload::Collective);
  if (whole && !is_one_of(key, {"job.collective.kind", "job.collective.ranks", "job.collective.bytes"}))
    return Unread{.chooses = "cost.form", .whose = "rounds"};
  if (key == "job.collective.algorithm" && w == Workload::Chakra) return std::nullopt;
  const bool shared =
      is_one_of(key, {"job.collective.algorithm", "job.collective.group", "job.collective.group2",
                      "job.collective.channels", "job.collective.servers", "job.collective.chunks"});
  if (w != Workload::Collective && !(training && shared))
    return Unread{.chooses = "job.workload",
                  .whose = !shared                             ? "collective"
                           : key == "job.collective.algorithm" ? "collective, training or chakra"
                                                               : "collective or training"};
  // Workers that do not meet in a step have no collectives; where some are not waited for, nodes are not known.
  const bool backup = d.scenario.policy.kind == PolicyKind::Backup && key != "job.collective.channels";
  if (training && !is_synchronous(d) && !backup)
    return Unread{.chooses = "policy.kind", .whose = "synchronous or local-sgd"};
  using enum Algorithm;
  const Algorithm a = d.job.collective.algorithm;
  const auto of = [](bool reads, std::string whose) {
    return unless(reads, {.chooses = "job.collective.algorithm", .whose = std::move(whose)});
  };
  if (key == "job.collective.group")
    return of(a == Hierarchical2 || a == Hierarchical3 || a == TwoLevel || a == InNetwork ||
                  (a == Ring && d.job.collective.channels > 1),
              "hierarchical, hierarchical-3, two-level, in-network or a ring of several channels");
  if (key == "job.collective.channels") return of(a == Ring, "ring");
  if (key == "job.collective.group2") return of(a == Hierarchical3, "hierarchical-3");
  if (key == "job.collective.servers") return of(a == ParameterServer, "parameter-server");
  if (key == "job.collective.chunks")
    return of(a == BinaryTree || a == DoubleBinaryTree || a == Chain || a == InNetwork,
              "binary-tree, double-binary-tree, chain or in-network");
  if (key == "job.collective.root")
    return of(a == BinomialTree || a == BinaryTree || a == Chain, "binomial-tree, binary-tree or chain");
  return std::nullopt;
}

/// What is sent with fewer bytes: sums of gradients.
std::optional<Unread> unread_in_compression(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  if (w != Workload::Collective && w != Workload::Training)
    return Unread{.chooses = "job.workload", .whose = "collective or training"};
  if (w == Workload::Training && !sums_gradients(d))
    return Unread{.chooses = "policy.kind", .whose = "synchronous"};
  const Compressor kind = d.job.compression.kind;
  if (key == "job.compression.kind") return std::nullopt;
  const auto only = [](bool reads, std::string whose) {
    return unless(reads, {.chooses = "job.compression.kind", .whose = std::move(whose)});
  };
  if (key == "job.compression.bits") return only(kind == Compressor::Quantised, "quantised");
  if (is_one_of(key, {"job.compression.density", "job.compression.index"}))
    return only(kind == Compressor::Sparse, "sparse");
  return only(kind != Compressor::None, "quantised or sparse");
}

/// ZeRO beside a policy under which replicas do not meet in every step: docs/concepts/synchronisation-policies.md.
Unread why_no_shards(const PolicySpec& policy) {
  if (policy.has_servers())
    return {.chooses = "policy.kind",
            .hint =
                "servers hold parameters and optimizer, so that replicas have none to shard: leave "
                "job.zero_stage out"};
  if (policy.kind == PolicyKind::Backup)
    return {
        .chooses = "policy.kind",
        .hint =
            "the shard of a worker that is not waited for would not be updated: leave job.zero_stage out"};
  return {
      .chooses = "policy.kind",
      .hint =
          "in a local step each replica updates all of its parameters by itself: leave job.zero_stage out"};
}

/// Keys of a training step, beyond that they are about training.
std::optional<Unread> unread_in_training(std::string_view key, const Draft& d) {
  const TrainingJob& t = d.job.training;
  if (key == "job.bucket")
    return unless(is_synchronous(d), {.chooses = "policy.kind", .whose = "synchronous or local-sgd"});
  if (key == "job.zero_stage" && !sums_gradients(d)) return why_no_shards(d.scenario.policy);
  if (is_one_of(key,
                {"job.overlap", "job.overlap_slowdown", "job.overlap_feedback", "job.overlap_threshold"}) &&
      !sums_gradients(d))
    return Unread{.chooses = "policy.kind", .whose = "synchronous"};
  if (key == "job.overlap_slowdown")
    return unless(t.overlap, {.chooses = "job.overlap", .hint = "nothing computes beside communication"});
  if (key == "job.moe_layers" || key == "job.layout.expert") {
    if (key == "job.moe_layers" && t.layout.expert == 1)
      return Unread{.chooses = "job.layout.expert",
                    .hint = "experts that no other device has exchange nothing"};
    if (key == "job.layout.expert" && t.moe_layers == 0)
      return Unread{.chooses = "job.moe_layers", .hint = "no layer has experts: give job.moe_layers"};
  }
  if (key == "job.schedule" || key == "job.interleave")
    return unless(t.layout.pipeline > 1,
                  {.chooses = "job.layout.pipeline", .hint = "a single stage has no order of stages"});
  return std::nullopt;
}

/// Where nothing is waited for between steps, nobody waits for input either.
std::optional<Unread> unread_in_input(std::string_view key, const Draft& d) {
  const StepInput& in = d.job.training.input;
  if (!is_synchronous(d)) return Unread{.chooses = "policy.kind", .whose = "synchronous or local-sgd"};
  if (key == "job.input.cores")
    return unless(in.prepare > Seconds{}, {.chooses = "job.input.prepare",
                                           .hint = "nothing is done on the cores: give job.input.prepare"});
  if (key == "job.input.link" || key == "job.input.storage")
    return unless(in.fetch > Bytes{},
                  {.chooses = "job.input.fetch", .hint = "nothing is fetched: give job.input.fetch"});
  if (key == "job.input.ahead")
    return unless(in.takes_time(), {.chooses = "job.input.prepare", .hint = "no input takes any time"});
  return std::nullopt;
}

std::optional<Unread> unread_in_job(std::string_view key, const Draft& d) {
  const Workload w = d.job.workload;
  const auto only = [](bool reads, std::string whose) {
    return unless(reads, {.chooses = "job.workload", .whose = std::move(whose)});
  };
  if (key == "job.workload") return std::nullopt;
  if (key == "job.steps")
    return unless(w != Workload::Goal && w != Workload::Chakra,
                  {.chooses = "job.workload", .hint = "the file is played once: leave job.steps out"});
  if (key == "job.compute") return only(w == Workload::Collective, "collective");
  if (key == "job.order") {
    if (w != Workload::Collective) return only(false, "collective");
    return unless(plays_links(d), no_links(d));
  }
  if (key == "job.file") return only(w == Workload::Goal || w == Workload::Chakra, "goal or chakra");
  if (key.starts_with("job.collective.")) return unread_in_collective(key, d);
  if (key.starts_with("job.compression.")) return unread_in_compression(key, d);
  if (w != Workload::Training) return only(false, "training");
  if (key.starts_with("job.model.") && key != "job.model.parameters")
    return unless(d.size.parameters > 0,
                  {.chooses = "job.model.parameters", .hint = "layers are derived from it: give it, too"});
  if (key.starts_with("job.input.")) return unread_in_input(key, d);
  return unread_in_training(key, d);
}

/// Sections about what a whole training job's time, energy and money go into.
std::optional<Unread> unread_of_job(std::string_view key, const Draft& d) {
  if (d.job.workload != Workload::Training) return Unread{.chooses = "job.workload", .whose = "training"};
  const Scenario& s = d.scenario;
  if (key.starts_with("power.") && key != "power.busy")
    return unless(s.power.known(), {.chooses = "power.busy", .hint = "no energy is told without power.busy"});
  if (key == "price.currency")
    return unless(s.node_price.node_hour > 0,
                  {.chooses = "price.node_hour", .hint = "no cost is told without price.node_hour"});
  return std::nullopt;
}

std::optional<Unread> unread_in_pace(std::string_view key, const Draft& d) {
  const bool training = d.job.workload == Workload::Training;
  if (!training && d.job.workload != Workload::Iteration)
    return Unread{.chooses = "job.workload", .whose = "iteration or training"};
  if (training && !is_synchronous(d))
    return Unread{.chooses = "policy.kind",
                  .hint =
                      "ranks are held back by what they wait for at the end of a step, which all of them end "
                      "together: say synchronous or local-sgd"};
  const auto said = [&](const char* name, std::string_view otherwise) {
    const auto at = d.job.iteration.pace.find(name);
    return at == d.job.iteration.pace.end() ? otherwise : std::string_view(at->second);
  };
  const std::string_view mode = said("mode", "off");
  const std::string_view name = key.substr(key.find('.') + 1);
  const auto only = [&](std::initializer_list<std::string_view> modes, std::string whose) {
    return unless(is_one_of(mode, modes), {.chooses = "pace.mode", .whose = std::move(whose)});
  };
  if (name == "mode") return std::nullopt;
  if (mode == "off")
    return Unread{.chooses = "pace.mode", .hint = "without a controller it has no parameters"};
  if (name == "placement" && training)
    return Unread{
        .chooses = "job.workload",
        .hint = "a step has many collectives, beside its computation: ranks are held back before it"};
  if (is_one_of(name, {"activate", "release"})) return only({"paper"}, "paper");
  if (name == "paper_share") return only({"paper", "always"}, "paper or always");
  if (name == "warm_up") return only({"paper", "auto"}, "paper or auto");
  if (is_one_of(name, {"seed", "share"})) return only({"auto", "random"}, "auto or random");
  if (is_one_of(name, {"placement", "max_delay", "min_delay", "max_ratio"}))
    return only({"paper", "auto", "always", "random"}, "paper, auto, always or random");
  if (is_one_of(name, {"objective", "alpha", "min_gain", "block", "settle", "min_pairs", "max_pairs", "retry",
                       "carry", "idle_power"}) &&
      mode != "auto")
    return only({}, "auto");
  if (name == "idle_power")
    return unless(said("objective", "throughput") == "energy",
                  {.chooses = "pace.objective", .whose = "energy"});
  return std::nullopt;
}

std::optional<Unread> unread_in_policy(std::string_view key, const Draft& d) {
  using enum PolicyKind;
  const PolicyKind kind = d.scenario.policy.kind;
  if (d.job.workload != Workload::Training) return Unread{.chooses = "job.workload", .whose = "training"};
  const auto only = [](bool reads, std::string_view hint) {
    return unless(reads, {.chooses = "policy.kind", .hint = hint});
  };
  if (key == "policy.staleness")
    return only(kind == BoundedWait || kind == BoundedDiscard,
                "only bounded-wait or bounded-discard has one");
  if (key == "policy.local_steps") return only(kind == LocalSgd, "only local-sgd has one");
  if (key == "policy.backups") return only(kind == Backup, "only backup has one");
  if (key == "policy.servers")
    return only(d.scenario.policy.has_servers(),
                "only asynchronous, bounded-wait or bounded-discard has one");
  return std::nullopt;
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
    return std::nullopt;
  }
  const std::string_view name = key.substr(key.rfind('.') + 1);
  if (w == Workload::Goal) {
    if (key.starts_with("cost.inside."))
      return Unread{.chooses = "job.workload",
                    .hint = "all messages of a schedule cost what cost.across says"};
    return unless(name != "form",
                  {.chooses = "job.workload", .hint = "a schedule is simulated under LogGOPS"});
  }
  if (is_one_of(name, {"overhead", "gap", "overhead_per_byte", "eager_limit"}))
    return Unread{.chooses = "job.workload", .whose = "goal"};
  const PolicyKind kind = d.scenario.policy.kind;
  if (w == Workload::Training && name == "form" && !is_synchronous(d) && kind != PolicyKind::Backup)
    return Unread{.chooses = "policy.kind", .whose = "synchronous, local-sgd or backup"};
  if (!plays_links(d)) {
    if (key.starts_with("cost.inside.")) return unread_inside(d);
    return unless(d.scenario.cluster.nodes > 1, one_node());
  }
  return Unread{.chooses = d.scenario.engine == EngineKind::Flow ? "engine" : "fabric.kind",
                .hint =
                    "messages cost what the links on their way say: write cluster.scale_up, cluster.nic and "
                    "fabric.link, or engine = \"max-plus\""};
}

}  // namespace

std::optional<Unread> why_unread(std::string_view key, const Draft& draft) {
  const std::string_view section = key.substr(0, key.find('.'));
  constexpr std::string_view kPlaces[] = {"cluster.nic_of",    "cluster.sockets", kNodeClassArray,
                                          kNeighbourArray,     "job.nodes",       "job.placement",
                                          "job.placement_file"};
  if (std::ranges::find(kPlaces, key) != std::end(kPlaces) || key.starts_with("cluster.bridge.") ||
      key.starts_with("cluster.socket."))
    return unread_in_places(key, draft);
  // What is drawn for each message would be drawn once for all steps.
  if (draft.job.workload == Workload::Iteration && key.starts_with("fabric.timeout."))
    return Unread{.chooses = "job.workload", .whose = "collective or training"};
  if (reduces_on_cluster(draft) && is_one_of(section, {"cluster", "fabric", "cost"}))
    return why_unread(key, reduce_of(draft));
  if (is_measured(key, draft)) return Unread{.chooses = "cost.form", .whose = "rounds or nccl"};
  if (section == "cluster") return unread_in_cluster(key, draft);
  if (section == "fabric") return unread_in_fabric(key, draft);
  if (section == "job") return unread_in_job(key, draft);
  if (section == "iteration")
    return unless(draft.job.workload == Workload::Iteration,
                  {.chooses = "job.workload", .whose = "iteration"});
  if (section == "pace") return unread_in_pace(key, draft);
  if (section == "failures" || section == "start" || section == "power" || section == "price")
    return unread_of_job(key, draft);
  if (section == "policy") return unread_in_policy(key, draft);
  if (section == "cost") return unread_in_cost(key, draft);
  return unread_at_the_top(key, draft);
}

namespace {

bool has_bursts(const NoiseSource& n) {
  return n.burst_steps > 0 || n.calm_steps > 0;
}

bool is_drawn(const NoiseSource& n) {
  if (n.probability < 1) return true;
  if (n.law == NoiseLaw::Gaussian || n.law == NoiseLaw::Lognormal) return n.cv > 0;
  return n.law != NoiseLaw::Constant && n.law != NoiseLaw::Bimodal;
}

/// Who has a turn, or when a daemon, a collection or a burst begins, is drawn for any law.
bool has_phases(const NoiseSource& n) {
  return n.pattern == NoisePattern::Rotating || n.pattern == NoisePattern::Periodic ||
         n.pattern == NoisePattern::Recurring || has_bursts(n);
}

bool may_burst(const NoiseSource& n) {
  return n.pattern == NoisePattern::EveryStep || n.pattern == NoisePattern::Persistent;
}

constexpr NoiseMeaning kNoiseMeanings[] = {
    {"cv", "law", [](const NoiseSource& n) { return law_takes(n.law, "cv"); },
     "gaussian, lognormal, pareto and uniform have one"},
    {"shape", "law", [](const NoiseSource& n) { return law_takes(n.law, "shape"); },
     "pareto and weibull have one"},
    {"probability", "law", [](const NoiseSource& n) { return law_takes(n.law, "probability"); },
     "a trace happens as it was recorded"},
    {"probability", "pattern", [](const NoiseSource& n) { return n.pattern != NoisePattern::Once; },
     "what is injected once happens"},
    {"file", "law", [](const NoiseSource& n) { return law_takes(n.law, "file"); },
     "trace and quantiles have one"},
    {"quantiles", "law", [](const NoiseSource& n) { return law_takes(n.law, "quantiles"); },
     "quantiles has them"},
    {"unit", "law", [](const NoiseSource& n) { return law_takes(n.law, "unit"); }, "quantiles has one"},
    {"tail_probability", "law", [](const NoiseSource& n) { return law_takes(n.law, "tail_probability"); },
     "quantiles has a tail"},
    {"tail_scale", "law", [](const NoiseSource& n) { return law_takes(n.law, "tail_scale"); },
     "quantiles has a tail"},
    {"tail_shape", "law", [](const NoiseSource& n) { return law_takes(n.law, "tail_shape"); },
     "quantiles has a tail"},
    {"mean", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Quantiles; },
     "quantiles say how much; `unit` makes times of them"},
    {"mean_ratio", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Quantiles; },
     "quantiles say how much"},
    {"mean_ratio", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Trace; },
     "a trace says how much; `mean = \"0s\"` replaces the compute time by it"},
    {"pattern", "law",
     [](const NoiseSource& n) { return n.law != NoiseLaw::Trace || n.pattern == NoisePattern::EveryStep; },
     "a trace says when"},
    {"pattern", "law",
     [](const NoiseSource& n) { return n.law != NoiseLaw::Quantiles || n.pattern != NoisePattern::Periodic; },
     "a daemon lasts a `mean`, or what spreads about one"},
    {"pattern", "law",
     [](const NoiseSource& n) { return n.law == NoiseLaw::Constant || n.pattern != NoisePattern::Once; },
     "what happens once is known: law = \"constant\", with mean or mean_ratio"},
    {"pattern", "law",
     [](const NoiseSource& n) {
       return n.pattern != NoisePattern::Persistent || !has_bursts(n) || is_drawn(n);
     },
     "nothing is drawn that could be the same in each burst"},
    {"scope", "law", [](const NoiseSource& n) { return is_drawn(n) || has_phases(n); },
     "nothing is drawn that ranks could share: leave it out, or limit the source by `ranks`"},
    {"correlation", "law",
     [](const NoiseSource& n) {
       return is_drawn(n) && n.law != NoiseLaw::Trace && n.law != NoiseLaw::Constant;
     },
     "nothing is drawn that could be correlated"},
    {"correlation", "pattern", [](const NoiseSource& n) { return n.pattern == NoisePattern::EveryStep; },
     "every-step has one"},
    {"burst_steps", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Trace; },
     "a trace says when"},
    {"burst_steps", "pattern", may_burst, "every-step and persistent come in bursts"},
    {"calm_steps", "law", [](const NoiseSource& n) { return n.law != NoiseLaw::Trace; }, "a trace says when"},
    {"calm_steps", "pattern", may_burst, "every-step and persistent come in bursts"},
    {"step", "pattern", [](const NoiseSource& n) { return n.pattern == NoisePattern::Once; }, "once has one"},
    {"period", "pattern", [](const NoiseSource& n) { return n.pattern == NoisePattern::Periodic; },
     "periodic has one"},
    {"period_steps", "pattern",
     [](const NoiseSource& n) {
       return n.pattern == NoisePattern::Rotating || n.pattern == NoisePattern::Drift ||
              n.pattern == NoisePattern::Recurring;
     },
     "rotating, drift and recurring have one"},
};

}  // namespace

bool law_takes(NoiseLaw law, std::string_view key) {
  using enum NoiseLaw;
  if (key == "cv") return law == Gaussian || law == Lognormal || law == Uniform || law == Pareto;
  if (key == "shape") return law == Pareto || law == Weibull;
  if (key == "probability") return law != Trace;
  if (key == "file") return law == Trace || law == Quantiles;
  return law == Quantiles && (key == "quantiles" || key == "unit" || key.starts_with("tail_"));
}

std::span<const NoiseMeaning> noise_meanings() {
  return kNoiseMeanings;
}

}  // namespace cox::model
