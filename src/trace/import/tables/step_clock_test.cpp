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

TEST(StepClock, TenRowsThatOnlyGrowAreAClock) {
  EXPECT_TRUE(only_grow(rows(10)));
  EXPECT_FALSE(only_grow(rows(9)));
  EXPECT_FALSE(only_grow({}));
  auto equal = rows(20);
  equal[12].value = equal[11].value;
  EXPECT_FALSE(only_grow(equal));
}

TEST(StepClock, RowsSortedByTheirLengthAreNone) {
  auto sorted = rows(40);
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i].step = static_cast<std::int64_t>(i * 17 % 40);
  EXPECT_FALSE(only_grow(sorted));
}

TEST(StepClock, EverySeriesHasToGrow) {
  auto both = rows(12);
  for (StepValue row : rows(12)) {
    row.series = 1;
    both.push_back(row);
  }
  EXPECT_TRUE(only_grow(both));
  both.back().value = 0;
  EXPECT_FALSE(only_grow(both));
}

TEST(StepClock, LengthsAreThoseBetweenTheRows) {
  const ClockedSteps one = steps_between(rows(11));
  ASSERT_EQ(one.lengths.size(), 10U);
  EXPECT_EQ(one.lengths.front().step, 101);
  EXPECT_DOUBLE_EQ(one.lengths.front().value, 2);
  EXPECT_EQ(one.steps_per_row, 1);
  const ClockedSteps ten = steps_between(rows(11, 10));
  EXPECT_DOUBLE_EQ(ten.lengths.front().value, 0.2);
  EXPECT_EQ(ten.steps_per_row, 10);
}

TEST(StepClock, ARestartIsNoStep) {
  auto again = rows(12);
  for (std::size_t i = 6; i < again.size(); ++i) {
    again[i].step -= 4;
    again[i].value += 100;
  }
  ASSERT_TRUE(only_grow(again));
  const ClockedSteps steps = steps_between(again);
  EXPECT_EQ(steps.not_forward, 1);
  EXPECT_EQ(steps.lengths.size(), 10U);
  for (const StepValue& v : steps.lengths) EXPECT_DOUBLE_EQ(v.value, 2);
}

}  // namespace
}  // namespace cox::trace
