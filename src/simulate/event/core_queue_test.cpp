// SPDX-License-Identifier: Apache-2.0
// Slices on cores against cases solved by hand.
#include "simulate/event/core_queue.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace cox::simulate {
namespace {

struct End {
  int rank;
  double at;
  bool operator==(const End&) const = default;
};

/// Ends of jobs until nothing runs, or `most` slices have.
std::vector<End> run(CoreQueue& queue, int most = 1000) {
  std::vector<End> out;
  for (int i = 0; i < most && queue.next().rank >= 0; ++i) {
    const CoreQueue::Next next = queue.next();
    if (queue.advance()) out.push_back({next.rank, next.at.count()});
  }
  return out;
}

TEST(CoreQueue, ShortJobsRunInTheOrderInWhichTheyCome) {
  CoreQueue queue(2, Seconds{10});
  for (int r = 0; r < 5; ++r) queue.add({}, r, Seconds{2}, 1);
  EXPECT_EQ(run(queue), (std::vector<End>{{0, 2}, {1, 2}, {2, 4}, {3, 4}, {4, 6}}));
  EXPECT_EQ(queue.next().rank, -1);
}

TEST(CoreQueue, WhoWakesSaysWhatItWantsWhenItHasACore) {
  std::vector<End> told;
  CoreQueue queue(1, Seconds{10}, [&](int rank, Seconds now) {
    told.push_back({rank, now.count()});
    return Seconds{rank == 1 ? 0.0 : 2.0};
  });
  for (int r = 0; r < 3; ++r) queue.wake({}, r, 1);
  EXPECT_EQ(run(queue), (std::vector<End>{{0, 2}, {1, 2}, {2, 4}}));
  EXPECT_EQ(told, (std::vector<End>{{0, 0}, {1, 2}, {2, 2}}));
}

TEST(CoreQueue, LongJobsTakeTurns) {
  CoreQueue queue(1, Seconds{1});
  queue.add({}, 0, Seconds{2}, 1);
  queue.add({}, 1, Seconds{3}, 1);
  // 0 1 0 1 1
  EXPECT_EQ(run(queue), (std::vector<End>{{0, 3}, {1, 5}}));
}

TEST(CoreQueue, WeightsDivideTheTime) {
  CoreQueue queue(1, Seconds{1});
  queue.add({}, 0, Seconds{30}, 1);
  queue.add({}, 1, Seconds{30}, 3);
  const std::vector<End> ends = run(queue);
  // The heavier one has three of four slices: done after about 40 of 60.
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].rank, 1);
  EXPECT_NEAR(ends[0].at, 40, 1.5);
  EXPECT_EQ(ends[1].at, 60);
}

TEST(CoreQueue, AmongEqualsTheHeavierIsNext) {
  CoreQueue queue(1, Seconds{10});
  queue.add({}, 0, Seconds{1}, 1);  // runs at once
  queue.add({}, 1, Seconds{1}, 1);
  queue.add({}, 2, Seconds{1}, 8);
  EXPECT_EQ(run(queue), (std::vector<End>{{0, 1}, {2, 2}, {1, 3}}));
}

TEST(CoreQueue, AWaiterThatSpinsTakesItsTurnsForEver) {
  CoreQueue queue(1, Seconds{1});
  queue.add({}, 0, Seconds{std::numeric_limits<double>::infinity()}, 1);
  queue.add({}, 1, Seconds{2}, 1);
  EXPECT_EQ(run(queue, 100), (std::vector<End>{{1, 4}}));
}

TEST(CoreQueue, WhoComesLaterDoesNotCatchUp) {
  CoreQueue queue(1, Seconds{1});
  queue.add({}, 0, Seconds{5}, 1);
  for (int i = 0; i < 3; ++i) queue.advance();
  queue.add(Seconds{3}, 1, Seconds{2}, 1);
  // 0 has run 3 and is under way; from now on they take turns: 0 1 0 1.
  EXPECT_EQ(run(queue), (std::vector<End>{{0, 6}, {1, 7}}));
}

}  // namespace
}  // namespace cox::simulate
