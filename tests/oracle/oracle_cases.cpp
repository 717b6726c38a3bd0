// SPDX-License-Identifier: Apache-2.0
#include "oracle_cases.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/random.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/flow/engine.hpp"

namespace cox::oracle {
namespace {

constexpr model::Link kCable{.latency = Seconds{250e-9}, .bandwidth = Bandwidth::gbit_per_s(400)};

std::vector<int> in_order(int n) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> shuffled(int n) {
  std::vector<int> order = in_order(n);
  const RandomStream draw(23, 6);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.bits(0, i) % i]);
  return order;
}

Case base(std::string name, model::FabricKind kind, int nodes, const model::CollectiveSpec& spec) {
  Case c;
  c.name = std::move(name);
  c.cluster.nodes = nodes;
  c.cluster.nic = kCable;
  c.fabric.kind = kind;
  c.fabric.link = kCable;
  c.parts = {{.spec = spec, .rank_of = in_order(nodes)}};
  c.parts[0].spec.ranks = spec.ranks > 1 ? spec.ranks : nodes;
  return c;
}

Case shared(Case c) {
  c.shares = true;
  return c;
}

Case random_order(Case c) {
  c.parts[0].rank_of = shuffled(static_cast<int>(c.parts[0].rank_of.size()));
  return shared(std::move(c));
}

Case tree(std::string name, int nodes, double oversubscription, const model::CollectiveSpec& spec) {
  Case c = base(std::move(name), model::FabricKind::FatTree, nodes, spec);
  c.fabric.oversubscription = oversubscription;
  return c;
}

Case torus(std::string name, std::vector<int> extents, const model::CollectiveSpec& spec) {
  int nodes = 1;
  for (const int e : extents) nodes *= e;
  Case c = base(std::move(name), model::FabricKind::Torus, nodes, spec);
  c.fabric.torus = std::move(extents);
  return c;
}

}  // namespace

std::vector<Case> all_cases() {
  using enum model::Algorithm;
  using enum model::FabricKind;
  const model::CollectiveSpec ring{.bytes = Bytes{64 << 20}};
  const model::CollectiveSpec doubling{.algorithm = RecursiveDoubling, .bytes = Bytes{4 << 20}};
  const model::CollectiveSpec all_to_all{
      .kind = model::Collective::AllToAll, .algorithm = Direct, .bytes = Bytes{32 << 20}};
  std::vector<Case> cases;
  cases.push_back(base("ring, 16 hosts on a switch", FullBisection, 16, ring));
  cases.push_back(base("the same, ranks arrive up to 1 ms apart", FullBisection, 16, ring));
  for (int r = 0; r < 16; ++r) cases.back().parts[0].arrivals.emplace_back(1e-3 * (r * 7 % 16) / 15);
  cases.push_back(base("halving-doubling, 13 hosts on a switch", FullBisection, 13,
                       {.algorithm = HalvingDoubling, .bytes = Bytes{1'000'003}}));
  cases.push_back(shared(tree("recursive doubling, 64 hosts, tree 4:1", 64, 4, doubling)));
  cases.push_back(random_order(tree("ring in random order, 64 hosts, tree 1:1", 64, 1, ring)));
  cases.push_back(random_order(tree("ring in random order, 64 hosts, tree 4:1", 64, 4, ring)));
  cases.push_back(random_order(tree("the same, paths by hash (ECMP)", 64, 4, ring)));
  cases.back().fabric.routing = model::Routing::Ecmp;
  cases.push_back(random_order(tree("all-to-all, 32 hosts, tree 4:1", 32, 4, all_to_all)));
  cases.push_back(random_order(tree("two rings at once (both directions), 32 hosts, tree 4:1", 32, 4,
                                    {.algorithm = BidirectionalRing, .bytes = Bytes{64 << 20}})));
  cases.push_back(random_order(torus("ring in random order, torus 4 x 4 x 4", {4, 4, 4}, ring)));
  cases.push_back(shared(torus("all-to-all, torus 6 x 5", {6, 5}, all_to_all)));
  cases.push_back(shared(base("incast, 32 to 1", FullBisection, 33,
                              {.algorithm = ParameterServer, .ranks = 32, .bytes = Bytes{4 << 20}})));
  cases.back().rounds = 1;
  cases.push_back(random_order(base("all-to-all, dragonfly of 5 x 3 x 2", Dragonfly, 30, all_to_all)));
  cases.back().fabric.dragonfly_groups = 5;
  cases.back().fabric.dragonfly_routers = 3;
  cases.back().fabric.dragonfly_hosts = 2;
  cases.push_back(base("ring in random order, 8 nodes of 4 devices, 2 rails, PCIe", RailOptimised, 8, ring));
  Case& rails = cases.back();
  rails.cluster.devices_per_node = 4;
  rails.cluster.nics_per_node = 2;
  rails.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
  rails.cluster.pcie = {.latency = Seconds{500e-9}, .bandwidth = Bandwidth::gbyte_per_s(55)};
  rails.fabric.hosts_per_leaf = 4;
  rails.fabric.oversubscription = 2;
  rails.parts[0].spec.ranks = 32;
  rails.parts[0].rank_of = shuffled(32);
  rails.shares = true;
  return cases;
}

std::vector<Seconds> by_flows(const Case& c, const simulate::Network& network,
                              const std::vector<model::Schedule>& schedules, simulate::Sharing sharing,
                              simulate::FlowOutcome& outcome) {
  if (c.step) {
    const auto out = simulate::simulate_training(*c.step, {});
    if (!out) return {Seconds{NAN}};
    outcome.messages = out->messages;
    return {out->total};
  }
  std::vector<Seconds> ends(c.parts.size());
  simulate::FlowOptions options;
  options.sharing = sharing;
  if (c.rounds >= 0)
    options.on_message = [&](const simulate::FlowMessage& m) {
      if (m.round < c.rounds) ends[0] = std::max(ends[0], m.end);
    };
  simulate::FlowEngine engine(network, c.fabric, options, Seconds{});
  for (std::size_t i = 0; i < c.parts.size(); ++i) {
    const auto id = engine.begin({.schedule = &schedules[i], .rank_of = c.parts[i].rank_of});
    for (int p = 0; p < schedules[i].ranks(); ++p)
      engine.arrive(
          id, p,
          c.parts[i].arrivals.empty() ? Seconds{} : c.parts[i].arrivals.at(static_cast<std::size_t>(p)));
  }
  while (const auto one = engine.next())
    if (c.rounds < 0) ends[one->course] = std::max(ends[one->course], one->at);
  outcome = engine.take_outcome();
  return ends;
}

}  // namespace cox::oracle
