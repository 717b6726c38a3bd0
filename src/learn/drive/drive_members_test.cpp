// SPDX-License-Identifier: Apache-2.0
// Workers whose work is begun again, who are grouped by speed, who leave and join.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "cox/learn/learner.hpp"

#include "learn/drive/drive.hpp"
#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

struct Told {
  std::vector<sync::StreamEvent> events{};
  std::vector<Seconds> at{};
  std::int64_t copies = 0, lost_steps = 0;
  [[nodiscard]] std::int64_t versions(Seconds from, Seconds to) const {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < events.size(); ++i)
      n += events[i].kind == sync::StreamEvent::Kind::Advanced && at[i] > from && at[i] <= to ? 1 : 0;
    return n;
  }
  [[nodiscard]] Seconds last_version() const {
    for (std::size_t i = events.size(); i-- > 0;)
      if (events[i].kind == sync::StreamEvent::Kind::Advanced) return at[i];
    return {};
  }
};

/// Every event goes through the ledger, and times do not fall.
Told tell(const model::Scenario& s, const char* word, std::int64_t steps, int delivering) {
  const auto way = read_way(word);
  EXPECT_TRUE(way) << word;
  Told out;
  sync::Ledger ledger(delivering);
  const Status streamed = stream_ruled(s, *way, {}, steps, 1,
                                       [&](const sync::StreamEvent& e, Seconds at) {
                                         EXPECT_TRUE(ledger.take(e)) << word << ": " << ledger.error();
                                         EXPECT_EQ(ledger.ages(), ledger.aged());
                                         EXPECT_TRUE(out.at.empty() || at >= out.at.back()) << word;
                                         out.events.push_back(e);
                                         out.at.push_back(at);
                                         return ledger.error().empty();
                                       },
                                       {.copies = &out.copies, .lost_steps = &out.lost_steps});
  EXPECT_TRUE(streamed) << (streamed ? "" : streamed.error().message);
  return out;
}

model::Scenario uneven(int workers, double cv) {
  model::Scenario s = testing::job(workers);
  testing::make_uneven(s, cv);
  return s;
}

/// Of a first step of each worker, the shortest first; their speeds stay.
std::vector<double> sorted_times(const model::Scenario& s) {
  const auto compute = ComputeTimes::make(s, 1, 1);
  EXPECT_TRUE(compute);
  std::vector<double> times;
  for (int w = 0; w < compute->workers(); ++w) times.push_back(compute->of(w, 0).count());
  std::ranges::sort(times);
  return times;
}

// The slowest of eight is begun again by the fastest when seven are there: the first of the two ends the step.
TEST(DriveMembers, TheLastOneIsBegunAgainByTheFirst) {
  int saved = 0;
  for (const double cv : {0.5, 1.0, 3.0, 6.0}) {
    const model::Scenario s = uneven(8, cv);
    const std::vector<double> t = sorted_times(s);
    const double sum = Prices(s, {}).sum(8).count();
    const double step = std::min(t[7], t[6] + t[0]);
    const Told copied = tell(s, "speculative", 40, 8);
    EXPECT_NEAR(copied.last_version().count() / 40, step + sum, 1e-9) << cv;
    EXPECT_EQ(copied.copies, 40);
    const Told plain = tell(s, "time-out,seconds=1000", 40, 8);
    EXPECT_NEAR(plain.last_version().count() / 40, t[7] + sum, 1e-9) << cv;
    saved += step < 0.9 * t[7] ? 1 : 0;
  }
  EXPECT_GT(saved, 0);
  // Even workers are there before a copy of anybody's is.
  const model::Scenario even = testing::job(8);
  EXPECT_NEAR(tell(even, "speculative", 40, 8).last_version().count() / 40,
              0.030 + Prices(even, {}).sum(8).count(), 1e-9);
}

// What is learned is that of the synchronous job, bit for bit: only when differs. Unlike workers, so that it matters whose work it is.
TEST(DriveMembers, CopiesChangeNoBit) {
  const model::Scenario s = uneven(4, 1);
  ProblemSpec spec{.dimension = 12, .condition = 5, .noise = 1, .spread = 2, .workers = 4};
  std::vector<std::vector<float>> of[2];
  const char* words[] = {"speculative,k=2", "time-out,seconds=1000"};
  for (const int i : {0, 1}) {
    const auto way = read_way(words[i]);
    const auto problem = make_problem(spec);
    ASSERT_TRUE(way && problem);
    Learner learner(**problem, {.rate = 0.1}, *way, {}, 4);
    ASSERT_TRUE(stream_ruled(s, *way, {}, 30, 1, [&](const sync::StreamEvent& e, Seconds) {
      EXPECT_TRUE(learner.take(e));
      if (e.kind == sync::StreamEvent::Kind::Advanced)
        of[i].emplace_back(learner.parameters().begin(), learner.parameters().end());
      return true;
    }));
  }
  ASSERT_EQ(of[0].size(), 30U);
  EXPECT_EQ(of[0], of[1]);
}

// A group goes at the pace of its slowest member. In order of speed the pairs' slowest are the 2nd, 4th, 6th and 8th.
TEST(DriveMembers, GroupsBySpeedGoAtTheirOwnPace) {
  const model::Scenario s = uneven(8, 0.8);
  const std::vector<double> t = sorted_times(s);
  const Prices prices(s, {});
  const double rest = prices.sum(2, 4).count() + prices.message().count() + prices.parameters().count();
  double rate = 0;
  for (const std::size_t k : {1U, 3U, 5U, 7U}) rate += 1 / (t[k] + rest);
  const Told sorted = tell(s, "groups-asynchronous,group=2,by-speed=yes", 200, 4);
  const Told given = tell(s, "groups-asynchronous,group=2", 200, 4);
  const Seconds until = std::min(sorted.at.back(), given.at.back()) * 0.9;
  // What queues at the servers is missing in the sum of rates.
  EXPECT_NEAR(static_cast<double>(sorted.versions({}, until)), rate * until.count(),
              0.1 * rate * until.count());
  EXPECT_GT(sorted.versions({}, until), 1.1 * static_cast<double>(given.versions({}, until)));
  // The fastest group is the first one.
  std::map<int, int> delivered;
  for (const sync::StreamEvent& e : sorted.events)
    if (e.kind == sync::StreamEvent::Kind::Delivered) ++delivered[e.update.worker];
  EXPECT_GT(delivered[0], delivered[1]);
  EXPECT_GT(delivered[1], delivered[2]);
  EXPECT_GT(delivered[2], delivered[3]);
}

// Four even workers of which one leaves at 1 s; another joins at 2 s. Under a barrier a version has as many updates as there are members;
// with servers versions come at their pace.
TEST(DriveMembers, WorkersLeaveAndJoin) {
  const model::Scenario s = testing::job(4);
  const Told barrier = tell(s, "elastic-synchronous,leaves=1,joins=2", 100, 4);
  std::map<int, int> sizes;
  int updates = 0;
  for (const sync::StreamEvent& e : barrier.events) {
    updates += e.kind == sync::StreamEvent::Kind::Delivered ? 1 : 0;
    if (e.kind == sync::StreamEvent::Kind::Advanced) ++sizes[std::exchange(updates, 0)];
  }
  EXPECT_EQ(sizes.size(), 2U);
  EXPECT_GT(sizes[4], 50);
  EXPECT_GT(sizes[3], 20);
  const auto count = [](const Told& of, sync::StreamEvent::Kind kind) {
    return std::ranges::count(of.events, kind, &sync::StreamEvent::kind);
  };
  for (const char* word :
       {"elastic-asynchronous,leaves=1,joins=2", "elastic-bounded-wait,staleness=0,leaves=1,joins=2",
        "elastic-bounded-discard,staleness=5,leaves=1,joins=2",
        "elastic-local-sgd,local-steps=4,leaves=1,joins=2", "elastic-backup,backups=1,leaves=1,joins=2",
        "elastic-synchronous,k=2,joins=0.5", "elastic-asynchronous,k=3,leaves=0.75"}) {
    const Told told = tell(s, word, 100, 4);
    const auto way = read_way(word);
    ASSERT_TRUE(way);
    EXPECT_EQ(count(told, sync::StreamEvent::Kind::Left),
              way->elastic.leave > Seconds{} ? way->elastic.count : 0);
    EXPECT_EQ(count(told, sync::StreamEvent::Kind::Joined),
              way->elastic.join > Seconds{} ? way->elastic.count : 0);
    EXPECT_GT(told.at.back(), Seconds{3}) << word << ": it goes on";
  }
  // 30 ms of computing and 2 x 3.2 ms of messages, which queue little.
  const Told servers = tell(s, "elastic-asynchronous,leaves=1,joins=2", 100, 4);
  const double all = static_cast<double>(servers.versions({}, Seconds{1}));
  EXPECT_NEAR(static_cast<double>(servers.versions(Seconds{1}, Seconds{2})), all * 3 / 4, 3);
  EXPECT_NEAR(static_cast<double>(servers.versions(Seconds{2}, Seconds{3})), all, 3);
}

// A bound waits for the slowest; when that one has left, it waits for it no more.
TEST(DriveMembers, WhoHasLeftHoldsNobodyUp) {
  model::Scenario s = testing::job(3);
  const Told stays = tell(s, "elastic-bounded-wait,staleness=1,k=1,joins=50", 60, 3);
  const Told leaves = tell(s, "elastic-bounded-wait,staleness=1,k=1,leaves=0.5", 60, 3);
  std::int64_t after = 0;
  for (std::size_t i = 0; i < leaves.events.size(); ++i)
    after +=
        leaves.at[i] > Seconds{0.5} && leaves.events[i].kind == sync::StreamEvent::Kind::Advanced ? 1 : 0;
  EXPECT_GT(after, 80);
  EXPECT_EQ(std::ranges::count(stays.events, sync::StreamEvent::Kind::Joined, &sync::StreamEvent::kind), 0);
}

// Servers share the bytes, and not the workers' own ports: 80 MB at 2 GB/s take 40 ms each way.
TEST(DriveMembers, MoreServersMakeNoPortFaster) {
  model::Scenario s = testing::job(1, Bandwidth::gbyte_per_s(2));
  s.inside = s.across;
  for (const char* word :
       {"groups-asynchronous,group=1", "groups-asynchronous,group=1,servers=20",
        "elastic-asynchronous,servers=4,joins=1000", "groups-bounded-wait,group=1,servers=8,by-speed=yes"})
    EXPECT_NEAR(tell(s, word, 20, 1).last_version().count() / 20, 0.110 - 0.040 / 20, 1e-4) << word;
}

/// Four workers, the third of which takes twice as long as the others.
model::Scenario one_slow() {
  model::Scenario s = testing::job(4);
  model::NoiseSource n;
  n.law = model::NoiseLaw::Constant;
  n.pattern = model::NoisePattern::Persistent;
  n.mean_ratio = 1;
  n.ranks = {2};
  s.noise.push_back(n);
  return s;
}

// At 45 ms workers 0, 1 and 3 wait for worker 2. It leaves with worker 3, whose update has no part in the version that this makes.
TEST(DriveMembers, WhoLeavesTogetherMeetsNobody) {
  const Told told = tell(one_slow(), "elastic-synchronous,k=2,leaves=0.045", 5, 4);
  std::vector<int> first;
  for (const sync::StreamEvent& e : told.events) {
    if (e.kind == sync::StreamEvent::Kind::Advanced) break;
    if (e.kind == sync::StreamEvent::Kind::Delivered) first.push_back(e.update.worker);
  }
  EXPECT_EQ(first, (std::vector<int>{0, 1}));
  EXPECT_EQ(told.lost_steps, 1) << "worker 3's; worker 2 was in the middle of its own";
}

// At 100 ms three workers have ended three of four local steps of 30 ms, the slow one one of 60.
TEST(DriveMembers, StepsThatLeaveAreCounted) {
  const Told local = tell(one_slow(), "elastic-local-sgd,local-steps=4,k=2,leaves=0.1", 8, 4);
  EXPECT_EQ(local.lost_steps, 1 + 3);
  EXPECT_EQ(tell(one_slow(), "elastic-local-sgd,local-steps=4,k=2,joins=0.1", 8, 4).lost_steps, 0);
  // With servers a step is lost while it is on its way: computed at 30 ms, there at 33.2 or later.
  EXPECT_EQ(tell(testing::job(4), "elastic-asynchronous,k=2,leaves=0.031", 8, 4).lost_steps, 2);
  EXPECT_EQ(tell(testing::job(4), "elastic-asynchronous,k=2,leaves=0.029", 8, 4).lost_steps, 0);
}

// As many as there are may join; more would have nobody's speed.
TEST(DriveMembers, AsManyMayJoinAsThereAre) {
  const Told told = tell(testing::job(3), "elastic-synchronous,k=3,joins=0.1", 10, 3);
  EXPECT_EQ(std::ranges::count(told.events, sync::StreamEvent::Kind::Joined, &sync::StreamEvent::kind), 3);
  const auto way = read_way("elastic-synchronous,k=4,joins=0.1");
  ASSERT_TRUE(way);
  const Status more =
      stream_ruled(testing::job(3), *way, {}, 10, 1, [](const sync::StreamEvent&, Seconds) { return true; });
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("not all who join"), std::string::npos) << more.error().message;
  // Who has joined stays when all others leave.
  const Told over = tell(testing::job(3), "elastic-synchronous,k=3,joins=0.1,leaves=0.2", 10, 3);
  EXPECT_EQ(std::ranges::count(over.events, sync::StreamEvent::Kind::Left, &sync::StreamEvent::kind), 3);
  EXPECT_GT(over.last_version(), Seconds{0.3});
}

TEST(DriveMembers, SomebodyHasToStay) {
  const auto way = read_way("elastic-asynchronous,k=3,leaves=1");
  ASSERT_TRUE(way);
  const Status streamed =
      stream_ruled(testing::job(3), *way, {}, 10, 1, [](const sync::StreamEvent&, Seconds) { return true; });
  ASSERT_FALSE(streamed);
  EXPECT_EQ(streamed.error().id, "learn-002");
}

}  // namespace
}  // namespace cox::learn
