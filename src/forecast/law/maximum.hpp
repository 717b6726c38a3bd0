// SPDX-License-Identifier: Apache-2.0
/// \file
/// The slowest of N ranks, some of whose work is shared by the ranks of a node, of a switch, of the job.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cox/base/units.hpp"

#include "forecast/law/law.hpp"

namespace cox::forecast {

/// Who shares what: T = common + max over groups (group + max over nodes (node + slow node + max over ranks (own + rank))).
struct Nest {
  Law own{};     ///< of a rank
  Law node{};    ///< shared by the ranks of a node
  Law group{};   ///< by the nodes at a switch
  Law common{};  ///< by all
  int ranks_per_node = 1;
  int nodes_per_group = 0;  ///< 0 = one group holds all
  Law rank{};               ///< a second part of a rank's own
  Law slow_node{};          ///< a second one of a node: a detour, for nodes that are slow with some chance
  Law lasting_node{};       ///< a third one of a node, of any law
};

/// Ranks that are alike; a job may have several kinds, as stages of a pipeline.
struct Crowd {
  Nest nest;
  std::int64_t ranks = 0;
  bool fixed = false;  ///< so many in a job of any size: `growth` leaves them out
};

/// Points of the quadrature. The default is within 0.06 % of the excess over one rank, at any N.
struct Quadrature {
  int points = 256;        ///< of a distribution function, even in ln(-ln G)
  int shared_points = 24;  ///< of a shared part, at least: more where it is wider than what it is added to
};

/// The law of the slowest of `ranks`. A last node or group that is not full counts as the part that it is.
///
/// Formula: G = E_common[ E_group[ E_node[ F(x - s - w - c)^m ]^n ]^g ], as y = ln(-ln G) on a grid; the mean is a + integral of (1 - G).
/// Source: docs/concepts/forecasting.md. A tail without a mean gives an infinite mean; its quantiles are finite.
/// Cost: 0.06 ms at any number of ranks, 0.1 with one shared part, 0.3 with two; one much wider than what it is added to costs up to
/// 1 ms; a size that does not fill its last node or switch twice as much (bench/forecast_bench.cpp). Threads: safe.
/// Held by: src/forecast/law/maximum_test.cpp
class Maximum {
 public:
  /// Pre: ranks >= 1 (asserted).
  Maximum(const Nest& nest, std::int64_t ranks, const Quadrature& quadrature = {});
  /// The slowest of all of several crowds; what is common is the first one's. Pre: one or more, each with ranks (asserted).
  explicit Maximum(const std::vector<Crowd>& crowds, const Quadrature& quadrature = {});
  [[nodiscard]] Seconds mean() const;
  [[nodiscard]] Seconds deviation() const;
  [[nodiscard]] Seconds quantile(double p) const;
  [[nodiscard]] double above(Seconds x) const;
  /// As a law, to be a part of something larger. Below 1 in 10^9 its tail goes on as an exponential one.
  [[nodiscard]] Law law() const;
  /// d mean / d ln N, at N = ranks: what one e-fold of those that are not fixed adds. Formula: -N ln-derivative of their outermost power,
  /// the integral of -G ln G_grows. What they all share is left out.
  [[nodiscard]] Seconds growth() const;

 private:
  struct Grid;
  std::shared_ptr<const Grid> grid_;
};

/// How far the mean of one run is from the mean over many, where every unit keeps its `lasting` part for the whole run: standard
/// deviation. `fresh` is the rest of a unit of `ranks` ranks.
/// Formula: Cov(T_j, T_k) = double integral of C(x, y)^units - (F(x) F(y))^units. Source: Hoeffding 1940.
/// Cost: 0.3 ms. Held by: src/forecast/law/maximum_test.cpp
[[nodiscard]] Seconds between_runs(const Nest& fresh, std::int64_t ranks, const Law& lasting,
                                   std::int64_t units);

}  // namespace cox::forecast
