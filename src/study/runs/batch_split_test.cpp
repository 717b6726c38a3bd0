// SPDX-License-Identifier: Apache-2.0
#include "study/runs/batch_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cox/base/random.hpp"

namespace cox::study {
namespace {

TEST(BatchSplit, EqualSharesDifferByAtMostOne) {
  EXPECT_EQ(split_equally(10, 4), (std::vector<int>{3, 3, 2, 2}));
  EXPECT_EQ(split_equally(0, 2), (std::vector<int>{0, 0}));
}

constexpr double kNone = 1e300;

/// Least max(size / speed) over all ways to deal `left` samples to the workers from `at` on; kNone where there is none.
double best(int left, std::span<const double> speeds, std::size_t at, ShareBounds bounds = {}) {
  if (at + 1 == speeds.size()) return left < bounds.least || left > bounds.most ? kNone : left / speeds[at];
  double least = kNone;
  for (int n = bounds.least; n <= std::min(left, bounds.most); ++n)
    least = std::min(least, std::max(n / speeds[at], best(left - n, speeds, at + 1, bounds)));
  return least;
}

TEST(BatchSplit, BySpeedIsOptimal) {
  const RandomStream stream(11, 0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::vector<double> speeds(1 + i % 4);
    stream.uniforms(i, 0, speeds);
    for (double& s : speeds) s += 0.1;
    const int batch = static_cast<int>(i % 13);
    const std::vector<int> sizes = split_by_speed(batch, speeds);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), batch);
    EXPECT_DOUBLE_EQ(slowest(sizes, speeds), best(batch, speeds, 0));
  }
}

TEST(BatchSplit, BoundedSharesAreOptimal) {
  const RandomStream stream(12, 0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::vector<double> speeds(2 + i % 3);
    stream.uniforms(i, 0, speeds);
    for (double& s : speeds) s += 0.1;
    const int batch = static_cast<int>(5 + i % 9);
    const ShareBounds bounds{.least = static_cast<int>(i % 3), .most = 4 + static_cast<int>(i % 2)};
    const double least = best(batch, speeds, 0, bounds);
    const auto sizes = split_within(batch, speeds, bounds);
    ASSERT_EQ(sizes.has_value(), least < kNone) << i;
    if (sizes) {
      EXPECT_DOUBLE_EQ(slowest(*sizes, speeds), least);
    }
    double by_ratio = kNone;
    for (int low = 1; low <= batch; ++low)
      by_ratio = std::min(by_ratio, best(batch, speeds, 0, {.least = low, .most = 2 * low}));
    const auto limited = split_by_ratio(batch, speeds, 2);
    ASSERT_EQ(limited.has_value(), by_ratio < kNone);
    if (limited) {
      EXPECT_DOUBLE_EQ(slowest(*limited, speeds), by_ratio);
    }
  }
  EXPECT_FALSE(split_by_ratio(3, std::vector<double>{1, 1, 1, 1}, 2));  // no share of zero
  EXPECT_EQ(split_within(8, std::vector<double>{1, 3}, {}), split_by_speed(8, std::vector<double>{1, 3}));
}

// Place: chapter-part3, section 7, oracle 9: proportional over equal is mean over minimum of the speeds.
TEST(BatchSplit, GainIsMeanOverMinimumWhereSharesAreWhole) {
  const std::vector<double> speeds = {1, 2, 3, 2};
  const double ratio = slowest(split_equally(64, 4), speeds) / slowest(split_by_speed(64, speeds), speeds);
  EXPECT_DOUBLE_EQ(ratio, 2.0);
}

}  // namespace
}  // namespace cox::study
