// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/gossip_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace cox::sync {
namespace {

std::set<int> heard(const GossipSpec& spec, int workers, int worker, std::int64_t round = 0) {
  const Neighbours all(spec, workers);
  const auto of = all.of(worker, round);
  EXPECT_EQ(std::set<int>(of.begin(), of.end()).size(), of.size()) << "each once";
  return {of.begin(), of.end()};
}

TEST(GossipGraph, WhoHearsWhom) {
  using Set = std::set<int>;
  EXPECT_EQ(heard({GossipGraph::Ring}, 5, 0), (Set{1, 4}));
  EXPECT_EQ(heard({GossipGraph::Torus}, 12, 5), (Set{1, 9, 4, 6})) << "three rows of four";
  EXPECT_EQ(heard({GossipGraph::Torus}, 12, 0), (Set{1, 3, 4, 8}));
  EXPECT_EQ(heard({GossipGraph::Hypercube}, 8, 5), (Set{4, 7, 1}));
  EXPECT_EQ(heard({GossipGraph::Complete}, 4, 2), (Set{0, 1, 3}));
  EXPECT_EQ(heard({GossipGraph::Star}, 4, 0), (Set{1, 2, 3}));
  EXPECT_EQ(heard({GossipGraph::Star}, 4, 3), (Set{0}));
  EXPECT_EQ(heard({GossipGraph::Halves}, 6, 2), (Set{1, 3, 5}));
  EXPECT_TRUE(heard({GossipGraph::Complete}, 1, 0).empty());
}

TEST(GossipGraph, PeersOfTheExponentialGraphTakeTurns) {
  std::set<int> all;
  for (std::int64_t r = 0; r < 3; ++r) all.merge(heard({GossipGraph::Exponential}, 8, 0, r));
  EXPECT_EQ(all, (std::set<int>{4, 6, 7}));
  EXPECT_EQ(heard({GossipGraph::Exponential}, 8, 0, 3), heard({GossipGraph::Exponential}, 8, 0, 0));
  EXPECT_TRUE(heard({GossipGraph::Exponential}, 1, 0).empty());
}

TEST(GossipGraph, DrawnGraphsAreRegularConnectedAndDifferByDraw) {
  for (const auto& [workers, degree] : {std::pair{8, 3}, {10, 2}, {9, 4}, {30, 7}, {4, 3}, {200, 3}}) {
    std::set<std::vector<int>> first_lists;
    for (std::uint64_t draw = 1; draw <= 4; ++draw) {
      const Neighbours graph({GossipGraph::Regular, degree, draw}, workers);
      std::vector<char> seen(static_cast<std::size_t>(workers));
      std::vector<int> open{0};
      while (!open.empty()) {
        const int w = open.back();
        open.pop_back();
        if (seen[static_cast<std::size_t>(w)] != 0) continue;
        seen[static_cast<std::size_t>(w)] = 1;
        EXPECT_EQ(heard({GossipGraph::Regular, degree, draw}, workers, w).count(w), 0U);
        EXPECT_EQ(graph.degree(w), degree);
        for (const int v : graph.of(w, 0)) {
          EXPECT_EQ(std::ranges::count(graph.of(v, 0), w), 1) << "both ways";
          open.push_back(v);
        }
      }
      EXPECT_EQ(std::ranges::count(seen, 1), workers) << "connected";
      const auto of = graph.of(0, 0);
      first_lists.emplace(of.begin(), of.end());
    }
    if (workers == 200) {
      EXPECT_EQ(first_lists.size(), 4U);
    }
  }
}

TEST(GossipGraph, WhoDoesNotMakeAGraphIsToldInOneLine) {
  const auto misfit = [](const GossipSpec& spec, int workers) { return graph_misfit(spec, workers); };
  EXPECT_EQ(misfit({GossipGraph::Ring}, 2), "a ring of fewer than 3 workers has no two neighbours");
  EXPECT_EQ(misfit({GossipGraph::Torus}, 8),
            "a torus of 8 workers has sides of 2 and 4: both have to be 3 or more");
  EXPECT_EQ(misfit({GossipGraph::Torus}, 9), "");
  EXPECT_EQ(misfit({GossipGraph::Hypercube}, 12), "a hypercube has a power of two of workers, not 12");
  EXPECT_EQ(misfit({GossipGraph::Regular, 8}, 8), "degree is 8, and a worker has 7 others");
  EXPECT_EQ(misfit({GossipGraph::Regular, 3}, 7),
            "degree is 3 and there are 7 workers: one of the two has to be even");
  EXPECT_NE(misfit({GossipGraph::Regular, 99'998}, 100'000), "");
  EXPECT_NE(misfit({GossipGraph::Complete}, 2049), "");
  EXPECT_EQ(misfit({GossipGraph::Star}, 2049), "");
}

TEST(GossipGraph, SidesPartWhatCanBeParted) {
  const auto sides = [](const GossipSpec& spec, int workers) { return Neighbours(spec, workers).sides(); };
  EXPECT_EQ(sides({GossipGraph::Ring}, 6), (std::vector<int>{0, 1, 0, 1, 0, 1}));
  EXPECT_TRUE(sides({GossipGraph::Ring}, 5).empty());
  EXPECT_TRUE(sides({GossipGraph::Complete}, 4).empty());
  EXPECT_TRUE(sides({GossipGraph::Torus}, 12).empty()) << "rings of three";
  EXPECT_EQ(sides({GossipGraph::Star}, 3), (std::vector<int>{0, 1, 1}));
  for (const GossipSpec& spec : {GossipSpec{GossipGraph::Torus}, GossipSpec{GossipGraph::Hypercube},
                                 GossipSpec{GossipGraph::Halves}}) {
    const Neighbours graph(spec, 16);
    const std::vector<int> side = graph.sides();
    ASSERT_EQ(side.size(), 16U);
    for (int w = 0; w < 16; ++w)
      for (const int v : graph.of(w, 0))
        EXPECT_NE(side[static_cast<std::size_t>(w)], side[static_cast<std::size_t>(v)]);
  }
}

}  // namespace
}  // namespace cox::sync
