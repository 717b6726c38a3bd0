// SPDX-License-Identifier: Apache-2.0
#include "model/toml/keys/derive.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

namespace cox::model {
namespace {

void derive_fabric(const Cluster& cluster, Fabric& fabric, Notes& notes) {
  if (!notes.said("fabric.link.latency")) {
    fabric.link.latency = cluster.nic.latency;
    notes.derive("fabric.link.latency", "= cluster.nic.latency");
  }
  if (!notes.said("fabric.link.bandwidth")) {
    fabric.link.bandwidth = cluster.nic.bandwidth;
    notes.derive("fabric.link.bandwidth", "= cluster.nic.bandwidth");
  }
  if (fabric.kind != FabricKind::Torus || !fabric.torus.empty()) return;
  // The factors nearest to the cube root: the smallest sum of extents has the shortest ways.
  const int nodes = cluster.nodes;
  int best_x = 1;
  int best_y = 1;
  for (int x = 1; std::int64_t{x} * x * x <= nodes; ++x) {
    if (nodes % x != 0) continue;
    for (int y = x; std::int64_t{x} * y * y <= nodes; ++y)
      if (nodes / x % y == 0 && x + y + nodes / x / y <= best_x + best_y + nodes / best_x / best_y) {
        best_x = x;
        best_y = y;
      }
  }
  fabric.torus = {best_x, best_y, nodes / best_x / best_y};
  notes.derive("fabric.torus", fmt::format("three factors of {} nodes with the smallest sum", nodes));
}

/// Layers of a transformer from its size. Formula: forward = 2 N / L x tokens / (peak x utilisation x
/// tensor). Source: Kaplan et al. 2020, section 2.1: 2 operations per parameter and token forward, twice that
/// backward; the part of attention that grows with the sequence is not in it.
Status derive_layers(Draft& draft, Notes& notes) {
  const ModelSize& size = draft.size;
  if (!notes.said("job.model.parameters")) return {};
  if (!draft.layers.empty())
    return notes.clash({kLayerArray}, "both job.layers and job.model are given",
                       "job.model derives the layers; keep one");
  const bool passes = passes_activations(draft.job.training);
  for (const std::string_view key : {"job.model.layers", "job.model.hidden", "job.model.sequence"})
    if (!notes.said(std::string(key)) && (passes || key != "job.model.hidden"))
      return notes.clash({"job.model.parameters"},
                         fmt::format("{} is missing beside job.model.parameters", key),
                         passes ? "layers are derived from parameters, layers, hidden and sequence together"
                                : "layers are derived from parameters, layers and sequence together");
  const double peak = draft.scenario.cluster.device_peak.in_flops_per_s();
  if (peak == 0)
    return notes.clash({"job.model.parameters"}, "job.model needs cluster.device.peak, which is not given",
                       "name a cluster.preset, or write the peak such as \"312TFLOP/s\"");
  const Layout& layout = draft.job.training.layout;
  if (size.sequence % layout.context != 0)
    return notes.clash({"job.layout.context", "job.model.sequence"},
                       fmt::format("job.layout.context = {} does not divide job.model.sequence = {}",
                                   layout.context, size.sequence),
                       "");
  const double all_tokens = static_cast<double>(size.micro_batch) * static_cast<double>(size.sequence);
  const double tokens = all_tokens / layout.context;
  const double per_layer = static_cast<double>(size.parameters) / size.layers;
  const double activations =
      all_tokens * static_cast<double>(size.hidden) * static_cast<double>(size.element.count());
  const double gradients = static_cast<double>(size.parameters) * static_cast<double>(size.gradient.count());
  if (activations > 4e18 || gradients > 4e18)
    return notes.clash({"job.model.parameters"}, "job.model gives more bytes than 64 bits count", "");
  const Seconds forward =
      Flops{2 * per_layer * tokens} / FlopRate::flops_per_s(peak * size.utilisation * layout.tensor);
  for (int i = 0; i < size.layers; ++i)
    draft.job.training.layers.push_back(
        {.forward = forward,
         .backward = forward * size.backward_over_forward,
         .gradients = chunk_bytes(Bytes{size.parameters}, size.layers, i) * size.gradient.count(),
         .activations = Bytes{static_cast<std::int64_t>(activations)}});
  draft.job.training.sequences = size.micro_batch;
  draft.job.training.flops = Flops{6 * static_cast<double>(size.parameters) * all_tokens};
  draft.layers = {{.count = size.layers, .layer = draft.job.training.layers.front()}};
  const auto say = [&](std::string_view key, std::string why) {
    notes.derive(fmt::format("{}[0].{}", kLayerArray, key), std::move(why));
  };
  say("count", "= job.model.layers");
  say("forward", fmt::format("2 x parameters / layers x {:.0f} tokens of a device / (peak x utilisation x "
                             "tensor); Kaplan et al. "
                             "2020, section 2.1; attention over the sequence is not counted",
                             tokens));
  say("backward", "forward x job.model.backward_over_forward");
  say("gradients", "parameters / layers x job.model.gradient");
  say("activations", fmt::format("{:.0f} tokens x hidden x job.model.element", all_tokens));
  return {};
}

/// The way of a message between two nodes.
struct Path {
  int nics = 2;
  int links = 0;
  std::string_view what;
};

Path path_of(const Cluster& cluster, const Fabric& fabric) {
  const std::int64_t leaf = fabric.hosts_per_leaf;
  switch (fabric.kind) {
    case FabricKind::FullBisection:
      return {.what = "one switch"};
    case FabricKind::FatTree:
      if (cluster.nodes <= leaf) return {.what = "one leaf"};
      if (fabric.tiers == 2 || cluster.nodes <= leaf * fabric.leaves_per_pod)
        return {.links = 2, .what = "leaf, spine, leaf"};
      return {.links = 4, .what = "leaf, pod, core, pod, leaf"};
    case FabricKind::RailOptimised:
      if (cluster.nodes <= leaf) return {.what = "one rail switch"};
      return {.links = 2, .what = "rail switch, spine, rail switch"};
    case FabricKind::Torus:
      return {.nics = 0, .links = 1, .what = "to a neighbour"};
    case FabricKind::Dragonfly:
      if (fabric.dragonfly_groups <= 1) return {.links = 1, .what = "router, router"};
      return {.links = 3, .what = "router, router, router of the other group, router"};
    case FabricKind::Graph:
      break;
  }
  return {};
}

void derive_inside(const Cluster& cluster, MessageCost& inside, Notes& notes) {
  const bool scale_up = cluster.scale_up.bandwidth > Bandwidth{};
  if (!notes.said("cost.inside.latency")) {
    inside.latency = scale_up ? cluster.scale_up.latency : 2 * cluster.pcie.latency;
    notes.derive("cost.inside.latency", scale_up ? "= cluster.scale_up.latency" : "2 x cluster.pcie.latency");
  }
  const Link& bus = scale_up ? cluster.scale_up : cluster.pcie;
  if (notes.said("cost.inside.bandwidth") || bus.bandwidth == Bandwidth{}) return;
  inside.per_byte = bus.bandwidth.time_per_byte();
  notes.derive("cost.inside.bandwidth",
               scale_up ? "= cluster.scale_up.bandwidth" : "= cluster.pcie.bandwidth");
}

void derive_across(const Cluster& cluster, const Fabric& fabric, MessageCost& across, Notes& notes) {
  if (fabric.kind == FabricKind::Graph) return;  // its cables are not read here: cox simulate asks for both
  const Path path = path_of(cluster, fabric);
  constexpr int kBuses = 2;
  if (!notes.said("cost.across.latency")) {
    across.latency =
        path.nics * cluster.nic.latency + path.links * fabric.link.latency + kBuses * cluster.pcie.latency;
    notes.derive("cost.across.latency",
                 fmt::format("{} x cluster.nic + {} x fabric.link + {} x cluster.pcie latency ({})",
                             path.nics, path.links, kBuses, path.what));
  }
  if (notes.said("cost.across.bandwidth")) return;
  Bandwidth slowest{};
  std::string_view of;
  const auto take = [&](bool used, Bandwidth b, std::string_view name) {
    if (!used || b == Bandwidth{} || (slowest > Bandwidth{} && slowest <= b)) return;
    slowest = b;
    of = name;
  };
  take(path.nics > 0, cluster.nic.bandwidth, "cluster.nic");
  take(path.links > 0, fabric.link.bandwidth, "fabric.link");
  take(true, cluster.pcie.bandwidth, "cluster.pcie");
  if (slowest == Bandwidth{}) return;
  across.per_byte = slowest.time_per_byte();
  notes.derive("cost.across.bandwidth", fmt::format("of the slowest on the path, {}", of));
}

/// Line rates of the machine, divided among the channels.
void derive_nccl(const Cluster& cluster, NcclCost& nccl, Notes& notes) {
  nccl.ranks_per_node = cluster.devices_per_node;
  if (!notes.said("cost.nccl.inside")) {
    nccl.inside = Bandwidth::bytes_per_s(cluster.scale_up.bandwidth.in_bytes_per_s() / nccl.channels);
    notes.derive("cost.nccl.inside", "cluster.scale_up.bandwidth / cost.nccl.channels");
  }
  if (!notes.said("cost.nccl.across")) {
    nccl.across = Bandwidth::bytes_per_s(cluster.nic.bandwidth.in_bytes_per_s() * cluster.nics_per_node /
                                         nccl.channels);
    notes.derive("cost.nccl.across", "cluster.nics_per_node x cluster.nic.bandwidth / cost.nccl.channels");
  }
}

/// What a draw of one kind says of the others, and what classes of failures take from all of them.
void derive_running(Scenario& s, Notes& notes) {
  PowerDraw& p = s.power;
  const auto power = [&](const std::string& key, Power& at, Power value, std::string why) {
    if (notes.said(key)) return;
    at = value;
    notes.derive(key, std::move(why));
  };
  power("power.wait", p.wait, p.busy / 2, "half of power.busy (assumed: 0.3 to 0.7 are reported)");
  power("power.transfer", p.transfer, p.wait, "= power.wait");
  power("power.idle", p.idle, p.wait, "= power.wait");
  for (std::size_t i = 0; i < s.cluster.classes.size(); ++i) {
    NodeClass& c = s.cluster.classes[i];
    const std::string at = fmt::format("{}[{}].", kNodeClassArray, i);
    if (c.busy == Power{}) continue;
    power(at + "power_wait", c.wait, c.busy / 2, "half of its power_busy (assumed: 0.3 to 0.7 are reported)");
    power(at + "power_transfer", c.transfer, c.wait, "= its power_wait");
    power(at + "power_idle", c.idle, c.wait, "= its power_wait");
  }
  for (std::size_t i = 0; i < s.failures.classes.size(); ++i) {
    FailureClass& one = s.failures.classes[i];
    const auto take = [&](std::string_view name, Seconds& at, Seconds value) {
      const std::string key = fmt::format("{}[{}].{}", kClassArray, i, name);
      if (notes.said(key)) return;
      at = value;
      notes.derive(key, fmt::format("= failures.{}", name));
    };
    take("restart", one.restart, s.failures.restart);
    take("repair", one.repair, one.per == FailureUnit::Job ? Seconds{} : s.failures.repair);
  }
}

/// Where each class of nodes begins.
void derive_classes(Cluster& cluster, Notes& notes) {
  int next = 0;
  for (std::size_t i = 0; i < cluster.classes.size(); ++i) {
    NodeClass& c = cluster.classes[i];
    if (c.first < 0) {
      c.first = next;
      notes.derive(fmt::format("{}[{}].first", kNodeClassArray, i), "behind the class before");
    }
    next = static_cast<int>(std::min<std::int64_t>(std::int64_t{c.first} + c.count, kMostRanks));
  }
}

}  // namespace

void derive_job(const Cluster& cluster, JobKeys& job, Notes& notes) {
  const std::int64_t ranks = ranks_of(cluster, job.places);
  if (!notes.said("job.collective.ranks")) {
    job.collective.ranks = static_cast<int>(std::min(ranks, kMostRanks));
    notes.derive("job.collective.ranks", job.places.nodes.empty()
                                             ? "cluster.nodes x cluster.devices_per_node"
                                             : "those of job.nodes x cluster.devices_per_node");
  }
  if (!notes.said("job.collective.group") && job.workload != Workload::Training) {
    const Algorithm a = job.collective.algorithm;
    const bool grouped = a == Algorithm::Hierarchical2 || a == Algorithm::Hierarchical3 ||
                         a == Algorithm::TwoLevel || (a == Algorithm::Ring && job.collective.channels > 1);
    if (grouped) {
      job.collective.group = cluster.devices_per_node;
      notes.derive("job.collective.group", "= cluster.devices_per_node");
    }
  }
  const std::int64_t fixed = std::int64_t{job.training.layout.tensor} *
                             std::min<std::int64_t>(job.training.layout.pipeline, kMostRanks);
  if (!notes.said("job.layout.data") && fixed <= kMostRanks && job.training.layout.context <= kMostRanks) {
    const std::int64_t others = fixed * job.training.layout.context;
    if (ranks % others == 0) {
      job.training.layout.data = static_cast<int>(ranks / others);
      notes.derive("job.layout.data",
                   fmt::format("{} ranks / (tensor x pipeline x context = {})", ranks, others));
    }
  }
}

/// How many micro-batches of a fixed batch fall to a replica.
Status derive_micro_batches(Draft& draft, Notes& notes) {
  TrainingJob& t = draft.job.training;
  if (t.global_batch == 0 || draft.job.workload != Workload::Training) return {};
  if (notes.said("job.micro_batches"))
    return notes.clash({"job.global_batch"}, "both job.global_batch and job.micro_batches are given",
                       "a fixed batch says how many micro-batches a replica has; keep one");
  if (notes.find("job.layout.data") == nullptr)
    return {};  // the layout fits no number of replicas, which is told first
  const std::int64_t each = std::max<std::int64_t>(t.sequences, 1);
  const std::int64_t at_once = each * t.layout.data;
  if (t.global_batch % at_once != 0)
    return notes.clash(
        {"job.global_batch"},
        fmt::format("job.global_batch = {} cannot be shared out among {} in micro-batches of {}",
                    t.global_batch, counted(t.layout.data, "replica", "replicas"), each),
        t.global_batch < at_once ? "use fewer replicas: more devices for each by tensor, pipeline or context"
                                 : "choose a batch that is a multiple of replicas x micro-batch");
  constexpr std::int64_t kMostMicroBatches = 1'000'000;
  if (t.global_batch / at_once > kMostMicroBatches)
    return notes.clash(
        {"job.global_batch"},
        fmt::format("job.global_batch = {} are {} micro-batches for each of {}, at most {} are simulated",
                    t.global_batch, t.global_batch / at_once, counted(t.layout.data, "replica", "replicas"),
                    kMostMicroBatches),
        "make micro-batches larger (job.model.micro_batch)");
  t.micro_batches = static_cast<int>(t.global_batch / at_once);
  notes.derive("job.micro_batches",
               fmt::format("job.global_batch / ({} replicas x {})", t.layout.data, each));
  return {};
}

Status derive(Draft& draft, Notes& notes) {
  Scenario& s = draft.scenario;
  if (!notes.said("name")) {
    s.name = std::filesystem::path(notes.file()).stem().string();
    notes.derive("name", "the file's name");
  }
  derive_fabric(s.cluster, s.fabric, notes);
  derive_classes(s.cluster, notes);
  derive_job(s.cluster, draft.job, notes);
  COX_CHECK(derive_layers(draft, notes));
  COX_CHECK(derive_micro_batches(draft, notes));
  derive_inside(s.cluster, s.inside, notes);
  derive_across(s.cluster, s.fabric, s.across, notes);
  s.inside.reduce = s.across.reduce;  // the processor's, whichever way a message came
  derive_nccl(s.cluster, s.nccl, notes);
  derive_running(s, notes);
  return {};
}

}  // namespace cox::model
