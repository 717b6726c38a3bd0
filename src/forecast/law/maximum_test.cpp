// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/maximum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cox/base/random.hpp"

namespace cox::forecast {
namespace {

constexpr Seconds operator""_s(long double v) {
  return Seconds{static_cast<double>(v)};
}
constexpr std::int64_t kMillion = 1'048'576;

double mean_of(const Law& own, std::int64_t ranks) {
  return Maximum({.own = own}, ranks).mean().count();
}

/// The job of the table below: logistic body, 2 % tail, nodes of 8 and switches of 32 nodes with parts of their own.
Nest job() {
  const Law body = Law::logistic(100.0_s, 1.0_s);
  std::vector<Seconds> values;
  values.reserve(400);
  for (int i = 0; i < 400; ++i) values.push_back(body.quantile(std::max(0.98 * i / 399, 2e-6)));
  return {.own = Law::quantiles(values, {values.back(), 1.5_s, 0.2, 0.02}),
          .node = Law::exponential(2.0_s),
          .group = Law::lognormal(Seconds{3 * std::exp(0.125)}, std::sqrt(std::exp(0.25) - 1)),
          .ranks_per_node = 8,
          .nodes_per_group = 32};
}

TEST(Maximum, OfNormalDrawsIsAsTablesHaveIt) {
  const Law z = Law::normal(0.0_s, 1.0_s);
  const std::vector<std::pair<std::int64_t, double>> table = {
      {2, 0.564190}, {8, 1.423600}, {64, 2.343733}, {4096, 3.626082}, {kMillion, 4.872294}};
  for (const auto& [ranks, mean] : table) EXPECT_NEAR(mean_of(z, ranks), mean, 2e-6) << ranks;
  EXPECT_NEAR(Maximum({.own = z}, 64).deviation().count(), 0.45109, 1e-4);
  EXPECT_NEAR(Maximum({.own = z}, 4096).deviation().count(), 0.32013, 1e-4);
  const Maximum step({.own = Law::normal(100.0_s, 5.0_s)}, 4096);
  EXPECT_NEAR(step.deviation() / step.mean(), 0.013550, 2e-6);  // falls from 0.020189 at 64
}

TEST(Maximum, OfExponentialDrawsIsTheHarmonicNumber) {
  const Law own = Law::exponential(1.0_s);
  EXPECT_NEAR(mean_of(own, 64), 4.743891, 2e-6);
  EXPECT_NEAR(mean_of(own, 4096), 8.895104, 2e-6);
  EXPECT_NEAR(mean_of(own, kMillion), 14.440160, 2e-6);
  EXPECT_NEAR(Maximum({.own = own}, 64).deviation().count(), 1.276491, 1e-4);
  EXPECT_NEAR(Maximum({.own = own}, 64).growth().count() / 64, 0.0155036, 1e-6);  // psi'(65)
}

TEST(Maximum, OfHeavyTails) {
  EXPECT_NEAR(mean_of(Law::pareto(1.0_s, 2.2), 64), 10.8082, 1e-3);
  EXPECT_NEAR(mean_of(Law::pareto(1.0_s, 2.2), 4096), 71.4357, 1e-3);
  EXPECT_NEAR(mean_of(Law::pareto(1.0_s, 1.5), 256) / 3, 36.0183, 5e-3);
  const std::vector<Seconds> body = {100.0_s, 110.0_s};
  const std::vector<std::pair<double, double>> table = {{0.2, 169.3827}, {0, 139.4969}, {-0.2, 127.082}};
  for (const auto& [shape, mean] : table) {
    EXPECT_NEAR(mean_of(Law::quantiles(body, {110.0_s, 5.0_s, shape, 0.05}), 4096), mean, 1e-3) << shape;
  }
  const Maximum none({.own = Law::pareto(1.0_s, 0.9)}, 64);
  EXPECT_TRUE(std::isinf(none.mean().count()));
  EXPECT_NEAR(none.quantile(0.5).count(), std::pow(1 - std::pow(0.5, 1.0 / 64), -1 / 0.9), 0.02);
}

TEST(Maximum, OfRareTailsGoesToThatOfTheBody) {
  const std::vector<Seconds> body = {100.0_s, 110.0_s};
  const double alone = mean_of(Law::quantiles(body), 64);
  EXPECT_NEAR(alone, 100 + 10 * 64.0 / 65, 1e-4);
  EXPECT_NEAR(mean_of(Law::quantiles(body, {110.0_s, 5.0_s, 0.2, 1e-9}), 64), alone, 1e-4);
  EXPECT_NEAR(mean_of(Law::detour(1.0_s, 1e-4), 8192), 0.559234, 1e-6);
}

TEST(Maximum, OfNodesIsBetweenAllAloneAndAllTogether) {
  const Law one = Law::exponential(1.0_s);
  const Nest nodes = {.own = one, .node = one, .ranks_per_node = 8};
  EXPECT_NEAR(Maximum(nodes, 64).mean().count(), 6.29995, 1e-5);
  EXPECT_NEAR(Maximum({.own = one, .common = one}, 64).mean().count(), 4.743891 + 1, 1e-4);
  // As one law of a rank: the sum of two exponentials, which is a gamma law of shape 2.
  EXPECT_NEAR(mean_of(Law::shifted_gamma(2.0_s, Seconds{std::sqrt(2.0)}, std::sqrt(2.0)), 64), 6.77908, 1e-4);
}

TEST(Maximum, OfWhatAllShareDoesNotDependOnTheirNumber) {
  const Nest nest = {.own = Law::constant(2.0_s), .common = Law::exponential(1.0_s)};
  for (const std::int64_t ranks : {std::int64_t{1}, std::int64_t{64}, kMillion}) {
    EXPECT_NEAR(Maximum(nest, ranks).mean().count(), 3, 1e-4);
    EXPECT_NEAR(Maximum(nest, ranks).growth().count(), 0, 1e-12);
  }
}

TEST(Maximum, OfOneRankIsItsOwnLaw) {
  const Maximum one(job(), 1);
  EXPECT_NEAR(one.mean().count(), (job().own.mean() + job().node.mean() + job().group.mean()).count(), 2e-3);
  EXPECT_NEAR(Maximum({.own = Law::normal(3.0_s, 1.0_s)}, 1).quantile(0.99).count(), 3 + 2.326348, 1e-4);
}

TEST(Maximum, OfConstantsIsConstant) {
  const Maximum still({.own = Law::constant(3.0_s), .ranks_per_node = 8, .nodes_per_group = 4}, 1000);
  EXPECT_EQ(still.mean(), 3.0_s);
  EXPECT_EQ(still.deviation(), 0.0_s);
  EXPECT_EQ(still.quantile(0.999), 3.0_s);
  EXPECT_EQ(still.growth(), 0.0_s);
  const Maximum nodes({.own = Law::constant(3.0_s), .node = Law::exponential(1.0_s), .ranks_per_node = 8},
                      512);
  EXPECT_NEAR(nodes.mean().count(), 3 + 4.743891, 1e-4);
}

/// Mean, p50, p99 and p999 by 4,096 points and 128 of each shared part.
struct Row {
  std::int64_t ranks;
  double mean, p50, p99, p999;
};

TEST(Maximum, OfRanksThatHardlyDifferIsThatOfTheirNodes) {
  std::vector<Seconds> body(50, Seconds{1});
  for (const double spread : {0.0, 1e-15, 1e-9}) {
    body.back() = Seconds{1 + spread};
    const Nest nest{.own = Law::quantiles(body),
                    .node = Law::normal(Seconds{0}, Seconds{0.1}),
                    .ranks_per_node = 8,
                    .rank = Law::normal(Seconds{0}, Seconds{0})};
    EXPECT_NEAR(Maximum(nest, 64).mean().count(), 1 + 0.1 * 1.423600, 2e-4) << spread;
    const Nest alike{.own = Law::quantiles(body), .node = Law::quantiles(body), .ranks_per_node = 8};
    EXPECT_NEAR(Maximum(alike, 64).mean().count(), 2, 1e-6) << spread;
  }
}

TEST(Maximum, OfSwitchesOfNodesIsAsComputedElsewhere) {
  for (const Row& row :
       {Row{256, 116.015, 115.301, 129.643, 143.908}, Row{4096, 125.256, 123.886, 147.848, 174.200},
        Row{65536, 139.575, 136.751, 181.195, 227.443}, Row{kMillion, 166.126, 161.285, 239.666, 320.341}}) {
    const Maximum slowest(job(), row.ranks);
    EXPECT_NEAR(slowest.mean().count(), row.mean, 0.002) << row.ranks;
    EXPECT_NEAR(slowest.quantile(0.5).count(), row.p50, 0.003) << row.ranks;
    EXPECT_NEAR(slowest.quantile(0.99).count(), row.p99, 0.003) << row.ranks;
    EXPECT_NEAR(slowest.quantile(0.999).count(), row.p999, 0.02) << row.ranks;
    EXPECT_NEAR(slowest.above(slowest.quantile(0.99)), 0.01, 1e-9);
  }
}

TEST(Maximum, TheDefaultQuadratureIsCloseToAMuchFinerOne) {
  const auto excess_error = [](const Nest& nest, std::int64_t ranks) {
    const double one = (nest.own.mean() + nest.node.mean() + nest.group.mean() + nest.common.mean()).count();
    const double fine = Maximum(nest, ranks, {.points = 2048, .shared_points = 96}).mean().count();
    return std::abs(Maximum(nest, ranks).mean().count() - fine) / (fine - one);
  };
  // What is shared from much narrower to much wider than what is not, light and skewed; sizes that fill nothing.
  for (const double width : {0.01, 0.1, 0.3, 1.0, 3.0, 30.0}) {
    for (const std::int64_t ranks : {60, 5000}) {
      const Law normal = Law::normal(100.0_s, 1.0_s);
      EXPECT_LT(
          excess_error({.own = normal, .node = Law::exponential(Seconds{width}), .ranks_per_node = 8}, ranks),
          6e-4)
          << width << ' ' << ranks;
      EXPECT_LT(
          excess_error({.own = job().own, .node = Law::normal(0.0_s, Seconds{width}), .ranks_per_node = 8},
                       ranks),
          6e-4)
          << width << ' ' << ranks;
      EXPECT_LT(excess_error({.own = normal,
                              .node = Law::shifted_gamma(0.0_s, Seconds{width}, 3),
                              .common = Law::detour(5.0_s, 0.1),
                              .ranks_per_node = 4},
                             ranks),
                6e-4)
          << width << ' ' << ranks;
    }
  }
}

TEST(Maximum, APartlyFilledNodeAndSwitchIsDrawnToo) {
  Nest nest = job();
  nest.nodes_per_group = 4;
  constexpr std::int64_t kRanks = 75;  // two switches, one node, and 3 ranks
  constexpr int kSteps = 40'000;
  const RandomStream random(7, 1);
  double sum = 0;
  double square = 0;
  for (int step = 0; step < kSteps; ++step) {
    const auto draw = [&](const Law& law, std::uint64_t index) {
      return law.quantile(random.uniform(static_cast<std::uint64_t>(step), index)).count();
    };
    double slowest = 0;
    for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
      const double x =
          draw(nest.own, rank) + draw(nest.node, 1000 + rank / 8) + draw(nest.group, 2000 + rank / 32);
      slowest = std::max(slowest, x);
    }
    sum += slowest;
    square += slowest * slowest;
  }
  const double mean = sum / kSteps;
  const double error = std::sqrt((square / kSteps - mean * mean) / kSteps);
  const Maximum slowest(nest, kRanks);
  EXPECT_NEAR(slowest.mean().count(), mean, 4 * error);
  EXPECT_NEAR(slowest.deviation().count(), error * std::sqrt(kSteps), 0.06 * slowest.deviation().count());
}

TEST(Maximum, GrowsWithTheNumberByItsGrowth) {
  const double up = Maximum(job(), std::int64_t{8} * 32 * 18).mean().count();
  const double down = Maximum(job(), std::int64_t{8} * 32 * 14).mean().count();
  EXPECT_NEAR(Maximum(job(), 4096).growth().count(), (up - down) / std::log(18.0 / 14), 5e-3);
}

TEST(Maximum, AnotherUnitOfTimeChangesNoRatio) {
  Nest milli = job();
  milli.own = milli.own.times(1e-3);
  milli.node = milli.node.times(1e-3);
  milli.group = milli.group.times(1e-3);
  const Maximum a(job(), 5000);
  const Maximum b(milli, 5000);
  EXPECT_NEAR(b.mean() / a.mean(), 1e-3, 1e-14);
  EXPECT_NEAR(b.quantile(0.999) / a.quantile(0.999), 1e-3, 1e-13);
  EXPECT_NEAR(b.growth() / a.growth(), 1e-3, 1e-13);
}

TEST(Maximum, OfSeveralCrowdsIsOfTheirProduct) {
  const Law z = Law::normal(0.0_s, 1.0_s);
  const Maximum both({{.nest = {.own = z}, .ranks = 24}, {.nest = {.own = z}, .ranks = 40}});
  EXPECT_NEAR(both.mean().count(), 2.343733, 1e-4);
  const Maximum far({{.nest = {.own = z}, .ranks = 24}, {.nest = {.own = z.plus(20.0_s)}, .ranks = 1}});
  EXPECT_NEAR(far.mean().count(), 20, 1e-3);
  // Two exponentials of mean 1 and 1/2: 1 + 1/2 - 1/3.
  const Law e = Law::exponential(1.0_s);
  EXPECT_NEAR(
      Maximum({{.nest = {.own = e}, .ranks = 1}, {.nest = {.own = e.times(0.5)}, .ranks = 1}}).mean().count(),
      1.166667, 1e-4);
}

// Two exponentials beside n of half their mean: E max = sum over the two of the parts of their distribution function, by its derivative.
TEST(Maximum, GrowthIsOfThoseThatAreNotFixed) {
  const Law e = Law::exponential(1.0_s);
  const auto beside = [&](std::int64_t n) {
    return Maximum(
        {{.nest = {.own = e}, .ranks = 2, .fixed = true}, {.nest = {.own = e.times(0.5)}, .ranks = n}});
  };
  for (const std::int64_t n : {4, 64, 4'096}) {
    const Seconds chord = beside(n + n / 4).mean() - beside(n - n / 4).mean();
    EXPECT_NEAR(beside(n).growth().count(), chord.count() / std::log(5.0 / 3), 4e-3) << n;
  }
  EXPECT_LT(
      beside(4).growth(),
      0.5 *
          Maximum({{.nest = {.own = e}, .ranks = 2}, {.nest = {.own = e.times(0.5)}, .ranks = 4}}).growth());
  // Others that do not vary, and others that end before them.
  const Maximum alone({{.nest = {.own = e}, .ranks = 2, .fixed = true},
                       {.nest = {.own = Law::constant(0.1_s)}, .ranks = 62}});
  EXPECT_NEAR(alone.growth().count(), 0, 1e-6);
  EXPECT_EQ(Maximum({{.nest = {.own = e}, .ranks = 2, .fixed = true}}).growth(), 0.0_s);
}

TEST(Maximum, ASecondPartOfARankOrANodeIsAdded) {
  const Nest two = {.own = Law::normal(0.0_s, 3.0_s), .rank = Law::normal(0.0_s, 4.0_s)};
  EXPECT_NEAR(Maximum(two, 64).mean().count(), 5 * 2.343733, 1e-3);
  const Nest slow = {.own = Law::constant(1.0_s), .ranks_per_node = 8, .slow_node = Law::detour(2.0_s, 0.01)};
  EXPECT_NEAR(Maximum(slow, 512).mean().count(), 1 + 2 * (1 - std::pow(0.99, 64)), 1e-4);
}

TEST(Maximum, OneRunIsOffTheMeanByWhatLasts) {
  // Normal, total deviation 1, share that lasts; computed on a grid of 701 points and checked by simulation.
  const std::vector<std::array<double, 3>> table = {
      {64, 0.5, 0.171}, {64, 0.2, 0.074}, {64, 0.8, 0.310}, {4096, 0.5, 0.058}, {65536, 0.5, 0.031}};
  for (const auto& [ranks, share, deviation] : table) {
    const Nest fresh = {.own = Law::normal(0.0_s, Seconds{std::sqrt(1 - share)})};
    const Law lasting = Law::normal(0.0_s, Seconds{std::sqrt(share)});
    EXPECT_NEAR(between_runs(fresh, 1, lasting, static_cast<std::int64_t>(ranks)).count(), deviation, 0.002)
        << ranks << ' ' << share;
  }
  EXPECT_EQ(between_runs({.own = Law::normal(0.0_s, 1.0_s)}, 1, Law(), 64).count(), 0);
}

/// The mean of the slowest of n by the sum over a fine grid.
double slowest_of(const Law& law, double n) {
  double mean = -10;
  constexpr double kStep = 1e-3;
  for (double x = -10 + kStep / 2; x < 60; x += kStep)
    mean += kStep * -std::expm1(n * std::log1p(-law.above(Seconds{x})));
  return mean;
}

TEST(Maximum, TwoModesGiveTheMeanThatTheirSharesSay) {
  const Law law =
      Law::modes(Law::normal(Seconds{0}, Seconds{1}), Law::exponential(Seconds{1}).plus(Seconds{30}), 5e-4);
  for (const int n : {1, 64, 512, 2000, 4096, 30'000})
    EXPECT_NEAR(Maximum({.own = law}, n).mean().count(), slowest_of(law, n), 0.03) << n;
}

TEST(Maximum, TwoModesUnderWhatLastsAreTheSameWithinItsWidth) {
  const Law law =
      Law::modes(Law::normal(Seconds{0}, Seconds{1}), Law::exponential(Seconds{1}).plus(Seconds{30}), 5e-4);
  const Law wider = Law::modes(Law::normal(Seconds{0}, Seconds{1.02}),
                               Law::exponential(Seconds{1}).plus(Seconds{30}), 5e-4);
  for (const int n : {64, 512, 4096})
    EXPECT_NEAR(Maximum({.own = law, .rank = Law::normal(Seconds{}, Seconds{0.2})}, n).mean().count(),
                slowest_of(wider, n), 0.15)
        << n;
}

}  // namespace
}  // namespace cox::forecast
