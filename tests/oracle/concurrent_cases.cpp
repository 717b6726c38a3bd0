// SPDX-License-Identifier: Apache-2.0
// Several collectives at once on one network: groups, buckets, jobs.
#include <algorithm>
#include <numeric>
#include <utility>

#include "cox/base/random.hpp"

#include "oracle_cases.hpp"

namespace cox::oracle {
namespace {

using model::Algorithm;
using model::FabricKind;

constexpr model::Link kCable{.latency = Seconds{250e-9}, .bandwidth = Bandwidth::gbit_per_s(400)};

/// Devices first, first + stride, ...
std::vector<int> every(int first, int stride, int count) {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.push_back(first + i * stride);
  return all;
}

/// The `part`-th of `parts` equal parts of n devices in random order.
std::vector<int> scattered(int n, int part, int parts) {
  std::vector<int> order = every(0, 1, n);
  const RandomStream draw(29, 6);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.bits(0, i) % i]);
  const auto each = static_cast<std::ptrdiff_t>(n / parts);
  return {order.begin() + part * each, order.begin() + (part + 1) * each};
}

Part part(model::CollectiveSpec spec, std::vector<int> devices, double at = 0, double apart = 0) {
  Part p;
  spec.ranks = static_cast<int>(devices.size());
  p.spec = spec;
  for (std::size_t i = 0; i < devices.size(); ++i)
    p.arrivals.emplace_back(at + apart * static_cast<double>(i * 7 % devices.size()) /
                                     static_cast<double>(devices.size()));
  p.rank_of = std::move(devices);
  return p;
}

Part ring(std::int64_t mebibytes, std::vector<int> devices, double at = 0, double apart = 0) {
  return part({.bytes = Bytes{mebibytes << 20}}, std::move(devices), at, apart);
}
Part all_to_all(std::int64_t mebibytes, std::vector<int> devices, double at = 0) {
  return part(
      {.kind = model::Collective::AllToAll, .algorithm = Algorithm::Direct, .bytes = Bytes{mebibytes << 20}},
      std::move(devices), at);
}
Part message(std::int64_t mebibytes, int from, int to, double at) {
  return part(
      {.kind = model::Collective::SendRecv, .algorithm = Algorithm::Chain, .bytes = Bytes{mebibytes << 20}},
      {from, to}, at);
}

Case on(std::string name, FabricKind kind, int nodes, std::vector<Part> parts) {
  Case c;
  c.name = std::move(name);
  c.shares = true;
  c.cluster.nodes = nodes;
  c.cluster.nic = kCable;
  c.fabric.kind = kind;
  c.fabric.link = kCable;
  c.parts = std::move(parts);
  return c;
}

Case tree(std::string name, int nodes, double oversubscription, std::vector<Part> parts) {
  Case c = on(std::move(name), FabricKind::FatTree, nodes, std::move(parts));
  c.fabric.oversubscription = oversubscription;
  return c;
}

/// Nodes of `devices` that share `nics`.
Case nodes(std::string name, int count, int devices, int nics, std::vector<Part> parts) {
  Case c = on(std::move(name), FabricKind::FullBisection, count, std::move(parts));
  c.cluster.devices_per_node = devices;
  c.cluster.nics_per_node = nics;
  c.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
  c.cluster.pcie = {.latency = Seconds{500e-9}, .bandwidth = Bandwidth::gbyte_per_s(55)};
  return c;
}

void add_groups(std::vector<Case>& cases) {
  cases.push_back(tree("two rings over every other host, 32 hosts, tree 8:1", 32, 8,
                       {ring(64, every(0, 2, 16)), ring(64, every(1, 2, 16))}));
  cases.push_back(tree("the same, the second 1 ms later and its ranks up to 0.5 ms apart", 32, 8,
                       {ring(64, every(0, 2, 16)), ring(64, every(1, 2, 16), 1e-3, 5e-4)}));
  cases.push_back(tree("four rings from leaf to leaf, 32 hosts, tree 4:1", 32, 4,
                       {ring(32, every(0, 8, 4)), ring(32, every(1, 8, 4)), ring(32, every(2, 8, 4)),
                        ring(32, every(3, 8, 4))}));
  cases.push_back(tree("two jobs scattered over 64 hosts, tree 2:1", 64, 2,
                       {ring(64, scattered(64, 0, 2)), ring(64, scattered(64, 1, 2), 3e-4)}));
  cases.push_back(tree("the same, paths by hash (ECMP)", 64, 2,
                       {ring(64, scattered(64, 0, 2)), ring(64, scattered(64, 1, 2), 3e-4)}));
  cases.back().fabric.routing = model::Routing::Ecmp;
  cases.push_back(on("three jobs scattered over a torus 4 x 4 x 3", FabricKind::Torus, 48,
                     {ring(32, scattered(48, 0, 3)), ring(48, scattered(48, 1, 3), 2e-4),
                      ring(16, scattered(48, 2, 3), 1e-3)}));
  cases.back().fabric.torus = {4, 4, 3};
}

void add_training(std::vector<Case>& cases) {
  cases.push_back(on("two buckets of 16 hosts on a switch, the second 1 ms later", FabricKind::FullBisection,
                     16, {ring(64, every(0, 1, 16)), ring(16, every(0, 1, 16), 1e-3)}));
  cases.push_back(tree("three buckets, 32 hosts in random order, tree 4:1", 32, 4,
                       {ring(64, scattered(32, 0, 1)), ring(32, scattered(32, 0, 1), 1e-3),
                        ring(8, scattered(32, 0, 1), 3e-3)}));
  cases.push_back(nodes("tensor pairs across nodes and two data rings, one NIC for two devices", 8, 2, 1,
                        {ring(32, every(0, 2, 8)), ring(32, every(1, 2, 8)), ring(4, {0, 2}, 2e-4),
                         ring(4, {1, 3}, 2e-4), ring(4, {4, 6}, 4e-4), ring(4, {5, 7}, 4e-4)}));
  cases.push_back(nodes("data rings of four devices, two NICs a node", 8, 4, 2,
                        {ring(32, every(0, 4, 8)), ring(32, every(1, 4, 8), 1e-4),
                         ring(32, every(2, 4, 8), 2e-4), ring(32, every(3, 4, 8), 3e-4)}));
  cases.push_back(tree("experts' all-to-all beside a data ring, 32 hosts, tree 4:1", 32, 4,
                       {ring(64, every(0, 1, 32)), all_to_all(16, every(4, 1, 16), 5e-4)}));
  cases.push_back(tree("messages between stages beside the data rings of both, 16 hosts, tree 2:1", 16, 2,
                       {ring(64, every(0, 2, 8)), ring(64, every(1, 2, 8), 5e-4), message(16, 0, 1, 2e-4),
                        message(16, 7, 6, 2e-4), message(32, 5, 8, 1e-3)}));
  cases.push_back(on("broadcast of parameters beside an all-to-all, dragonfly of 5 x 3 x 2",
                     FabricKind::Dragonfly, 30,
                     {part({.kind = model::Collective::Broadcast,
                            .algorithm = Algorithm::BinomialTree,
                            .bytes = Bytes{16 << 20}},
                           scattered(30, 0, 1)),
                      all_to_all(32, scattered(30, 1, 2), 2e-4)}));
  cases.back().fabric.dragonfly_groups = 5;
  cases.back().fabric.dragonfly_routers = 3;
  cases.back().fabric.dragonfly_hosts = 2;
}

/// A step without optimizer, data 4 x tensor 4 on leaves of 4, and each of its 6 layers a bucket: what its rings do.
/// One device is slower by `extra`.
Case step(std::string name, std::int64_t mebibytes, double extra) {
  constexpr int kTensor = 4, kData = 4, kLayers = 6, kSlow = 6;
  Case c = tree(std::move(name), kData * kTensor, 4, {});
  c.fabric.hosts_per_leaf = kTensor;
  model::TrainingJob job;
  job.layout = {.data = kData, .tensor = kTensor};
  job.optimizer = {};
  job.bucket = Bytes{1};
  job.layers.assign(kLayers, {.forward = Seconds{1e-3},
                              .backward = Seconds{2e-3},
                              .gradients = Bytes{kTensor * (mebibytes << 20)},
                              .activations = {}});
  model::NoiseSource slow;
  slow.name = "slow";
  slow.pattern = model::NoisePattern::Persistent;
  slow.mean_ratio = extra;
  slow.ranks = {kSlow};
  c.step.emplace();
  c.step->cluster = c.cluster;
  c.step->fabric = c.fabric;
  c.step->job.work = job;
  c.step->job.steps = 1;
  if (extra > 0) c.step->noise = {slow};
  // Forward through all layers, then backward; a layer's bucket leaves when its backward pass is over.
  for (int t = 0; t < kTensor; ++t) {
    Part p = ring(mebibytes, every(t, kTensor, kData));
    p.arrivals.clear();
    for (int layer = 0; layer < kLayers; ++layer) {
      std::vector<Seconds> issued;
      issued.reserve(kData);
      for (int d = 0; d < kData; ++d)
        issued.emplace_back((kLayers * 1e-3 + (layer + 1) * 2e-3) * (d == kSlow / kTensor ? 1 + extra : 1));
      if (layer == 0)
        p.arrivals = issued;
      else
        p.again.push_back(issued);
    }
    c.parts.push_back(std::move(p));
  }
  return c;
}

/// A step of data 4 x tensor 2 on eight hosts of one device: every tensor pair and every data ring goes over the hosts'
/// cards. Two layers, of which the second to compute backward has no gradients; all before the bucket is alone, and so
/// known: forward of both layers, backward of one.
Case tensor_step() {
  constexpr int kTensor = 2, kData = 4;
  constexpr std::int64_t kBucket = 48 << 20, kActivations = 16 << 20;
  constexpr double kForward = 1e-3, kBackward = 2e-3, kLast = 2e-4;
  Case c = on("a training step, data 4 x tensor 2 on 8 hosts: tensor pairs beside a bucket of 48 MiB",
              FabricKind::FullBisection, kData * kTensor, {});
  model::TrainingJob job;
  job.layout = {.data = kData, .tensor = kTensor};
  job.optimizer = {};
  job.bucket = Bytes{1};
  const model::Layer last{.forward = Seconds{kForward},
                          .backward = Seconds{kLast},
                          .gradients = {},
                          .activations = Bytes{kActivations}};
  job.layers = {last, last};
  job.layers[1].backward = Seconds{kBackward};
  job.layers[1].gradients = Bytes{kTensor * kBucket};
  c.step.emplace();
  c.step->cluster = c.cluster;
  c.step->fabric = c.fabric;
  c.step->engine = model::EngineKind::Flow;
  c.step->job.work = job;
  c.step->job.steps = 1;
  // Two rounds of half the activations, over two links.
  const double pair = 2 * (2 * kCable.latency.count() +
                           kCable.bandwidth.time_per_byte().over(Bytes{kActivations / 2}).count());
  const double bucket = 2 * (kForward + 2 * pair) + kBackward + 2 * pair;
  for (int t = 0; t < kTensor; ++t) c.parts.push_back(ring(48, every(t, kTensor, kData), bucket));
  for (int d = 0; d < kData; ++d) {
    Part p = ring(16, every(d * kTensor, 1, kTensor), bucket + kLast);
    p.again.push_back(p.arrivals);
    c.parts.push_back(std::move(p));
  }
  return c;
}

}  // namespace

std::vector<Case> concurrent_cases() {
  std::vector<Case> cases;
  add_groups(cases);
  add_training(cases);
  cases.push_back(
      step("a training step, data 4 x tensor 4, leaves of 4, tree 4:1, 6 buckets of 48 MiB", 48, 0));
  cases.push_back(step("the same, one device 30 % slower", 48, 0.3));
  cases.push_back(step("the same with buckets of 8 MiB, mostly hidden", 8, 0.3));
  cases.push_back(tensor_step());
  return cases;
}

}  // namespace cox::oracle
