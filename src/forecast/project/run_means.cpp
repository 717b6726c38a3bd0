// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/run_means.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "forecast/law/maximum.hpp"
#include "forecast/project/at_size.hpp"
#include "forecast/project/pipeline.hpp"

namespace cox::forecast {
namespace {

constexpr Quadrature kCoarse = {.points = 128, .shared_points = 16};

/// Of a pipeline whose ranks or nodes differ for good by laws of their own: what lasts of a replica, of mean 0; empty = all of it is normal.
std::optional<Law> replica_lasts_as(const Pipeline& pipeline, const Parts& parts,
                                    const std::vector<PositionLaws>& laws, std::int64_t ranks) {
  if (std::ranges::all_of(laws,
                          [](const auto& l) { return l.rank_law.is_constant() && l.node_law.is_constant(); }))
    return std::nullopt;
  std::vector<Nest> stages;
  for (const PositionLaws& l : laws) {
    PositionLaws lasting{.level = l.level, .rank_law = l.rank_law, .node_law = l.node_law};
    lasting.rank = l.rank;
    lasting.node = l.node;
    stages.push_back(nested(lasting, parts, 1));
  }
  const Law own = replicas_of(pipeline, stages, ranks, kCoarse).nest.own;
  return own.plus(-own.mean());
}

/// Of a pipeline: what lasts of a replica's stages is taken as one part of the replica, a normal one but for laws of their own.
double lasting_of_replicas(const Parts& parts, const std::vector<PositionLaws>& laws, std::int64_t ranks,
                           double factor) {
  std::vector<Nest> stages;
  const Pipeline pipeline = with_batch(parts.pipeline, factor);
  const std::vector<std::vector<double>> weights = weights_of(pipeline);
  double variance = 0;
  for (std::size_t j = 0; j < laws.size(); ++j) {
    double weight = 0;
    for (const auto& slow : weights) weight += slow[j] / static_cast<double>(weights.size());
    const double sd = std::hypot(laws[j].rank.count(), laws[j].node.count());
    variance += weight * weight * sd * sd;
    PositionLaws fresh = laws[j];
    fresh.rank = fresh.node = {};
    stages.push_back(nested(fresh, parts, 1));
  }
  if (variance <= 0) return 0;
  const Crowd replicas = replicas_of(pipeline, stages, ranks, kCoarse);
  const Law lasts = replica_lasts_as(pipeline, parts, laws, ranks)
                        .value_or(Law::normal(Seconds{}, Seconds{std::sqrt(variance)}));
  return factor * between_runs({.own = replicas.nest.own}, 1, lasts, replicas.ranks).count();
}

}  // namespace

Seconds lasting(const Parts& parts, const std::vector<PositionLaws>& laws, std::int64_t ranks,
                double factor) {
  if (parts.pipeline.stages > 1) return Seconds{lasting_of_replicas(parts, laws, ranks, factor)};
  double sum = 0;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const PositionLaws l = at_size(laws[i], parts, ranks, factor);
    const double others = std::hypot(l.node.count(), l.node_step.count());
    double variance = 0;
    if (l.rank > Seconds{}) {
      const Nest fresh{.own = l.residual, .rank = Law::normal(Seconds{}, Seconds{others})};
      const double b = between_runs(fresh, 1, lasting_law(l.rank, l.rank_law), ranks).count();
      variance += b * b;
    }
    if (l.node > Seconds{} && parts.ranks_per_node > 1) {
      const Nest fresh{.own = l.residual,
                       .node = Law::shifted_gamma(Seconds{}, l.node_step, l.skewness),
                       .ranks_per_node = parts.ranks_per_node,
                       .rank = lasting_law(l.rank, l.rank_law)};
      const std::int64_t nodes = std::max<std::int64_t>(ranks / parts.ranks_per_node, 1);
      const double b =
          between_runs(fresh, parts.ranks_per_node, lasting_law(l.node, l.node_law), nodes).count();
      variance += b * b;
    }
    sum += factor * std::sqrt(variance);  // what lasts is the same unit's at every position
  }
  return Seconds{sum};
}

std::optional<RunMeans> run_means(const Parts& parts, const std::vector<PositionLaws>& laws,
                                  std::int64_t ranks, double factor) {
  std::vector<Crowd> of_ranks, of_nodes;
  std::vector<PositionLaws> alone = laws;
  Seconds most_of_ranks{}, most_of_nodes{};
  const auto add = [](std::vector<Crowd>& crowds, Seconds deviation, const Law& stated, std::int64_t units) {
    if (!stated.is_constant() && deviation > Seconds{})
      crowds.push_back({.nest = {.own = lasting_law(deviation, stated)}, .ranks = units});
  };
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const std::int64_t of_role = ranks_of(parts, parts.positions[i], ranks);
    add(of_ranks, laws[i].rank, laws[i].rank_law, of_role);
    add(of_nodes, laws[i].node, laws[i].node_law, std::max<std::int64_t>(of_role / parts.ranks_per_node, 1));
    most_of_ranks = std::max(most_of_ranks, laws[i].rank);
    most_of_nodes = std::max(most_of_nodes, laws[i].node);
    alone[i].residual = Law();
    alone[i].node_step = {};
  }
  const bool by_nodes = of_ranks.empty() || (!of_nodes.empty() && most_of_nodes > most_of_ranks);
  const std::vector<Crowd>& widest = by_nodes ? of_nodes : of_ranks;
  if (widest.empty()) return std::nullopt;
  RunMeans out{.slowest = Maximum(widest, kCoarse).law()};
  // Both deviations by one rule, so that its error is in neither.
  const Seconds whole = lasting(parts, alone, ranks, factor);
  if (!(whole > Seconds{}) || !std::isfinite(out.slowest.deviation().count())) return std::nullopt;
  out.part = factor * std::min(lasting(parts, laws, ranks, factor) / whole, 1.0);
  return out;
}

}  // namespace cox::forecast
