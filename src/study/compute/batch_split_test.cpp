// SPDX-License-Identifier: Apache-2.0
#include "study/compute/batch_split.hpp"

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

/// Least max(size / speed) over all ways to deal `left` samples to the workers from `at` on.
double best(int left, std::span<const double> speeds, std::size_t at) {
  if (at + 1 == speeds.size()) return left / speeds[at];
  double least = 1e300;
  for (int n = 0; n <= left; ++n)
    least = std::min(least, std::max(n / speeds[at], best(left - n, speeds, at + 1)));
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

// Place: chapter-part3, section 7, oracle 9: proportional over equal is mean over minimum of the speeds.
TEST(BatchSplit, GainIsMeanOverMinimumWhereSharesAreWhole) {
  const std::vector<double> speeds = {1, 2, 3, 2};
  const double ratio = slowest(split_equally(64, 4), speeds) / slowest(split_by_speed(64, speeds), speeds);
  EXPECT_DOUBLE_EQ(ratio, 2.0);
}

}  // namespace
}  // namespace cox::study
