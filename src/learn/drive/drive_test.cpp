// SPDX-License-Identifier: Apache-2.0
#include "learn/drive/drive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

struct Followed {
  explicit Followed(int workers) : ledger(workers) {}
  sync::Ledger ledger;
  std::vector<Seconds> versions;  ///< when each was there
  Seconds last{};
};

/// Every event of a run goes through the ledger, and times do not fall.
Followed follow(const model::Scenario& s, const char* word, std::int64_t steps, int workers = 4) {
  const auto way = read_way(word);
  EXPECT_TRUE(way) << word;
  Followed f(workers);
  const simulate::UpdateSink sink = [&](const sync::StreamEvent& e, Seconds at) {
    EXPECT_TRUE(f.ledger.take(e)) << word << ": " << f.ledger.error();
    EXPECT_EQ(f.ledger.ages(), f.ledger.aged());
    EXPECT_GE(at, f.last);
    f.last = at;
    if (e.kind == sync::StreamEvent::Kind::Advanced) f.versions.push_back(at);
    return f.ledger.error().empty();
  };
  model::Scenario played = s;
  played.policy = way->policy;
  played.job.steps = static_cast<int>(steps);
  const Status streamed = way->rule == Rule::Policy ? simulate::stream_updates(played, 1, sink)
                                                    : stream_ruled(s, *way, {}, steps, 1, sink);
  EXPECT_TRUE(streamed) << (streamed ? "" : streamed.error().message);
  return f;
}

model::Scenario uneven_job(int workers, double cv) {
  model::Scenario s = testing::job(workers);
  testing::make_uneven(s, cv);
  return s;
}

// Where nobody is left out, rounds take the time that simulate gives to local SGD.
TEST(Drive, RoundsOfAllTakeTheTimeOfSimulate) {
  model::Scenario s = uneven_job(4, 0.5);
  model::NoiseSource jitter;
  jitter.law = model::NoiseLaw::Lognormal;
  jitter.cv = 0.3;
  s.noise.push_back(jitter);
  s.job.as<model::TrainingJob>().bucket = Bytes{100'000'000};  // all gradients are one message here
  const Followed mine = follow(s, "fedavg,local-steps=4,seconds=1000", 40);
  const Followed simulated = follow(s, "local-sgd,local-steps=4", 40);
  ASSERT_EQ(mine.versions.size(), 10U);
  ASSERT_EQ(simulated.versions.size(), 10U);
  for (std::size_t v = 0; v < 10; ++v)
    EXPECT_NEAR(mine.versions[v].count(), simulated.versions[v].count(), 1e-9) << v;
}

TEST(Drive, DroppedWorkersAreInterruptedAndTimesAreThoseOfTheOthers) {
  const model::Scenario slow = uneven_job(4, 1);
  const auto compute = ComputeTimes::make(slow, 3, 1);
  ASSERT_TRUE(compute);
  std::vector<Seconds> times;
  for (int w = 0; w < 4; ++w) times.push_back(compute->of(w, 0));
  std::ranges::sort(times);
  const Followed f = follow(slow, "drop,k=1", 30);
  ASSERT_GE(f.versions.size(), 20U);
  const Seconds sum = Prices(slow, {}).sum(3);
  EXPECT_NEAR(f.versions[0].count(), (times[2] + sum).count(), 1e-9) << "the third of four ends it";
  EXPECT_EQ(f.ledger.abandoned(), static_cast<std::int64_t>(f.versions.size()));
  EXPECT_EQ(f.ledger.discarded(), 0);
  // With the slowest it would take its time.
  EXPECT_NEAR(follow(slow, "fedavg,local-steps=1,seconds=1000", 30).versions[0].count(),
              (times[3] + Prices(slow, {}).sum(4)).count(), 1e-9);
  const Followed timed = follow(slow, "time-out,seconds=0", 30);
  EXPECT_EQ(timed.ledger.abandoned(), 0) << "no time-out: a synchronous job";
}

TEST(Drive, ATimeOutEndsARoundSoLongAfterTheFirst) {
  const model::Scenario slow = uneven_job(4, 1);
  const auto compute = ComputeTimes::make(slow, 3, 1);
  ASSERT_TRUE(compute);
  std::vector<Seconds> times;
  for (int w = 0; w < 4; ++w) times.push_back(compute->of(w, 0));
  std::ranges::sort(times);
  const Seconds wait = (times[1] - times[0]) * 1.001;
  ASSERT_GT(times[2], times[0] + wait);
  const std::string word = "time-out,seconds=" + std::to_string(wait.count());
  const Followed f = follow(slow, word.c_str(), 30);
  EXPECT_NEAR(f.versions[0].count(), (times[0] + wait + Prices(slow, {}).sum(2)).count(), 2e-6);
}

// One group: everybody meets in every step. Groups of one: nobody does.
TEST(Drive, GroupsLieBetweenSynchronousAndTheirPolicy) {
  const model::Scenario s = uneven_job(8, 0.5);
  const auto compute = ComputeTimes::make(s, 20, 1);
  ASSERT_TRUE(compute);
  Seconds slowest{};
  for (int w = 0; w < 8; ++w) slowest = std::max(slowest, compute->of(w, 0));
  const Prices prices(s, {});
  const Followed one = follow(s, "groups-local-sgd,group=8,local-steps=4", 20, 1);
  ASSERT_GE(one.versions.size(), 4U);
  EXPECT_NEAR(one.versions[0].count(), (4 * (slowest + prices.sum(8))).count(), 1e-9);
  // Two groups of four that meet every second step: the slower of both, two sums inside, one across.
  Seconds later{};
  for (int g = 0; g < 2; ++g) {
    Seconds two{};
    for (int k = 0; k < 2; ++k) {
      Seconds step{};
      for (int w = 4 * g; w < 4 * g + 4; ++w) step = std::max(step, compute->of(w, k));
      two += step + prices.sum(4);
    }
    later = std::max(later, two);
  }
  EXPECT_NEAR(follow(s, "groups-local-sgd,group=4,local-steps=2", 20, 2).versions[0].count(),
              (later + prices.sum(2, 4)).count(), 1e-9);
  const Followed async = follow(s, "groups-asynchronous,group=2", 20, 4);
  EXPECT_GT(async.ledger.largest_age(), 2);
  const Followed bounded = follow(s, "groups-bounded-wait,group=2,staleness=1", 20, 4);
  EXPECT_LE(bounded.ledger.largest_age(), 3 * 3);
  // With servers a group's first gradient is there after its sum and a message.
  Seconds first{1e9};
  for (int g = 0; g < 4; ++g)
    first = std::min(first, std::max(compute->of(2 * g, 0), compute->of(2 * g + 1, 0)));
  EXPECT_NEAR(async.versions[0].count(), (first + prices.sum(2) + prices.message()).count(), 1e-9);
}

// A slow neighbour is felt by its neighbours first: the others are ahead by as many steps as they are away.
TEST(Drive, GossipWaitsForNeighboursAlone) {
  const model::Scenario s = uneven_job(8, 0.5);
  const auto compute = ComputeTimes::make(s, 20, 1);
  ASSERT_TRUE(compute);
  const Prices prices(s, {});
  const Seconds send = prices.parameters() - prices.latency();
  Seconds slowest{};
  for (int w = 0; w < 8; ++w) slowest = std::max(slowest, compute->of(w, 0));
  const Followed ring = follow(s, "gossip-ring", 20, 8);
  EXPECT_NEAR(ring.versions[0].count(), (slowest + 2 * send + prices.latency()).count(), 1e-9);
  EXPECT_NEAR(follow(s, "gossip-exponential", 20, 8).versions[0].count(),
              (slowest + send + prices.latency()).count(), 1e-9);
  EXPECT_NEAR(follow(s, "gossip-hypercube", 20, 8).versions[0].count(),
              (slowest + 3 * send + prices.latency()).count(), 1e-9);
  EXPECT_NEAR(follow(s, "gossip-complete", 20, 8).versions[0].count(),
              (slowest + 7 * send + prices.latency()).count(), 1e-9);
  EXPECT_FALSE(stream_ruled(testing::job(2), *read_way("gossip-ring"), {}, 5, 1,
                            [](const sync::StreamEvent&, Seconds) { return true; }));
}

// Everything passes the middle: even workers' messages come to it one after the other, while it sends as many.
TEST(Drive, TheMiddleOfAStarTakesOneMessageAfterTheOther) {
  model::Scenario s = testing::job(6);
  const auto compute = ComputeTimes::make(s, 6, 1);
  ASSERT_TRUE(compute);
  const Prices prices(s, {});
  const Seconds send = prices.parameters() - prices.latency();
  const Seconds round = compute->of(0, 0) + 5 * send + prices.latency();
  const Followed star = follow(s, "gossip-star", 6, 6);
  ASSERT_GE(star.versions.size(), 5U);
  for (std::size_t v = 0; v < 5; ++v)
    EXPECT_NEAR(star.versions[v].count(), (static_cast<double>(v) + 1) * round.count(), 1e-9);
}

// Two even workers: both end at the same time, one asks, and the other applies its own when the exchange is over. With an exchange that takes nothing
// each goes at its own pace.
TEST(Drive, PairsWaitForTheirExchangeAlone) {
  const model::Scenario s = testing::job(2);
  const auto compute = ComputeTimes::make(s, 8, 1);
  ASSERT_TRUE(compute);
  const Seconds round = compute->of(0, 0) + Prices(s, {}).parameters();
  const Followed f = follow(s, "gossip-asynchronous", 8, 2);
  ASSERT_GE(f.versions.size(), 12U);
  for (std::size_t v = 0; v < 12; ++v)
    EXPECT_NEAR(f.versions[v].count(), (static_cast<double>(v / 2) + 1) * round.count(), 1e-9) << v;
  model::Scenario apart = uneven_job(2, 1);
  apart.across = {.latency = Seconds{1e-12}, .per_byte = Bandwidth::gbyte_per_s(1e9).time_per_byte()};
  const auto times = ComputeTimes::make(apart, 40, 1);
  ASSERT_TRUE(times);
  const Followed free = follow(apart, "gossip-asynchronous", 40, 2);
  const double expected = 1 / times->of(0, 0).count() + 1 / times->of(1, 0).count();
  EXPECT_NEAR(static_cast<double>(free.versions.size()) / free.versions.back().count(), expected,
              0.05 * expected);
}

// Nobody waits for the slowest: a worker that is ten times slower delivers a tenth, and ages keep their sum.
TEST(Drive, PairsGoAtTheirOwnPace) {
  const model::Scenario s = uneven_job(8, 1);
  for (const char* word : {"gossip-asynchronous", "gossip-asynchronous,graph=ring",
                           "gossip-asynchronous,graph=hypercube", "gossip-asynchronous,graph=star"}) {
    const Followed pairs = follow(s, word, 60, 8);
    const Followed ring = follow(s, "gossip-ring", 60, 8);
    EXPECT_EQ(pairs.ledger.aged(), 7 * pairs.ledger.version()) << word;
    EXPECT_GT(pairs.ledger.largest_age(), 7) << word;
    const auto rate = [](const Followed& f, double each) {
      return each * static_cast<double>(f.versions.size()) / f.versions.back().count();
    };
    EXPECT_GT(rate(pairs, 1), rate(ring, 8)) << word << ": gradients a second";
  }
  EXPECT_FALSE(stream_ruled(testing::job(7), *read_way("gossip-asynchronous,graph=ring"), {}, 5, 1,
                            [](const sync::StreamEvent&, Seconds) { return true; }));
}

TEST(Drive, ABoundThatChangesHoldsFromThenOn) {
  const model::Scenario s = uneven_job(4, 1);
  const auto way = read_way("curvature-bound,staleness=20");
  ASSERT_TRUE(way);
  sync::Ledger ledger(4);
  std::int64_t before = 0, after = 0;
  const Status streamed = stream_ruled(s, *way, {}, 200, 1,
                                       [&](const sync::StreamEvent& e, Seconds) {
                                         EXPECT_TRUE(ledger.take(e)) << ledger.error();
                                         if (e.kind == sync::StreamEvent::Kind::Delivered) {
                                           std::int64_t& most = ledger.version() > 200 ? after : before;
                                           most = std::max(most, e.update.age());
                                         }
                                         return true;
                                       },
                                       {.bound = [&] { return ledger.version() < 100 ? 20 : 0; }});
  ASSERT_TRUE(streamed);
  EXPECT_GT(ledger.version(), 300);
  EXPECT_GT(before, 3) << "(N - 1) (2 s + 1) of a bound of 0";
  EXPECT_LE(after, 3);
}

TEST(Drive, DrawnClientsKeepTheLedger) {
  const model::Scenario s = uneven_job(10, 0.5);
  for (const char* word :
       {"fedavg,fraction=0.3,local-steps=2", "fedavg,fraction=0.5,local-steps=3,k=1,seconds=0.05",
        "scaffold,fraction=0.2,local-steps=2", "fedprox,fraction=0.1,local-steps=1"}) {
    const Followed f = follow(s, word, 40, 10);
    EXPECT_GT(f.versions.size(), 10U) << word;
  }
}

}  // namespace
}  // namespace cox::learn
