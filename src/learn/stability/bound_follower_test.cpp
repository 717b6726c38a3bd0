// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/bound_follower.hpp"

#include <gtest/gtest.h>

#include "cox/learn/learner.hpp"
#include "cox/learn/stability.hpp"

#include "learn/stability/measured.hpp"

namespace cox::learn {
namespace {

void age(BoundFollower& follower, std::int64_t of, int updates = 100) {
  for (int i = 0; i < updates; ++i) follower.add(of);
}

TEST(BoundFollower, HalvesAtTheAlarmAndGrowsAgainWhereThereIsRoom) {
  const double limit = stable_edge({.delay = 7});
  BoundFollower follower(8);
  age(follower, 7);
  follower.probe(0.4 * limit, 1, 0);
  EXPECT_EQ(follower.bound(), 8) << "between a quarter and a half of the limit nothing happens";
  age(follower, 7);
  follower.probe(0.6 * limit, 1, 0);
  EXPECT_EQ(follower.bound(), 4);
  age(follower, 7);
  follower.probe(0.4 * limit, 1.5, 0);
  EXPECT_EQ(follower.bound(), 2) << "the curvature counts as the rate does";
  for (int i = 0; i < 9; ++i) {
    age(follower, 7);
    follower.probe(0.2 * limit, 1, 0);
  }
  EXPECT_EQ(follower.bound(), 8) << "never above where it began";
  EXPECT_EQ(follower.least(), 2);
  EXPECT_EQ(follower.probes(), 12);
  EXPECT_EQ(follower.raised(), 2);
  EXPECT_EQ(follower.first_curvature(), 1);
  follower.probe(100, 1, 0);
  EXPECT_EQ(follower.bound(), 8) << "no updates, no ages";
}

TEST(BoundFollower, LooksAtTheAgesSinceTheLastProbeAndAtMomentum) {
  const double limit = stable_edge({.delay = 7});
  BoundFollower follower(8);
  age(follower, 100, 1000);
  follower.probe(1e-6, 1, 0);
  age(follower, 7);
  follower.probe(0.4 * limit, 1, 0);
  EXPECT_EQ(follower.raised(), 0) << "the hundreds are of before";
  age(follower, 7);
  follower.probe(0.4 * limit, 1, 0.9);
  EXPECT_EQ(follower.raised(), 1) << "momentum's limit is lower";
  age(follower, 100'000);
  follower.probe(0.4 * limit, 1, 0);
  EXPECT_EQ(follower.raised(), 2) << "ages beyond what is counted one by one";
}

// Trap: one bound while curvature rises. That of a network with two hidden layers is four times as large after 1,500 steps: what
// was calm at the beginning raises the alarm later.
TEST(BoundFollower, FollowsACurvatureThatRisesWhileANetworkLearns) {
  auto problem =
      make_problem({.kind = ProblemKind::Mlp, .dimension = 10, .pairs = 1, .hidden = 16, .layers = 2});
  ASSERT_TRUE(problem);
  constexpr double kRate = 0.05;
  constexpr std::int64_t kAge = 4;
  Learner learner(**problem, {.rate = kRate}, {}, {.samples = 32}, 1);
  BoundFollower follower(8);
  for (std::int64_t v = 0; v < 1550; ++v) {
    if (v % 100 == 0) {
      age(follower, kAge);
      const Curvature now =
          measured_curvature(**problem, learner.parameters(), {.first = 0, .count = 64}, 30);
      follower.probe(kRate, now.value, 0);
    }
    if (v == 0) {
      EXPECT_EQ(follower.bound(), 8) << "calm at the beginning";
    }
    learner.take(
        {.kind = sync::StreamEvent::Kind::Delivered, .update = {.version_read = v, .version_applied = v}});
    learner.take({.kind = sync::StreamEvent::Kind::Advanced, .update = {.version_applied = v + 1}});
    learner.take({.kind = sync::StreamEvent::Kind::Read, .update = {.version_read = v + 1}});
  }
  const double limit = stable_edge({.delay = kAge});
  EXPECT_LT(kRate * follower.first_curvature(), limit / 2);
  EXPECT_GT(kRate * follower.last_curvature(), limit) << "the old bound's ages would not even be stable";
  EXPECT_GT(follower.last_curvature(), 3 * follower.first_curvature());
  EXPECT_EQ(follower.bound(), 0);
}

}  // namespace
}  // namespace cox::learn
