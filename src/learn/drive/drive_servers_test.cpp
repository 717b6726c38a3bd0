// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cox/learn/learner.hpp"
#include "cox/sync/shards.hpp"

#include "learn/drive/drive.hpp"
#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

struct Served {
  std::vector<sync::StreamEvent> events{};
  std::vector<Seconds> at{};
  std::vector<ServerLoad> loads{};
  std::vector<double> mean_age{};  ///< by shard
};

/// Ledgers of all shards hold at every event, and times do not fall.
Served serve(const model::Scenario& s, const char* word, std::int64_t steps, int workers,
             const StepNeeds& needs = {}) {
  const auto way = read_way(word);
  EXPECT_TRUE(way) << word;
  Served out;
  sync::ShardLedgers ledgers(workers, way->shards, needs ? sync::StepReads::Some : sync::StepReads::All);
  const Status streamed = stream_ruled(s, *way, {}, steps, 1,
                                       [&](const sync::StreamEvent& e, Seconds at) {
                                         EXPECT_TRUE(ledgers.take(e)) << word << ": " << ledgers.error();
                                         EXPECT_TRUE(ledgers.conserved());
                                         EXPECT_TRUE(out.at.empty() || at >= out.at.back()) << word;
                                         out.events.push_back(e);
                                         out.at.push_back(at);
                                         return ledgers.error().empty();
                                       },
                                       {.needs = needs, .loads = &out.loads});
  EXPECT_TRUE(streamed);
  for (int shard = 0; shard < way->shards; ++shard) out.mean_age.push_back(ledgers.of(shard).mean_age());
  return out;
}

StepNeeds always(std::vector<double> parts) {
  return [parts](int, std::int64_t, std::vector<double>& to) { to = parts; };
}

// Who needs all of every shard is served as who does not say what it needs.
TEST(DriveServers, SparsePullsOfEverythingAreDense) {
  model::Scenario s = testing::job(6, Bandwidth::gbyte_per_s(2));
  testing::make_uneven(s, 0.3);
  for (const char* word : {"sharded-asynchronous,servers=3", "sharded-bounded-wait,servers=2,staleness=1",
                           "sharded-asynchronous,servers=3,apply=4"}) {
    Served dense = serve(s, word, 20, 6);
    const Served sparse = serve(s, word, 20, 6, always(std::vector<double>(dense.loads.size(), 1.0)));
    const auto applied = [](const Served& of) {
      std::vector<std::pair<double, int>> out;
      for (std::size_t i = 0; i < of.events.size(); ++i)
        if (of.events[i].kind == sync::StreamEvent::Kind::Delivered)
          out.emplace_back(of.at[i].count(), of.events[i].update.worker);
      return out;
    };
    EXPECT_EQ(applied(dense), applied(sparse)) << word;
  }
}

// Two servers of which one is hot: 8 workers need all of shard 0 and a tenth of shard 1. 40 MB hold a port of 2 GB/s for 20 ms, so that
// server 0 takes a round of all in 160 ms, whatever the other does, and nobody's own step takes as long.
TEST(DriveServers, TheHottestServerSetsThePace) {
  const model::Scenario s = testing::job(8, Bandwidth::gbyte_per_s(2));
  const Served hot = serve(s, "sharded-asynchronous,servers=2", 60, 8, always({1, 0.1}));
  EXPECT_NEAR(hot.at.back().count() / 60, 0.160, 0.005);
  ASSERT_EQ(hot.loads.size(), 2U);
  EXPECT_GT(hot.loads[0].busy(), 0.95);
  EXPECT_NEAR(hot.loads[1].busy(), hot.loads[0].busy() / 10, 0.01);
  EXPECT_NEAR(hot.loads[0].part, 1 / 1.1, 1e-3);
  EXPECT_GT(hot.loads[0].queue(), 10 * hot.loads[1].queue());
  EXPECT_LE(hot.loads[0].deepest, 7);
  // The same bytes, spread: both servers have 11 ms of each worker, 88 ms a round; a step alone takes 30 + 2 x 22 ms.
  const Served spread = serve(s, "sharded-asynchronous,servers=2", 60, 8, always({0.55, 0.55}));
  EXPECT_LT(spread.at.back().count() / 60, 0.115);
  // A shard that nobody needs has no version.
  const Served cold = serve(s, "sharded-asynchronous,servers=2", 20, 8, always({1, 0}));
  for (const sync::StreamEvent& e : cold.events)
    EXPECT_TRUE(e.update.shard == 0 || e.kind == sync::StreamEvent::Kind::Abandoned);
  EXPECT_EQ(cold.loads[1].pieces, 0);
}

// 80 MB at 0.8 GB/s are applied in 100 ms, longer than all else: four workers make ten updates a second, each three versions old.
// Of the four one is applied, and 30 ms of computing with what messages take keep 0.3646 away; the others wait.
TEST(DriveServers, AServerThatAppliesSlowlyHasAQueue) {
  const model::Scenario s = testing::job(4);
  const Served slow = serve(s, "sharded-asynchronous,servers=1,apply=0.8", 100, 4);
  EXPECT_NEAR(slow.at.back().count() / 100, 0.4, 0.004);
  EXPECT_GT(slow.loads[0].busy(), 0.98);
  EXPECT_NEAR(slow.mean_age[0], 3, 0.05);
  EXPECT_NEAR(slow.loads[0].queue(), 4 - 1 - 0.3646, 0.05);
  EXPECT_EQ(slow.loads[0].deepest, 3);
  // Four servers apply a quarter each.
  const Served four = serve(s, "sharded-asynchronous,servers=4,apply=0.8", 100, 4);
  EXPECT_NEAR(four.at.back().count() / 100, 0.1, 0.01);
  // Where applying takes no time nothing is said to be applied.
  EXPECT_EQ(serve(s, "sharded-asynchronous,servers=1", 10, 4).loads[0].applied, Seconds{});
}

// However many servers there are, 80 MB take a worker's own port of 2 GB/s 40 ms each way: 110 ms with what it computes.
TEST(DriveServers, AWorkersOwnPortBoundsWhatServersSend) {
  model::Scenario s = testing::job(1, Bandwidth::gbyte_per_s(2));
  s.inside = s.across;
  for (const char* word : {"sharded-asynchronous,servers=1", "sharded-asynchronous,servers=4",
                           "sharded-asynchronous,servers=40"})
    EXPECT_NEAR(serve(s, word, 20, 1).at.back().count() / 20, 0.110 - 0.040 / 20, 1e-4) << word;
  // A quarter of one of four shards and all of another: 25 MB, 12.5 ms each way.
  EXPECT_NEAR(
      serve(s, "sharded-asynchronous,servers=4", 20, 1, always({0.25, 0, 1, 0})).at.back().count() / 20,
      0.030 + 2 * 0.0125 - 0.0125 / 20, 1e-4);
}

// Reads of 40 ms each at 2 GB/s: a server sends to eight workers in 320 ms. With a synchronous standby each update passes the same port.
TEST(DriveServers, AStandbyThatKnowsEverythingTakesThePortTwice) {
  const model::Scenario s = testing::job(8, Bandwidth::gbyte_per_s(2));
  const auto round = [&](const char* word) { return serve(s, word, 40, 8).at.back().count() / 40; };
  EXPECT_NEAR(round("sharded-asynchronous,servers=1"), 0.320, 0.015);
  EXPECT_NEAR(round("sharded-asynchronous,servers=1,standby=synchronous"), 0.640, 0.03);
  // A copy that is due after eight updates waits for its turn behind seven reads, so that there is one for about sixteen.
  EXPECT_NEAR(round("sharded-asynchronous,servers=1,standby=asynchronous,every=8"), 0.320 * 17 / 16, 0.01);
}

struct Outage {
  Seconds left{}, joined{};
  std::int64_t lost = 0, version = 0, after = 0;  ///< versions at the death, and behind it
};
Outage outage_of(const Served& of) {
  Outage out;
  for (std::size_t i = 0; i < of.events.size(); ++i) {
    const sync::StreamEvent& e = of.events[i];
    if (e.kind == sync::StreamEvent::Kind::Left) out.left = of.at[i];
    if (e.kind == sync::StreamEvent::Kind::Joined) {
      out.joined = of.at[i];
      out.lost = out.version - e.update.version_read;
    }
    if (e.kind != sync::StreamEvent::Kind::Advanced || e.update.shard != 1) continue;
    (out.left > Seconds{} ? out.after : out.version) = e.update.version_applied;
  }
  return out;
}

// Server 1 of two dies at 0.5 s. Nobody reads or delivers there until its standby serves (the ledger holds that), then everybody goes
// on: all steps are done.
TEST(DriveServers, AStandbyTakesOver) {
  model::Scenario s = testing::job(6, Bandwidth::gbyte_per_s(4));
  testing::make_uneven(s, 0.3);
  for (
      const char* word :
      {"sharded-asynchronous,servers=2,dies=0.5,server=1,takes-over=0.2,standby=synchronous",
       "sharded-bounded-wait,staleness=1,servers=2,dies=0.5,server=1,takes-over=0.2,standby=synchronous",
       "sharded-asynchronous,servers=2,dies=0.5,server=1,takes-over=0.2,standby=asynchronous,every=4",
       "sharded-bounded-wait,staleness=0,servers=2,dies=0.5,server=1,takes-over=0.2,standby=asynchronous,apply=2"}) {
    const Served dense = serve(s, word, 40, 6);
    const Outage out = outage_of(dense);
    EXPECT_EQ(out.left, Seconds{0.5}) << word;
    EXPECT_EQ(out.joined, Seconds{0.7}) << word;
    EXPECT_GT(out.version, 10) << word;
    EXPECT_GT(out.after, out.version + 60) << word;
    const bool asynchronous = std::string_view(word).find("asynchronous,every") != std::string_view::npos ||
                              std::string_view(word).find("standby=asynchronous") != std::string_view::npos;
    if (asynchronous) {
      EXPECT_LE(out.lost, 8 + 6 * 2) << word << ": since the last copy, and while it went";
    } else {
      EXPECT_EQ(out.lost, 0) << word;
    }
  }
}

// With sparse pulls, too; shard 1 is needed by odd steps alone.
TEST(DriveServers, AStandbyTakesOverWithSparsePulls) {
  const StepNeeds needs = [](int worker, std::int64_t step, std::vector<double>& parts) {
    parts = {0.5, (worker + step) % 2 == 0 ? 0.0 : 0.25};
  };
  for (const char* standby : {"synchronous", "asynchronous"}) {
    const std::string word =
        std::string("sharded-asynchronous,servers=2,dies=0.5,server=1,standby=") + standby;
    const Outage out = outage_of(serve(testing::job(4), word.c_str(), 40, 4, needs));
    EXPECT_EQ(out.joined, Seconds{0.6});
    EXPECT_GT(out.version, 10);
    EXPECT_GE(out.after, 70) << "half of four workers' steps";
    if (word.ends_with("=synchronous")) {
      EXPECT_EQ(out.lost, 0);
    }
  }
}

// One worker on quiet links: after each fourth update a copy, which is there before the next update. Of the updates until the death the
// rest by four is lost.
TEST(DriveServers, WhatCameBehindTheLastCopyIsLost) {
  const model::Scenario s = testing::job(1);
  for (const char* dies : {"0.5", "0.55", "0.6", "0.65"}) {
    const std::string word =
        std::string("sharded-asynchronous,servers=2,server=1,standby=asynchronous,every=4,dies=") + dies;
    const Outage out = outage_of(serve(s, word.c_str(), 40, 1));
    EXPECT_EQ(out.lost, out.version % 4) << dies;
    EXPECT_GT(out.version, 10);
  }
}

TEST(DriveServers, WithoutAStandbyTheRunEndsThere) {
  const Served s = serve(testing::job(4), "sharded-asynchronous,servers=3,dies=0.3,server=2", 40, 4);
  ASSERT_FALSE(s.events.empty());
  EXPECT_EQ(s.events.back().kind, sync::StreamEvent::Kind::Left);
  EXPECT_EQ(s.events.back().update.worker, sync::kServer);
  EXPECT_EQ(s.events.back().update.shard, 2);
  EXPECT_EQ(s.at.back(), Seconds{0.3});
}

// The learner has again what the standby took: parameters are those of the version that the stream names, bit for bit.
TEST(DriveServers, TheParametersAreThoseOfTheCopy) {
  const auto way = read_way("sharded-asynchronous,servers=2,server=1,standby=asynchronous,every=5,dies=0.55");
  ASSERT_TRUE(way);
  const auto problem = make_problem({.dimension = 8, .condition = 5, .noise = 1});
  ASSERT_TRUE(problem);
  Learner learner(**problem, {.kind = OptimizerKind::Momentum, .rate = 0.05, .momentum = 0.5}, *way, {}, 3);
  std::vector<std::vector<float>> at{{learner.parameters().begin() + 4, learner.parameters().end()}};
  bool compared = false;
  ASSERT_TRUE(stream_ruled(testing::job(3), *way, {}, 60, 1, [&](const sync::StreamEvent& e, Seconds) {
    EXPECT_TRUE(learner.take(e));
    const auto second = learner.parameters().subspan(4);
    if (e.kind == sync::StreamEvent::Kind::Advanced && e.update.shard == 1)
      at.emplace_back(second.begin(), second.end());
    if (e.kind != sync::StreamEvent::Kind::Joined) return true;
    const auto version = static_cast<std::size_t>(e.update.version_read);
    EXPECT_LT(version + 1, at.size()) << "something was lost";
    compared = std::ranges::equal(second, at[version]) && !std::ranges::equal(second, at.back());
    return true;
  }));
  EXPECT_TRUE(compared);
}

}  // namespace
}  // namespace cox::learn
