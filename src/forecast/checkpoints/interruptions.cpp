// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cox/base/assert.hpp"

#include "forecast/checkpoints/goodput.hpp"
#include "forecast/checkpoints/slowest.hpp"

namespace cox::forecast {
namespace {

/// Failures of one kind: how often, and what each costs.
struct Cause {
  double rate = 0;  ///< per second
  int nodes_down = 0;
  Seconds restart{};
  Seconds repair{};
};

std::int64_t groups_of(std::int64_t nodes, int each) {
  return each > 0 ? (nodes + each - 1) / each : nodes;
}

Cause of_class(const model::Scenario& s, const model::FailureClass& c, std::int64_t nodes) {
  const auto n = static_cast<double>(nodes);
  double count = 1;
  int down = 1;
  switch (c.per) {
    case model::FailureUnit::Node:
      count = n;
      break;
    case model::FailureUnit::Device:
      count = n * s.cluster.devices_per_node;
      break;
    case model::FailureUnit::Link:
      count = n * s.cluster.nics_per_node;
      break;
    case model::FailureUnit::Switch:
      count = static_cast<double>(groups_of(nodes, s.fabric.hosts_per_leaf)) *
              (s.fabric.kind == model::FabricKind::RailOptimised ? s.cluster.nics_per_node : 1);
      down = static_cast<int>(std::min<std::int64_t>(s.fabric.hosts_per_leaf, nodes));
      break;
    case model::FailureUnit::Job:
      down = 0;
      break;
  }
  return {.rate = c.mtbf > Seconds{} ? count / c.mtbf.count() : 0,
          .nodes_down = down,
          .restart = c.restart,
          .repair = c.repair};
}

std::vector<Cause> causes_of(const model::Scenario& s, std::int64_t nodes) {
  const model::Failures& f = s.failures;
  std::vector<Cause> out;
  if (f.node_mtbf > Seconds{})
    out.push_back({.rate = static_cast<double>(nodes) / f.node_mtbf.count(),
                   .nodes_down = 1,
                   .restart = f.restart,
                   .repair = f.repair});
  if (f.job_mtbf > Seconds{})
    out.push_back({.rate = 1 / f.job_mtbf.count(), .nodes_down = 0, .restart = f.restart, .repair = {}});
  for (const model::FailureClass& c : f.classes) out.push_back(of_class(s, c, nodes));
  return out;
}

/// Part of all time in which more nodes are down than stand by. Formula: nodes down are a sum over causes of
/// (nodes of one) x Poisson(rate x repair), whatever the job does meanwhile; its law by Panjer's recursion, from
/// g_0 = e^-(sum of means): g_j = sum over causes of k mean g_(j - k) / j.
double waits_for_nodes(const std::vector<Cause>& causes, int spares) {
  double means = 0;
  for (const Cause& c : causes)
    if (c.nodes_down > 0) means += c.rate * c.repair.count();
  if (means <= 0) return 0;
  std::vector<double> down(static_cast<std::size_t>(spares) + 1, 0.0);
  down[0] = std::exp(-means);
  double enough = down[0];
  for (int j = 1; j <= spares; ++j) {
    double sum = 0;
    for (const Cause& c : causes)
      if (c.nodes_down > 0 && c.nodes_down <= j)
        sum += c.nodes_down * c.rate * c.repair.count() * down[static_cast<std::size_t>(j - c.nodes_down)];
    down[static_cast<std::size_t>(j)] = sum / j;
    enough += sum / j;
  }
  return std::clamp(1 - enough, 0.0, 1.0);
}

/// The constant restart that costs as much as those that are drawn.
Seconds equal_restart(const model::Scenario& s, const std::vector<Cause>& causes, std::int64_t nodes,
                      Seconds between) {
  const model::Failures& f = s.failures;
  const auto n = static_cast<double>(nodes);
  double survives = 0;
  for (const Cause& c : causes) survives += c.rate * between.count() * std::exp(-(c.restart / between));
  const Seconds grows = f.restart_per_node * n + f.restart_per_pair * (n * n);
  if (f.restart_spread > Seconds{})
    survives *= over_slowest(nodes, f.restart_spread, f.restart_tail,
                             [&](Seconds x) { return std::exp(-(x / between)); });
  survives *= over_start(s, nodes, [&](Seconds x) { return std::exp(-(x / between)); });
  return grows + between * -std::log(survives);
}

/// Bytes through the storage that all nodes share.
Seconds through(const model::Failures& f, Bytes bytes, double factor) {
  if (f.storage.in_bytes_per_s() <= 0) return {};
  return Seconds{static_cast<double>(bytes.count()) * factor / f.storage.in_bytes_per_s()};
}

void add_notes(const model::Failures& f, Interruptions& out) {
  if (f.weibull_shape != 1 && out.nodes > 1)
    out.notes.push_back(fmt::format(
        "lives of nodes are taken as exponential: those of many nodes together are, once some have been "
        "replaced; new nodes of shape {} fail {} often at first",
        f.weibull_shape, f.weibull_shape < 1 ? "more" : "less"));
  if (f.unreadable > 0) out.notes.emplace_back("a generation that cannot be read always has one before it");
}

}  // namespace

Interruptions interruptions(const model::Scenario& scenario, std::int64_t nodes, Seconds cold_step,
                            const SizeRule& rule) {
  COX_ASSERT(nodes >= 1, "a job has a node");
  const model::Failures& f = scenario.failures;
  Interruptions out;
  out.nodes = nodes;
  out.full_every = std::max(f.full_every, 1);
  out.unreadable = f.unreadable;
  out.weibull_shape = f.weibull_shape;
  const std::vector<Cause> causes = causes_of(scenario, nodes);
  double rate = 0;
  for (const Cause& c : causes) rate += c.rate;
  out.waits_for_nodes = waits_for_nodes(causes, std::max(f.spares, 0));
  // NOLINTNEXTLINE(bugprone-narrowing-conversions): of infinity, to the same type
  out.between = Seconds{rate > 0 ? 1 / rate : std::numeric_limits<double>::infinity()};
  if (rate > 0)
    out.restart = equal_restart(scenario, causes, nodes, out.between) +
                  cold_step * (f.cold_steps * std::max(f.cold_factor - 1, 0.0));
  const int given = std::max(nodes_of(scenario), 1);
  const double grown = rule.state_grows ? static_cast<double>(nodes) / given : 1;
  const bool beside = f.checkpoint_write > Seconds{};
  const Seconds full = through(f, f.checkpoint_size, grown), delta = through(f, f.checkpoint_delta, grown);
  out.blocks = beside ? f.checkpoint : f.checkpoint + full;
  out.delta_blocks = beside ? f.checkpoint : f.checkpoint + delta;
  out.write = beside ? f.checkpoint_write + full : Seconds{};
  out.delta_write = beside ? f.checkpoint_write + delta : Seconds{};
  out.read = full;
  out.delta_read = delta;
  out.near_blocks = f.near_interval > Seconds{} ? f.near_checkpoint : Seconds{};
  out.near_survives = f.near_interval > Seconds{} ? f.near_survives : 0;
  add_notes(f, out);
  return out;
}

}  // namespace cox::forecast
