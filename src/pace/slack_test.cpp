// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cox/pace/controller.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {
namespace {

TEST(Slack, MeanAndDeviationAreThoseOfTheLastWindow) {
  SlackWindow window;
  window.resize(16);
  std::vector<double> all;
  std::uint64_t state = 42;
  for (int n = 1; n <= 100; ++n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    all.push_back(static_cast<double>(state >> 40));  // up to 16 ms in ns
    window.add(from_ns(all.back()));
    const std::size_t have = std::min<std::size_t>(all.size(), 16);
    double sum = 0;
    double squares = 0;
    for (std::size_t i = all.size() - have; i < all.size(); ++i) sum += all[i];
    const double mean = sum / static_cast<double>(have);
    for (std::size_t i = all.size() - have; i < all.size(); ++i) squares += (all[i] - mean) * (all[i] - mean);
    EXPECT_EQ(window.count(), have);
    EXPECT_NEAR(to_ns(window.mean()), mean, 1e-6 * mean + 1e-3);
    if (have > 1) {
      EXPECT_NEAR(to_ns(window.deviation()), std::sqrt(squares / static_cast<double>(have - 1)), 1e-4 * mean);
    }
  }
}

TEST(Slack, ConstantWaitIsAllPredictableAndARandomOneIsNot) {
  SlackWindow constant;
  SlackWindow random;
  for (int i = 0; i < 64; ++i) {
    constant.add(std::chrono::milliseconds{10});
    random.add(std::chrono::milliseconds{i % 2 == 0 ? 20 : 0});
  }
  EXPECT_NEAR(to_ns(constant.predictable(3)), 1e7, 1);
  EXPECT_EQ(random.predictable(3), Duration::zero());
}

TEST(Arithmetic, LogarithmIsThatOfTheLibrary) {
  for (double x : {1e-9, 0.01, 0.5, 0.75, 1.0, 1.2, 1.5, 3.0, 400.0, 1e12})
    EXPECT_NEAR(natural_log(x), std::log(x), 1e-9) << x;
}

// Expectations: Harter 1961, "Expected values of normal order statistics", table 1.
TEST(Arithmetic, ExpectedMaximumIsTheTabulatedOne) {
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 0.5642, 0.03);
  EXPECT_NEAR(expected_maximum(4), 1.0294, 0.02);
  EXPECT_NEAR(expected_maximum(16), 1.7660, 0.02);
  EXPECT_NEAR(expected_maximum(100), 2.5076, 0.02);
}

}  // namespace
}  // namespace cox::pace
