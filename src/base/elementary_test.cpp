// SPDX-License-Identifier: Apache-2.0
#include "cox/base/elementary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cox/base/random.hpp"

#include "base/kernels/vector_kernels.hpp"

namespace cox {
namespace {

/// Distance of `got` from `want` in units of the last place of `want` as a double.
double ulps(double got, long double want) {
  const double w = std::abs(static_cast<double>(want));
  const double ulp = std::nextafter(w, std::numeric_limits<double>::infinity()) - w;
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / static_cast<long double>(ulp));
}

std::vector<double> spread_over(double low, double high, std::size_t n) {
  std::vector<double> v(n);
  RandomStream(7, 1).uniforms(0, 0, v);
  for (double& x : v) x = low + (high - low) * x;
  v.front() = low;
  v.back() = high;
  return v;
}

TEST(Elementary, ExponentialIsWithinTwoUlp) {
  double worst = 0;
  for (const auto& [low, high] : {std::pair{-708.0, 709.0}, {-1.0, 1.0}, {-1e-8, 1e-8}, {-40.0, 40.0}}) {
    const auto x = spread_over(low, high, 20000);
    auto y = x;
    exponentials(y);
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, ulps(y[i], std::exp(static_cast<long double>(x[i]))));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(exponential(0), 1.0);
  EXPECT_EQ(exponential(-1e6), exponential(-708));
}

TEST(Elementary, LogarithmIsWithinTwoUlp) {
  double worst = 0;
  for (const auto& [low, high] :
       {std::pair{0x1p-53, 1.0}, {0.5, 2.0}, {0.999999, 1.000001}, {1e-300, 1e300}, {0.7, 0.71}}) {
    const auto x = spread_over(low, high, 20000);
    auto y = x;
    logarithms(y);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] != 1) worst = std::max(worst, ulps(y[i], std::log(static_cast<long double>(x[i]))));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(logarithm(1), 0.0);
}

TEST(Elementary, NormalDistributionAgainstErfc) {
  for (double z = -8.2; z <= 8.2; z += 0.0137) {
    std::vector<double> p = {z};
    normal_probabilities(p);
    const double want = 0.5 * std::erfc(-z / std::sqrt(2.0));
    EXPECT_NEAR(p[0] / want, 1, 4e-14) << z;  // erfc(x) itself is that sensitive to the rounding of x
  }
}

TEST(Elementary, QuantileInvertsTheDistribution) {
  for (double u = 1e-15; u < 1; u = u < 0.01 ? u * 1.7 : u + 0.0037) {
    std::vector<double> z = {u};
    normal_quantiles(z);
    // residual of Phi(z) = u, turned into an error of z by the density
    const double residual = 0.5 * std::erfc(-z[0] / std::sqrt(2.0)) - u;
    const double density = std::exp(-0.5 * z[0] * z[0]) / std::sqrt(2 * 3.14159265358979323846);
    EXPECT_LT(std::abs(residual / density), 2e-14 * std::max(1.0, std::abs(z[0]))) << u;
  }
}

TEST(Elementary, GammaAndPower) {
  for (const double x : {0.3, 1.0, 1.2, 1.5, 2.0, 5.0, 20.5, 100.25, 170.0})
    EXPECT_NEAR(gamma_function(x) / std::tgamma(x), 1, 1e-13) << x;
  EXPECT_NEAR(power(2.0, 10.0) / 1024, 1, 1e-14);
  EXPECT_NEAR(power(1e-16, -2.0 / 3) / std::pow(1e-16, -2.0 / 3), 1, 1e-14);
}

TEST(Elementary, EveryInstructionSetMakesTheSameBits) {
  const auto& best = kernels::vector_kernels();
  for (const auto set : kernels::instruction_sets()) {
    const auto& k = kernels::vector_kernels(set);
    for (const std::size_t n : {1U, 2U, 3U, 7U, 8U, 9U, 255U, 256U, 257U, 5000U}) {
      const auto compare = [&](auto member, double low, double high) {
        auto a = spread_over(low, high, n);
        auto b = a;
        (best.*member)(n, a.data());
        (k.*member)(n, b.data());
        EXPECT_EQ(a, b);
      };
      using K = kernels::VectorKernels;
      compare(&K::exponentials, -708.0, 709.0);
      compare(&K::logarithms, 1e-300, 1.0);
      compare(&K::normal_quantiles, 1e-16, 1 - 1e-16);
      compare(&K::normal_probabilities, -9.0, 9.0);
    }
  }
}

}  // namespace
}  // namespace cox
