// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cox/simulate/outcome.hpp"

#include "simulate/collective/player.hpp"

namespace cox::simulate {
namespace {

std::vector<Seconds> seconds(std::initializer_list<double> times) {
  std::vector<Seconds> all;
  for (const double t : times) all.emplace_back(t);
  return all;
}

void expect_mean(const GroupTime& mean, double busy, double exposed, double waiting) {
  EXPECT_NEAR(mean.busy.count(), busy, 1e-12);
  EXPECT_NEAR(mean.exposed.count(), exposed, 1e-12);
  EXPECT_NEAR(mean.waiting.count(), waiting, 1e-12);
}

// Two ranks, two steps: 3 and 5 of computation, then 2 of a collective; 4 and 1, then 2. Rank 0 waits 2, rank 1 waits 3.
TEST(RankTime, OfThoseWhoMeet) {
  RankTime time(false);
  time.arrive(seconds({3, 5}), {});
  time.depart(seconds({7, 7}));
  time.arrive(seconds({11, 8}), {});
  time.depart(seconds({13, 13}));
  expect_mean(time.mean(Seconds{13}), 13.0 / 4, 8.0 / 4, 5.0 / 4);
  EXPECT_EQ(time.last(), Seconds{13});
}

// One of packing is communication; the servers are done one later than the last rank.
TEST(RankTime, PackingIsCommunicationAndServersAreWaitedFor) {
  RankTime time(false);
  time.arrive(seconds({4, 6}), Seconds{1});
  time.depart(seconds({8, 8}));
  expect_mean(time.mean(Seconds{9}), 8.0 / 2, 6.0 / 2, 4.0 / 2);
}

// A root that sends and goes leaves at 2, before the other has come at 5: it waits for nobody, but for the end.
TEST(RankTime, WhoLeavesEarlyWaitsForNobody) {
  RankTime time(true);
  time.arrive(seconds({1, 5}), {});
  time.depart(seconds({2, 6}));
  expect_mean(time.mean(Seconds{6}), 6.0 / 2, 1.0 / 2, (1.0 + 4.0) / 2);
}

model::Scenario job(model::Collective kind, model::Algorithm algorithm) {
  model::Scenario s;
  s.cluster.nodes = 8;
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.across = {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-9)};
  s.inside = s.across;
  s.job.work = model::CollectiveJob{
      .collective = {.kind = kind, .algorithm = algorithm, .ranks = 8, .bytes = Bytes{8'000'000}},
      .compute = Seconds{0.01}};
  s.job.steps = 5;
  return s;
}

// All engines say it, in parts that add up to a step; all that a closed form has besides is communication.
TEST(RankTime, AddsUpToAStepByEveryEngine) {
  for (const auto& [kind, algorithm] : {std::pair{model::Collective::AllReduce, model::Algorithm::Ring},
                                        {model::Collective::Broadcast, model::Algorithm::BinomialTree}})
    for (const model::EngineKind engine :
         {model::EngineKind::ClosedForm, model::EngineKind::MaxPlus, model::EngineKind::Flow}) {
      model::Scenario s = job(kind, algorithm);
      s.engine = engine;
      if (engine != model::EngineKind::ClosedForm)
        s.noise.push_back({.law = model::NoiseLaw::Constant,
                           .pattern = model::NoisePattern::Persistent,
                           .mean_ratio = 1,
                           .ranks = {3}});
      const auto made = simulate(s, {});
      ASSERT_TRUE(made) << made.error().to_string();
      ASSERT_EQ(made->groups.size(), 1U);
      const GroupTime& g = made->groups[0];
      EXPECT_EQ(g.ranks, 8);
      EXPECT_NEAR((g.busy + g.exposed + g.waiting).count(), made->total.count() / 5, 1e-12);
      const bool noisy = engine != model::EngineKind::ClosedForm;
      EXPECT_NEAR(g.busy.count(), noisy ? 0.01 * 9 / 8 : 0.01, 1e-12);
      EXPECT_EQ(g.waiting > Seconds{1e-12}, noisy);
      EXPECT_GT(g.exposed, Seconds{});
    }
}

TEST(CollectiveNotes, AClassWithNothingButANameChangesNothing) {
  model::Scenario s = job(model::Collective::AllReduce, model::Algorithm::Ring);
  s.cluster.classes = {{.name = "named", .first = 0}, {.first = 1, .speed = 0.5}};
  const auto made = simulate(s, {});
  ASSERT_TRUE(made) << made.error().to_string();
  const auto of = [&](const char* text) {
    return std::ranges::count_if(made->notes,
                                 [&](const std::string& n) { return n.find(text) != std::string::npos; });
  };
  EXPECT_EQ(of("class named says nothing in which its nodes are unlike"), 1);
  EXPECT_EQ(of("says nothing"), 1);
}

}  // namespace
}  // namespace cox::simulate
