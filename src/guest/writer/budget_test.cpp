// SPDX-License-Identifier: Apache-2.0
#include "guest/writer/budget.hpp"

#include <gtest/gtest.h>

namespace cox::guest {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(OverheadBudget, ThreeDearWindowsInARowAreTooMany) {
  OverheadBudget budget(0.05);
  EXPECT_FALSE(budget.exceeded(0, 40, kSecond));
  EXPECT_FALSE(budget.exceeded(2'000'000, 40, 2 * kSecond));  // 8 %
  EXPECT_NEAR(budget.share(), 0.08, 1e-9);
  EXPECT_FALSE(budget.exceeded(4'000'000, 40, 3 * kSecond));
  EXPECT_TRUE(budget.exceeded(6'000'000, 40, 4 * kSecond));
  EXPECT_NEAR(budget.calls_per_second(), 2e6, 1);
}

TEST(OverheadBudget, ABurstIsForgiven) {
  OverheadBudget budget(0.05);
  std::uint64_t calls = 0;
  for (std::uint64_t s = 1; s < 100; ++s) {
    calls += s % 3 == 0 ? 1000 : 10'000'000;  // two dear seconds, a cheap one
    EXPECT_FALSE(budget.exceeded(calls, 40, s * kSecond)) << s;
  }
}

TEST(OverheadBudget, ShortWindowsAreJoined) {
  OverheadBudget budget(0.05);
  std::uint64_t calls = 0;
  int until = 0;
  for (std::uint64_t tenth = 1; !budget.exceeded(calls += 1'000'000, 40, tenth * kSecond / 10); ++tenth)
    ASSERT_LT(++until, 100);
  EXPECT_EQ(until, 15);  // three windows of half a second after the first reading
}

TEST(OverheadBudget, TheFirstReadingAndAStandingClockDecideNothing) {
  OverheadBudget budget(0.05);
  EXPECT_FALSE(budget.exceeded(1'000'000'000, 40, kSecond));
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(budget.exceeded(2'000'000'000 + static_cast<std::uint64_t>(i), 40, kSecond));
}

}  // namespace
}  // namespace cox::guest
