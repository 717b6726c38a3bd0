// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/gossip.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cox::sync {
namespace {

/// Workers that end their rounds in any order that the rules allow.
struct GossipWalk {
  GossipWalk(GossipGraph kind, int workers)
      : graph(kind), gossip({.graph = kind}, workers), ledger(workers), n(workers) {
    for (int w = 0; w < workers; ++w) can.push_back(w);
  }
  void step(std::size_t pick) {
    const int w = can[pick];
    can.erase(can.begin() + static_cast<std::ptrdiff_t>(pick));
    gossip.delivered(w, released);
    can.insert(can.end(), released.begin(), released.end());
    for (const StreamEvent& e : gossip.events()) {
      ASSERT_TRUE(ledger.take(e)) << ledger.error();
      ASSERT_EQ(ledger.ages(), ledger.aged());
    }
    std::int64_t low = gossip.round(0), high = low;
    for (int v = 0; v < n; ++v) {
      low = std::min(low, gossip.round(v));
      high = std::max(high, gossip.round(v));
      if (gossip.neighbours().period() > 1) continue;
      for (const int p : gossip.neighbours().of(v, 0))
        EXPECT_LE(std::abs(gossip.round(v) - gossip.round(p)), 1);
    }
    widest = std::max(widest, high - low);
  }
  GossipGraph graph;
  Gossip gossip;
  Ledger ledger;
  int n;
  std::int64_t widest = 0;
  std::vector<int> can, released;
};

TEST(Gossip, TheLedgerHoldsAtEveryEventAndNeighboursAreOneRoundApartAtMost) {
  for (const GossipGraph graph :
       {GossipGraph::Ring, GossipGraph::Torus, GossipGraph::Hypercube, GossipGraph::Exponential,
        GossipGraph::Complete, GossipGraph::Star, GossipGraph::Regular})
    for (const int workers : {4, 8, 9, 13, 16}) {
      if (!graph_misfit({.graph = graph}, workers).empty()) continue;
      GossipWalk walk(graph, workers);
      std::uint64_t x = 7;
      for (int i = 0; i < 3000; ++i) {
        ASSERT_FALSE(walk.can.empty()) << "the job waits for ever";
        x = x * 6364136223846793005U + 1442695040888963407U;
        walk.step((x >> 33) % walk.can.size());
      }
      EXPECT_GT(walk.ledger.version(), 3000 / workers - workers - 1);
      EXPECT_EQ(walk.ledger.largest_age(), 0);
      EXPECT_EQ(walk.ledger.discarded() + walk.ledger.abandoned(), 0);
    }
}

// Worker 0 stands in round 0. Its neighbours end that round and begin no other; who is d away ends d rounds and waits behind the last: the opposite
// one of eight has begun three more.
TEST(Gossip, OnARingTheFastestIsAsFarAheadAsItIsAway) {
  GossipWalk walk(GossipGraph::Ring, 8);
  for (int i = 0; i < 200; ++i) {
    const auto away = std::ranges::find_if(walk.can, [](int w) { return w != 0; });  // worker 0 stands still
    if (away == walk.can.end()) break;
    walk.step(static_cast<std::size_t>(away - walk.can.begin()));
  }
  EXPECT_EQ(walk.widest, 3);
  for (int w = 1; w < 8; ++w) EXPECT_EQ(walk.gossip.round(w), std::min(w, 8 - w) - 1) << w;
  EXPECT_EQ(walk.gossip.version(), 0) << "a round is over when all have ended it";
}

}  // namespace
}  // namespace cox::sync
