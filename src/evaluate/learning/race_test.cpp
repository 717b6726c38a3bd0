// SPDX-License-Identifier: Apache-2.0
#include "evaluate/learning/race.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cox/sync/stream.hpp"

namespace cox::evaluate {
namespace {

TEST(Race, AgedStreamsGiveTheAgesAndKeepTheLedger) {
  const std::vector<int> cycle = {0, 4, 1, 0, 3, 3};
  sync::Ledger ledger(6);
  std::vector<std::int64_t> ages;
  stream_aged(
      5, [&](std::int64_t n) { return cycle[static_cast<std::size_t>(n) % cycle.size()]; },
      [&](const sync::StreamEvent& e, Seconds) {
        EXPECT_TRUE(ledger.take(e)) << ledger.error();
        EXPECT_EQ(ledger.ages(), ledger.aged());
        if (e.kind == sync::StreamEvent::Kind::Delivered && e.update.applied) ages.push_back(e.update.age());
        return ledger.version() < 60;
      });
  ASSERT_EQ(ages.size(), 60U);
  for (std::size_t n = 0; n < ages.size(); ++n)
    EXPECT_EQ(ages[n], std::min<std::int64_t>(static_cast<std::int64_t>(n), cycle[n % cycle.size()])) << n;
}

TEST(Race, AConstantAgeFollowsItsRecursion) {
  // x(t + 1) = x(t) - a x(t - 2), begun at 1 before and at 0.
  Race race{
      .problem = {.dimension = 1, .condition = 1}, .rate = 0.25, .workers = 3, .target = 0, .versions = 12};
  Racer racer(race);
  stream_aged(
      2, [](std::int64_t) { return 2; },
      [&](const sync::StreamEvent& e, Seconds at) { return racer.take(e, at); });
  std::vector<double> x = {1, 1, 1};
  for (int t = 0; t < 12; ++t) x.push_back(x.back() - 0.25 * x[x.size() - 3]);
  EXPECT_EQ(racer.finish().versions, 12);
  EXPECT_NEAR(static_cast<double>(racer.parameters()[0]), x.back(), 1e-6);
}

// Age 2 and a rate near its edge: x swings through the optimum, and a loss crosses its target in each swing before it stays there.
TEST(Race, ATargetIsReachedWhereTheLossStaysBelow) {
  Race race{.problem = {.dimension = 1, .condition = 1}, .rate = 0.55, .workers = 3, .target = 0.02};
  const auto stream = [](const auto& take) {
    stream_aged(
        2, [](std::int64_t) { return 2; }, take);
  };
  std::vector<double> x = {1, 1, 1};
  std::int64_t first = 0, last_above = 0;
  for (std::int64_t t = 1; t <= 300; ++t) {
    x.push_back(x.back() - race.rate * x[x.size() - 3]);
    if (x.back() * x.back() > race.target) last_above = t;
    if (x.back() * x.back() <= race.target && first == 0) first = t;
  }
  ASSERT_GT(last_above, first + 5) << "it does swing";
  const auto run = [&](std::int64_t calm) {
    race.calm = calm;
    return race_rates(race, std::span(&race.rate, 1), stream).front();
  };
  EXPECT_EQ(run(0).versions, first);
  const Finish stays = run(30);
  EXPECT_TRUE(stays.reached);
  EXPECT_EQ(stays.versions, last_above + 1);
  EXPECT_LE(stays.loss, race.target);
  race.versions = last_above + 20;
  EXPECT_FALSE(run(30).reached) << "not seen to stay";
}

TEST(Race, ARateIsChosenOnOtherSeedsThanItIsJudgedOn) {
  std::vector<std::uint64_t> seeds;
  const auto stream = [&](std::uint64_t seed) -> Stream {
    seeds.push_back(seed);
    return [](const auto& take) {
      stream_aged(
          0, [](std::int64_t) { return 0; }, take);
    };
  };
  const std::vector<double> rates = {0.1, 1.9, 2.1};
  const Tuned t = race_tuned({.problem = {.dimension = 4, .condition = 10}, .versions = 5000}, rates, 3,
                             stream, versions_of, 1);
  EXPECT_NEAR(t.rate, 0.1 * std::pow(19, 0.75), 1e-9) << "of the list 1.9";
  EXPECT_TRUE(t.reached());
  std::vector<std::uint64_t> expected;
  for (int pass = 0; pass < 2; ++pass)  // the list, then rates around the best of it
    for (std::uint64_t seed = 1000; seed < 1016; ++seed) expected.push_back(seed);
  expected.insert(expected.end(), {1, 2, 3});
  EXPECT_EQ(seeds, expected);
  EXPECT_EQ(race_tuned({.problem = {.dimension = 4}, .versions = 3}, rates, 3, stream, versions_of, 1).rate,
            0);
}

TEST(Race, RatesAroundTheBestLieBetweenItAndTheNextOnes) {
  const std::vector<double> rates = {1.6, 0.1, 16, 256};
  const auto around = rates_around(rates, 16);
  ASSERT_EQ(around.size(), 6U);
  const double expected[] = {
      16 * std::pow(0.1, 0.25), 16 * std::pow(0.1, 0.5), 16 * std::pow(0.1, 0.75), 32, 64, 128};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(around[i], expected[i], 1e-9 * expected[i]);
  EXPECT_EQ(rates_around(rates, 256).size(), 3U) << "nothing beyond the end";
  EXPECT_TRUE(rates_around(std::span(rates).first(1), 1.6).empty());
}

// Updates of plain steps with curvatures 1 and 0.1 are least near a rate of 2 / 1.1; the list misses it by a factor of two.
TEST(Race, ACoarseListIsNoLimit) {
  const std::vector<double> rates = {0.45, 0.9, 3.6};
  const Race race{.problem = {.dimension = 2, .condition = 10}, .target = 1e-8, .versions = 5000};
  const auto stream = [](std::uint64_t) -> Stream {
    return [](const auto& take) {
      stream_aged(
          0, [](std::int64_t) { return 0; }, take);
    };
  };
  const auto updates = [&](double rate) {
    return race_rates(race, std::span(&rate, 1), stream(0))[0].versions;
  };
  const Tuned t = race_tuned(race, rates, 2, stream, versions_of, 1, 2);
  EXPECT_GT(t.rate, 1.2);
  EXPECT_LT(t.rate, 1.9);
  EXPECT_LT(t.mean(versions_of), 0.8 * static_cast<double>(updates(0.9)));
  const auto one = race_best(race, rates, stream(0), versions_of);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->rate, t.rate);
  EXPECT_EQ(one->finish.versions, t.runs[0].versions);
}

// A rate that misses on a seed that is judged does not work there: the next takes its place.
TEST(Race, ARateThatMissesWhereItIsJudgedIsNotTaken) {
  const auto stream = [](std::uint64_t seed) -> Stream {
    const int age = seed == 2 ? 1 : 0;  // the edge of age 1 is 1
    return [age](const auto& take) {
      stream_aged(
          1, [age](std::int64_t) { return age; }, take);
    };
  };
  const std::vector<double> rates = {0.1, 0.5, 1.9};
  const Race race{.problem = {.dimension = 4, .condition = 10}, .workers = 2, .versions = 5000};
  const Tuned t = race_tuned(race, rates, 3, stream, versions_of, 1);
  EXPECT_LT(t.rate, 1);
  EXPECT_GE(t.rate, 0.5);
  EXPECT_TRUE(t.reached());
  // Lucky on one of the seeds that choose, where it leaves all others behind.
  const auto lucky = [](std::uint64_t seed) -> Stream {
    const int age = seed == 1003 ? 0 : 1;
    return [age](const auto& take) {
      stream_aged(
          1, [age](std::int64_t) { return age; }, take);
    };
  };
  EXPECT_LT(race_tuned(race, rates, 3, lucky, versions_of, 1).rate, 1);
  const Tuned none = race_tuned(race, std::span(rates).last(1), 3, stream, versions_of, 1);
  EXPECT_EQ(none.rate, 1.9);
  EXPECT_FALSE(none.reached());
}

}  // namespace
}  // namespace cox::evaluate
