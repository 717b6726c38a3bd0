// SPDX-License-Identifier: Apache-2.0
#include "model/toml/keys/keys.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "model/toml/keys/key_fields.hpp"
#include "model/toml/keys/words.hpp"

namespace cox::model {
namespace {

const WordField<Draft> kPreset{
    .words = preset_words,
    .get =
        [](const Draft& d) {
          const Words all = preset_words();
          const auto at = std::find(all.begin(), all.end(), d.scenario.cluster.preset);
          return at == all.end() ? std::size_t{0} : static_cast<std::size_t>(at - all.begin());
        },
    .set = [](Draft& d, std::size_t i) { d.scenario.cluster.preset = i == 0 ? "" : preset_words()[i]; }};
const WordField<Draft> kCollective{
    .words = collective_words,
    .get = [](const Draft& d) { return word_of(d.job.collective.kind); },
    .set = [](Draft& d, std::size_t i) { d.job.collective.kind = collective_at(i); }};

const Key<Draft> kRoot[] = {
    {"name", COX_AT(scenario.name), "shown in results", 0, kNoLimit, "the file's name without its ending"},
    {"seed", COX_AT(scenario.seed), "of every draw; the same seed gives the same draws in every engine", 0,
     kLargestCount},
    {"replicas", COX_AT(scenario.replicas),
     "runs with the seeds `seed`, `seed` + 1, ...; more than one gives an interval", 1, kMostReplicas},
    {"engine", COX_WORD(Draft, engine_words, scenario.engine),
     "`auto` is the cheapest that is exact for the scenario; the result names what ran"},

    {"cluster.preset", kPreset, "a machine with published figures; every key below may still be given"},
    {"cluster.nodes", COX_AT(scenario.cluster.nodes), "machines", 1, kLargestRanks},
    {"cluster.devices_per_node", COX_AT(scenario.cluster.devices_per_node),
     "accelerators in each; one rank each", 1, kLargestRanks},
    {"cluster.device.name", COX_AT(scenario.cluster.device_name), "for results only"},
    {"cluster.device.peak", COX_AT(scenario.cluster.device_peak),
     "peak in the precision of the training, without sparsity; only [job.model] uses it"},
    {"cluster.device.memory", COX_AT(scenario.cluster.device_memory),
     "of one device: what is said where parameters, gradients and optimizer do not fit"},
    {"cluster.scale_up.latency", COX_AT(scenario.cluster.scale_up.latency), "device to device inside a node"},
    {"cluster.scale_up.bandwidth", COX_AT(scenario.cluster.scale_up.bandwidth),
     "of one device, one direction"},
    {"cluster.nics_per_node", COX_AT(scenario.cluster.nics_per_node),
     "network cards of a node; a device sends through one", 1, kLargestRanks, ""},
    {"cluster.nic.latency", COX_AT(scenario.cluster.nic.latency), "card to its first switch, one direction"},
    {"cluster.nic.bandwidth", COX_AT(scenario.cluster.nic.bandwidth), "of one card, one direction"},
    {"cluster.pcie.latency", COX_AT(scenario.cluster.pcie.latency), "device to card"},
    {"cluster.pcie.bandwidth", COX_AT(scenario.cluster.pcie.bandwidth),
     "device to card, one direction; `0B/s` = no limit"},
    {"cluster.nic_of", COX_AT(scenario.cluster.nic_of), "card that each device of a node uses", 0,
     kLargestRanks, "device i of d has card i n / d of n"},
    {"cluster.sockets", COX_AT(scenario.cluster.sockets), "of a node; devices and cards are divided evenly",
     1, 1024},
    {"cluster.bridge.latency", COX_AT(scenario.cluster.bridge.latency),
     "to a card at another PCIe switch of the socket"},
    {"cluster.bridge.bandwidth", COX_AT(scenario.cluster.bridge.bandwidth),
     "the same, one direction, shared by all devices of a socket that do so; `0B/s` = no limit"},
    {"cluster.socket.latency", COX_AT(scenario.cluster.socket.latency), "to a card at another socket"},
    {"cluster.socket.bandwidth", COX_AT(scenario.cluster.socket.bandwidth),
     "the same, one direction, shared by all devices of a node that do so; `0B/s` = no limit"},

    {"fabric.kind", COX_WORD(Draft, fabric_words, scenario.fabric.kind), "how the nodes are wired"},
    {"fabric.link.latency", COX_AT(scenario.fabric.link.latency), "switch to switch (torus: node to node)", 0,
     kNoLimit, "that of `cluster.nic`"},
    {"fabric.link.bandwidth", COX_AT(scenario.fabric.link.bandwidth), "the same, one direction", 0, kNoLimit,
     "that of `cluster.nic`"},
    {"fabric.tiers", COX_AT(scenario.fabric.tiers), "fat tree: levels of switches", 2, 3},
    {"fabric.hosts_per_leaf", COX_AT(scenario.fabric.hosts_per_leaf),
     "fat tree, rail-optimised: nodes below a leaf switch", 1, kLargestRanks},
    {"fabric.leaves_per_pod", COX_AT(scenario.fabric.leaves_per_pod), "fat tree of three tiers", 1,
     kLargestRanks},
    {"fabric.oversubscription", COX_AT(scenario.fabric.oversubscription),
     "fat tree, rail-optimised: down-links over up-links of a leaf: 4 means 4:1", 1, kLargestRanks},
    {"fabric.pod_oversubscription", COX_AT(scenario.fabric.pod_oversubscription),
     "fat tree of three tiers: the same of the switches above the leaves of a pod", 1, kLargestRanks},
    {"fabric.torus", COX_AT(scenario.fabric.torus),
     "extent of each dimension; the product is `cluster.nodes`", 1, kLargestRanks,
     "three factors of `cluster.nodes` as equal as they can be"},
    {"fabric.dragonfly.groups", COX_AT(scenario.fabric.dragonfly_groups),
     "groups, each fully connected inside", 1, kLargestRanks},
    {"fabric.dragonfly.routers", COX_AT(scenario.fabric.dragonfly_routers), "routers of a group", 1,
     kLargestRanks},
    {"fabric.dragonfly.hosts", COX_AT(scenario.fabric.dragonfly_hosts), "nodes of a router", 1,
     kLargestRanks},
    {"fabric.graph_file", COX_PATH(Draft, scenario.fabric.graph_file),
     "kind `graph`: lines of two ends, a latency and a bandwidth"},
    {"fabric.routing", COX_WORD(Draft, routing_words, scenario.fabric.routing),
     "`static`: by destination; `ecmp`: by a hash of the flow; `adaptive`: the least loaded; `spray`: all paths"},
    {"fabric.flows_per_connection", COX_AT(scenario.fabric.flows_per_connection),
     "routing `ecmp`: equal parts of a message, each with a hash and so a way of its own (queue pairs)", 1,
     1024},
    {"fabric.switching", COX_WORD(Draft, switching_words, scenario.fabric.switching),
     "how a switch forwards"},
    {"fabric.incast_loss", COX_AT(scenario.fabric.incast_loss),
     "model of goodput that is lost when more than eight flows enter a node: of n of them 8/n is left, at least a tenth"},
    {"fabric.pause", COX_AT(scenario.fabric.pause),
     "pause frames: a full queue blocks what is upstream of it"},
    {"fabric.background_load", COX_AT(scenario.fabric.background_load),
     "part of every switch link that other jobs use", 0, 0.999},
    {"fabric.timeout.wait", COX_AT(scenario.fabric.timeouts.wait),
     "until a lost message between nodes is sent again; doubles each time; `0s` = none are lost", 0, 1e6},
    {"fabric.timeout.loss", COX_AT(scenario.fabric.timeouts.loss), "probability of each message to be lost",
     0, 0.5},
    {"fabric.timeout.flows", COX_AT(scenario.fabric.timeouts.flows),
     "messages that a switch's port has room for: one more is lost; `0` = any number", 0, kLargestRanks},

    {"job.workload", COX_WORD(Draft, workload_words, job.workload), "what runs"},
    {"job.steps", COX_AT(job.steps), "how often", 1, kMostSteps},
    {"job.compute", COX_AT(job.compute), "collective: of each rank before each collective"},
    {"job.order", COX_WORD(Draft, order_words, job.order),
     "collective: which rank sits on which place; `random` is drawn from `seed`"},
    {"job.nodes", COX_AT(job.places.nodes),
     "collective, training, chakra: the nodes that it is on, in the order of its ranks; empty = all", 0,
     kLargestRanks},
    {"job.placement", COX_WORD(Draft, place_words, job.places.rule),
     "collective, training, chakra: how ranks are put on devices; those of a tensor x context group stay together: places.md"},
    {"job.placement_file", COX_PATH(Draft, job.places.file),
     "placement `file`: a device for each rank, one a line"},
    {"job.file", COX_PATH(Draft, job.file), "goal, chakra: the schedule or the trace"},
    {"job.optimizer", COX_AT(job.training.optimizer), "training: the update of one rank's parameters"},
    {"job.micro_batches", COX_AT(job.training.micro_batches), "training: per step and replica", 1, 1e6},
    {"job.global_batch", COX_AT(job.training.global_batch),
     "training: sequences of a step over all replicas, the same at any size (strong scaling); of `[[job.layers]]` micro-batches; `0` = each replica has its `micro_batches` (weak scaling)",
     0, 1e12},
    {"job.schedule", COX_WORD(Draft, pipeline_words, job.training.schedule),
     "training: order of a stage's micro-batches"},
    {"job.interleave", COX_AT(job.training.interleave),
     "training: model chunks per stage, schedule `interleaved`", 1, kMostLayers},
    {"job.zero_stage", COX_AT(job.training.zero_stage),
     "training: what is sharded over the data-parallel ranks: 1 optimizer, 2 and gradients, 3 and parameters (FSDP)",
     0, 3},
    {"job.bucket", COX_AT(job.training.bucket), "training: gradients that are reduced together", 1},
    {"job.overlap", COX_AT(job.training.overlap),
     "training: reduce finished buckets beside the backward pass"},
    {"job.overlap_slowdown", COX_AT(job.training.overlap_slowdown),
     "training: compute beside communication takes 1 + this times as long", 0, 100},
    {"job.overlap_feedback", COX_AT(job.training.overlap_feedback),
     "training: what a step waits longer for, per time that the last one's exposed communication was below the threshold",
     0, 100},
    {"job.overlap_threshold", COX_AT(job.training.overlap_threshold),
     "training: exposed communication from which on the next step is not disturbed"},
    {"job.moe_layers", COX_AT(job.training.moe_layers), "training: layers with expert all-to-all", 0,
     kMostLayers},

    {"job.collective.kind", kCollective, "which collective"},
    {"job.collective.algorithm", COX_WORD(Draft, algorithm_words, job.collective.algorithm),
     "how it is carried out: see collectives.md"},
    {"job.collective.ranks", COX_AT(job.collective.ranks), "how many take part", 1, kLargestRanks,
     "all of the cluster"},
    {"job.collective.bytes", COX_AT(job.collective.bytes),
     "as nccl-tests count: the whole buffer of a rank (all-gather, reduce-scatter: the gathered one)"},
    {"job.collective.group", COX_AT(job.collective.group),
     "hierarchical, hierarchical-3, two-level, ring of several channels: ranks of an inner group; in-network: of a leaf "
     "switch; training: 1 = those that share a node",
     1, kLargestRanks, "`cluster.devices_per_node`; training 1"},
    {"job.collective.group2", COX_AT(job.collective.group2), "hierarchical-3: inner groups of a middle group",
     1, kLargestRanks},
    {"job.collective.servers", COX_AT(job.collective.servers), "parameter-server: shards", 1, kLargestRanks},
    {"job.collective.chunks", COX_AT(job.collective.chunks),
     "binary and double binary tree, chain, in-network: pieces that follow each other; one is a tree that waits for whole messages",
     1, 1e6},
    {"job.collective.channels", COX_AT(job.collective.channels),
     "ring: so many beside each other, an equal part of the bytes each; they enter and leave a node by different "
     "ranks, and so by different network cards",
     1, 64},
    {"job.collective.root", COX_AT(job.collective.root),
     "binomial and binary tree, chain: rank that begins or ends with the data", 0, kLargestRanks},

    {"job.input.cores", COX_AT(job.training.input.cores), "of each node, shared by its ranks", 1, 1e6},
    {"job.input.prepare", COX_AT(job.training.input.prepare),
     "of each rank and step, on one core: the step begins behind it"},
    {"job.input.fetch", COX_AT(job.training.input.fetch), "of each rank and step, before that", 0,
     kLargestSize},
    {"job.input.link", COX_AT(job.training.input.link),
     "of each node, shared by its ranks; `0B/s` = no limit"},
    {"job.input.storage", COX_AT(job.training.input.storage),
     "of the whole job, shared by all ranks, instead of a link of each node; `0B/s` = no limit"},
    {"job.input.ahead", COX_AT(job.training.input.ahead),
     "made while the step before runs, and waited for where it takes longer"},

    {"job.compression.kind", COX_WORD(Draft, compressor_words, job.compression.kind),
     "collective, training: gradients are sent with fewer bits each, or the largest of them with their places (top-k): "
     "compression.md"},
    {"job.compression.bits", COX_AT(job.compression.bits), "quantised: of an element on the wire", 0.1, 64},
    {"job.compression.density", COX_AT(job.compression.density), "sparse: part of the elements that is sent",
     1e-9, 1},
    {"job.compression.element", COX_AT(job.compression.element), "of an element before", 1, 16},
    {"job.compression.index", COX_AT(job.compression.index), "sparse: of an element's place", 0, 16},
    {"job.compression.encode", COX_AT(job.compression.encode),
     "packing, of bytes before; `0B/s` takes no time"},
    {"job.compression.decode", COX_AT(job.compression.decode),
     "unpacking, of packed bytes that a rank receives; `0B/s` takes no time"},

    {"job.layout.data", COX_AT(job.training.layout.data), "replicas of the model", 1, kLargestRanks,
     "ranks over tensor x pipeline x context"},
    {"job.layout.tensor", COX_AT(job.training.layout.tensor), "devices that share each layer", 1,
     kLargestRanks},
    {"job.layout.pipeline", COX_AT(job.training.layout.pipeline), "stages", 1, kLargestRanks},
    {"job.layout.expert", COX_AT(job.training.layout.expert), "devices that share the experts; divides data",
     1, kLargestRanks},
    {"job.layout.context", COX_AT(job.training.layout.context), "devices that share a sequence", 1,
     kLargestRanks},
    {"job.layout.shard", COX_AT(job.training.layout.shard),
     "ZeRO: replicas that hold one set of shards among them (hybrid sharding); divides data; `0` = all", 0,
     kLargestRanks},

    {"job.model.parameters", COX_AT(size.parameters),
     "of the whole model; gives the layers instead of [[job.layers]]", 1, kLargestCount},
    {"job.model.layers", COX_AT(size.layers), "of equal size", 1, kMostLayers},
    {"job.model.hidden", COX_AT(size.hidden), "width of what passes between layers", 1, 1e9},
    {"job.model.sequence", COX_AT(size.sequence), "tokens of a sequence", 1, 1e9},
    {"job.model.micro_batch", COX_AT(size.micro_batch), "sequences of a micro-batch", 1, 1e6},
    {"job.model.element", COX_AT(size.element), "of an activation", 1, 16},
    {"job.model.gradient", COX_AT(size.gradient), "of one parameter's gradient", 1, 16},
    {"job.model.utilisation", COX_AT(size.utilisation), "MFU: part of `cluster.device.peak` that is reached",
     1e-6, 1},
    {"job.model.backward_over_forward", COX_AT(size.backward_over_forward),
     "time of a backward pass in forward passes", 0, 100},

    {"iteration.cores", COX_AT(job.iteration.iteration.cores), "of each host, shared by its ranks", 1, 1e6},
    {"iteration.time_slice", COX_AT(job.iteration.iteration.time_slice),
     "longest time that a core runs one rank while others want it; `0s` = all at once, each at its share"},
    {"iteration.prepare", COX_AT(job.iteration.iteration.prepare),
     "CPU time of a rank on the host's cores, at the start"},
    {"iteration.fetch", COX_AT(job.iteration.iteration.fetch), "input of a rank over `iteration.link`, then",
     0, kLargestSize},
    {"iteration.link", COX_AT(job.iteration.iteration.link), "one link that all ranks share; `0B/s` = none"},
    {"iteration.compute", COX_AT(job.iteration.iteration.compute), "then; mean of a rank that is not slow"},
    {"iteration.compute_on_cores", COX_AT(job.iteration.iteration.compute_on_cores),
     "on the shared cores instead of a device of its own"},
    {"iteration.jitter", COX_WORD(Draft, jitter_words, job.iteration.iteration.jitter),
     "law of the factor on `iteration.compute`, of mean 1; fresh for every rank and step"},
    {"iteration.spread", COX_AT(job.iteration.iteration.spread),
     "coefficient of variation of the jitter (exponential: at most 1)", 0, 10},
    {"iteration.imbalance", COX_WORD(Draft, imbalance_words, job.iteration.iteration.imbalance),
     "which ranks are slow: the last ones for ever, or others every episode"},
    {"iteration.slow_ranks", COX_AT(job.iteration.iteration.slow_ranks), "how many, at a time", 0,
     kLargestRanks},
    {"iteration.slow_factor", COX_AT(job.iteration.iteration.slow_factor), "times `iteration.compute`", 0,
     1e6},
    {"iteration.episode", COX_AT(job.iteration.iteration.episode),
     "rotating: steps after which others are slow", 1, kMostSteps},
    {"iteration.reduce", COX_AT(job.iteration.iteration.reduce),
     "of the all-reduce that ends a step, a ring on `iteration.link`, or on the links of the cluster "
     "where there is none; `0B` = a barrier",
     0, kLargestSize},
    {"iteration.wait", COX_WORD(Draft, wait_words, job.iteration.iteration.wait),
     "how ranks wait in it: who spins takes a share of the cores"},

    {"failures.node_mtbf", COX_AT(scenario.failures.node_mtbf),
     "mean time between failures of one node; `0s` = none"},
    {"failures.weibull_shape", COX_AT(scenario.failures.weibull_shape), "1 is exponential", 0.01, 100},
    {"failures.job_mtbf", COX_AT(scenario.failures.job_mtbf),
     "mean time between failures that no node causes (software, people), exponential; `0s` = none"},
    {"failures.restart", COX_AT(scenario.failures.restart),
     "from a failure to the first repeated step: what does not grow with the job"},
    {"failures.restart_per_node", COX_AT(scenario.failures.restart_per_node),
     "further time of a restart per node: rendezvous, communicators"},
    {"failures.restart_per_pair", COX_AT(scenario.failures.restart_per_pair),
     "further time of a restart, times the square of the nodes"},
    {"failures.restart_spread", COX_AT(scenario.failures.restart_spread),
     "scale of what each node takes on its own (generalised Pareto law); a restart waits for the slowest"},
    {"failures.restart_tail", COX_AT(scenario.failures.restart_tail),
     "shape of that law: 0 is exponential, below 1 it has a mean", 0, 0.99},
    {"failures.cold_steps", COX_AT(scenario.failures.cold_steps), "steps after a restart that take longer", 0,
     kMostSteps},
    {"failures.cold_factor", COX_AT(scenario.failures.cold_factor), "how many times as long", 1, 1000},
    {"failures.checkpoint", COX_AT(scenario.failures.checkpoint), "for which a checkpoint holds up the job"},
    {"failures.checkpoint_interval", COX_AT(scenario.failures.checkpoint_interval),
     "compute between two; `0s` = none are written"},
    {"failures.checkpoint_write", COX_AT(scenario.failures.checkpoint_write),
     "asynchronous: further time beside the steps until it can be used; the next one waits for it"},
    {"failures.checkpoint_size", COX_AT(scenario.failures.checkpoint_size), "of all nodes together"},
    {"failures.storage", COX_AT(scenario.failures.storage),
     "bandwidth that all nodes share for checkpoint_size: written to, and read from at a restart; `0B/s` = no limit"},

    {"failures.repair", COX_AT(scenario.failures.repair),
     "until what a failure took down stands by again; `0s` = another is there at once"},
    {"failures.spares", COX_AT(scenario.failures.spares),
     "nodes that stand by: a job that has fewer nodes than it needs waits for a repair", 0, kLargestRanks},
    {"failures.checkpoint_delta", COX_AT(scenario.failures.checkpoint_delta),
     "of all nodes together: what a checkpoint holds that is not full; a restart reads the full one and all deltas "
     "since"},
    {"failures.full_every", COX_AT(scenario.failures.full_every),
     "every so many checkpoints one is full, the others are deltas", 1, 1e6},
    {"failures.unreadable", COX_AT(scenario.failures.unreadable),
     "probability that a checkpoint cannot be read at a restart, which then takes the one before it", 0,
     0.99},
    {"failures.near_checkpoint", COX_AT(scenario.failures.near_checkpoint),
     "for which a checkpoint into the nodes' own memory holds up the job"},
    {"failures.near_interval", COX_AT(scenario.failures.near_interval),
     "compute between two of those; `0s` = none are written"},
    {"failures.near_survives", COX_AT(scenario.failures.near_survives),
     "part of the failures after which they can still be read", 0, 1},

    {"start.fixed", COX_AT(scenario.start.fixed),
     "of every start, the first and those after failures: what does not grow with the job"},
    {"start.per_rank", COX_AT(scenario.start.per_rank),
     "of each communicator, times the ranks: rendezvous, addresses"},
    {"start.per_pair", COX_AT(scenario.start.per_pair),
     "of each communicator, times the square of the ranks: connections"},
    {"start.communicators", COX_AT(scenario.start.communicators), "of all ranks, made one after the other", 1,
     1e6},
    {"start.read", COX_AT(scenario.start.read), "by each node: programs, index of the data, weights", 0,
     kLargestSize},
    {"start.storage", COX_AT(scenario.start.storage), "that all nodes share for it"},
    {"start.spread", COX_AT(scenario.start.spread),
     "scale of what each node takes on its own while others read (generalised Pareto law): the slowest is waited for"},
    {"start.tail", COX_AT(scenario.start.tail), "shape of that law: 0 is exponential, below 1 it has a mean",
     0, 0.99},

    {"power.busy", COX_AT(scenario.power.busy),
     "of a node while its devices compute; `0W` = not known, and no energy is told"},
    {"power.transfer", COX_AT(scenario.power.transfer), "of a node while they communicate and do not compute",
     0, kNoLimit, "that of `power.wait`"},
    {"power.wait", COX_AT(scenario.power.wait),
     "of a node while they wait: for others, for input, for a checkpoint", 0, kNoLimit,
     "half of `power.busy` (assumed: measure it)"},
    {"power.idle", COX_AT(scenario.power.idle), "of a node while the job is down or starts, and of a spare",
     0, kNoLimit, "that of `power.wait`"},
    {"power.pue", COX_AT(scenario.power.pue), "what the building draws over what its machines do", 1, 10},

    {"price.node_hour", COX_AT(scenario.node_price.node_hour),
     "of a node for an hour; 0 = not known: node-hours are told, no cost", 0, 1e9},
    {"price.currency", COX_AT(scenario.node_price.currency), "shown behind it"},

    {"policy.kind", COX_WORD(Draft, policy_words, scenario.policy.kind), "who waits for whom"},
    {"policy.staleness", COX_AT(scenario.policy.staleness),
     "bounded-wait: steps that a worker may be ahead of the slowest; bounded-discard: versions that an update may be old, "
     "with N equal workers N - 1",
     0, 1e9},
    {"policy.local_steps", COX_AT(scenario.policy.local_steps), "local-sgd: steps between two averages", 1,
     kMostSteps},
    {"policy.backups", COX_AT(scenario.policy.backups), "backup: the slowest so many are not waited for", 0,
     kLargestRanks},
    {"policy.servers", COX_AT(scenario.policy.servers),
     "asynchronous, bounded-wait, bounded-discard: shards of the parameters", 1, kLargestRanks},

    {"cost.form", COX_WORD(Draft, price_words, scenario.price),
     "what a collective costs: the messages of its `rounds`, NCCL's tuning model for the whole, or measured times of the "
     "whole: message-cost.md"},
    {"cost.table", COX_PATH(Draft, scenario.table_file), "form `table`: measured times over sizes"},
    {"cost.nccl.channels", COX_AT(scenario.nccl.channels), "form `nccl`: rings, and trees, side by side", 1,
     64},
    {"cost.nccl.inside", COX_AT(scenario.nccl.inside), "of one channel between devices of a node", 0,
     kNoLimit, "`cluster.scale_up` over the channels"},
    {"cost.nccl.across", COX_AT(scenario.nccl.across), "of one channel between nodes", 0, kNoLimit,
     "`cluster.nic` of all cards of a node over the channels"},
    {"cost.nccl.launch", COX_AT(scenario.nccl.launch), "of the call and its kernel"},
    {"cost.nccl.nvls", COX_AT(scenario.nccl.nvls), "switches inside a node add (NVLink SHARP)"},
    {"cost.nccl.collnet", COX_AT(scenario.nccl.collnet), "switches between nodes add (SHARP)"},
    {"cost.nccl.protocol", COX_CHOICE(nccl_protocol_words, scenario.nccl.protocol),
     "only this one, as NCCL_PROTO; `any` is the cheapest"},
    {"cost.nccl.algorithm", COX_CHOICE(nccl_algorithm_words, scenario.nccl.algorithm),
     "only this one, as NCCL_ALGO; `any` is the cheapest"},
    {"cost.protocol", COX_WORD(Draft, protocol_words, scenario.protocol),
     "when a message starts and what it holds up"},
    {"cost.reduce", COX_AT(scenario.across.reduce),
     "protocol `loggops`: of the receiver's processor, to add up what it has received"},
    {"cost.inside.form", COX_WORD(Draft, form_words, scenario.inside.form), "of a message inside a node"},
    {"cost.inside.latency", COX_AT(scenario.inside.latency), "alpha, L", 0, kNoLimit,
     "that of `cluster.scale_up`"},
    {"cost.inside.bandwidth", COX_RATE(scenario.inside.per_byte), "1 / beta, 1 / G", 0, kNoLimit,
     "that of `cluster.scale_up`"},
    {"cost.inside.overhead", COX_AT(scenario.inside.overhead),
     "protocol `loggops`: o, of the processor, at each end"},
    {"cost.inside.gap", COX_AT(scenario.inside.gap), "protocol `loggops`: g, between two messages of a port"},
    {"cost.inside.overhead_per_byte", COX_AT(scenario.inside.overhead_per_byte), "protocol `loggops`: O"},
    {"cost.inside.eager_limit", COX_AT(scenario.inside.eager_limit),
     "protocol `loggops`: S, longer messages wait for the receiver"},
    {"cost.across.form", COX_WORD(Draft, form_words, scenario.across.form), "of a message between nodes"},
    {"cost.across.latency", COX_AT(scenario.across.latency), "alpha, L", 0, kNoLimit,
     "sum over the links of the path"},
    {"cost.across.bandwidth", COX_RATE(scenario.across.per_byte), "1 / beta, 1 / G", 0, kNoLimit,
     "of the slowest link of the path"},
    {"cost.across.overhead", COX_AT(scenario.across.overhead),
     "protocol `loggops` and goal: o, of the processor, at each end"},
    {"cost.across.gap", COX_AT(scenario.across.gap),
     "protocol `loggops` and goal: g, between two messages of a port"},
    {"cost.across.overhead_per_byte", COX_AT(scenario.across.overhead_per_byte),
     "protocol `loggops` and goal: O"},
    {"cost.across.eager_limit", COX_AT(scenario.across.eager_limit),
     "protocol `loggops` and goal: S, longer messages wait for the receiver"},
};

}  // namespace

std::string_view kind_name(const pace::Parameter& parameter) {
  if (!setting_words(parameter).empty()) return "word";
  const std::string_view unit = parameter.unit;
  if (unit == "time") return "time";
  const bool whole =
      unit == "steps" || unit == "pairs of blocks" || std::string_view(parameter.key) == "seed";
  return whole ? "count" : "ratio";
}

namespace {

/// What nothing in a simulation reads: a calibration of transfers, which are known there, and the order in which a
/// library's threads submit.
bool is_of_live_jobs(const pace::Parameter& parameter) {
  const std::string_view key = parameter.key;
  return key.starts_with("transfer_") || key == "order";
}

}  // namespace

/// The table above and, as `pace.`, that of the controller.
std::span<const Key<Draft>> root_keys() {
  struct All {
    std::vector<std::string> names;
    std::vector<Key<Draft>> keys{std::begin(kRoot), std::end(kRoot)};
  };
  static const All all = [] {
    All out;
    const auto parameters = pace::parameters();
    out.names.reserve(parameters.size());  // keys point into it
    for (const pace::Parameter& p : parameters) {
      if (is_of_live_jobs(p)) continue;
      out.names.push_back(std::string("pace.") + p.key);
      out.keys.push_back(
          {.name = out.names.back(),
           .field = SettingField<Draft>{.at = [](Draft& d) -> std::map<std::string, std::string>& {
                                          return d.job.iteration.pace;
                                        },
                                        .about = &p},
           .help = p.effect,
           // NOLINTNEXTLINE(bugprone-narrowing-conversions): of infinity, to the same type
           .most = kind_name(p) == "count" ? kLargestCount : kNoLimit});
    }
    return out;
  }();
  return all.keys;
}
}  // namespace cox::model
