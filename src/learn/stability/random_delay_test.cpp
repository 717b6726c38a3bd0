// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "learn/stability/delay.hpp"

namespace cox::learn {
namespace {

DelayLaw geometric() {
  DelayLaw law(91);
  double p = 1;
  for (double& v : law) {
    v = p;
    p *= 7.0 / 8;
  }
  const double sum = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& v : law) v /= sum;
  return law;
}
DelayLaw uniform() {
  return DelayLaw(15, 1.0 / 15);
}
DelayLaw mostly_fresh() {
  DelayLaw law(51);
  law[0] = 0.9;
  law[50] = 0.1;
  return law;
}

// Checks 12 and 13 of the reference.
TEST(RandomDelay, EdgesOfMeanAndMeanSquare) {
  EXPECT_NEAR(mean_square_edge(geometric()), .5131, 1e-4);
  EXPECT_NEAR(mean_edge(geometric()), 30.0, 0.1);
  EXPECT_NEAR(mean_square_edge(uniform()), .2789, 1e-4);
  EXPECT_NEAR(mean_edge(uniform()), .3278, 1e-4);
  EXPECT_NEAR(mean_square_edge(mostly_fresh()), 1.8499, 1e-4);
  EXPECT_NEAR(mean_edge(mostly_fresh()), 2, 1e-3);
}

TEST(RandomDelay, OneDelayIsAConstantOne) {
  for (const std::size_t tau : {0U, 1U, 7U}) {
    DelayLaw law(tau + 1);
    law[tau] = 1;
    const double edge = stable_edge({.delay = static_cast<std::int64_t>(tau)});
    EXPECT_NEAR(mean_edge(law), edge, 1e-9);
    EXPECT_NEAR(mean_square_edge(law), edge, 1e-6);
  }
}

/// E x^2 after many updates over that of half as many, by stepping the covariances of the last x.
double stepped(const DelayLaw& law, double a) {
  const std::size_t n = law.size();
  std::vector<double> m(n * n);
  for (std::size_t i = 0; i < n; ++i) m[i * n + i] = 1;
  std::vector<double> next(n * n);
  double half = 0;
  for (int t = 0; t < 2000; ++t) {
    if (t == 1000) half = m[0];
    std::vector<double> with(n);  // E x_{t-i} x_{t-K}
    double drawn = 0;             // E x_{t-K}^2
    for (std::size_t k = 0; k < n; ++k) {
      drawn += law[k] * m[k * n + k];
      for (std::size_t i = 0; i < n; ++i) with[i] += law[k] * m[i * n + k];
    }
    for (std::size_t i = 1; i < n; ++i) {
      for (std::size_t j = 1; j < n; ++j) next[i * n + j] = m[(i - 1) * n + j - 1];
      next[i] = next[i * n] = m[i - 1] - a * with[i - 1];
    }
    next[0] = m[0] - 2 * a * with[0] + a * a * drawn;
    m.swap(next);
  }
  return m[0] / half;
}

TEST(RandomDelay, CovariancesGrowBeyondTheEdge) {
  const double edge = mean_square_edge(uniform());
  EXPECT_LT(stepped(uniform(), 0.97 * edge), 0.1);
  EXPECT_GT(stepped(uniform(), 1.03 * edge), 10);
}

// Checks 14 to 16.
TEST(RandomDelay, ExponentialWorkers) {
  const std::pair<std::int64_t, double> rows[] = {
      {1, 2}, {2, (1 + std::sqrt(17.0)) / 4}, {4, .843070}, {8, .566391}, {16, .386182}, {64, .184762}};
  for (const auto& [n, edge] : rows) EXPECT_NEAR(exponential_workers_edge(n), edge, 1e-6) << n;
  // In the mean they are a heavy ball with 1 - 1/N and a/N: 4 N - 2.
  EXPECT_NEAR(8 * stable_edge({.momentum = 1 - 1.0 / 8}), 4 * 8 - 2, 1e-9);
}

TEST(StalenessAlarm, IsRaisedFromHalfTheEdgeOfTheseAges) {
  std::vector<std::int64_t> ages(51);
  ages[0] = 900;
  ages[50] = 100;
  const StalenessAlarm calm = staleness_alarm(ages, 0.9, 1);
  EXPECT_NEAR(calm.limit, 1.8499, 1e-4);
  EXPECT_FALSE(calm.raised);
  EXPECT_TRUE(staleness_alarm(ages, 0.93, 1).raised);
  EXPECT_FALSE(staleness_alarm({}, 1, 1).raised);
  const std::vector<std::int64_t> one = {0, 10};
  EXPECT_NEAR(staleness_alarm(one, 0.06, 1, 0.9).ratio, 0.6, 1e-9);
}

}  // namespace
}  // namespace cox::learn
