// SPDX-License-Identifier: Apache-2.0
#include "study/compute/routing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace cox::study {
namespace {

/// Mean over replicas of what `value` says about a routing.
template <class F>
double mean_of(const std::vector<double>& shares, std::int64_t tokens, int replicas, const F& value) {
  const RandomStream stream(7, 1);
  double sum = 0;
  for (int i = 0; i < replicas; ++i)
    sum += value(route_tokens(shares, tokens, stream, static_cast<std::uint64_t>(i)));
  return sum / replicas;
}

// Places: chapter-part3, C.12, "baselines to reproduce".
TEST(Routing, UniformTopOne) {
  EXPECT_NEAR(mean_of(uniform_shares(1000), 256'000, 10, imbalance), 1.21, 0.01);
  const auto drop = [](double factor) { return [=](const auto& loads) { return dropped(loads, factor); }; };
  EXPECT_NEAR(mean_of(uniform_shares(64), 4096, 200, drop(1.0)), 0.049, 0.001);
  EXPECT_NEAR(mean_of(uniform_shares(64), 4096, 200, drop(1.25)), 0.0014, 0.0004);
  EXPECT_NEAR(mean_of(uniform_shares(64), 65'536, 20, drop(1.0)), 0.012, 0.001);
  EXPECT_EQ(mean_of(uniform_shares(64), 65'536, 20, drop(1.25)), 0);
}

TEST(Routing, ZipfIsWhatItsSharesSay) {
  const std::vector<double> shares = zipf_shares(64, 1);
  EXPECT_NEAR(mean_of(shares, 65'536, 5, imbalance), 13.5, 0.1);
  EXPECT_NEAR(mean_of(shares, 65'536, 5, [](const auto& loads) { return dropped(loads, 1.25); }), 0.42,
              0.005);
}

TEST(Routing, LoadsHaveTheMomentsOfTheMultinomialLaw) {
  const RandomStream stream(3, 0);
  double square = 0;
  constexpr int kReplicas = 2000;
  for (int i = 0; i < kReplicas; ++i) {
    const auto loads = route_tokens(uniform_shares(10), 1000, stream, static_cast<std::uint64_t>(i));
    EXPECT_EQ(std::accumulate(loads.begin(), loads.end(), std::int64_t{0}), 1000);
    square += std::pow(static_cast<double>(loads[3]) - 100, 2) / kReplicas;
  }
  EXPECT_NEAR(square, 90, 4 * 90 * std::sqrt(2.0 / kReplicas));  // n p (1 - p)
}

TEST(Routing, NothingRoutedIsBalanced) {
  const std::vector<std::int64_t> none(4, 0);
  EXPECT_EQ(imbalance(none), 1);
  EXPECT_EQ(dropped(none, 1), 0);
}

}  // namespace
}  // namespace cox::study
