// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/special.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::forecast {
namespace {

TEST(Special, ExpAndLogNearOneKeepTheirDigits) {
  for (const double x : {1e-12, -3e-9, 2e-6, -1e-5, 1.1e-5, 1e-3, -0.3, 0.9, 5.0}) {
    EXPECT_NEAR(exponential_less_one(x) / std::expm1(x), 1, 1e-13) << x;
    EXPECT_NEAR(logarithm_of_one_plus(x) / std::log1p(x), 1, 1e-13) << x;
  }
}

TEST(Special, LogGammaIsThatOfTheLibrary) {
  for (const double x : {0.1, 0.5, 1.0, 2.0, 7.3, 16.0, 300.0, 1e6}) {
    EXPECT_NEAR(log_gamma(x), std::lgamma(x), 1e-12 * std::max(1.0, std::lgamma(x))) << x;
  }
}

TEST(Special, GammaLawAgainstClosedForms) {
  EXPECT_NEAR(gamma_above(1, 3) / std::exp(-3.0), 1, 1e-11);
  EXPECT_NEAR(gamma_above(1, 40) / std::exp(-40.0), 1, 1e-11);
  EXPECT_NEAR(gamma_above(3, 2), std::exp(-2.0) * (1 + 2 + 2), 1e-12);
  EXPECT_NEAR(gamma_below(0.5, 0.5), std::erf(std::sqrt(0.5)), 1e-12);
  EXPECT_NEAR(gamma_below(4, 1e-3) / (std::pow(1e-3, 4) / 24), 1, 1e-3);
}

TEST(Special, QuantilesTurnProbabilitiesAround) {
  for (const double shape : {0.25, 1.0, 3.5, 40.0, 400.0}) {
    for (const double p : {1e-12, 1e-3, 0.05, 0.5, 0.95, 0.9999}) {
      EXPECT_NEAR(gamma_above(shape, gamma_upper_quantile(shape, p)) / p, 1, 1e-8) << shape << ' ' << p;
    }
  }
  EXPECT_NEAR(chi_square_upper_quantile(7, 0.05), 14.067140, 1e-6);  // as tables have it
  EXPECT_NEAR(chi_square_upper_quantile(7, 0.95), 2.167350, 1e-6);
}

TEST(Special, BetaAndStudentAgainstClosedForms) {
  EXPECT_NEAR(beta_below(1, 60, 0.01), 1 - std::pow(0.99, 60), 1e-12);
  EXPECT_NEAR(beta_quantile(1, 8, 0.95), 1 - std::pow(0.05, 1.0 / 8),
              1e-12);  // 0 of 8 units: oracle 39, 0.3123
  EXPECT_NEAR(beta_quantile(1, 64, 0.95), 0.0457, 5e-5);
  EXPECT_NEAR(student_above(1, 3), 0.5 - std::atan(3.0) / M_PI, 1e-12);  // Cauchy
  EXPECT_NEAR(student_above(4, 2.131847), 0.05, 1e-7);
  EXPECT_NEAR(student_above(4, -2.131847), 0.95, 1e-7);
}

}  // namespace
}  // namespace cox::forecast
