// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/iteration.hpp"

#include <gtest/gtest.h>

namespace cox::pace {
namespace {

using Effect = BoundaryRule::Effect;

TEST(BoundaryRule, SynchronisationsEndIterationsWhereNothingBetterIsSeen) {
  BoundaryRule rule;
  EXPECT_EQ(rule.pass(Boundary::Synchronisation), Effect::Ends);
  EXPECT_EQ(rule.pass(Boundary::Synchronisation), Effect::Ends);
}

TEST(BoundaryRule, TheFirstOfABetterKindTakesOver) {
  BoundaryRule rule;
  EXPECT_EQ(rule.pass(Boundary::Gradients), Effect::BeginsAnew);
  EXPECT_EQ(rule.pass(Boundary::Synchronisation), Effect::None);
  EXPECT_EQ(rule.pass(Boundary::Gradients), Effect::Ends);
  EXPECT_EQ(rule.pass(Boundary::Mark), Effect::BeginsAnew);
  EXPECT_EQ(rule.pass(Boundary::Gradients), Effect::None);
  EXPECT_EQ(rule.pass(Boundary::Mark), Effect::Ends);
}

TEST(BoundaryRule, AnotherGroupBeginsWithoutWhatWasSeen) {
  BoundaryRule rule;
  EXPECT_EQ(rule.pass(Boundary::Mark), Effect::BeginsAnew);
  rule.forget();
  EXPECT_EQ(rule.pass(Boundary::Synchronisation), Effect::Ends);
  EXPECT_EQ(rule.pass(Boundary::Mark), Effect::BeginsAnew);
}

}  // namespace
}  // namespace cox::pace
