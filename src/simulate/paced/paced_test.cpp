// SPDX-License-Identifier: Apache-2.0
// Paced jobs against steps solved by hand, and the controller in the loop.
#include "cox/simulate/paced.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/model/closed_form.hpp"
#include "cox/simulate/flow.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {
namespace {

using model::Iteration;
using pace::WaitMode;

constexpr double kExact = 1e-12;

/// Condition (vi) of the measurements: 32 ranks prepare on two cores,
/// four of them compute half as long again.
Iteration shared_host() {
  Iteration job;
  job.ranks = 32;
  job.cores = 2;
  job.prepare = Seconds{0.6e-3};
  job.compute = Seconds{20e-3};
  job.imbalance = model::Imbalance::Persistent;
  job.slow_ranks = 4;
  job.slow_factor = 1.5;
  return job;
}

/// Condition (iv-b): eight ranks fetch over one link, two compute half as long again.
Iteration shared_link() {
  Iteration job;
  job.ranks = 8;
  job.fetch = Bytes{1'000'000};
  job.link = Bandwidth::bytes_per_s(200e6);
  job.compute = Seconds{30e-3};
  job.imbalance = model::Imbalance::Persistent;
  job.slow_ranks = 2;
  job.slow_factor = 1.5;
  return job;
}

/// Delays ranks that are not slow.
PacedArm early(const Iteration& job, Seconds delay) {
  PacedArm arm;
  arm.name = "early";
  arm.delays = [job, delay](int rank, std::int64_t step) {
    return model::is_slow(job, 1, rank, step) ? Seconds{} : delay;
  };
  return arm;
}

PacedOptions steps(std::int64_t count) {
  PacedOptions options;
  options.steps = count;
  return options;
}

Seconds period(const Iteration& job, const PacedArm& arm, PacedOptions options = {}) {
  options.steps = 2;
  options.arms = {arm};
  const auto made = simulate_paced(job, options);
  EXPECT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->periods[0], made->periods[1]);
  return made->periods[0];
}

TEST(Paced, SharedHostIsFasterWhereEarlyRanksLeaveTheCoresToTheLateOnes) {
  // 32 x 0.6 / 2 = 9.6 ms until anybody is prepared, then the slow 30 ms.
  EXPECT_NEAR(period(shared_host(), {}).count(), 39.6e-3, kExact);
  // The four late ones alone: 4 x 0.6 / 2 = 1.2 ms, then 30; the others are there at 2 + 28 x 0.3 + 20.
  EXPECT_NEAR(period(shared_host(), early(shared_host(), Seconds{2e-3})).count(), 31.2e-3, kExact);
  // A delay of 1 ms: the late ones have done 0.5 ms each of two cores; 0.1 left, shared by 32: 1.6 ms.
  EXPECT_NEAR(period(shared_host(), early(shared_host(), Seconds{1e-3})).count(), 32.6e-3, kExact);
  // Too long a delay makes the early ones late: 12 + 8.4 + 20.
  EXPECT_NEAR(period(shared_host(), early(shared_host(), Seconds{12e-3})).count(), 40.4e-3, kExact);
}

TEST(Paced, PriorityDoesTheSameWithoutDelay) {
  PacedArm arm;
  arm.early_nice = 19;
  // The four late ones get 4 of 4 + 28 w shares of two cores.
  const double w = nice_weight(19);
  EXPECT_NEAR(period(shared_host(), arm).count(), 30e-3 + 0.6e-3 * (4 + 28 * w) / 2, kExact);
  arm.early_nice = 0;
  EXPECT_NEAR(period(shared_host(), arm).count(), 39.6e-3, kExact);
}

TEST(Paced, WeightsAreThoseOfTheKernelsTable) {
  EXPECT_EQ(nice_weight(0), 1);
  EXPECT_NEAR(1024 * nice_weight(5), 335, 1);
  EXPECT_NEAR(1024 * nice_weight(10), 110, 1);
  EXPECT_NEAR(1024 * nice_weight(15), 36, 1);
  EXPECT_NEAR(1024 * nice_weight(19), 15, 1);
  EXPECT_NEAR(1024 * nice_weight(-20), 88761, 88761 * 0.005);
}

TEST(Paced, SharedLinkIsFasterToo) {
  // 8 MB at 200 MB/s = 40 ms, then 45; the two late ones alone: 10 ms, then 45.
  EXPECT_NEAR(period(shared_link(), {}).count(), 85e-3, kExact);
  EXPECT_NEAR(period(shared_link(), early(shared_link(), Seconds{10e-3})).count(),
              std::max(10e-3 + 45e-3, 10e-3 + 30e-3 + 30e-3), kExact);
  // 5 ms: each late one has 500 kB; the rest at an eighth of the link: 20 ms.
  EXPECT_NEAR(period(shared_link(), early(shared_link(), Seconds{5e-3})).count(), 70e-3, kExact);
}

TEST(Paced, WithoutImbalanceADelayLoses) {
  Iteration job = shared_host();
  job.imbalance = model::Imbalance::None;
  EXPECT_NEAR(period(job, {}).count(), 29.6e-3, kExact);
  PacedArm half;
  half.delays = [](int rank, std::int64_t) { return rank < 28 ? Seconds{2e-3} : Seconds{}; };
  // 1.2 ms of two cores go to four ranks and 0.8 ms to none: done at 2 + 28 x 0.3.
  EXPECT_NEAR(period(job, half).count(), 30.4e-3, kExact);
}

TEST(Paced, WithoutAnythingSharedItLosesOrIsNeutral) {
  Iteration job = shared_host();
  job.prepare = {};
  EXPECT_NEAR(period(job, {}).count(), 30e-3, kExact);
  EXPECT_NEAR(period(job, early(job, Seconds{10e-3})).count(), 30e-3, kExact);
  EXPECT_NEAR(period(job, early(job, Seconds{11e-3})).count(), 31e-3, kExact);
}

TEST(Paced, WaitersThatSpinTakeTheCoresFromThoseThatCompute) {
  Iteration job;
  job.ranks = 4;
  job.cores = 2;
  job.compute = Seconds{10e-3};
  job.compute_on_cores = true;
  job.imbalance = model::Imbalance::Persistent;
  job.slow_ranks = 2;
  job.slow_factor = 2;
  // Blocked: 20 ms at half a core each, then the slow two have 10 ms left and a core each.
  EXPECT_NEAR(period(job, {}).count(), 30e-3, kExact);
  // Spinning: they stay at half a core to the end.
  job.wait = WaitMode::Spin;
  EXPECT_NEAR(period(job, {}).count(), 40e-3, kExact);
  // A delay of 10 ms gives the slow ones a core each for so long: 10 ms left at half a core = 20 more, as the
  // early ones have; a change of the wait mode is worth more.
  EXPECT_NEAR(period(job, early(job, Seconds{10e-3})).count(), 30e-3, kExact);
  PacedArm block;
  block.wait = WaitMode::Block;
  EXPECT_NEAR(period(job, block).count(), 30e-3, kExact);
  PacedArm both = early(job, Seconds{10e-3});
  both.wait = WaitMode::Yield;
  EXPECT_NEAR(period(job, both).count(), 30e-3, kExact);
}

TEST(Paced, HostsHaveCoresOfTheirOwnAndTheLastMayHoldFewer) {
  Iteration job = shared_host();
  job.hosts = 3;  // 11, 11 and 10 ranks; the slow four on the last: 10 x 0.6 / 2 = 3 ms
  EXPECT_NEAR(period(job, {}).count(), 33e-3, kExact);
  // Even all hosts in one with as many cores: 32 x 0.6 / 6.
  job.hosts = 1;
  job.cores = 6;
  EXPECT_NEAR(period(job, {}).count(), 33.2e-3, kExact);
  job.cores = 64;  // nobody gets more than one core
  EXPECT_NEAR(period(job, {}).count(), 30.6e-3, kExact);
}

TEST(Paced, ADelayAtTheCollectiveKeepsTheCoresBusy) {
  PacedArm arm = early(shared_host(), Seconds{2e-3});
  arm.settings.placement = pace::Placement::Collective;
  EXPECT_NEAR(period(shared_host(), arm).count(), 39.6e-3, kExact);
  arm = early(shared_host(), Seconds{12e-3});
  arm.settings.placement = pace::Placement::Collective;
  EXPECT_NEAR(period(shared_host(), arm).count(), 41.6e-3, kExact);
}

TEST(Paced, WakingARankCostsWhereItSlept) {
  PacedOptions options;
  options.wake_up = Seconds{0.1e-3};
  EXPECT_NEAR(period(shared_host(), {}, options).count(), 30e-3 + 32 * 0.7e-3 / 2, kExact);
  PacedArm arm = early(shared_host(), Seconds{2e-3});
  arm.wait = WaitMode::Yield;  // only the delay wakes: 4 x 0.6 / 2, and 2 + 28 x 0.7 / 2 + 20 is earlier
  EXPECT_NEAR(period(shared_host(), arm, options).count(), 31.8e-3, kExact);
}

TEST(Paced, CoresWithTimeSlicesServeShortJobsInTheOrderInWhichTheyWake) {
  PacedOptions options = steps(3);
  Iteration job = shared_host();
  job.time_slice = Seconds{1.5e-3};
  std::vector<Seconds> first;
  options.each_step = [&](const PacedStep& s) {
    if (s.step == 2)
      for (const Seconds at : s.arrived) first.push_back(at - s.begin);
  };
  const auto off = simulate_paced(job, options);
  ASSERT_TRUE(off);
  // Three of the slow ones wake last: their preparation ends at 9.6 ms as with processor sharing.
  EXPECT_NEAR(off->periods[2].count(), 39.6e-3, kExact);
  // But the first of the others are done after 0.6 ms, not after 9.6: early ranks wait half as long again.
  EXPECT_NEAR(std::min_element(first.begin(), first.end())->count(), 20.6e-3, kExact);
  options.each_step = {};
  options.arms = {early(job, Seconds{2e-3})};
  const auto paced = simulate_paced(job, options);
  ASSERT_TRUE(paced);
  EXPECT_NEAR(paced->periods[2].count(), 31.2e-3, kExact);
  // Ever shorter slices come to processor sharing.
  options.arms = {early(job, Seconds{1e-3})};
  job.time_slice = Seconds{1e-6};
  const auto fine = simulate_paced(job, options);
  ASSERT_TRUE(fine);
  EXPECT_NEAR(fine->periods[2].count(), 32.6e-3, 0.1e-3);
}

TEST(Paced, UntilItHasACoreARankIsInsideTheSynchronisation) {
  Iteration job = shared_host();
  job.slow_ranks = 0;
  job.imbalance = model::Imbalance::None;
  job.time_slice = Seconds{1.5e-3};
  PacedOptions options = steps(100);
  options.arms[0].settings.mode = pace::Mode::Observe;
  std::vector<Seconds> woke;
  options.each_step = [&](const PacedStep& s) { woke.assign(s.woke.begin(), s.woke.end()); };
  const auto made = simulate_paced(job, options);
  ASSERT_TRUE(made);
  std::sort(woke.begin(), woke.end());
  // 32 ranks of 0.6 ms on 2 cores: two at once.
  EXPECT_NEAR(woke.front().count(), 0, kExact);
  EXPECT_NEAR(woke.back().count(), 15 * 0.6e-3, kExact);
  // Who is served first waits for the last one, who is served last has waited for a core: all alike see 9 ms.
  // (The last of the 64 that it remembers is of no step that begins after it.)
  for (const PacedRank& rank : made->summary[0].ranks)
    EXPECT_NEAR(in_seconds(rank.evidence.slack), 15 * 0.6e-3, 0.15e-3);
  // Without slices all go on at once, and nobody waits here: preparation is over for all at the same time.
  job.time_slice = {};
  const auto shared = simulate_paced(job, options);
  ASSERT_TRUE(shared);
  EXPECT_EQ(woke, std::vector<Seconds>(32));
  for (const PacedRank& rank : shared->summary[0].ranks)
    EXPECT_NEAR(in_seconds(rank.evidence.slack), 0, 1e-9);
}

TEST(Paced, AnAllReduceEndsAfterTheRingsTime) {
  Iteration job = shared_link();
  job.fetch = {};
  job.reduce = Bytes{1'000'003};
  const auto ring = model::closed_form({.kind = model::Collective::AllReduce,
                                        .algorithm = model::Algorithm::Ring,
                                        .ranks = 8,
                                        .bytes = job.reduce},
                                       {.per_byte = job.link.time_per_byte()});
  ASSERT_TRUE(ring);
  EXPECT_NEAR(transfer_time(job).count(), ring->count(), 1e-15);
  EXPECT_NEAR(period(job, {}).count(), 45e-3 + ring->count(), kExact);
  job.link = {};
  EXPECT_EQ(transfer_time(job), Seconds{});
}

/// Processor sharing of one link is what the flow engine's max-min comes to there:
/// seven workers push into one server.
TEST(Paced, TheFlowEngineSharesALinkInTheSameWay) {
  Iteration job = shared_link();
  job.ranks = 7;
  job.imbalance = model::Imbalance::None;
  const auto start = [](int rank) { return Seconds{rank < 2 ? 0 : 1e-3 * rank}; };
  model::Cluster cluster;
  cluster.nodes = 8;
  cluster.nic = {.latency = {}, .bandwidth = job.link};
  const auto network = Network::make(cluster, {});
  ASSERT_TRUE(network) << network.error().to_string();
  const auto push = model::Schedule::make(
      {.algorithm = model::Algorithm::ParameterServer, .ranks = 7, .bytes = job.fetch, .servers = 1});
  ASSERT_TRUE(push);
  std::vector<Seconds> ends(7);
  FlowOptions flow;
  flow.on_message = [&](const FlowMessage& m) {
    if (m.to == 7) ends[static_cast<std::size_t>(m.from)] = m.end;
  };
  std::vector<Seconds> times;
  times.reserve(7);
  for (int r = 0; r < 7; ++r) times.push_back(start(r));
  const std::vector<int> places = {0, 1, 2, 3, 4, 5, 6, 7};
  (void)run_flows(*push, *network, {}, places, flow, times);
  PacedOptions options;
  options.steps = 1;
  options.arms[0].delays = [&](int rank, std::int64_t) { return start(rank); };
  options.each_step = [&](const PacedStep& s) {
    for (std::size_t r = 0; r < 7; ++r)
      EXPECT_NEAR(s.arrived[r].count(), (ends[r] + job.compute).count(), 1e-11) << r;
  };
  ASSERT_TRUE(simulate_paced(job, options));
}

TEST(Paced, ArmsOfOneRunAreFrozenWhileAnotherOneRuns) {
  Iteration job = shared_host();
  job.jitter = model::JitterLaw::Lognormal;
  job.spread = 0.05;
  PacedOptions options = steps(400);
  options.arms.resize(2);
  options.arms[1].name = "observe";
  options.arms[1].settings.mode = pace::Mode::Observe;
  options.arm_of = [](std::int64_t step) { return static_cast<std::size_t>(step / 50 % 2); };
  const auto made = simulate_paced(job, options);
  ASSERT_TRUE(made);
  const auto off = simulate_paced(job, steps(400));
  ASSERT_TRUE(off);
  EXPECT_EQ(made->periods, off->periods);  // nobody was held back, and all arms have the same draws
  EXPECT_EQ(made->summary[0].steps, 200);
  EXPECT_EQ(made->summary[1].steps, 200);
  EXPECT_EQ(made->arms[49], 0U);
  EXPECT_EQ(made->arms[50], 1U);
  // It has seen only its own 200 steps.
  EXPECT_LT(made->summary[1].ranks[0].evidence.slack, Duration(std::chrono::milliseconds{12}));
  EXPECT_GT(made->summary[1].ranks[0].evidence.slack, Duration(std::chrono::milliseconds{8}));
  EXPECT_EQ(made->summary[0].ranks[0].evidence.period, Duration::zero());
}

TEST(Paced, SummariesAreThoseOfThePeriods) {
  Iteration job = shared_host();
  job.jitter = model::JitterLaw::Exponential;
  job.spread = 0.2;
  const auto made = simulate_paced(job, steps(500));
  ASSERT_TRUE(made);
  const PacedSummary& s = made->summary[0];
  double sum = 0;
  for (const Seconds p : made->periods) sum += p.count();
  EXPECT_NEAR(s.total.count(), sum, 1e-9);
  EXPECT_NEAR(s.mean.count(), sum / 500, 1e-12);
  std::vector<Seconds> sorted = made->periods;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_GE(s.p99, sorted[490]);
  EXPECT_LE(s.p99, sorted[496]);
  EXPECT_GT(s.cv, 0.05);
  EXPECT_GT(s.wait, Seconds{});
  EXPECT_EQ(s.delay, Seconds{});
  EXPECT_EQ(s.paced_steps, 0);
}

/// The whole loop: mode auto finds out by itself that delay pays on a shared host, and that it does not where
/// nothing is shared.
TEST(Paced, AutoGainsOnASharedHostAndStaysOutOfTheWayElsewhere) {
  Iteration job = shared_host();
  job.jitter = model::JitterLaw::Lognormal;
  job.spread = 0.02;
  PacedOptions options = steps(3000);
  options.arms[0].settings.mode = pace::Mode::Auto;
  const auto gains = simulate_paced(job, options);
  const auto off = simulate_paced(job, steps(3000));
  ASSERT_TRUE(gains && off);
  EXPECT_LT(gains->summary[0].total / off->summary[0].total, 1 / 1.12);  // of at most 1 / 1.27
  EXPECT_FALSE(gains->changes.empty());
  job.prepare = {};
  job.imbalance = model::Imbalance::None;
  const auto passive = simulate_paced(job, options);
  const auto alone = simulate_paced(job, steps(3000));
  ASSERT_TRUE(passive && alone);
  EXPECT_LE(passive->summary[0].total / alone->summary[0].total, 1.005);
}

TEST(Paced, WhatHasNoMeaningIsRefusedByName) {
  const auto refuses = [](auto&& change, const char* name) {
    Iteration job = shared_link();
    PacedOptions options = steps(1);
    change(job, options);
    const auto made = simulate_paced(job, options);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().id, "simulate-007");
    EXPECT_NE(made.error().message.find(name), std::string::npos) << made.error().message;
  };
  refuses([](Iteration& j, auto&) { j.ranks = 0; }, "ranks");
  refuses([](Iteration& j, auto&) { j.hosts = 9; }, "hosts");
  refuses([](Iteration& j, auto&) { j.cores = 0; }, "cores");
  refuses([](Iteration& j, auto&) { j.compute = Seconds{-1}; }, "compute");
  refuses([](Iteration& j, auto&) { j.prepare = Seconds{std::nan("")}; }, "preparation");
  refuses([](Iteration& j, auto&) { j.spread = std::nan(""); }, "spread");
  refuses([](Iteration& j, auto&) { j.slow_factor = INFINITY; }, "factor");
  refuses([](Iteration& j, auto&) { j.episode = 0; }, "episode");
  refuses([](Iteration& j, auto&) { j.fetch = Bytes{-1}; }, "input");
  refuses([](Iteration& j, auto&) { j.time_slice = Seconds{1e-9}; }, "slice");
  refuses([](auto&, PacedOptions& o) { o.steps = 0; }, "steps");
  refuses([](auto&, PacedOptions& o) { o.arms.clear(); }, "arms");
  refuses([](auto&, PacedOptions& o) { o.arms[0].early_nice = 20; }, "nice");
}

}  // namespace
}  // namespace cox::simulate
