// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/step_clock.hpp"

#include <gtest/gtest.h>

namespace cox::trace {
namespace {

std::vector<StepValue> rows(std::int64_t count, std::int64_t apart = 1) {
  std::vector<StepValue> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back({.step = 100 + apart * i, .value = 7.5 + 2.0 * static_cast<double>(i)});
  return all;
}

Growth growth_of(const std::vector<StepValue>& all) {
  Growth out;
  for (const StepValue& v : all) out.add(v.series, v.value);
  return out;
}
bool goes_up(const std::vector<StepValue>& all) {
  return growth_of(all).goes_up();
}

TEST(StepClock, TenRowsThatOnlyGrowGoUp) {
  EXPECT_TRUE(goes_up(rows(10)));
  EXPECT_FALSE(goes_up(rows(9)));
  EXPECT_FALSE(goes_up({}));
  auto equal = rows(20);
  equal[12].value = equal[11].value;
  EXPECT_TRUE(goes_up(equal));
}

TEST(StepClock, OneInTenMayGoBackWhereThereAreTwentyMoves) {
  auto all = rows(12);
  all.back().value = 1;
  EXPECT_FALSE(goes_up(all));
  all = rows(40);
  all.back().value = 1;
  EXPECT_TRUE(goes_up(all));
  for (std::size_t i = 5; i < all.size(); i += 7) all[i].value = 0;
  EXPECT_FALSE(goes_up(all));
}

TEST(StepClock, WhereItBeginsTellsAClockFromAJobThatSlowsDown) {
  EXPECT_FALSE(growth_of(rows(40)).from_nothing());
  EXPECT_TRUE(growth_of(rows(40)).tenfold());
  auto all = rows(40);
  for (StepValue& v : all) v.value -= 6;
  EXPECT_TRUE(growth_of(all).from_nothing());
  for (StepValue& v : all) v.value += 60;
  EXPECT_FALSE(growth_of(all).tenfold());
}

TEST(StepClock, RowsAreTakenTogetherWhereTheLastDigitIsMuchOfAStep) {
  // Two a row, shown in whole ones: 100 rows for half a per cent.
  const ClockedSteps steps = steps_between(rows(301), 1);
  EXPECT_EQ(steps.together, 100);
  ASSERT_EQ(steps.lengths.size(), 3U);
  EXPECT_DOUBLE_EQ(steps.lengths[1].value, 2);
  EXPECT_EQ(steps.lengths[1].step, 300);
  EXPECT_EQ(steps.steps_per_row, 1);
}

TEST(StepClock, EverySeriesHasToGrow) {
  auto both = rows(12);
  for (StepValue row : rows(12)) {
    row.series = 1;
    both.push_back(row);
  }
  EXPECT_TRUE(goes_up(both));
  both.back().value = 0;
  EXPECT_FALSE(goes_up(both));
}

TEST(StepClock, LengthsAreThoseBetweenTheRows) {
  const ClockedSteps one = steps_between(rows(11), 0);
  ASSERT_EQ(one.lengths.size(), 10U);
  EXPECT_EQ(one.lengths.front().step, 101);
  EXPECT_DOUBLE_EQ(one.lengths.front().value, 2);
  EXPECT_EQ(one.steps_per_row, 1);
  const ClockedSteps ten = steps_between(rows(11, 10), 0);
  EXPECT_DOUBLE_EQ(ten.lengths.front().value, 0.2);
  EXPECT_EQ(ten.steps_per_row, 10);
}

TEST(StepClock, StepsOfNextToNothingAreAllTakenTogether) {
  std::vector<StepValue> all;
  all.reserve(12);
  for (int i = 0; i < 12; ++i) all.push_back({.step = i, .value = 1e-300 * i});
  EXPECT_EQ(steps_between(all, 1).together, 12);
  EXPECT_EQ(steps_between({}, 1).together, 1);
}

TEST(StepClock, ARestartIsNoStep) {
  auto again = rows(12);
  for (std::size_t i = 6; i < again.size(); ++i) {
    again[i].step -= 4;
    again[i].value += 100;
  }
  ASSERT_TRUE(goes_up(again));
  const ClockedSteps steps = steps_between(again, 0);
  EXPECT_EQ(steps.not_forward, 1);
  EXPECT_EQ(steps.lengths.size(), 10U);
  for (const StepValue& v : steps.lengths) EXPECT_DOUBLE_EQ(v.value, 2);
}

}  // namespace
}  // namespace cox::trace
