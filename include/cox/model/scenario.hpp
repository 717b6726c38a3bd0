// SPDX-License-Identifier: Apache-2.0
/// \file
/// What could happen: cluster, fabric, job, noise, failures, policy, pacing. The input of `simulate`.
///
/// Read from TOML by `cox/model/toml.hpp`; every default is a value here, and `cox simulate --explain` prints
/// what each came to and where from. Reference: docs/reference/scenario.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/power.hpp"
#include "cox/base/units.hpp"
#include "cox/model/compression.hpp"
#include "cox/model/failures.hpp"
#include "cox/model/iteration.hpp"
#include "cox/model/measured_times.hpp"
#include "cox/model/message_cost.hpp"
#include "cox/model/nccl_cost.hpp"
#include "cox/model/schedule.hpp"

namespace cox::model {

/// One direction of a cable or bus.
struct Link {
  Seconds latency{};
  Bandwidth bandwidth{};
};

/// Nodes that are unlike the others. What is zero or empty is the cluster's.
struct NodeClass {
  std::string name;
  int first = -1;             ///< node that it begins at; -1 = behind the class before
  int count = 1;              ///< nodes
  double speed = 1;           ///< of its devices, over that of the others
  Bytes memory{};             ///< of one device
  int nics = 0;               ///< cards of a node that are used
  Link nic{};                 ///< card to its first switch, one direction
  std::vector<int> nic_of{};  ///< card of each device
  Power busy{};               ///< of a node, as in PowerDraw
  Power transfer{};
  Power wait{};
  Power idle{};
  double node_hour = 0;  ///< as in Price
};

/// Machines. Device d is number d % devices_per_node of node d / devices_per_node.
struct Cluster {
  std::string preset;  ///< `dgx-h100`, ...; empty = written out
  int nodes = 1;
  int devices_per_node = 1;
  std::string device_name;
  FlopRate device_peak{};
  Bytes device_memory{};
  Link scale_up{};  ///< device to device inside a node (NVLink), one direction
  int nics_per_node = 1;
  Link nic{};   ///< NIC to its first switch, one direction
  Link pcie{};  ///< device to NIC; zero bandwidth = no limit
  /// NIC of each device of a node; empty = device i of d has NIC i n / d of n, the one at its own PCIe switch.
  std::vector<int> nic_of{};
  int sockets = 1;  ///< of a node; devices and NICs are divided evenly
  Link bridge{};    ///< from one PCIe switch to another of the socket; zero bandwidth = no limit
  Link socket{};    ///< from one socket to another; zero bandwidth = no limit
  std::vector<NodeClass> classes{};  ///< nodes of none are as said above

  [[nodiscard]] std::int64_t ranks() const { return std::int64_t{nodes} * devices_per_node; }
};

enum class FabricKind : std::uint8_t { FullBisection, FatTree, RailOptimised, Torus, Dragonfly, Graph };
enum class Routing : std::uint8_t {
  Static,    ///< destination modulo up-links
  Ecmp,      ///< a hash of the flow picks the path; hashes collide
  Adaptive,  ///< the least loaded path when the flow starts
  Spray,     ///< packets over all paths evenly
};
enum class Switching : std::uint8_t { CutThrough, StoreAndForward };

/// Messages between nodes that are lost, and sent again when a timer has run out, which doubles each time.
struct Timeouts {
  Seconds wait{};   ///< of the first time-out; zero = nothing is lost
  double loss = 0;  ///< probability of each message
  int flows = 0;    ///< messages that a switch's port has room for: one more is lost; 0 = any number

  [[nodiscard]] bool happen() const { return wait > Seconds{} && (loss > 0 || flows > 0); }
  [[nodiscard]] bool of_ports() const { return wait > Seconds{} && flows > 0; }
};

/// Switches and cables between the nodes.
struct Fabric {
  FabricKind kind = FabricKind::FullBisection;
  Link link{};                      ///< switch to switch; host links are the cluster's `nic`
  int tiers = 2;                    ///< fat tree: 2 or 3
  int hosts_per_leaf = 8;           ///< nodes per leaf switch (rail-optimised: per rail switch)
  int leaves_per_pod = 8;           ///< three tiers
  double oversubscription = 1;      ///< down-links over up-links of a leaf: 4 means 4:1
  double pod_oversubscription = 1;  ///< three tiers: the same of a pod's switches
  std::vector<int> torus{};         ///< extent of each dimension
  int dragonfly_groups = 0;
  int dragonfly_routers = 0;  ///< per group; each group is fully connected inside
  int dragonfly_hosts = 0;    ///< per router
  std::string graph_file{};   ///< lines `node-or-switch node-or-switch latency bandwidth`
  Routing routing = Routing::Static;
  /// ECMP: equal parts of a message, each with a hash of its own (queue pairs)
  int flows_per_connection = 1;
  Switching switching = Switching::CutThrough;
  bool incast_loss = false;    ///< named model of lost goodput (docs/concepts/flow-engine.md)
  bool pause = false;          ///< pause frames: a blocked queue blocks what is upstream
  double background_load = 0;  ///< part of each switch link that other jobs use, 0..1
  Timeouts timeouts{};
};

/// Kinds of work, in the order of `Job::work`.
enum class Workload : std::uint8_t { Collective, Training, Goal, Chakra, Iteration };
/// Which rank sits on which place of a collective.
enum class RankOrder : std::uint8_t {
  Linear,  ///< place i is rank i
  Random,  ///< a permutation drawn from the scenario's seed
};
/// Which device rank r of the job sits on.
enum class PlaceRule : std::uint8_t {
  Packed,     ///< node after node
  Scattered,  ///< round the nodes, one on each
  ByRail,     ///< round the nodes, those devices first that share the first NIC
  Random,     ///< a permutation drawn from the scenario's seed
  File,       ///< one device a line
};
/// Where a job sits. Ranks that share layers (tensor x context) stay together: they move as one.
struct Places {
  std::vector<int> nodes{};  ///< only these, in this order; empty = all
  PlaceRule rule = PlaceRule::Packed;
  std::string file{};

  [[nodiscard]] bool packed() const { return nodes.empty() && rule == PlaceRule::Packed; }
};
enum class PipelineSchedule : std::uint8_t { GPipe, OneForwardOneBackward, Interleaved, ZeroBubble };

/// How many ways the model and its data are split; the product is the number of ranks.
struct Layout {
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;  ///< divides data
  int context = 1;
  /// Neighbouring replicas that hold one set of ZeRO's shards among them (hybrid sharding); divides data. Zero = all.
  int shard = 0;
};

/// A layer, or the mean of all.
struct Layer {
  Seconds forward{};  ///< of one micro-batch on one device
  Seconds backward{};
  Bytes gradients{};    ///< of one replica, before tensor split
  Bytes activations{};  ///< that pass to the next layer, per micro-batch
};

/// One collective after another, `compute` of each rank before each.
struct CollectiveJob {
  CollectiveSpec collective{};  ///< ranks = 0: as many as the cluster has (a file is read to that number)
  RankOrder order = RankOrder::Linear;
  Seconds compute{};
  Compression compression{};
};

/// What a rank needs before its step, made by its node: on cores and through a link that the node's ranks share.
struct StepInput {
  int cores = 1;        ///< of each node
  Seconds prepare{};    ///< of each rank and step, on one core
  Bytes fetch{};        ///< of each rank and step, before that
  Bandwidth link{};     ///< of each node, for its ranks; zero = no limit
  Bandwidth storage{};  ///< of the whole job, for all ranks; zero = no limit
  bool ahead = false;   ///< made while the step before runs

  [[nodiscard]] bool takes_time() const {
    return prepare > Seconds{} || (fetch > Bytes{} && (link > Bandwidth{} || storage > Bandwidth{}));
  }
};

/// Steps of a model's training.
struct TrainingJob {
  Layout layout{};
  std::vector<Layer> layers{};
  Seconds optimizer{};
  int micro_batches = 1;  ///< per step and replica (gradient accumulation, pipeline)
  /// Of a step over all replicas, where it stays the same at any size (strong scaling): sequences, or micro-batches where
  /// `sequences` is not known; `micro_batches` is a replica's part of it. Zero = each replica brings its own (weak scaling).
  std::int64_t global_batch = 0;
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  int interleave = 1;  ///< model chunks per stage
  int zero_stage = 0;  ///< 0 none, 1, 2, 3 = FSDP
  /// Several sets of shards, each held by a group of replicas: what one of them needs never leaves its group.
  [[nodiscard]] bool is_hybrid() const {
    return zero_stage > 0 && layout.shard > 0 && layout.shard < layout.data;
  }
  /// Replicas that meet in every step under any policy, since they share experts or shards: a worker.
  [[nodiscard]] int replicas_per_worker() const {
    return std::max(layout.expert, is_hybrid() ? layout.shard : 1);
  }
  Bytes bucket{25'000'000};
  bool overlap = true;          ///< all-reduce of finished buckets beside the backward pass
  double overlap_slowdown = 0;  ///< compute beside communication takes (1 + this) times as long
  /// A step in which less than `overlap_threshold` of the communication was exposed makes the next one wait longer, by
  /// this times what was missing.
  double overlap_feedback = 0;
  Seconds overlap_threshold{};
  int moe_layers = 0;           ///< layers with expert all-to-all
  CollectiveSpec collective{};  ///< how its collectives are carried out, where this does them
  Compression compression{};    ///< of gradients
  /// Of the model, for one micro-batch forward and backward; zero = not known. Formula: 6 N tokens (Kaplan et
  /// al. 2020, section 2.1).
  Flops flops{};
  std::int64_t sequences = 0;  ///< of a micro-batch; zero = not known
  StepInput input{};
  /// Parameters of pace::Settings that are not at their defaults, by their keys and as pace::set takes them.
  std::map<std::string, std::string> pace{};
};

/// A GOAL schedule.
struct GoalJob {
  std::string file{};
};

/// A recorded program whose collectives are whole (Chakra, PyTorch execution trace).
struct TraceJob {
  std::string file{};
  Algorithm algorithm = CollectiveSpec{}.algorithm;  ///< of its collectives, where it does them
};

/// Iterations of a paced job.
struct IterationJob {
  IterationWork iteration{};  ///< on the cluster's ranks and hosts
  /// Parameters of pace::Settings that are not at their defaults, by their keys and as pace::set takes them.
  std::map<std::string, std::string> pace{};
};

/// What runs, and how often.
struct Job {
  int steps = 1;
  Places places{};
  std::variant<CollectiveJob, TrainingJob, GoalJob, TraceJob, IterationJob> work{};  ///< as in `Workload`

  [[nodiscard]] Workload workload() const { return static_cast<Workload>(work.index()); }
  /// The work of this kind; that it is of this kind is asserted.
  template <class Work>
  [[nodiscard]] const Work& as() const {
    const Work* found = std::get_if<Work>(&work);
    COX_ASSERT(found != nullptr, "the job is of this kind");
    return *found;
  }
  template <class Work>
  [[nodiscard]] Work& as() {
    Work* found = std::get_if<Work>(&work);
    COX_ASSERT(found != nullptr, "the job is of this kind");
    return *found;
  }
};

enum class NoiseLaw : std::uint8_t {
  Constant,
  Gaussian,
  Lognormal,
  Exponential,
  Pareto,
  Weibull,
  Bimodal,
  Uniform,
  Trace,
  Quantiles
};
/// Who shares a draw. Rail: the devices of all nodes at one card of theirs. Stage: of a pipeline.
enum class NoiseScope : std::uint8_t { Rank, Node, Switch, Global, Rail, Stage };
enum class NoiseTarget : std::uint8_t { Compute, Message, Bandwidth };
enum class NoisePattern : std::uint8_t {
  EveryStep,   ///< a fresh draw per step (with `correlation` between steps: AR(1))
  Persistent,  ///< one draw per rank for the whole job: slow for ever
  Rotating,    ///< one rank after the other, `period_steps` each
  Periodic,    ///< a daemon: every `period` of simulated time for `mean`
  Drift,       ///< thermal: grows from 0 to the drawn value over `period_steps`
  Recurring,   ///< in one step out of `period_steps`, from a drawn phase on: collecting garbage
  Once,        ///< in step `step` and never again: a delay that is injected
};

/// One source of disturbance. Several add up.
/// Constant: `mean`. Gaussian: mean, cv (cut at 0). Lognormal: mean, cv. Exponential: mean. Pareto: mean or
/// scale, `shape` (no cv where shape <= 2). Weibull: mean, shape. Bimodal: `mean` with `probability`, else 0.
/// Quantiles: `quantiles` or `file`, and behind the last of them a generalised Pareto tail.
struct NoiseSource {
  std::string name;
  NoiseTarget target = NoiseTarget::Compute;
  NoiseLaw law = NoiseLaw::Gaussian;
  NoiseScope scope = NoiseScope::Rank;
  NoisePattern pattern = NoisePattern::EveryStep;
  bool relative = true;   ///< `mean_ratio` of the compute time or message cost; else `mean`
  Seconds mean{};         ///< added time
  double mean_ratio = 0;  ///< added, over the undisturbed; 0 with cv > 0: factor 1 on average
  double cv = 0;
  double shape = 0;
  double probability = 1;
  double correlation = 0;  ///< of one step with the next, 0..1
  Seconds period{};
  std::int64_t period_steps = 1;
  double burst_steps = 0;  ///< mean length of a burst; 0 = always on
  double calm_steps = 0;   ///< mean length of what is between two
  std::int64_t step = 0;   ///< Once: counted from 0
  /// Of what is added, at even steps of probability from 0 to 1 - tail_probability, ascending; in `unit`, or
  /// without one in parts of what is disturbed.
  std::vector<double> quantiles{};
  Seconds unit{};
  double tail_probability = 0;  ///< of more than the last quantile
  double tail_scale = 0;        ///< sigma, as quantiles are
  double tail_shape = 0;        ///< xi; 0 is exponential
  std::vector<int> ranks{};     ///< only these; empty = all
  std::string file{};           ///< Trace: step times or detours. Quantiles: one a line
  bool off = false;  ///< adds nothing, and keeps its number, so that the others draw what they drew
};

/// What one node draws; zero busy = not known, and no energy is told.
struct PowerDraw {
  Power busy{};      ///< while its devices compute
  Power transfer{};  ///< while they communicate and do not compute
  Power wait{};      ///< while they wait for others, for input, or for a checkpoint
  Power idle{};      ///< while the job is down: failed, or starting; and while it stands by
  double pue = 1;    ///< power usage effectiveness: what the building draws over what its machines do

  [[nodiscard]] bool known() const { return busy > Power{}; }
};

/// What a node costs.
struct Price {
  double node_hour = 0;  ///< in `currency`; zero = not known
  std::string currency{};
};

enum class PolicyKind : std::uint8_t {
  Synchronous,
  BoundedWait,
  BoundedDiscard,
  Asynchronous,
  LocalSgd,
  Backup
};

struct PolicySpec {
  PolicyKind kind = PolicyKind::Synchronous;
  int staleness = 0;    ///< bounded-wait: steps ahead of the slowest; bounded-discard: age in versions
  int local_steps = 1;  ///< local SGD
  int backups = 0;      ///< backup workers: the slowest this many are not waited for
  int servers = 1;

  /// Workers meet at barriers between whole steps: a step has a common begin and end.
  [[nodiscard]] bool in_step() const {
    return kind == PolicyKind::Synchronous || kind == PolicyKind::LocalSgd;
  }
  /// Servers hold the parameters, and each worker asks them on its own.
  [[nodiscard]] bool has_servers() const {
    return kind == PolicyKind::BoundedWait || kind == PolicyKind::BoundedDiscard ||
           kind == PolicyKind::Asynchronous;
  }
};

/// What gives a collective its time.
enum class CollectivePrice : std::uint8_t {
  Rounds,  ///< the messages of its rounds
  Nccl,    ///< NCCL's tuning model, as a whole (`nccl_time`)
  Table,   ///< measured times, as a whole (`MeasuredTimes`)
};

enum class NeighbourKind : std::uint8_t {
  Flows,       ///< bursts from node to node, on and off
  Collective,  ///< computes and does a collective, again and again
  Training,    ///< replicas of a model, one on each device, that sum their gradients beside the backward pass
};
/// Another job on the same fabric, for as long as ours runs.
struct Neighbour {
  std::string name;
  NeighbourKind kind = NeighbourKind::Flows;
  std::vector<int>
      nodes{};  ///< Flows: from, to, from, to ...; else those it is on, in the order of its ranks
  Seconds start{};
  Bytes bytes{};      ///< of a burst of each flow; of the collective; of the gradients of a replica
  Seconds period{};   ///< Flows: from the begin of one burst to the next; zero = one after the other
  Bandwidth rate{};   ///< Flows: of one flow, at most; zero = no limit
  Seconds compute{};  ///< Collective: of each rank before each; Training: forward
  Collective collective = Collective::AllReduce;
  Algorithm algorithm = Algorithm::Ring;
  Seconds backward{};        ///< Training: during which the gradients of `bytes` get ready evenly
  Bytes bucket{25'000'000};  ///< Training: what is summed at once
  Seconds optimizer{};       ///< Training
};

enum class EngineKind : std::uint8_t { Auto, ClosedForm, MaxPlus, Flow, Event };
[[nodiscard]] std::string_view name_of(EngineKind e);
[[nodiscard]] std::string_view name_of(Routing routing);
[[nodiscard]] std::string_view name_of(NoiseTarget target);
[[nodiscard]] std::string_view name_of(NoiseLaw law);
[[nodiscard]] std::string_view name_of(PolicyKind policy);

struct Scenario {
  std::string name;
  Cluster cluster{};
  Fabric fabric{};
  Job job{};
  std::vector<Neighbour> neighbours{};
  std::vector<NoiseSource> noise{};
  Failures failures{};
  Startup start{};
  PowerDraw power{};
  Price node_price{};
  PolicySpec policy{};
  /// Between two devices of a node, and across the fabric. Latency and time per byte are those of the path
  /// (all links of it, slowest link), unless the file says them.
  MessageCost inside{};
  MessageCost across{};
  Protocol protocol = Protocol::Rendezvous;
  CollectivePrice price = CollectivePrice::Rounds;
  NcclCost nccl{};           ///< where the price is Nccl; ranks_per_node is the cluster's
  std::string table_file{};  ///< where the price is Table, with what is in it
  MeasuredTimes table{};
  EngineKind engine = EngineKind::Auto;
  bool plays_links = false;  ///< engine Auto: as if something shared links, so that scenarios can be compared
  std::uint64_t seed = 1;
  int replicas = 1;
};

/// The engine that runs its collectives and messages: what it says, or what `Auto` stands for by what may be shared.
/// Flow where links may be shared or routes matter, else max-plus. Where it turns out that no link is
/// (simulate's own_links.hpp), the work is left to max-plus and the Outcome says so.
[[nodiscard]] EngineKind engine_for(const Scenario& scenario);
/// Whether messages of such work are played on the links of the fabric. One node plays none under `Auto`.
[[nodiscard]] bool plays_links(const Scenario& scenario, Workload workload);
/// Whether max-plus may do the flow engine's work where it finds that no two messages meet: the engine is ours to
/// choose, nobody else is on the links, and messages are rendezvous and cost the same each time.
[[nodiscard]] bool max_plus_may_stand_in(const Scenario& scenario);
/// Whether a source disturbs messages or links, so that equal messages do not cost the same each time.
[[nodiscard]] bool disturbs_messages(const Scenario& scenario);
/// Ranks that the job may have.
[[nodiscard]] inline std::int64_t ranks_of(const Cluster& cluster, const Places& places) {
  return places.nodes.empty() ? cluster.ranks()
                              : static_cast<std::int64_t>(places.nodes.size()) * cluster.devices_per_node;
}
/// Nodes that it is on.
[[nodiscard]] inline int nodes_of(const Scenario& scenario) {
  const std::vector<int>& nodes = scenario.job.places.nodes;
  return nodes.empty() ? scenario.cluster.nodes : static_cast<int>(nodes.size());
}
/// What device `device` of a node passes on its way to the card that it uses.
enum class NicReach : std::uint8_t {
  Own,     ///< nothing more: the card is at its own PCIe switch
  Bridge,  ///< to another PCIe switch of its socket
  Socket,  ///< to the other socket
};
/// The class of a node; null = none.
[[nodiscard]] const NodeClass* class_of(const Cluster& cluster, int node);
/// The card that a device of such a node uses, and how it gets there.
[[nodiscard]] int nic_of(const Cluster& cluster, const NodeClass* of, int device);
[[nodiscard]] NicReach reach_of(const Cluster& cluster, const NodeClass* of, int device);
/// Whether any device of the cluster reaches its card so.
[[nodiscard]] bool any_reaches(const Cluster& cluster, NicReach reach);
/// Some node's way into the fabric is not as the others', or not as device i of d to NIC i n / d.
[[nodiscard]] bool has_unlike_ways(const Cluster& cluster);
/// What a message costs depends on which devices it goes between, so that only links that are played tell.
[[nodiscard]] bool needs_links(const Cluster& cluster, const Places& places,
                               const std::vector<Neighbour>& neighbours);

}  // namespace cox::model
