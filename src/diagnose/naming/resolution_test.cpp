// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/resolution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace cox::diagnose {
namespace {

constexpr Duration kMilli{1'000'000'000};

StepTable rounded(double step_ms, double spread_ms, std::size_t ranks, std::size_t steps) {
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  StepTable delays(ranks, std::vector<Duration>(steps));
  for (auto& row : delays)
    for (Duration& d : row)
      d = static_cast<std::int64_t>(std::round((20 + spread_ms * normal(bits)) / step_ms)) * (kMilli / 1000) *
          static_cast<std::int64_t>(step_ms * 1000);
  return delays;
}

TEST(Resolution, IsWhatTimesAreMultiplesOf) {
  EXPECT_EQ(resolution_of(rounded(1, 1, 4, 100)), kMilli);
  EXPECT_EQ(resolution_of(rounded(2.5, 2, 2, 60)), kMilli * 5 / 2);
  StepTable one_odd = rounded(1, 1, 4, 100);
  one_odd[1][50] += kMilli / 3;  // a pause within a step
  EXPECT_EQ(resolution_of(one_odd), kMilli);
}

TEST(Resolution, IsNoneWhereTimesAreFine) {
  EXPECT_EQ(resolution_of(rounded(0.001, 1, 4, 100)), Duration::zero());
}

// Interruptions of one length are no grid: what they come on top of is no multiple of it.
TEST(Resolution, IsNoneOfInterruptionsOfOneLength) {
  std::mt19937_64 bits(4);
  std::poisson_distribution<int> interruptions(0.3);
  StepTable work(8, std::vector<Duration>(100));
  for (auto& row : work)
    for (Duration& d : row) d = 20 * kMilli + interruptions(bits) * 3 * kMilli;
  EXPECT_EQ(resolution_of(work), Duration::zero());
}

// What is exact does not change; one effect that comes and goes is one size.
TEST(Resolution, IsNoneOfExactTimes) {
  StepTable exact(4, std::vector<Duration>(200, kMilli));
  exact[2].assign(200, 3 * kMilli);
  EXPECT_EQ(resolution_of(exact), Duration::zero());
  for (std::size_t s = 0; s < 200; s += 4) exact[s / 4 % 4][s] += 5 * kMilli;
  EXPECT_EQ(resolution_of(exact), Duration::zero());
}

TEST(Resolution, IsNoneOfNothing) {
  EXPECT_EQ(resolution_of({}), Duration::zero());
  EXPECT_EQ(resolution_of({{}, {kMilli}}), Duration::zero());
}

}  // namespace
}  // namespace cox::diagnose
