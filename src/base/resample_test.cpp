// SPDX-License-Identifier: Apache-2.0
#include "cox/base/resample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cox/base/stats.hpp"

namespace cox {
namespace {

TEST(Resample, TheMiddleLeavesOutTwoAndAHalfPercentOnEitherSide) {
  std::vector<double> replicates(1001);
  std::iota(replicates.rbegin(), replicates.rend(), 0);
  const Interval middle = middle_95(replicates);
  EXPECT_DOUBLE_EQ(middle.low, 25);
  EXPECT_DOUBLE_EQ(middle.high, 975);
}

TEST(Resample, UnitsAreDrawnEquallyOftenAndFoundAgain) {
  constexpr std::size_t kUnits = 5;
  const UnitDraws draws(kUnits, 7, 3);
  std::vector<int> seen(kUnits);
  for (std::size_t d = 0; d < 2000; ++d)
    for (std::size_t place = 0; place < kUnits; ++place) {
      const std::size_t unit = draws.pick(d, place);
      ASSERT_LT(unit, kUnits);
      ++seen[unit];
    }
  // 10,000 draws: 2,000 of each, standard deviation 40.
  for (const int n : seen) EXPECT_NEAR(n, 2000, 160);
  const UnitDraws again(kUnits, 7, 3);
  EXPECT_EQ(again.pick(1999, 4), draws.pick(1999, 4));
  const UnitDraws other(kUnits, 7, 4);
  int same = 0;
  for (std::size_t d = 0; d < 100; ++d) same += other.pick(d, 0) == draws.pick(d, 0) ? 1 : 0;
  EXPECT_LT(same, 60);
}

TEST(Resample, BlocksHoldNeighboursInOrder) {
  std::vector<double> series(20);
  std::iota(series.begin(), series.end(), 0);
  SplitMix random(1);
  std::vector<double> drawn;
  bool any_start = false;
  for (int i = 0; i < 50; ++i) {
    draw_blocks(series, 4, random, drawn);
    ASSERT_EQ(drawn.size(), series.size());
    for (std::size_t k = 1; k < drawn.size(); ++k) {
      if (k % 4 != 0) {
        EXPECT_EQ(drawn[k], drawn[k - 1] + 1);
      }
    }
    any_start = any_start || drawn[0] == 16;  // the last block that fits
  }
  EXPECT_TRUE(any_start);
  const std::vector<double> two = {3, 5};
  draw_blocks(two, 4, random, drawn);
  EXPECT_EQ(drawn, two);
}

TEST(Resample, CircularBlocksSumWhatTheyHold) {
  const std::vector<double> series = {1, 10, 100, 1000};
  const std::vector<double> sums = CircularBlocks::prefix_sums(series);
  ASSERT_EQ(sums.size(), 9U);
  const CircularBlocks pairs(4, 2, 200, 1);
  // Two blocks of two neighbours, the last and the first being neighbours too.
  const std::vector<double> blocks = {11, 110, 1100, 1001};
  std::vector<double> possible;
  for (const double a : blocks)
    for (const double b : blocks) possible.push_back(a + b);
  bool around = false;
  for (std::size_t r = 0; r < 200; ++r) {
    const double sum = pairs.sum(sums, r);
    EXPECT_NE(std::find(possible.begin(), possible.end(), sum), possible.end()) << sum;
    around = around || sum == 2002;
  }
  EXPECT_TRUE(around);
}

// The mean of independent values: its bootstrap's spread is the standard error.
TEST(Resample, SpreadsLikeTheStandardError) {
  constexpr std::size_t kValues = 400;
  const RandomStream noise(3, 0);
  std::vector<double> series(kValues);
  noise.normals(0, 0, series);
  const std::vector<double> sums = CircularBlocks::prefix_sums(series);
  const CircularBlocks blocks(kValues, 20, 1000, 5);
  Welford means;
  for (std::size_t r = 0; r < 1000; ++r) means.add(blocks.sum(sums, r) / kValues);
  EXPECT_NEAR(means.stddev(), 1 / std::sqrt(static_cast<double>(kValues)), 0.012);
}

}  // namespace
}  // namespace cox
