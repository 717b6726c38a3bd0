// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/policy_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "learn/answer/ways_for_tests.hpp"
#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

WaysQuestion question(std::initializer_list<const char*> ways) {
  WaysQuestion q = testing::question(ways);
  q.tuning_seeds = 2;
  q.seeds = 4;
  q.steps = 2000;
  return q;
}

PolicyMap run(const model::Scenario& s, const WaysQuestion& q, const MapAxes& axes) {
  auto made = make_map(s, q, axes);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *std::move(made) : PolicyMap{};
}

const WayResult& of(const MapCell& c, std::string_view name) {
  const auto at = std::ranges::find_if(c.made.ways, [&](const WayResult& w) { return w.way.name == name; });
  EXPECT_NE(at, c.made.ways.end()) << name;
  return *at;
}

// 80 MB over 8 workers at 25 GB/s: 2 x 7/8 x 3.2 ms and 14 latencies, over 30 ms of computing.
TEST(PolicyMap, ACellHasTheRatioThatItSays) {
  model::Scenario s = testing::job(8);
  testing::make_uneven(s, 0.4);
  s.noise.push_back({.name = "jitter", .law = model::NoiseLaw::Lognormal, .cv = 0.2});
  s.cluster.classes.push_back({.name = "old", .speed = 0.5});
  const auto own = place_of(s);
  ASSERT_TRUE(own);
  EXPECT_NEAR(own->communication.count(), 2 * 7.0 / 8 * 3.2e-3 + 14 * 10e-6, 1e-9);
  EXPECT_NEAR(own->computation.count(), 30e-3, 1e-12);
  for (const double ratio : {0.01, 0.5, 20.0}) {
    const model::Scenario cell = in_cell(s, *own, ratio, 0.3);
    EXPECT_NEAR(place_of(cell)->ratio(), ratio, 1e-9 * ratio);
    EXPECT_EQ(place_of(cell)->communication, own->communication) << "messages are the scenario's";
    ASSERT_EQ(cell.noise.size(), 3U);
    EXPECT_TRUE(cell.noise[0].off) << "its own speeds make room";
    EXPECT_FALSE(cell.noise[1].off) << "what changes from step to step stays";
    EXPECT_EQ(cell.noise[2].cv, 0.3);
    EXPECT_EQ(cell.cluster.classes[0].speed, 1);
  }
  EXPECT_EQ(in_cell(s, *own, 1, 0).noise.size(), 2U);
}

// Messages dear: fewer meetings. Speeds unlike: nobody waits. Neither: the barrier costs nothing that others save.
TEST(PolicyMap, RankingMovesAsTheorySays) {
  const PolicyMap map =
      run(testing::job(8), question({"synchronous", "local-sgd,local-steps=8", "asynchronous"}),
          {.communication = {0.001, 4}, .speeds = {0, 0.8}});
  ASSERT_EQ(map.cells.size(), 4U);
  const MapCell &quiet = map.cells[0], &dear = map.cells[1], &unlike = map.cells[2];
  EXPECT_EQ(quiet.speeds, 0);
  EXPECT_EQ(dear.communication, 4);
  EXPECT_EQ(unlike.speeds, 0.8);
  EXPECT_EQ(unlike.communication, 0.001);
  ASSERT_NE(dear.best(), nullptr);
  EXPECT_EQ(dear.best()->way.name, "local-sgd,local-steps=8");
  EXPECT_TRUE(dear.decided());
  EXPECT_LT(dear.best()->time_ratio, 0.6);
  EXPECT_LT(dear.best()->sample_time_ratio, 0.5) << "a meeting in eight steps";
  ASSERT_NE(unlike.best(), nullptr);
  EXPECT_EQ(unlike.best()->way.name, "asynchronous");
  EXPECT_LT(of(unlike, "asynchronous").time_ratio, 0.7);
  EXPECT_GT(of(quiet, "asynchronous").time_ratio, 0.9) << "where all are alike nobody was waited for";
}

TEST(PolicyMap, ACellIsAComparison) {
  const model::Scenario s = testing::job(4);
  const WaysQuestion q = question({"synchronous", "asynchronous"});
  const PolicyMap map = run(s, q, {.communication = {0.5, 2}, .speeds = {0.3}});
  const auto alone = compare(in_cell(s, map.own, 2, 0.3), q);
  ASSERT_TRUE(alone);
  for (std::size_t w = 0; w < 2; ++w) {
    EXPECT_EQ(map.cells[1].made.ways[w].way.name, alone->ways[w].way.name);
    EXPECT_EQ(map.cells[1].made.ways[w].time, alone->ways[w].time);
  }
}

// Two names for one thing are never told apart, and a cell that one of them leads is not decided.
TEST(PolicyMap, WhatIsTheSameIsUndecided) {
  const PolicyMap map =
      run(testing::job(4), question({"synchronous", "asynchronous", "bounded-wait,staleness=100000"}),
          {.communication = {0.05}, .speeds = {0.8}});
  const MapCell& c = map.cells.front();
  ASSERT_NE(c.best(), nullptr);
  EXPECT_EQ(of(c, "asynchronous").time, of(c, "bounded-wait,staleness=100000").time);
  EXPECT_FALSE(c.decided());
  ASSERT_FALSE(c.not_told_apart().empty());
  EXPECT_EQ(c.not_told_apart().front()->over_first_95.low, 1);
  const auto lines = text_lines(map, testing::job(4), question({"synchronous", "asynchronous"}));
  EXPECT_TRUE(std::ranges::any_of(lines, [](const TextLine& l) { return l.text.ends_with("?"); }));
}

TEST(PolicyMap, SameBytesForAnyNumberOfThreads) {
  WaysQuestion q = question({"synchronous", "local-sgd,local-steps=4"});
  std::string text[2];
  std::int64_t last = 0, total = 0;
  q.progress = [&](std::int64_t done, std::int64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
  };
  for (int i = 0; i < 2; ++i) {
    q.threads = i == 0 ? 1 : 3;
    last = 0;
    const auto made =
        map_ways(testing::job(4), q, {.communication = {0.1, 1}, .speeds = {0, 0.4}}, {"job.toml"});
    ASSERT_TRUE(made);
    text[i] = made->json;
    EXPECT_EQ(last, total) << "all runs of all cells are counted";
    EXPECT_EQ(total, 4 * 2 * (2 * q.tuning_seeds + q.seeds));
  }
  EXPECT_EQ(text[0], text[1]);
}

TEST(PolicyMap, RefusesWhatIsNoMap) {
  const WaysQuestion q = question({"synchronous"});
  for (const MapAxes& axes :
       {MapAxes{.communication = {}, .speeds = {0}}, MapAxes{.communication = {1, 1}, .speeds = {0}},
        MapAxes{.communication = {0}, .speeds = {0}}, MapAxes{.communication = {1}, .speeds = {0.2, 0.1}},
        MapAxes{.communication = {1}, .speeds = std::vector<double>(65, 0)}}) {
    const auto made = make_map(testing::job(4), q, axes);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().id, "learn-002");
  }
  EXPECT_FALSE(make_map(testing::job(1), q, {})) << "one worker exchanges nothing";
  model::Scenario idle = testing::job(4);
  for (model::Layer& l : idle.job.as<model::TrainingJob>().layers) l.forward = l.backward = {};
  EXPECT_FALSE(make_map(idle, q, {}));
}

}  // namespace
}  // namespace cox::learn
