// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace cox::sync {
namespace {

/// Steps and exchanges that end in any order.
struct PairsWalk {
  PairsWalk(const GossipSpec& spec, int workers) : graph(spec, workers), pairs(graph, 5), ledger(workers) {
    for (int w = 0; w < workers; ++w) computing.push_back(w);
    in_exchange.assign(static_cast<std::size_t>(workers), 0);
  }
  [[nodiscard]] std::size_t choices() const { return computing.size() + exchanging.size(); }
  void step(std::size_t pick) {
    if (pick < computing.size()) {
      const int w = computing[pick];
      computing.erase(computing.begin() + static_cast<std::ptrdiff_t>(pick));
      pairs.computed(w);
    } else {
      const Pairs::Exchange x = exchanging[pick - computing.size()];
      exchanging.erase(exchanging.begin() + static_cast<std::ptrdiff_t>(pick - computing.size()));
      --in_exchange[static_cast<std::size_t>(x.by)];
      --in_exchange[static_cast<std::size_t>(x.with)];
      pairs.exchanged(x.by);
    }
    for (const StreamEvent& e : pairs.events()) {
      ASSERT_TRUE(ledger.take(e)) << ledger.error();
      ASSERT_EQ(ledger.ages(), ledger.aged());
      if (e.kind == StreamEvent::Kind::Averaged) ++averaged[{e.update.worker, e.update.with}];
      if (e.kind == StreamEvent::Kind::Delivered) ++steps[e.update.worker];
    }
    computing.insert(computing.end(), pairs.released().begin(), pairs.released().end());
    for (const Pairs::Exchange& x : pairs.begun()) {
      exchanging.push_back(x);
      EXPECT_EQ(++in_exchange[static_cast<std::size_t>(x.by)], 1) << "one exchange at a time";
      EXPECT_EQ(++in_exchange[static_cast<std::size_t>(x.with)], 1);
      EXPECT_TRUE(pairs.asks(x.by) && !pairs.asks(x.with));
      EXPECT_EQ(std::ranges::count(graph.of(x.by, 0), x.with), 1) << "a neighbour";
    }
  }
  Neighbours graph;
  Pairs pairs;
  Ledger ledger;
  std::vector<int> computing;
  std::vector<Pairs::Exchange> exchanging;
  std::vector<int> in_exchange;
  std::map<std::pair<int, int>, int> averaged;
  std::map<int, int> steps;
};

TEST(Pairs, TheLedgerHoldsAtEveryEventAndNobodyWaitsForEver) {
  for (const GossipGraph graph : {GossipGraph::Halves, GossipGraph::Ring, GossipGraph::Torus,
                                  GossipGraph::Hypercube, GossipGraph::Star})
    for (const int workers : {1, 2, 4, 8, 9, 16}) {
      if (!pairs_misfit({graph}, workers).empty()) continue;
      PairsWalk walk({graph}, workers);
      std::uint64_t x = 7;
      for (int i = 0; i < 4000; ++i) {
        ASSERT_GT(walk.choices(), 0U) << "the job waits for ever";
        x = x * 6364136223846793005U + 1442695040888963407U;
        walk.step((x >> 33) % walk.choices());
      }
      EXPECT_EQ(walk.ledger.version(), walk.ledger.applied());
      for (int w = 0; w < workers; ++w)
        EXPECT_GT(walk.steps[w], 4000 / workers / 20) << "worker " << w << " starves";
      // (N - 1) for each version, less what is in flight.
      EXPECT_EQ(walk.ledger.aged(), (workers - 1) * walk.ledger.version());
      EXPECT_EQ(walk.ledger.discarded() + walk.ledger.abandoned(), 0);
    }
}

// Whoever answers goes on computing, however slow those who ask are; whoever asks waits for the one that it has asked.
TEST(Pairs, WhoAnswersWaitsForNobody) {
  PairsWalk walk({GossipGraph::Ring}, 4);
  for (int i = 0; i < 100; ++i)
    walk.step(static_cast<std::size_t>(std::ranges::find(walk.computing, 1) - walk.computing.begin()));
  EXPECT_EQ(walk.steps[1], 100);
  EXPECT_EQ(walk.ledger.largest_age(), 0) << "nobody else has applied anything";
}

// In an exchange both are locked: what the one that answers has computed meanwhile comes behind it.
TEST(Pairs, AGradientWaitsForTheExchangeThatItsWorkerIsIn) {
  const Neighbours two({GossipGraph::Halves}, 2);
  Pairs pairs(two, 1);
  pairs.computed(0);
  ASSERT_EQ(pairs.begun().size(), 1U);
  EXPECT_TRUE(pairs.events().empty());
  pairs.computed(1);
  EXPECT_TRUE(pairs.events().empty() && pairs.released().empty());
  pairs.exchanged(0);
  std::vector<std::pair<StreamEvent::Kind, int>> told;
  for (const StreamEvent& e : pairs.events()) told.emplace_back(e.kind, e.update.worker);
  using enum StreamEvent::Kind;
  EXPECT_EQ(told, (std::vector<std::pair<StreamEvent::Kind, int>>{{Averaged, 0},
                                                                  {Delivered, 0},
                                                                  {Advanced, 0},
                                                                  {Read, 0},
                                                                  {Delivered, 1},
                                                                  {Advanced, 1},
                                                                  {Read, 1}}));
  EXPECT_EQ(pairs.events()[4].update.age(), 1);
}

TEST(Pairs, NeighboursAreDrawnAlike) {
  PairsWalk walk({GossipGraph::Halves}, 8);
  for (int i = 0; i < 20000; ++i) walk.step(static_cast<std::size_t>(i) * 7 % walk.choices());
  int least = 1 << 30, most = 0;
  for (const auto& [pair, count] : walk.averaged) {
    least = std::min(least, count);
    most = std::max(most, count);
  }
  EXPECT_EQ(walk.averaged.size(), 16U) << "four that ask, four that answer";
  EXPECT_GT(least, most / 2);
}

TEST(Pairs, WithoutTwoSidesItIsRefused) {
  EXPECT_EQ(pairs_misfit({GossipGraph::Ring}, 8), "");
  EXPECT_NE(pairs_misfit({GossipGraph::Ring}, 7).find("no two sides"), std::string::npos);
  EXPECT_NE(pairs_misfit({GossipGraph::Torus}, 9).find("no two sides"), std::string::npos);
  EXPECT_NE(pairs_misfit({GossipGraph::Exponential}, 8), "");
  EXPECT_NE(pairs_misfit({GossipGraph::Hypercube}, 6).find("power of two"), std::string::npos);
  const std::vector<char> star = who_asks(Neighbours({GossipGraph::Star}, 4));
  EXPECT_EQ(star, (std::vector<char>{0, 1, 1, 1})) << "the middle answers";
}

TEST(Pairs, ALedgerKnowsWhoMayExchange) {
  const auto error = [](const Update& u) {
    Ledger ledger(2);
    EXPECT_FALSE(ledger.take({.kind = StreamEvent::Kind::Averaged, .update = u}));
    return ledger.error();
  };
  EXPECT_EQ(error({.worker = 0, .with = 0}), "worker 0 takes the mean with worker 0, and that is itself");
  EXPECT_EQ(error({.worker = 0, .with = 2}), "worker 0 takes the mean with worker 2, who is not there");
  EXPECT_EQ(error({.worker = 0, .with = -1}), "worker 0 takes the mean with worker -1, who is not there");
}

}  // namespace
}  // namespace cox::sync
