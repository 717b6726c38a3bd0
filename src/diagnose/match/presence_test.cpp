// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/presence.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

TEST(Presence, AbsentRanksAreCountedMostFirst) {
  testing::Job job;
  job.ranks = 4;
  job.steps = 20;
  trace::Run run = testing::make_job(job);
  run.ranks.pop_back();  // rank 3 was not traced
  trace::EventColumns late;
  for (std::size_t i = 5; i < run.ranks[1].events.size(); ++i) late.push_back(run.ranks[1].events[i]);
  run.ranks[1].events = late;  // rank 1's first five calls were overwritten
  const Presence p = presence_of(run);
  EXPECT_EQ(p.operations, 20);
  EXPECT_EQ(p.incomplete, 20);
  ASSERT_EQ(p.absent.size(), 2U);
  EXPECT_EQ(p.absent[0].rank, Rank{3});
  EXPECT_EQ(p.absent[0].absent, 20);
  EXPECT_EQ(p.absent[1].rank, Rank{1});
  EXPECT_EQ(p.absent[1].absent, 5);
  EXPECT_TRUE(p.often_incomplete());
}

TEST(Presence, OfACompleteRunNobodyIsAbsent) {
  const trace::Run run = testing::make_job({});
  const Presence p = presence_of(run);
  EXPECT_EQ(p.incomplete, 0);
  EXPECT_TRUE(p.absent.empty());
}

TEST(CostSpread, EvenJitterIsSpreadAndOneLateRankIsNot) {
  testing::Job job;
  job.work = [](int r, int step) { return testing::lognormal_work(1, r, step, 10ms, 0.1); };
  const trace::Run even = testing::make_job(job);
  EXPECT_TRUE(spread_of_cost(even).spread);
  job.work = [](int r, int step) {
    return testing::lognormal_work(1, r, step, r == 2 ? Duration{13ms} : Duration{10ms}, 0.1);
  };
  const trace::Run uneven = testing::make_job(job);
  EXPECT_TRUE(spread_of_cost(uneven).tested);
  EXPECT_FALSE(spread_of_cost(uneven).spread);
  EXPECT_GT(spread_of_cost(uneven).most, 0.8);
  job.steps = 10;
  const trace::Run short_run = testing::make_job(job);
  EXPECT_FALSE(spread_of_cost(short_run).tested);
}

}  // namespace
}  // namespace cox::diagnose
