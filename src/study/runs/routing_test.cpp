// SPDX-License-Identifier: Apache-2.0
#include "study/runs/routing.hpp"

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

TEST(Exchange, EveryTokenArrivesAtDifferentExperts) {
  const RandomStream stream(1, 0);
  const Exchange e = exchange_tokens(zipf_shares(8, 2), 1000, 8, 4, stream, 0);
  // All of eight experts: each has every token, each rank sends a quarter of what it has to each.
  for (const std::int64_t l : e.loads) EXPECT_EQ(l, 1000);
  for (const std::int64_t n : e.sent) EXPECT_EQ(n, 250 * 2);
  EXPECT_EQ(busiest_nic(e), 3 * 500);
  EXPECT_EQ(load_variation(e.loads), 0);
}

TEST(Exchange, OneChoiceIsTopOne) {
  const RandomStream stream(1, 0);
  const std::vector<double> shares = zipf_shares(16, 1);
  EXPECT_EQ(exchange_tokens(shares, 5000, 1, 4, stream, 3).loads, route_tokens(shares, 5000, stream, 3));
}

// Two of three without replacement, shares p: expert i is missed with the chance that the other two come in either order.
TEST(Exchange, SecondChoicesAreDrawnFromWhatIsLeft) {
  const std::vector<double> p = {0.5, 0.3, 0.2};
  constexpr int kTokens = 200'000;
  const Exchange e = exchange_tokens(p, kTokens, 2, 1, RandomStream(1, 0), 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const double a = p[(i + 1) % 3];
    const double b = p[(i + 2) % 3];
    const double missed = a * b / (1 - a) + b * a / (1 - b);
    EXPECT_NEAR(static_cast<double>(e.loads[i]) / kTokens, 1 - missed, 0.004);
  }
  EXPECT_EQ(busiest_nic(e), 0);  // one rank sends to nobody
}

TEST(Exchange, VariationOfUniformLoadsIsThatOfCounts) {
  const Exchange e = exchange_tokens(uniform_shares(64), std::int64_t{64} * 400, 1, 8, RandomStream(1, 0), 0);
  EXPECT_NEAR(load_variation(e.loads), 1 / std::sqrt(400.0), 0.02);
}

}  // namespace
}  // namespace cox::study
