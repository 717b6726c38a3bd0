// SPDX-License-Identifier: Apache-2.0
// Keys of the arrays of tables.
#include "model/toml/keys/key_fields.hpp"
#include "model/toml/keys/keys.hpp"
#include "model/toml/keys/words.hpp"

namespace cox::model {
namespace {

const Key<NoiseSource> kNoise[] = {
    {"name", COX_IN(NoiseSource, name), "shown in results"},
    {"target", COX_WORD(NoiseSource, target_words, target), "what is disturbed"},
    {"law", COX_WORD(NoiseSource, law_words, law), "distribution of the disturbance"},
    {"scope", COX_WORD(NoiseSource, scope_words, scope), "who shares a draw"},
    {"pattern", COX_WORD(NoiseSource, pattern_words, pattern), "how draws follow each other"},
    {"mean", COX_IN(NoiseSource, mean), "added time"},
    {"mean_ratio", COX_IN(NoiseSource, mean_ratio),
     "added part of the undisturbed time; 0 with `cv`: the factor is 1 on average", 0, 1e9},
    {"cv", COX_IN(NoiseSource, cv), "standard deviation over mean (gaussian, lognormal, uniform, pareto)", 0,
     1e6},
    {"shape", COX_IN(NoiseSource, shape), "pareto, weibull", 0, 1e6},
    {"probability", COX_IN(NoiseSource, probability), "of being disturbed at all; bimodal: else 0", 0, 1},
    {"correlation", COX_IN(NoiseSource, correlation), "every-step: of one step with the next", 0, 0.999999},
    {"period", COX_IN(NoiseSource, period), "periodic: from one disturbance to the next"},
    {"period_steps", COX_IN(NoiseSource, period_steps),
     "rotating: steps of each rank; drift: steps to grow over; recurring: from one to the next", 1,
     kMostSteps},
    {"step", COX_IN(NoiseSource, step), "once: when, counted from 0", 0, kMostSteps},
    {"burst_steps", COX_IN(NoiseSource, burst_steps),
     "mean length of a burst, outside of which nothing is added", 0, 1e9},
    {"calm_steps", COX_IN(NoiseSource, calm_steps), "mean length of the calm between bursts", 0, 1e9},
    {"quantiles", COX_IN(NoiseSource, quantiles),
     "of what is added, ascending, at even steps of probability from 0 to 1 - `tail_probability`", -1e12,
     1e12},
    {"unit", COX_IN(NoiseSource, unit),
     "of quantiles and `tail_scale`; without it they are parts of the undisturbed time"},
    {"tail_probability", COX_IN(NoiseSource, tail_probability), "of more than the last quantile", 0, 1},
    {"tail_scale", COX_IN(NoiseSource, tail_scale), "sigma of the generalised Pareto tail above it", 0, 1e12},
    {"tail_shape", COX_IN(NoiseSource, tail_shape), "xi of that tail; 0 is exponential", -1, 0.999},
    {"ranks", COX_IN(NoiseSource, ranks), "only these; empty = all", 0, kLargestRanks},
    {"file", COX_PATH(NoiseSource, file), "trace: step times or detours; quantiles: one a line"},
    {"off", COX_IN(NoiseSource, off), "adds nothing; other sources draw what they drew beside it"},
};

const Key<NodeClass> kNodeClasses[] = {
    {"name", COX_IN(NodeClass, name), "shown in results"},
    {"first", COX_IN(NodeClass, first), "node that the class begins at", 0, kLargestRanks,
     "behind the class before; the first: 0"},
    {"count", COX_IN(NodeClass, count), "nodes of the class", 1, kLargestRanks},
    {"speed", COX_IN(NodeClass, speed), "of its devices over the others': 0.5 computes twice as long", 1e-3,
     1e3},
    {"memory", COX_IN(NodeClass, memory), "of one device; `0B` = `cluster.device.memory`"},
    {"nics", COX_IN(NodeClass, nics), "cards of a node; 0 = `cluster.nics_per_node`", 0, kLargestRanks},
    {"nic_latency", COX_IN(NodeClass, nic.latency), "`0s` = `cluster.nic.latency`"},
    {"nic_bandwidth", COX_IN(NodeClass, nic.bandwidth), "`0B/s` = `cluster.nic.bandwidth`"},
    {"nic_of", COX_IN(NodeClass, nic_of), "card that each device uses; empty = `cluster.nic_of`", 0,
     kLargestRanks},
    {"power_busy", COX_IN(NodeClass, busy), "of such a node, as `power.busy`", 0, kNoLimit,
     "that of `power.busy`"},
    {"power_transfer", COX_IN(NodeClass, transfer), "as `power.transfer`", 0, kNoLimit,
     "that of `power.transfer`; beside `power_busy`, that of `power_wait`"},
    {"power_wait", COX_IN(NodeClass, wait), "as `power.wait`", 0, kNoLimit,
     "that of `power.wait`; beside `power_busy`, half of it (assumed: measure it)"},
    {"power_idle", COX_IN(NodeClass, idle), "as `power.idle`", 0, kNoLimit,
     "that of `power.idle`; beside `power_busy`, that of `power_wait`"},
    {"node_hour", COX_IN(NodeClass, node_hour), "as `price.node_hour`; 0 = that", 0, 1e9},
};

const WordField<Neighbour> kNeighbourCollective{
    .words = collective_words,
    .get = [](const Neighbour& n) { return word_of(n.collective); },
    .set = [](Neighbour& n, std::size_t i) { n.collective = collective_at(i); }};

const Key<Neighbour> kNeighbours[] = {
    {"name", COX_IN(Neighbour, name), "shown in results"},
    {"kind", COX_WORD(Neighbour, neighbour_words, kind),
     "`flows`: bursts from node to node; `collective`: a job that computes and does a collective, again and again; "
     "`training`: a job whose replicas, one on each device, sum their gradients beside the backward pass"},
    {"nodes", COX_IN(Neighbour, nodes),
     "flows: from, to, from, to, ...; else those it is on, a rank on each device, in the order of its ranks",
     0, kLargestRanks},
    {"start", COX_IN(Neighbour, start), "when it begins"},
    {"bytes", COX_IN(Neighbour, bytes),
     "of a burst of each flow; of the collective, as `job.collective.bytes`; training: of all gradients of a "
     "replica",
     0, kLargestSize},
    {"period", COX_IN(Neighbour, period),
     "flows: from the begin of one burst to the next; `0s` = one behind the other"},
    {"rate", COX_IN(Neighbour, rate), "flows: of one flow, at most; `0B/s` = what the links give"},
    {"compute", COX_IN(Neighbour, compute),
     "collective: of each rank before each; training: the forward pass"},
    {"collective", kNeighbourCollective, "collective: which"},
    {"algorithm", COX_WORD(Neighbour, algorithm_words, algorithm),
     "collective, training: how it, or the all-reduce of gradients, is carried out"},
    {"backward", COX_IN(Neighbour, backward),
     "training: the backward pass, in which gradients get ready evenly"},
    {"bucket", COX_IN(Neighbour, bucket), "training: gradients that are summed together", 1, kLargestSize},
    {"optimizer", COX_IN(Neighbour, optimizer), "training: after the last sum"},
};

const Key<LayerGroup> kLayers[] = {
    {"count", COX_IN(LayerGroup, count), "layers that are alike", 1, kMostLayers},
    {"forward", COX_IN(LayerGroup, layer.forward), "of one micro-batch on one device"},
    {"backward", COX_IN(LayerGroup, layer.backward), "of one micro-batch on one device"},
    {"gradients", COX_IN(LayerGroup, layer.gradients), "of one replica, before the tensor split"},
    {"activations", COX_IN(LayerGroup, layer.activations), "that pass to the next layer, per micro-batch"},
};

const Key<FailureClass> kClasses[] = {
    {"name", COX_IN(FailureClass, name), "shown in results"},
    {"per", COX_WORD(FailureClass, failure_unit_words, per),
     "what there is several of: nodes; devices; links (cards with their cables), which take their node down; leaf "
     "switches, which take all their nodes down; or the job itself (software, people)"},
    {"mtbf", COX_IN(FailureClass, mtbf), "mean time between failures of one of them, exponential"},
    {"restart", COX_IN(FailureClass, restart), "instead of `failures.restart`", 0, kNoLimit,
     "that of `failures.restart`"},
    {"repair", COX_IN(FailureClass, repair), "instead of `failures.repair`", 0, kNoLimit,
     "that of `failures.repair`"},
};

}  // namespace

std::span<const Key<NoiseSource>> noise_keys() {
  return kNoise;
}
std::span<const Key<LayerGroup>> layer_keys() {
  return kLayers;
}
std::span<const Key<FailureClass>> failure_class_keys() {
  return kClasses;
}
std::span<const Key<NodeClass>> node_class_keys() {
  return kNodeClasses;
}
std::span<const Key<Neighbour>> neighbour_keys() {
  return kNeighbours;
}

}  // namespace cox::model
