// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/chain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/base/random.hpp"

#include "forecast/law/maximum.hpp"
#include "forecast/law/special.hpp"

namespace cox::forecast {
namespace {

/// The slowest counts `more` times more.
Chain chain_of(std::vector<Law> units, double more) {
  const std::size_t n = units.size();
  Chain chain{.units = std::move(units), .weights = std::vector(n, std::vector<double>(n, 1.0))};
  for (std::size_t i = 0; i < n; ++i) chain.weights[i][i] += more;
  return chain;
}
Law sum_of(const Law& unit, int n) {
  return law_of(chain_of(std::vector<Law>(static_cast<std::size_t>(n), unit), 0));
}
Seconds slowest(const Law& law, std::int64_t of) {
  return Maximum({.own = law}, of).mean();
}

TEST(Chain, ASumOfExponentialsIsErlangs) {
  for (const int n : {2, 3, 8, 96}) {
    const Law sum = sum_of(Law::exponential(Seconds{1}), n);
    const double sd = std::sqrt(n);
    EXPECT_NEAR(sum.mean().count(), n, 0.005 * sd);
    EXPECT_NEAR(sum.deviation().count(), sd, 0.001 * sd);
    for (const double p : {0.9, 0.5, 0.1, 1e-2})
      EXPECT_NEAR(sum.upper_quantile(p).count(), gamma_upper_quantile(n, p), 0.01 * sd) << n << " at " << p;
    EXPECT_NEAR(sum.upper_quantile(1e-6).count() / gamma_upper_quantile(n, 1e-6), 1, 0.02) << n;
  }
}

TEST(Chain, TheSlowestOfManyErlangs) {
  for (const int n : {3, 8}) {
    const double mean = n;
    const Law erlang = Law::shifted_gamma(Seconds{mean}, Seconds{std::sqrt(mean)}, 2 / std::sqrt(mean));
    const Law sum = sum_of(Law::exponential(Seconds{1}), n);
    const auto excess = [mean](const Law& law, std::int64_t of) { return slowest(law, of).count() - mean; };
    EXPECT_NEAR(excess(sum, 8) / excess(erlang, 8), 1, 0.002);
    EXPECT_NEAR(excess(sum, 512) / excess(erlang, 512), 1, 0.01);
    EXPECT_NEAR(excess(sum, 65'536) / excess(erlang, 65'536), 1, 0.02);
  }
}

TEST(Chain, GroupsOfLayersAreAsTheFourierTransformHasThem) {
  // 256 groups, of each the sum of 96 layers, each the slowest of 8: docs/concepts/forecasting.md.
  const auto groups = [](const Law& layer) {
    return slowest(sum_of(Maximum({.own = layer}, 8).law(), 96), 256).count();
  };
  EXPECT_NEAR(groups(Law::lognormal(Seconds{1}, 0.1)), 112.32, 0.01);
  EXPECT_NEAR(groups(Law::exponential(Seconds{0.1}).plus(Seconds{0.9})), 116.10, 0.02);
}

TEST(Chain, TheSlowestUnitCountsMore) {
  const Law heavy = Law::pareto(Seconds{0.5}, 2.5).plus(Seconds{9});
  const std::vector<std::vector<Law>> cases = {
      std::vector<Law>(4, Law::normal(Seconds{10}, Seconds{0.5})),
      {Law::exponential(Seconds{1}).plus(Seconds{9}), Law::normal(Seconds{10}, Seconds{1}), heavy},
      {heavy, heavy}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Law law = law_of(chain_of(cases[i], 7));
    constexpr int kDraws = 20'000;
    const RandomStream random(1, 1);
    std::vector<double> drawn;
    double mean = 0;
    double square = 0;
    for (std::uint64_t k = 0; k < kDraws; ++k) {
      double sum = 0;
      double most = 0;
      for (std::size_t j = 0; j < cases[i].size(); ++j) {
        const double x = cases[i][j].quantile(random.uniform(k, j)).count();
        sum += x;
        most = std::max(most, x);
      }
      drawn.push_back(sum + 7 * most);
      mean += drawn.back() / kDraws;
      square += drawn.back() * drawn.back() / kDraws;
    }
    const double error = std::sqrt((square - mean * mean) / kDraws);
    EXPECT_NEAR(law.mean().count(), mean, 3 * error) << "case " << i;
    std::sort(drawn.begin(), drawn.end());
    for (const double p : {0.1, 0.5, 0.9, 0.99}) {
      const double below = law.below(Seconds{drawn[static_cast<std::size_t>(p * kDraws)]});
      EXPECT_NEAR(below, p, 3 * std::sqrt(p * (1 - p) / kDraws)) << "case " << i;
    }
  }
}

TEST(Chain, OfConstantsAndOfDetours) {
  const Law two = Law::constant(Seconds{2});
  EXPECT_DOUBLE_EQ(law_of(chain_of({two, Law::constant(Seconds{1})}, 3)).mean().count(), 9);
  EXPECT_DOUBLE_EQ(law_of(chain_of({two}, 3)).mean().count(), 8);
  // 2 + Bernoulli(0.1) each: 4, 5 or 6 with the slowest counted once more 6, 8 or 9.
  const Law rare = Law::detour(Seconds{1}, 0.1).plus(Seconds{2});
  EXPECT_NEAR(law_of(chain_of({rare, rare}, 1)).mean().count(), 0.81 * 6 + 0.18 * 8 + 0.01 * 9, 0.05);
}

TEST(Chain, WithoutAMeanHasNone) {
  const Law none = Law::pareto(Seconds{1}, 0.9);
  EXPECT_FALSE(std::isfinite(sum_of(none, 3).mean().count()));
  EXPECT_TRUE(std::isfinite(sum_of(none, 3).quantile(0.5).count()));
}

}  // namespace
}  // namespace cox::forecast
