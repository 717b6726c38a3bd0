// SPDX-License-Identifier: Apache-2.0
// Processor sharing against cases solved by hand.
#include <gtest/gtest.h>

#include <limits>

#include "cox/simulate/event.hpp"

namespace cox::simulate {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

TEST(SharedResource, AloneAJobGetsEverythingUpToItsLimit) {
  SharedResource link(10);
  const auto job = link.add(Seconds{1}, 20);
  EXPECT_EQ(link.next().at, Seconds{3});
  EXPECT_EQ(link.next().job, job);
  EXPECT_EQ(link.remove(Seconds{3}, job), 0);
  EXPECT_EQ(link.next().at, Seconds{kForever});
  EXPECT_EQ(link.next().job, SharedResource::kNoJob);
  link.add(Seconds{3}, 20, 1, 4);
  EXPECT_EQ(link.next().at, Seconds{8});
}

TEST(SharedResource, TwoEqualJobsShareAndTheLongerSpeedsUpAtTheEnd) {
  // 2 and 6 units at rate 1 each until t = 2, then 4 left at rate 2: done at 4.
  SharedResource r(2);
  const auto brief = r.add(Seconds{0}, 2);
  const auto lengthy = r.add(Seconds{0}, 6);
  ASSERT_EQ(r.next().job, brief);
  ASSERT_EQ(r.next().at, Seconds{2});
  EXPECT_EQ(r.remove(Seconds{2}, brief), 0);
  EXPECT_EQ(r.next().job, lengthy);
  EXPECT_EQ(r.next().at, Seconds{4});
}

TEST(SharedResource, WeightsDivideTheCapacity) {
  // 12 by weights 1, 2, 3: rates 2, 4, 6.
  SharedResource r(12);
  const auto a = r.add(Seconds{0}, 8, 1);
  const auto b = r.add(Seconds{0}, 8, 2);
  const auto c = r.add(Seconds{0}, 8, 3);
  EXPECT_EQ(r.next().job, c);
  EXPECT_DOUBLE_EQ(r.next().at.count(), 8.0 / 6);
  EXPECT_DOUBLE_EQ(r.remove(Seconds{1}, a), 6);
  // 12 by weights 2, 3: rates 4.8, 7.2; 4 and 2 left.
  EXPECT_DOUBLE_EQ(r.next().at.count(), 1 + 2 / 7.2);
  EXPECT_NEAR(r.remove(Seconds{1.25}, c), 2 - 7.2 * 0.25, 1e-14);
  EXPECT_NEAR(r.remove(Seconds{1.25}, b), 4 - 4.8 * 0.25, 1e-14);
}

TEST(SharedResource, WhatALimitLeavesIsSharedByTheOthers) {
  // Capacity 10, limits 1 and 3 and none: 1, 3, 6. Without the 1: 3 and 7.
  SharedResource r(10);
  const auto first = r.add(Seconds{0}, 100, 1, 1);
  const auto second = r.add(Seconds{0}, 100, 1, 3);
  const auto third = r.add(Seconds{0}, 100);
  EXPECT_DOUBLE_EQ(r.remove(Seconds{1}, first), 99);
  EXPECT_DOUBLE_EQ(r.remove(Seconds{2}, second), 94);
  EXPECT_DOUBLE_EQ(r.remove(Seconds{2}, third), 87);
}

TEST(SharedResource, LimitsThatAllBindLeaveCapacityUnused) {
  SharedResource r(10);
  r.add(Seconds{0}, 4, 5, 2);
  r.add(Seconds{0}, 3, 1, 1);
  EXPECT_EQ(r.next().at, Seconds{2});
  EXPECT_EQ(r.next().job, 0U);
}

TEST(SharedResource, SpinningWaitersTakeTheirShareAndDoNothing) {
  // Two cores, each job at most one: a worker alone runs at 1; beside three spinning waiters at 2 / 4.
  SharedResource cores(2);
  const auto worker = cores.add(Seconds{0}, 10, 1, 1);
  EXPECT_EQ(cores.next().at, Seconds{10});
  SharedResource::Job spinners[3];
  for (auto& s : spinners) s = cores.add(Seconds{2}, kForever, 1, 1);
  EXPECT_EQ(cores.next().at, Seconds{18});
  EXPECT_EQ(cores.next().job, worker);
  for (const auto s : spinners) EXPECT_EQ(cores.remove(Seconds{6}, s), kForever);
  EXPECT_EQ(cores.next().at, Seconds{12});
  EXPECT_EQ(cores.remove(Seconds{12}, worker), 0);
}

TEST(SharedResource, OnlySpinningWaitersNeverFinish) {
  SharedResource r(1);
  r.add(Seconds{0}, kForever);
  EXPECT_EQ(r.next().at, Seconds{kForever});
  EXPECT_EQ(r.next().job, SharedResource::kNoJob);
}

TEST(SharedResource, SimultaneousEndsComeInTheOrderOfArrival) {
  SharedResource r(3);
  for (int i = 0; i < 3; ++i) r.add(Seconds{0}, 5);
  for (SharedResource::Job i = 0; i < 3; ++i) {
    EXPECT_EQ(r.next().at, Seconds{5});
    EXPECT_EQ(r.next().job, i);
    EXPECT_EQ(r.remove(Seconds{5}, i), 0);
  }
}

TEST(SharedResource, AServerUnderIncastIsBusyAllTheTime) {
  // k pushes of n bytes into one input link end together at k n / B; staggered ones keep the sum of work.
  constexpr int kWorkers = 64;
  constexpr double kBytes = 1e6;
  constexpr double kBandwidth = 1e9;
  SharedResource link(kBandwidth);
  for (int i = 0; i < kWorkers; ++i) link.add(Seconds{i * 1e-6}, kBytes);
  Seconds last{};
  for (int i = 0; i < kWorkers; ++i) {
    last = link.next().at;
    EXPECT_EQ(link.remove(last, link.next().job), 0);
  }
  EXPECT_NEAR(last.count(), kWorkers * kBytes / kBandwidth, 1e-12);
}

}  // namespace
}  // namespace cox::simulate
