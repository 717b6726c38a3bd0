// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/twins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "cox/base/parallel.hpp"
#include "cox/simulate/spread.hpp"

#include "forecast/scaled/scaled.hpp"

namespace cox::forecast {
namespace {

using model::Scenario;

constexpr double kBy = 0.01;
constexpr int kMostLinks = 8;  ///< nodes whose links are tried: the flow engine is slower

/// A part, and how the scenario looks with `factor` times as much of it.
struct Part {
  std::string name;
  TwinPart kind;
  std::function<void(Scenario&, double)> times;
  bool less = true;  ///< there can be less of it
};

/// With what [[noise]] adds to it: what is relative to it follows by itself.
void scale_own_time(Scenario& s, double factor) {
  for (model::NoiseSource& n : s.noise)
    if (n.target == model::NoiseTarget::Compute && !n.relative) {
      n.mean *= factor;
      n.unit *= factor;
    }
  scale_work(s, factor);
}

void scale_latency(Scenario& s, double factor) {
  for (Seconds* one : {&s.across.latency, &s.cluster.nic.latency, &s.fabric.link.latency}) *one *= factor;
}

void scale_bandwidth_inside(Scenario& s, double factor) {
  s.cluster.scale_up.bandwidth = s.cluster.scale_up.bandwidth * factor;
  s.inside.per_byte = TimePerByte::seconds_per_byte(s.inside.per_byte.in_seconds_per_byte() / factor);
}

/// A node whose every step takes so much longer. Noise adds: it cannot make a node faster.
Part work_of_node(int node, int ranks_per_node) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(ranks_per_node));
  for (int r = 0; r < ranks_per_node; ++r) ranks.push_back(node * ranks_per_node + r);
  return {fmt::format("work of node {}", node), TwinPart::NodeWork,
          [ranks](Scenario& s, double factor) {
            s.noise.push_back(
                {.name = "twin", .law = model::NoiseLaw::Constant, .mean_ratio = factor - 1, .ranks = ranks});
          },
          false};
}

/// The cards of a node, where messages are played on links.
Part links_of_node(int node) {
  return {fmt::format("links of node {}", node), TwinPart::NodeLinks, [node](Scenario& s, double factor) {
            model::Link nic = s.cluster.nic;
            nic.bandwidth = nic.bandwidth * factor;
            s.cluster.classes.push_back({.name = "twin", .first = node, .nic = nic});
          }};
}

std::vector<Part> parts_of(const Scenario& s, int most_nodes) {
  std::vector<Part> out{{"own work", TwinPart::OwnWork, scale_own_time}};
  if (s.cluster.nodes > 1) {
    out.push_back({"latency between nodes", TwinPart::Latency, scale_latency});
    out.push_back({"bandwidth between nodes", TwinPart::Bandwidth, scale_links});
  }
  if (s.cluster.devices_per_node > 1) {
    out.push_back({"latency inside a node", TwinPart::Latency, [](Scenario& to, double factor) {
                     to.inside.latency *= factor;
                     to.cluster.scale_up.latency *= factor;
                   }});
    out.push_back({"bandwidth inside a node", TwinPart::Bandwidth, scale_bandwidth_inside});
  }
  if (s.job.places.packed())
    for (int node = 0; node < std::min(s.cluster.nodes, most_nodes); ++node)
      out.push_back(work_of_node(node, s.cluster.devices_per_node));
  if (s.plays_links && s.cluster.nodes > 1 && s.cluster.classes.empty() &&
      s.cluster.nic.bandwidth > Bandwidth{})
    for (int node = 0; node < std::min({s.cluster.nodes, most_nodes, kMostLinks}); ++node)
      out.push_back(links_of_node(node));
  return out;
}

/// Of one part from its two twins, replica by replica.
TwinElasticity elasticity(const Part& part, const std::vector<Seconds>& as_is,
                          const std::vector<Seconds>& more, const std::vector<Seconds>& less) {
  std::vector<Seconds> both;
  TwinElasticity out{.part = part.kind, .to = part.name};
  const auto n = static_cast<double>(as_is.size());
  const double up = std::log(1 + kBy);
  const double down = std::log(1 - kBy);
  for (std::size_t i = 0; i < as_is.size(); ++i) {
    const double right = std::log(more[i] / as_is[i]) / up;
    const double left = part.less ? std::log(less[i] / as_is[i]) / down : right;
    const double value = part.less ? std::log(more[i] / less[i]) / (up - down) : right;
    out.if_more += right / n;
    out.if_less += left / n;
    both.push_back(Seconds{value});
  }
  const simulate::ReplicaSpread spread = simulate::spread_of(both);
  out.value = spread.mean.count();
  out.half_width = spread.half_width_95.count();
  return out;
}

}  // namespace

Result<std::vector<TwinElasticity>> twin_elasticities(const Scenario& scenario,
                                                      const simulate::SimulateOptions& options,
                                                      int most_nodes) {
  Scenario base = scenario;
  base.failures = {};
  base.start = {};
  // One engine for all, or its own small differences would be somebody's elasticity.
  base.plays_links = model::engine_for(base) == model::EngineKind::Flow;
  const std::vector<Part> parts = parts_of(base, most_nodes);
  const auto replicas = static_cast<std::size_t>(std::max(1, base.replicas));
  // Of each replica: as it is, then more and less of each part.
  const std::size_t each = 1 + 2 * parts.size();
  std::vector<Result<Seconds>> found(each * replicas, Seconds{});
  parallel_for(found.size(), options.threads, [&](std::size_t i) {
    const std::size_t which = i / replicas;
    const Part* part = which > 0 ? &parts[(which - 1) / 2] : nullptr;
    const bool is_less = which > 0 && (which - 1) % 2 == 1;
    if (is_less && !part->less) return;
    Scenario one = base;
    one.seed += i % replicas;
    one.replicas = 1;
    if (part != nullptr) part->times(one, is_less ? 1 - kBy : 1 + kBy);
    const auto outcome =
        simulate::simulate(one, {.threads = 1, .memo = options.memo, .closure = options.closure});
    if (outcome)
      found[i] = outcome->total;
    else
      found[i] = fail(outcome.error());
  });
  std::vector<std::vector<Seconds>> totals(each);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) return fail(found[i].error());
    totals[i / replicas].push_back(*found[i]);
  }
  std::vector<TwinElasticity> out;
  for (std::size_t p = 0; p < parts.size(); ++p)
    out.push_back(elasticity(parts[p], totals[0], totals[1 + 2 * p], totals[2 + 2 * p]));
  return out;
}

std::vector<Proportion> Decay::bands() const {
  std::vector<Proportion> out;
  for (std::size_t k = 0; k < kept.size(); ++k)
    out.push_back({.value = kept[k], .low = kept[k] - half_width[k], .high = kept[k] + half_width[k]});
  return out;
}

Decay decay_of(const simulate::KeptDelay& delay) {
  Decay out;
  if (delay.by.empty() || !(delay.delay > Seconds{})) return out;
  for (const simulate::ReplicaSpread& d : delay.by) {
    out.kept.push_back(d.mean / delay.delay);
    out.half_width.push_back(d.half_width_95 / delay.delay);
    const Seconds sure = d.mean - d.half_width_95;
    if (sure > delay.delay * (1 + 1e-6)) out.shared = true;
  }
  out.first = out.kept.front();
  out.last = out.kept.back();
  for (std::size_t k = 1; out.first > 0 && k < out.kept.size() && out.half_life == 0; ++k)
    if (out.kept[k] <= out.first / 2) out.half_life = static_cast<double>(k);
  constexpr double kSame = 0.01;
  out.lasts = out.first > 0 && std::ranges::all_of(out.kept, [&](double kept) {
                return std::abs(kept - out.first) <= kSame * out.first;
              });
  return out;
}

}  // namespace cox::forecast
