// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise/quantile_law.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace cox::simulate {
namespace {

double value_at(const QuantileLaw& law, double u) {
  law.values({&u, 1});
  return u;
}

/// Of the largest of n. Formula: integral of Q(w^(1/n)) over w from 0 to 1.
double mean_of_largest(const QuantileLaw& law, int n) {
  constexpr int kPoints = 1'000'000;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) sum += value_at(law, std::pow((i + 0.5) / kPoints, 1.0 / n));
  return sum / kPoints;
}

TEST(QuantileLaw, IsStraightBetweenQuantilesAndParetoAboveTheLast) {
  const QuantileLaw law({-1, 0, 4}, {.probability = 0.2, .scale = 2, .shape = 0.5});
  EXPECT_NEAR(value_at(law, 1e-12), -1, 1e-9);
  EXPECT_NEAR(value_at(law, 0.2), -0.5, 1e-12);
  EXPECT_NEAR(value_at(law, 0.6), 2, 1e-12);
  EXPECT_NEAR(value_at(law, 0.8 - 1e-12), 4, 1e-9);  // continuous
  EXPECT_NEAR(value_at(law, 0.8 + 1e-12), 4, 1e-9);
  EXPECT_NEAR(value_at(law, 0.95), 4 + 2 / 0.5 * (std::pow(0.25, -0.5) - 1), 1e-9);
  EXPECT_TRUE(std::isfinite(value_at(law, 1.0)));  // what rounding makes of the largest probability
  const QuantileLaw exponential({0, 1}, {.probability = 0.5, .scale = 3, .shape = 0});
  EXPECT_NEAR(value_at(exponential, 0.9), 1 - 3 * std::log(0.2), 1e-12);
  const QuantileLaw bounded({0, 1}, {.probability = 0.5, .scale = 3, .shape = -0.5});
  EXPECT_NEAR(value_at(bounded, 1.0), 1 + 3 / 0.5, 1e-6);  // ends at u - sigma / xi
}

TEST(QuantileLaw, HasTheMeanOfItsParts) {
  for (const double shape : {-0.4, 0.0, 0.3}) {
    const QuantileLaw law({-2, -1, 0.5, 0.5, 3}, {.probability = 0.1, .scale = 2, .shape = shape});
    const double body = (-1.5 - 0.25 + 0.5 + 1.75) / 4;
    EXPECT_NEAR(law.mean(), 0.9 * body + 0.1 * (3 + 2 / (1 - shape)), 1e-12);
    EXPECT_NEAR(mean_of_largest(law, 1), law.mean(), 1e-3);
  }
  EXPECT_EQ(QuantileLaw({1, 1}, {}).mean(), 1);
}

// u = 110, p = 0.05, sigma = 5, 4,096 draws: by quadrature.
// Formula: u + (sigma / xi) (Gamma(1 - xi) (N p)^xi - 1), to 1e-5.
TEST(QuantileLaw, HasTheLargestOfManyThatItsTailSays) {
  const auto law = [](double shape) {
    return QuantileLaw({90, 100, 110}, {.probability = 0.05, .scale = 5, .shape = shape});
  };
  EXPECT_NEAR(mean_of_largest(law(0.2), 4096), 169.3827, 0.01);
  EXPECT_NEAR(mean_of_largest(law(0), 4096), 139.4969, 0.001);
  EXPECT_NEAR(mean_of_largest(law(-0.2), 4096), 127.082, 0.001);
  EXPECT_NEAR(110 + 5 / 0.2 * (std::tgamma(0.8) * std::pow(4096 * 0.05, 0.2) - 1), 169.3827, 0.01);
}

std::string message_of(const std::string& text) {
  const auto read = parse_quantiles(text, "q.txt");
  return read ? "no error" : read.error().to_string();
}

TEST(QuantileLaw, IsReadFromAFile) {
  const auto read = parse_quantiles("# residuals, in ms\n-0.5\n\n0\r\n1.25e1\n", "q.txt");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (std::vector<double>{-0.5, 0, 12.5}));
  for (const auto& [text, wanted] : {std::pair{"1\n0\n", "q.txt:2"},
                                     {"1\nx\n", "q.txt:2"},
                                     {"1\n\ninf\n", "q.txt:3"},
                                     {"1\n1e13\n", "q.txt:2"},
                                     {"1ms\n2ms\n", "q.txt:1"},
                                     {"", "0 quantiles"},
                                     {"7\n", "1 quantiles"}})
    EXPECT_NE(message_of(text).find(wanted), std::string::npos) << text << " | " << message_of(text);
}

}  // namespace
}  // namespace cox::simulate
