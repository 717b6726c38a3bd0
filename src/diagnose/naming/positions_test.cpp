// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/positions.hpp"

#include <gtest/gtest.h>

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/naming/lost_time.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;
using model::Collective;

/// A job whose step `s` makes the operations `of_step(s)`, each after 1 ms of work and `late(r)` more.
trace::Run job_of(
    int steps, const std::function<std::vector<Collective>(int)>& of_step,
    const std::function<Duration(int rank, int op)>& late = [](int, int) { return Duration::zero(); }) {
  trace::Run run = testing::empty_run(4);
  Duration now = 1ms;
  std::uint32_t seq = 0;
  for (int s = 0; s < steps; ++s) {
    for (auto& track : run.ranks)
      testing::add_event(track.events, trace::EventKind::Step, 0, now, now, s, trace::kNoComm, 0);
    int op = 0;
    for (const Collective kind : of_step(s)) {
      Duration latest{};
      for (int r = 0; r < 4; ++r) latest = std::max(latest, now + 1ms + late(r, op));
      for (int r = 0; r < 4; ++r)
        testing::add_call(run.ranks[static_cast<std::size_t>(r)].events, kind, now + 1ms + late(r, op),
                          latest + 10us, 64, seq);
      now = latest + 10us;
      ++op;
      ++seq;
    }
  }
  return run;
}

TEST(Positions, AreTheOperationsOfAStepInOrder) {
  const trace::Run run = job_of(20, [](int) {
    return std::vector{Collective::AllReduce, Collective::AllGather, Collective::AllReduce};
  });
  const Matched matched(run);
  const Positions p(matched);
  ASSERT_EQ(p.count(), 3U);
  EXPECT_TRUE(p.worth_looking());
  EXPECT_EQ(p.at(1).kind, Collective::AllGather);
  EXPECT_EQ(p.at(1).of, 1);
  EXPECT_EQ(p.at(2).number, 2);
  EXPECT_EQ(p.at(2).of, 2);
  // The work before the very first operation is not known, so the first step is not like the others.
  EXPECT_EQ(p.ops_of(0).size(), 19U);
  EXPECT_EQ(p.ops_of(2).size(), 19U);
}

TEST(Positions, OneOperationPerStepNeedsNoSecondLook) {
  const trace::Run run = job_of(20, [](int) { return std::vector{Collective::AllReduce}; });
  EXPECT_FALSE(Positions(Matched(run)).worth_looking());
}

TEST(Positions, StepsOfSeveralShapesAreCutByKind) {
  const trace::Run run = job_of(40, [](int s) {
    std::vector<Collective> ops(static_cast<std::size_t>(1 + s % 3), Collective::AllGather);
    ops.push_back(Collective::AllReduce);
    ops.push_back(Collective::AllReduce);
    return ops;
  });
  const Matched matched(run);
  const Positions p(matched);
  ASSERT_EQ(p.count(), 2U);
  for (const std::int32_t i : {0, 1}) EXPECT_EQ(p.at(i).kind, Collective::AllReduce);
}

TEST(Positions, WhatIsNotRegularHasNone) {
  const trace::Run run = job_of(40, [](int s) {
    return std::vector<Collective>(static_cast<std::size_t>(1 + s * 7 % 5), Collective::AllReduce);
  });
  const Matched matched(run);
  EXPECT_EQ(Positions(matched).count(), 0U);
}

TEST(Positions, DelaysAreThoseBeforeTheOperation) {
  const trace::Run run = job_of(
      20, [](int) { return std::vector(3, Collective::AllReduce); },
      [](int rank, int op) { return rank == 2 && op == 1 ? Duration{5ms} : Duration{}; });
  const Matched matched(run);
  const Positions p(matched);
  std::vector<std::vector<Duration>> delays;
  ASSERT_TRUE(delays_at(matched, p, 1, 1ms, 4, delays));
  EXPECT_EQ(delays[2][7], 5ms);
  EXPECT_EQ(delays[1][7], 0ms);
  EXPECT_FALSE(delays_at(matched, p, 0, 1ms, 4, delays));
  const Suspect here{{2}, 0, matched.steps().count - 1, {}, {1}};
  const Suspect elsewhere{{2}, 0, matched.steps().count - 1, {}, {2}};
  EXPECT_EQ(savings_without(matched, {here}, &p).joint, 19 * 5ms);
  EXPECT_EQ(most_of_a_rank(matched, savings_without(matched, {here}, &p).each[0].bound_in), 19 * 5ms);
  EXPECT_EQ(savings_without(matched, {elsewhere}, &p).joint, 0ms);
}

}  // namespace
}  // namespace cox::diagnose
