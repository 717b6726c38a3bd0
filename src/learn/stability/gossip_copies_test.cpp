// SPDX-License-Identifier: Apache-2.0
#include "learn/run/gossip_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/sync/pairs.hpp"

#include "learn/stability/graph_mixing.hpp"

namespace cox::learn {
namespace {

constexpr sync::GossipGraph kAll[] = {sync::GossipGraph::Ring,        sync::GossipGraph::Torus,
                                      sync::GossipGraph::Hypercube,   sync::GossipGraph::Complete,
                                      sync::GossipGraph::Exponential, sync::GossipGraph::Star,
                                      sync::GossipGraph::Regular};

/// Copies apart from each other: each worker has made a step with a gradient of its own.
GossipCopies apart_copies(const Problem& problem, sync::GossipGraph graph, int workers) {
  GossipCopies copies(problem, {.rate = 1}, {graph, 4}, workers);
  std::vector<float> g(static_cast<std::size_t>(problem.parameters()));
  for (int w = 0; w < workers; ++w) {
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] = static_cast<float>((static_cast<std::size_t>(w) * 7 + i * 3) % 11) / 8;
    copies.step(w, g, 1);
  }
  return copies;
}

// The copies are combined by the matrices whose sums and eigenvalues are known.
TEST(GossipCopies, AreCombinedByTheMatricesOfTheirGraph) {
  const auto problem = make_problem({.dimension = 5, .condition = 2});
  ASSERT_TRUE(problem);
  for (const int n : {8, 9, 12, 16})
    for (std::int64_t round = 0; round < 4; ++round)
      for (const sync::GossipGraph graph : kAll) {
        if (!sync::graph_misfit({graph, 4}, n).empty()) continue;
        GossipCopies copies = apart_copies(**problem, graph, n);
        std::vector<std::vector<float>> before;
        for (int w = 0; w < n; ++w) before.emplace_back(copies.of(w).begin(), copies.of(w).end());
        const Mixing m = graph_weights(sync::Neighbours({graph, 4}, n), round);
        copies.combine(round);
        for (int w = 0; w < n; ++w)
          for (std::size_t i = 0; i < 5; ++i) {
            double wanted = 0;
            for (int j = 0; j < n; ++j)
              wanted += m.weights[static_cast<std::size_t>(w * n + j)] *
                        static_cast<double>(before[static_cast<std::size_t>(j)][i]);
            EXPECT_NEAR(copies.of(w)[i], wanted, 1e-6) << n << ' ' << w;
          }
      }
}

// Whatever the graph: the mean stays, and no round leaves more of the distance than the second eigenvalue says; in the long run it is that.
TEST(GossipCopies, OnEveryGraphTheGapIsWhatRemains) {
  const auto problem = make_problem({.dimension = 5, .condition = 2});
  ASSERT_TRUE(problem);
  for (const sync::GossipGraph graph : kAll) {
    const GraphMixing known = graph_mixing(sync::Neighbours({graph, 4}, 16)).value();
    GossipCopies copies = apart_copies(**problem, graph, 16);
    std::vector<float> first(5), later(5);
    copies.mean(first);
    double last = copies.apart();
    const double begun = last;
    double slowest = 0;
    for (int r = 0; r < 12; ++r) {
      copies.combine(r);
      const double now = copies.apart();
      if (last > 1e-3) slowest = std::max(slowest, now / last);
      last = now;
    }
    copies.mean(later);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(later[i], first[i], 1e-5);
    if (known.period == 1) {
      EXPECT_LE(slowest, known.factor + 1e-4);
    }
    EXPECT_LE(last, begun * std::pow(known.factor, 12) * 1.01 + 1e-5);
    if (graph == sync::GossipGraph::Ring || graph == sync::GossipGraph::Star) {
      EXPECT_NEAR(slowest, known.factor, 0.02) << "reached";
    }
  }
}

/// Sum over workers of the squared distance from their mean.
double squares(const GossipCopies& copies) {
  return copies.apart() * copies.apart();
}

// Over all exchanges that may come next: the mean of squared distances is x' E[W] x, at most the second eigenvalue of what it was. Each exchange
// leaves the mean of all where it is.
TEST(GossipCopies, AnExchangeTakesWhatItsExpectedWeightsSay) {
  const auto problem = make_problem({.dimension = 5, .condition = 2});
  ASSERT_TRUE(problem);
  for (const sync::GossipGraph graph : {sync::GossipGraph::Halves, sync::GossipGraph::Ring,
                                        sync::GossipGraph::Hypercube, sync::GossipGraph::Star}) {
    const sync::Neighbours neighbours({graph}, 8);
    const Mixing expected = pair_weights(neighbours);
    const std::vector<char> asks = sync::who_asks(neighbours);
    const auto asking = static_cast<double>(std::ranges::count(asks, 1));
    const GossipCopies before = apart_copies(**problem, graph, 8);
    std::vector<float> middle(5), after(5);
    before.mean(middle);
    double mean = 0;
    for (int i = 0; i < 8; ++i) {
      if (asks[static_cast<std::size_t>(i)] == 0) continue;
      for (const int j : neighbours.of(i, 0)) {
        GossipCopies copies = before;
        copies.average(i, j);
        copies.mean(after);
        for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(after[k], middle[k], 1e-6);
        mean += squares(copies) / (asking * neighbours.degree(i));
      }
    }
    double form = 0;
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j)
        for (std::size_t k = 0; k < 5; ++k)
          form += expected.weights[static_cast<std::size_t>(i * 8 + j)] *
                  static_cast<double>(before.of(i)[k] - middle[k]) *
                  static_cast<double>(before.of(j)[k] - middle[k]);
    EXPECT_NEAR(mean, form / (8 * 5), 1e-5 * mean);
    EXPECT_LE(mean, mixing_rates(expected).second * squares(before) * (1 + 1e-6));
  }
}

// A drawn run of exchanges: over many of them copies come together at least as fast as the gap says.
TEST(GossipCopies, ExchangesBringCopiesTogether) {
  const auto problem = make_problem({.dimension = 5, .condition = 2});
  ASSERT_TRUE(problem);
  for (const sync::GossipGraph graph : {sync::GossipGraph::Halves, sync::GossipGraph::Ring}) {
    const sync::Neighbours neighbours({graph}, 8);
    const GraphMixing known = pair_mixing(neighbours).value();
    double mean = 0, begun = 0;
    constexpr int kRuns = 200;
    constexpr int kRounds = 6;
    for (int run = 0; run < kRuns; ++run) {
      GossipCopies copies = apart_copies(**problem, graph, 8);
      begun = squares(copies);
      sync::Pairs pairs(neighbours, static_cast<std::uint64_t>(run));
      int done = 0;
      std::vector<int> ready{0, 1, 2, 3, 4, 5, 6, 7};
      while (done < kRounds * known.period) {
        std::vector<int> next;
        for (const int w : ready) {
          if (!pairs.asks(w)) continue;
          pairs.computed(w);
          std::vector<int> ending;
          for (const auto& x : pairs.begun()) ending.push_back(x.by);
          while (!ending.empty() && done < kRounds * known.period) {
            const int by = ending.back();
            ending.pop_back();
            pairs.exchanged(by);
            for (const sync::StreamEvent& e : pairs.events())
              if (e.kind == sync::StreamEvent::Kind::Averaged) copies.average(e.update.worker, e.update.with);
            ++done;
            for (const int r : pairs.released()) next.push_back(r);
            for (const auto& x : pairs.begun()) ending.push_back(x.by);
          }
        }
        ready = next;
      }
      mean += squares(copies) / kRuns;
    }
    EXPECT_LE(mean, begun * std::pow(known.factor, 2 * kRounds) * 1.1);
    EXPECT_GT(mean, 0);
  }
}

TEST(GossipCopies, TheMeanStaysAndTheDistanceFallsAsTheEigenvalueSays) {
  const auto problem = make_problem({.dimension = 5, .condition = 2});
  ASSERT_TRUE(problem);
  GossipCopies ring = apart_copies(**problem, sync::GossipGraph::Ring, 8);
  std::vector<float> first(5), later(5);
  ring.mean(first);
  for (int r = 0; r < 30; ++r) ring.combine(r);
  const double before = ring.apart();
  for (int r = 30; r < 40; ++r) ring.combine(r);
  ring.mean(later);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(later[i], first[i], 1e-5);
  EXPECT_NEAR(std::pow(ring.apart() / before, 0.1), mixing_rates(ring_mixing(8)).factor(), 0.01);
  // The exponential graph is exact after log2 n rounds where n is a power of two, and only there.
  GossipCopies eight = apart_copies(**problem, sync::GossipGraph::Exponential, 8);
  GossipCopies twelve = apart_copies(**problem, sync::GossipGraph::Exponential, 12);
  for (int r = 0; r < 3; ++r) eight.combine(r);
  for (int r = 0; r < 4; ++r) twelve.combine(r);
  EXPECT_LT(eight.apart(), 1e-6);
  EXPECT_GT(twelve.apart(), 1e-3);
}

}  // namespace
}  // namespace cox::learn
