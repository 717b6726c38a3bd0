// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "learn/answer/comparison.hpp"
#include "learn/answer/ways_for_tests.hpp"
#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

using testing::question;

const WayResult& of(const Comparison& c, std::string_view name) {
  const auto at = std::ranges::find_if(c.ways, [&](const WayResult& w) { return w.way.name == name; });
  EXPECT_NE(at, c.ways.end()) << name;
  return *at;
}

Comparison run(const model::Scenario& s, const WaysQuestion& q) {
  auto made = compare(s, q);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made.value_or(Comparison{});
}

TEST(CompareWays, RatiosAreProductsAndTheFirstWayIsOne) {
  const Comparison c =
      run(testing::job(4), question({"synchronous", "local-sgd,local-steps=4", "asynchronous"}));
  const WayResult& first = c.ways[c.baseline];
  EXPECT_EQ(first.way.name, "synchronous");
  EXPECT_EQ(first.time_ratio, 1);
  for (const WayResult& w : c.ways) {
    ASSERT_TRUE(w.all_reached()) << w.way.name;
    EXPECT_NEAR(w.time_ratio, w.samples_ratio * w.sample_time_ratio, 1e-12);
    EXPECT_NEAR(w.time_ratio, w.time / first.time, 1e-9) << "paired by seed, as many of both";
    EXPECT_LE(w.time_ratio_95.low, w.time_ratio);
    EXPECT_GE(w.time_ratio_95.high, w.time_ratio);
    for (const Attempt& a : w.attempts) EXPECT_LE(a.loss, c.target);
  }
  EXPECT_TRUE(std::ranges::is_sorted(c.ways, {}, [](const WayResult& w) { return w.time; }));
}

// Speculative copies are the synchronous job in less time; members that come and go are counted, and new ones need data that are alike.
TEST(CompareWays, MembersThatComeGoAndHelp) {
  model::Scenario uneven = testing::job(4);
  testing::make_uneven(uneven, 1);
  WaysQuestion q = question({"synchronous", "speculative", "elastic-synchronous,leaves=0.1,joins=0.2"});
  const Comparison c = run(uneven, q);
  const WayResult& copied = of(c, "speculative");
  ASSERT_TRUE(copied.all_reached());
  EXPECT_LT(copied.time, of(c, "synchronous").time);
  for (std::size_t k = 0; k < copied.attempts.size(); ++k) {
    const Attempt& a = copied.attempts[k];
    EXPECT_EQ(a.versions, of(c, "synchronous").attempts[k].versions) << "the same steps";
    EXPECT_EQ(a.loss, of(c, "synchronous").attempts[k].loss) << "bit for bit";
    EXPECT_GT(a.copies, 0);
    EXPECT_EQ(a.wasted, a.copies);
  }
  for (const Attempt& a : of(c, "elastic-synchronous,leaves=0.1,joins=0.2").attempts) {
    EXPECT_EQ(a.left, 1);
    EXPECT_EQ(a.joined, 1);
    EXPECT_TRUE(a.reached);
  }
  q = question({"elastic-asynchronous,joins=1"});
  q.problem.spread = 1;
  const auto refused = compare(uneven, q);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "learn-002");
}

// A worker that is slower for good meets more versions than others: of 8 workers, 7 on the mean.
TEST(CompareWays, AgesAreThoseOfEachWorker) {
  model::Scenario uneven = testing::job(8);
  testing::make_uneven(uneven, 0.4);
  const Comparison c = run(uneven, question({"synchronous", "asynchronous"}));
  const WayResult& async = of(c, "asynchronous");
  std::int64_t counted = 0;
  for (const Attempt& a : async.attempts) {
    ASSERT_EQ(a.ages.size(), 8U);
    std::vector<std::pair<std::int64_t, std::int64_t>> median_of;  // by how much a worker delivered
    for (const sync::AgeCounts& w : a.ages) median_of.emplace_back(-w.count(), w.quantile(0.5));
    std::ranges::sort(median_of);
    EXPECT_LT(median_of.front().second, median_of.back().second) << "the fastest is the freshest";
    const sync::AgeCounts all = a.all_ages();
    EXPECT_EQ(all.count(), a.samples);
    EXPECT_NEAR(all.mean(), 7, 0.7);
    EXPECT_LE(all.quantile(0.5), all.quantile(0.99));
    EXPECT_LE(all.quantile(0.99), all.largest());
    counted += all.count();
  }
  EXPECT_EQ(async.ages.count(), counted);
  EXPECT_EQ(of(c, "synchronous").ages.largest(), 0);
  const auto text = text_lines(c, uneven, question({"synchronous", "asynchronous"}));
  const auto row =
      std::ranges::find_if(text, [](const TextLine& l) { return l.text.starts_with("age, versions"); });
  ASSERT_NE(row, text.end());
  EXPECT_TRUE((row + 1)->text.starts_with("asynchronous"));
  EXPECT_TRUE((row + 2)->text.empty()) << "who has no ages has no row";
}

// The mean of all copies is the synchronous run to rounding where curvatures are alike: gossip costs what copies apart do.
TEST(CompareWays, GossipOnAQuadraticHasTheSamplesOfSynchronous) {
  WaysQuestion q = question({"synchronous", "gossip-ring", "gossip-exponential"});
  q.problem.spread = 0.3;
  const Comparison c = run(testing::job(8), q);
  for (const char* name : {"gossip-ring", "gossip-exponential"}) {
    const WayResult& w = of(c, name);
    ASSERT_TRUE(w.all_reached()) << name << w.refused;
    EXPECT_EQ(w.ages.largest(), 0);
    for (std::size_t i = 0; i < w.attempts.size(); ++i)
      EXPECT_NEAR(w.attempts[i].loss, of(c, "synchronous").attempts[i].loss, 1e-4) << name;
  }
  EXPECT_EQ(of(c, "gossip-ring").attempts[0].sent->count() / of(c, "gossip-ring").attempts[0].versions,
            4 * 80'000'000);
}

// Gossip in pairs learns: nobody waits, ages are those of everybody's gradients, and its exchanges are bytes.
TEST(CompareWays, GossipInPairsReachesTheTarget) {
  WaysQuestion q = question({"synchronous", "gossip-asynchronous", "gossip-asynchronous,graph=ring"});
  q.problem.spread = 0.3;
  const Comparison c = run(testing::job(8), q);
  for (const char* name : {"gossip-asynchronous", "gossip-asynchronous,graph=ring"}) {
    const WayResult& w = of(c, name);
    ASSERT_TRUE(w.all_reached()) << name << w.refused;
    EXPECT_NEAR(w.mean_age, 7, 1);
    const Attempt& a = w.attempts[0];
    EXPECT_NEAR(static_cast<double>(a.exchanges) / static_cast<double>(a.versions), 0.5, 0.1)
        << "half of them ask";
    EXPECT_EQ(a.sent->count(), a.exchanges * 4 * 80'000'000 / 8);
    ASSERT_TRUE(w.mixing);
    EXPECT_LT(w.mixing->factor, 1);
  }
  EXPECT_LT(of(c, "gossip-asynchronous").mixing->factor,
            of(c, "gossip-asynchronous,graph=ring").mixing->factor);
}

// Inside a group as if there were none: groups that meet in every step are the synchronous job, bit for bit.
TEST(CompareWays, GroupsThatMeetInEveryStepAreSynchronous) {
  WaysQuestion q = question({"synchronous", "groups-local-sgd,group=2,local-steps=1",
                             "groups-asynchronous,group=2", "groups-asynchronous,group=3"});
  q.problem.spread = 0.3;  // each member has its own data
  const Comparison c = run(testing::job(8), q);
  const WayResult& groups = of(c, "groups-local-sgd,group=2,local-steps=1");
  const WayResult& all = of(c, "synchronous");
  for (std::size_t i = 0; i < all.attempts.size(); ++i) {
    EXPECT_EQ(groups.attempts[i].loss, all.attempts[i].loss);
    EXPECT_EQ(groups.attempts[i].workers, 4);
    EXPECT_EQ(groups.attempts[i].samples, all.attempts[i].samples);
  }
  EXPECT_NEAR(of(c, "groups-asynchronous,group=2").mean_age, 3, 0.5) << "of four groups";
  EXPECT_EQ(of(c, "groups-asynchronous,group=3").refused, "groups of 3 do not divide 8 workers");
}

// A bound that follows the curvature: at a rate whose ages raise the alarm it tightens, and ages with it.
TEST(CompareWays, ABoundThatFollowsTheCurvatureActsOnTheAlarm) {
  model::Scenario uneven = testing::job(8);
  testing::make_uneven(uneven, 0.6);
  WaysQuestion q = question({"bounded-wait,staleness=8", "curvature-bound,staleness=8,probe=5"});
  q.problem.curvature = 1;
  const auto largest = [&](double rate) {
    q.optimizer.rate = rate;
    q.rate_factors = {1};
    const Comparison c = run(uneven, q);
    const WayResult& w = of(c, "curvature-bound,staleness=8,probe=5");
    EXPECT_TRUE(w.refused.empty()) << w.refused;
    for (const Attempt& a : w.attempts) {
      EXPECT_TRUE(a.bound);
      EXPECT_GT(a.bound->probes(), 0);
      EXPECT_NEAR(a.bound->last_curvature(), 1, 0.05);
    }
    return w.attempts.front();
  };
  const Attempt calm = largest(0.01);
  EXPECT_EQ(calm.bound->raised(), 0);
  EXPECT_EQ(calm.bound->bound(), 8);
  const Attempt steep = largest(0.3);
  EXPECT_GT(steep.bound->raised(), 0);
  EXPECT_LT(steep.bound->bound(), 8);
  q.optimizer.kind = OptimizerKind::Adam;
  EXPECT_NE(
      of(run(uneven, q), "curvature-bound,staleness=8,probe=5").refused.find("no limit of age for adam"),
      std::string::npos);
}

TEST(CompareWays, ASlowNetworkIsForThoseWhoMeetSeldom) {
  const auto ways = {"synchronous", "local-sgd,local-steps=8", "asynchronous"};
  const Comparison fast = run(testing::job(8, Bandwidth::gbyte_per_s(100)), question(ways));
  const Comparison slow = run(testing::job(8, Bandwidth::gbit_per_s(1)), question(ways));
  EXPECT_GT(of(fast, "local-sgd,local-steps=8").time_ratio, 0.9);
  EXPECT_LT(of(slow, "local-sgd,local-steps=8").time_ratio, 0.4);
  EXPECT_EQ(slow.ways.front().way.name, "local-sgd,local-steps=8");
  // The bytes say why.
  EXPECT_LT(of(slow, "local-sgd,local-steps=8").sent_bytes, of(slow, "synchronous").sent_bytes / 4);
}

TEST(CompareWays, UnevenSpeedsAreForThoseWhoDoNotWait) {
  const auto ways = {"synchronous", "asynchronous"};
  model::Scenario uneven = testing::job(8);
  testing::make_uneven(uneven, 0.6);
  const double even_ratio = of(run(testing::job(8), question(ways)), "asynchronous").sample_time_ratio;
  const double uneven_ratio = of(run(uneven, question(ways)), "asynchronous").sample_time_ratio;
  EXPECT_LT(uneven_ratio, 0.8 * even_ratio);
}

TEST(CompareWays, TheSameForAnyNumberOfThreads) {
  WaysQuestion q = question({"synchronous", "asynchronous", "diloco,local-steps=4"});
  const model::Scenario s = testing::job(4);
  std::string text;
  for (const int threads : {1, 3}) {
    q.threads = threads;
    const std::string now = to_json(run(s, q), s, q, {"job.toml"});
    if (!text.empty()) {
      EXPECT_EQ(now, text);
    }
    text = now;
  }
}

TEST(CompareWays, WhatIsOutOfReachAndWhatDivergesIsSaid) {
  WaysQuestion q = question({"synchronous", "asynchronous"});
  q.problem.noise = 0;
  q.rate_factors = {64};
  const Comparison c = run(testing::job(4), q);
  for (const WayResult& w : c.ways) {
    EXPECT_EQ(w.reached(), 0);
    EXPECT_EQ(w.time_ratio, 0);
  }
  const auto lines = text_lines(c, testing::job(4), q);
  EXPECT_TRUE(std::ranges::any_of(
      lines, [](const TextLine& l) { return l.text.find("3 diverged") != std::string::npos; }));
  q.rate_factors = {1e-6};
  const auto slow = text_lines(run(testing::job(4), q), testing::job(4), q);
  EXPECT_TRUE(std::ranges::any_of(
      slow, [](const TextLine& l) { return l.text.find("0 of 3") != std::string::npos; }));
}

// Rows are those of the table, whatever blanks the scenario's name holds.
TEST(CompareWays, OnlyTheTablesLinesAreRows) {
  WaysQuestion q = question({"synchronous", "asynchronous"});
  model::Scenario named = testing::job(4);
  named.name = "a  b";
  const auto lines = text_lines(run(named, q), named, q);
  EXPECT_EQ(std::ranges::count(lines, LineKind::Row, &TextLine::kind), 3 + 2) << "times, and ages of one";
  EXPECT_EQ(lines.front().kind, LineKind::Sentence);
}

TEST(CompareWays, APolicyThatTheScenarioRulesOutIsNamedAndTheOthersRun) {
  model::Scenario s = testing::job(4);
  s.job.as<model::TrainingJob>().zero_stage = 2;
  const Comparison c = run(s, question({"synchronous", "asynchronous"}));
  EXPECT_TRUE(c.ways[0].all_reached());
  EXPECT_NE(c.ways[1].refused.find("zero_stage 2"), std::string::npos);
}

TEST(CompareWays, WhatMakesNoSenseIsRefused) {
  WaysQuestion q = question({"synchronous"});
  EXPECT_EQ(compare(model::Scenario{}, q).error().id, "learn-002");
  q.target = 1e9;
  EXPECT_NE(compare(testing::job(2), q).error().message.find("not below the loss at the beginning"),
            std::string::npos);
  q.target = 0;
  q.problem.spread = 1;
  q.problem.workers = 3;
  EXPECT_NE(compare(testing::job(2), q).error().message.find("3 workers, and the scenario has 2"),
            std::string::npos);
  q.problem = {.kind = ProblemKind::Embedding, .keys = 40'000};
  q.rate_factors.assign(1000, 1);
  EXPECT_EQ(compare(testing::job(2), q).error().message,
            "320036 parameters in 4002 copies are more than 4 GB");
}

}  // namespace
}  // namespace cox::learn
