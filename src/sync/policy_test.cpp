// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace cox::sync {
namespace {

using model::PolicyKind;
using model::PolicySpec;

/// Step times of worker w in its step k, in ticks.
using Work = std::function<std::int64_t(int w, std::int64_t k)>;

Work jittery(std::uint64_t seed) {
  return [=](int w, std::int64_t k) {
    std::uint64_t x = seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(w) * 0xbf58476d1ce4e5b9U +
                      static_cast<std::uint64_t>(k);
    for (int i = 0; i < 3; ++i) x = (x ^ (x >> 29)) * 0x94d049bb133111ebU;
    return std::int64_t{50} + static_cast<std::int64_t>(x >> 33) % 200;
  };
}

struct Trial {
  Policy policy;
  std::vector<std::vector<std::int64_t>> begins;  ///< [worker][step]
  std::int64_t widest = 0;                        ///< fastest minus slowest clock, over all events
  std::vector<Update> log{};
};

/// Runs `steps` steps of each worker in order of time; equal times in the order of workers.
Trial run(const PolicySpec& spec, int workers, std::int64_t steps, const Work& work) {
  Trial t{.policy = Policy(spec, workers), .begins = {}, .widest = 0};
  t.begins.resize(static_cast<std::size_t>(workers));
  std::priority_queue<std::pair<std::int64_t, int>, std::vector<std::pair<std::int64_t, int>>, std::greater<>>
      events;
  const auto begin = [&](int w, std::int64_t now) {
    auto& mine = t.begins[static_cast<std::size_t>(w)];
    const auto k = static_cast<std::int64_t>(mine.size());
    mine.push_back(now);
    if (k < steps) events.emplace(now + work(w, k), w);
  };
  for (int w = 0; w < workers; ++w) begin(w, 0);
  std::vector<int> released;
  while (!events.empty()) {
    const auto [now, w] = events.top();
    events.pop();
    t.policy.delivered(w, released);
    for (const StreamEvent& e : t.policy.events())
      if (e.kind == StreamEvent::Kind::Delivered) t.log.push_back(e.update);
    for (const int r : released) begin(r, now);
    std::int64_t low = t.policy.clock(0), high = low;
    for (int v = 1; v < workers; ++v) {
      low = std::min(low, t.policy.clock(v));
      high = std::max(high, t.policy.clock(v));
    }
    t.widest = std::max(t.widest, high - low);
  }
  return t;
}

TEST(Policy, WaitingKeepsClocksWithinTheBoundAtEveryEvent) {
  for (const int bound : {0, 1, 3, 10})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      // One worker is five times slower: without the rule the others would run away.
      const Work work = [&, j = jittery(seed)](int w, std::int64_t k) { return j(w, k) * (w == 2 ? 5 : 1); };
      const Trial t = run({.kind = PolicyKind::BoundedWait, .staleness = bound}, 7, 60, work);
      EXPECT_LE(t.widest, bound);
      EXPECT_EQ(t.widest, bound) << "the bound is never reached: the rule waits too early";
      for (const auto& mine : t.begins) EXPECT_GE(mine.size(), 60U);
    }
}

TEST(Policy, DiscardingKeepsAppliedAgesWithinTheBound) {
  std::int64_t dropped = 0;
  for (const int bound : {0, 2, 6, 20}) {
    const Trial t = run({.kind = PolicyKind::BoundedDiscard, .staleness = bound}, 8, 100, jittery(5));
    std::int64_t version = 0;
    for (const Update& u : t.log) {
      EXPECT_EQ(u.version_applied, version);
      EXPECT_EQ(u.applied, u.age() <= bound);
      if (u.applied) ++version;
      dropped += u.applied ? 0 : 1;
    }
    EXPECT_EQ(t.policy.version(), version);
    EXPECT_EQ(t.log.size(), 800U);
  }
  EXPECT_GT(dropped, 0);
}

TEST(Policy, EqualAsynchronousWorkersSeeAnAgeOfAllOthers) {
  for (const int workers : {1, 2, 8, 33}) {
    const Trial t = run({.kind = PolicyKind::Asynchronous}, workers, 200, jittery(9));
    double sum = 0;
    for (const Update& u : t.log) sum += static_cast<double>(u.age());
    const double mean = sum / static_cast<double>(t.log.size());
    // The first updates of all are younger: N (N - 1) / 2 versions less in all; ends are cut alike.
    EXPECT_NEAR(mean, workers - 1, 0.02 * workers);
  }
}

TEST(Policy, ZeroStalenessWaitingHasTheBarrierSchedule) {
  const Trial barrier = run({.kind = PolicyKind::Synchronous}, 9, 40, jittery(2));
  const Trial wait = run({.kind = PolicyKind::BoundedWait, .staleness = 0}, 9, 40, jittery(2));
  EXPECT_EQ(barrier.begins, wait.begins);
  EXPECT_EQ(barrier.policy.version(), 40);
  EXPECT_EQ(wait.policy.version(), 9 * 40);
}

TEST(Policy, LocalStepsOfOneAreSynchronous) {
  const Trial barrier = run({.kind = PolicyKind::Synchronous}, 6, 40, jittery(3));
  const Trial local = run({.kind = PolicyKind::LocalSgd, .local_steps = 1}, 6, 40, jittery(3));
  EXPECT_EQ(barrier.begins, local.begins);
  EXPECT_EQ(barrier.policy.version(), local.policy.version());
}

TEST(Policy, LocalStepsMeetEveryKthStep) {
  const Trial local = run({.kind = PolicyKind::LocalSgd, .local_steps = 4}, 6, 40, jittery(3));
  EXPECT_EQ(local.policy.version(), 10);
  for (std::size_t k = 0; k <= 40; k += 4)
    for (const auto& mine : local.begins) EXPECT_EQ(mine[k], local.begins[0][k]);
  EXPECT_NE(local.begins[0][2], local.begins[1][2]);
  EXPECT_LT(local.begins[0][40], run({.kind = PolicyKind::Synchronous}, 6, 40, jittery(3)).begins[0][40]);
  EXPECT_TRUE(local.policy.communicates(3));
  EXPECT_FALSE(local.policy.communicates(4));
}

TEST(Policy, BackupsAreNotWaitedForAndTheirLateUpdatesAreDropped) {
  const PolicySpec spec{.kind = PolicyKind::Backup, .backups = 1};
  Policy policy(spec, 3);
  std::vector<int> released;
  EXPECT_EQ(policy.quorum(), 2);
  EXPECT_EQ(policy.delivered(2, released), Ruling::Wait);
  EXPECT_TRUE(released.empty());
  EXPECT_EQ(policy.delivered(0, released), Ruling::Go);
  EXPECT_EQ(released, (std::vector<int>{0, 2}));
  EXPECT_EQ(policy.version(), 1);
  EXPECT_EQ(policy.delivered(1, released), Ruling::Discard);
  EXPECT_EQ(released, (std::vector<int>{1}));
  EXPECT_EQ(policy.version(), 1);
  ASSERT_EQ(policy.events().size(), 2U);
  EXPECT_EQ(policy.events()[0].update.age(), 1);
  EXPECT_FALSE(policy.events()[0].update.applied);
  EXPECT_EQ(policy.events()[1].kind, StreamEvent::Kind::Read);
  // Worker 1 reads version 1 now and takes part in it.
  EXPECT_EQ(policy.delivered(1, released), Ruling::Wait);
  EXPECT_EQ(policy.delivered(2, released), Ruling::Go);
  EXPECT_EQ(released, (std::vector<int>{1, 2}));
}

TEST(Policy, WaitingUnboundedIsAsynchronous) {
  const Trial wait = run({.kind = PolicyKind::BoundedWait, .staleness = 1'000'000'000}, 5, 50, jittery(4));
  const Trial free = run({.kind = PolicyKind::Asynchronous}, 5, 50, jittery(4));
  EXPECT_EQ(wait.begins, free.begins);
}

TEST(Policy, NumbersWithoutMeaningCountAsTheNearest) {
  std::vector<int> released;
  Policy all_backups({.kind = PolicyKind::Backup, .backups = 99}, 4);
  EXPECT_EQ(all_backups.delivered(3, released), Ruling::Go);
  Policy negative({.kind = PolicyKind::BoundedWait, .staleness = -1}, 1);
  EXPECT_EQ(negative.delivered(0, released), Ruling::Go);
  Policy local({.kind = PolicyKind::LocalSgd, .local_steps = 0}, 1);
  EXPECT_TRUE(local.communicates(0));
}

}  // namespace
}  // namespace cox::sync
