// SPDX-License-Identifier: Apache-2.0
#include "cox/replay/replay.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace cox::replay {
namespace {

using model::Dependencies;
using model::kNoOperation;
using model::OperationIndex;

std::vector<Duration> ticks(std::initializer_list<std::int64_t> list) {
  std::vector<Duration> out;
  for (const auto t : list) out.emplace_back(t);
  return out;
}

/// Two chains that join, one of which goes on alone: finish 3, 5, 7, 11, 8 by hand.
Dependencies fork_and_join() {
  Dependencies g;
  const OperationIndex a = g.add();
  const OperationIndex b = g.add();
  const std::array both{a, b};
  const OperationIndex c = g.add(both);
  g.add(c);
  g.add(b);
  return g;
}

TEST(Replay, WaitsForTheLatestPredecessor) {
  const Dependencies g = fork_and_join();
  const auto d = ticks({3, 5, 2, 4, 3});
  const OperationTimes t = replay(g, d);
  EXPECT_EQ(t.finish, ticks({3, 5, 7, 11, 8}));
  EXPECT_EQ(t.makespan, Duration(11));
  EXPECT_EQ(t.last, 3U);
  std::vector<Duration> room;
  EXPECT_EQ(makespan(g, d, room), Duration(11));
  EXPECT_EQ(room, t.finish);
}

TEST(Replay, EmptyGraphTakesNoTime) {
  const Dependencies g;
  const OperationTimes t = replay(g, {});
  EXPECT_EQ(t.makespan, Duration::zero());
  EXPECT_EQ(t.last, kNoOperation);
  EXPECT_TRUE(critical_path(g, {}, t).empty());
  EXPECT_TRUE(slack(g, {}, t).empty());
}

TEST(Replay, LagsCountBetweenTwoOperationsOnly) {
  Dependencies g;
  const OperationIndex a = g.add();
  const OperationIndex b = g.add();
  const std::array both{a, b};
  const std::array lags{Duration(10), Duration(-4)};
  const OperationIndex c = g.add(both, lags);
  g.add(c);
  const auto d = ticks({3, 20, 2, 1});
  const OperationTimes t = replay(g, d);
  EXPECT_EQ(t.finish, ticks({3, 20, 18, 19}));
  EXPECT_EQ(t.last, b);  // c may begin before b has finished: a lag may be negative
}

TEST(Replay, NobodyBeginsBeforeItsRelease) {
  Dependencies g;
  const OperationIndex a = g.add();
  g.add(a);
  const auto d = ticks({3, 2});
  EXPECT_EQ(replay(g, d, ticks({5, 0})).finish, ticks({8, 10}));
  EXPECT_EQ(replay(g, d, ticks({-5, 100})).finish, ticks({3, 102}));
}

TEST(Replay, CriticalPathStartsWhereSomethingBeganOfItself) {
  const Dependencies g = fork_and_join();
  const auto d = ticks({3, 5, 2, 4, 3});
  EXPECT_EQ(critical_path(g, d, replay(g, d)), (std::vector<OperationIndex>{1, 2, 3}));
  EXPECT_EQ(critical_path(g, d, replay(g, d, ticks({0, 0, 50, 0, 0}))), (std::vector<OperationIndex>{2, 3}));
}

TEST(Replay, AmongEqualsTheLowestNodeIsOnThePath) {
  const Dependencies g = fork_and_join();
  const auto d = ticks({5, 5, 2, 4, 3});
  EXPECT_EQ(critical_path(g, d, replay(g, d)), (std::vector<OperationIndex>{0, 2, 3}));
}

TEST(Replay, SlackIsWhatAnOperationMayLastLonger) {
  const Dependencies g = fork_and_join();
  const auto d = ticks({3, 5, 2, 4, 3});
  EXPECT_EQ(slack(g, d, replay(g, d)), ticks({2, 0, 0, 0, 3}));
}

TEST(Replay, SensitivitiesCountThePath) {
  const std::vector<OperationIndex> path{1, 2, 3};
  const std::vector<std::uint32_t> classes{0, 1, 0, 1, 2};
  EXPECT_EQ(sensitivities(path, classes, 3), (std::vector<double>{1, 2, 0}));
  const std::vector<double> bytes{7, 10, 20, 30, 40};
  EXPECT_EQ(sensitivities(path, classes, 3, bytes), (std::vector<double>{20, 40, 0}));
}

TEST(Replay, TimesStopAtTheRange) {
  const Dependencies g = fork_and_join();
  const auto longest = Duration::max();
  const std::vector<Duration> d{longest, Duration::min(), longest, longest, Duration(-1)};
  const OperationTimes t = replay(g, d);
  EXPECT_EQ(t.finish, (std::vector<Duration>{longest, Duration(0), longest, longest, Duration(0)}));
  EXPECT_EQ(critical_path(g, d, t), (std::vector<OperationIndex>{0}));
  for (const Duration s : slack(g, d, t)) EXPECT_GE(s, Duration::zero());

  Dependencies lagged;
  const std::array before{lagged.add()};
  const std::array far{longest};
  const std::array back{Duration::min()};
  const OperationIndex late = lagged.add(before, far);
  lagged.add(before, back);
  const auto e = ticks({1, 1, 1});
  const OperationTimes u = replay(lagged, e);
  EXPECT_EQ(u.finish[late], longest);
  EXPECT_EQ(u.finish[2], Duration(1));
  for (const Duration s : slack(lagged, e, u)) EXPECT_GE(s, Duration::zero());
}

/// The longest way to a node, by walking all ways.
Duration longest_way(const Dependencies& g, const std::vector<Duration>& d, OperationIndex to) {
  Duration latest{};
  for (std::size_t k = 0; k < g.before(to).size(); ++k)
    latest = std::max(latest, longest_way(g, d, g.before(to)[k]) + g.lag(to, k));
  return latest + d[to];
}

TEST(Replay, AgreesWithAllWaysWalked) {
  std::minstd_rand random(1);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int trial = 0; trial < 300; ++trial) {
    Dependencies g;
    std::vector<Duration> d;
    const bool with_lags = below(2) == 0;
    for (OperationIndex i = 0; i < 12; ++i) {
      std::vector<OperationIndex> before;
      for (OperationIndex p = 0; p < i; ++p)
        if (below(3) == 0) before.push_back(p);
      std::vector<Duration> lags;
      for (std::size_t k = 0; k < before.size(); ++k) lags.emplace_back(below(5));
      with_lags ? g.add(before, lags) : g.add(before);
      d.emplace_back(below(9));
    }
    const OperationTimes t = replay(g, d);
    Duration latest{};
    for (OperationIndex i = 0; i < g.size(); ++i) {
      ASSERT_EQ(t.finish[i], longest_way(g, d, i)) << "graph " << trial << " node " << i;
      latest = std::max(latest, t.finish[i]);
    }
    ASSERT_EQ(t.makespan, latest);
  }
}

}  // namespace
}  // namespace cox::replay
