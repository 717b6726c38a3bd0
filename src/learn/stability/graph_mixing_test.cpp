// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/graph_mixing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cox::learn {
namespace {

using sync::GossipGraph;
using sync::Neighbours;

GraphMixing mixing_of(const sync::GossipSpec& spec, int workers) {
  return graph_mixing(Neighbours(spec, workers)).value();
}

// Closed forms: a ring's and a torus' by their Fourier modes, a hypercube's by its dimension, a star's by hand (leaves' differences keep
// 1 - 1/n of themselves).
TEST(GraphMixing, FactorsAreThoseOfTheClosedForms) {
  const auto wave = [](int n) { return std::cos(2 * std::numbers::pi / n); };
  for (const int n : {3, 8, 16, 64}) {
    EXPECT_NEAR(mixing_of({GossipGraph::Ring}, n).factor,
                std::max((1 + 2 * wave(n)) / 3, n % 2 == 0 ? 1.0 / 3 : 0), n == 3 ? 1e-7 : 1e-9);
    EXPECT_NEAR(mixing_of({GossipGraph::Complete}, n).factor, 0, 1e-9);
    EXPECT_NEAR(mixing_of({GossipGraph::Star}, n).factor, 1 - 1.0 / n, 1e-9);
  }
  for (int d = 1; d <= 6; ++d)
    EXPECT_NEAR(mixing_of({GossipGraph::Hypercube}, 1 << d).factor, 1 - 2.0 / (d + 1), 1e-9) << d;
  for (const auto& [rows, columns] : {std::pair{4, 4}, {4, 6}, {8, 8}})
    EXPECT_NEAR(mixing_of({GossipGraph::Torus}, rows * columns).factor, (3 + 2 * wave(columns)) / 5, 1e-9);
  EXPECT_NEAR(mixing_of({GossipGraph::Torus}, 64).factor, .882843, 6e-7) << "the reference's";
  EXPECT_EQ(mixing_of({GossipGraph::Exponential}, 16).factor, 0) << "exact after four rounds";
  EXPECT_GT(mixing_of({GossipGraph::Exponential}, 12).factor, 0.1);
  EXPECT_LT(mixing_of({GossipGraph::Exponential}, 12).factor, mixing_of({GossipGraph::Ring}, 12).factor);
}

TEST(GraphMixing, WeightsAreThoseThatStabilityKnows) {
  const auto same = [](const Mixing& a, const Mixing& b) {
    ASSERT_EQ(a.weights.size(), b.weights.size());
    for (std::size_t i = 0; i < a.weights.size(); ++i) EXPECT_NEAR(a.weights[i], b.weights[i], 1e-15);
  };
  same(graph_weights(Neighbours({GossipGraph::Ring}, 7), 3), ring_mixing(7));
  same(graph_weights(Neighbours({GossipGraph::Torus}, 16), 0), torus_mixing(4));
  same(graph_weights(Neighbours({GossipGraph::Hypercube}, 8), 0), hypercube_mixing(3));
  for (int hop = 0; hop < 4; ++hop)
    same(graph_weights(Neighbours({GossipGraph::Exponential}, 12), 4 + hop), one_peer_mixing(12, hop));
}

// The mean stays on every graph; and a plain mean over whom one hears, which is what a star would need no rule for, moves it.
TEST(GraphMixing, RowsAndColumnsSumToOne) {
  for (const GossipGraph graph :
       {GossipGraph::Ring, GossipGraph::Torus, GossipGraph::Hypercube, GossipGraph::Exponential,
        GossipGraph::Complete, GossipGraph::Star, GossipGraph::Regular, GossipGraph::Halves}) {
    const GraphMixing m = mixing_of({graph}, 16);
    EXPECT_LT(m.sums.rows, 1e-12);
    EXPECT_LT(m.sums.columns, 1e-12);
    EXPECT_LT(m.factor, 1);
  }
  Mixing plain = graph_weights(Neighbours({GossipGraph::Star}, 4), 0);
  for (std::size_t leaf = 1; leaf < 4; ++leaf) plain.weights[leaf * 4] = plain.weights[leaf * 4 + leaf] = 0.5;
  EXPECT_LT(sum_errors(plain).rows, 1e-12);
  EXPECT_NEAR(sum_errors(plain).columns, 0.75, 1e-12);
}

// A drawn graph agrees faster than the circulant one that it was made of, and near what no graph of its degree can beat by much:
// 2 sqrt(d - 1) / d of its neighbours' weight (Alon, Boppana; Friedman 2008).
TEST(GraphMixing, DrawnGraphsAreNearlyAsGoodAsAnyOfTheirDegree) {
  for (const int degree : {3, 4, 6}) {
    const double best = (1 + 2 * std::sqrt(degree - 1.0)) / (degree + 1);
    for (std::uint64_t draw = 1; draw <= 5; ++draw) {
      const double found = mixing_of({GossipGraph::Regular, degree, draw}, 128).factor;
      EXPECT_LT(found, best + 0.06) << degree << ' ' << draw;
      EXPECT_GT(found, best - 0.12) << degree << ' ' << draw;
    }
  }
}

// Closed forms of one exchange: every pair of two halves of m alike, 1 - 1 / (2 m); an edge of a ring of n, 1 - (1 - cos(2 pi / n)) / n; a star
// whose outer workers ask, 1 - 1 / (2 (n - 1)).
TEST(GraphMixing, PairsHaveTheGapOfTheirLaplacian) {
  const auto second = [](GossipGraph graph, int n) {
    return mixing_rates(pair_weights(Neighbours({graph}, n))).second;
  };
  for (const int n : {4, 8, 16}) {
    EXPECT_NEAR(second(GossipGraph::Halves, n), 1 - 1.0 / n, 1e-9);
    EXPECT_NEAR(second(GossipGraph::Ring, n), 1 - (1 - std::cos(2 * std::numbers::pi / n)) / n, 1e-9);
    EXPECT_NEAR(second(GossipGraph::Star, n), 1 - 1 / (2.0 * (n - 1)), 1e-9);
  }
  EXPECT_NEAR(pair_mixing(Neighbours({GossipGraph::Halves}, 8))->factor, std::pow(1 - 1.0 / 8, 2), 1e-9)
      << "four ask: the root of its fourth power";
  EXPECT_LT(pair_mixing(Neighbours({GossipGraph::Ring}, 8))->sums.columns, 1e-12);
  EXPECT_FALSE(pair_mixing(Neighbours({GossipGraph::Halves}, 1)));
}

TEST(GraphMixing, LargeGraphsAreNotAsked) {
  EXPECT_TRUE(graph_mixing(Neighbours({GossipGraph::Ring}, 128)));
  EXPECT_FALSE(graph_mixing(Neighbours({GossipGraph::Ring}, 129)));
}

}  // namespace
}  // namespace cox::learn
