// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "forecast/levers/levers.hpp"

namespace cox::forecast {
namespace {

Exceedance exponential() {
  return {.above = [](Seconds x) { return x.count() > 0 ? std::exp(-x.count()) : 1.0; },
          .least = {},
          .most = Seconds{40}};
}

TEST(Order, TheSlowestFewAreNotWaitedFor) {
  // H_68 - H_4 and H_64.
  EXPECT_NEAR(mean_without_slowest(exponential(), 64, 4).count(), 2.720725, 2e-5);
  EXPECT_NEAR(mean_without_slowest(exponential(), 64, 0).count(), 4.743891, 2e-5);
  EXPECT_NEAR(mean_without_slowest(exponential(), 1, 0).count(), 1, 1e-4);
}

TEST(Order, AConstantIsAConstant) {
  const Exceedance constant{
      .above = [](Seconds x) { return x < Seconds{3} ? 1.0 : 0.0; }, .least = Seconds{2}, .most = Seconds{4}};
  EXPECT_NEAR(mean_without_slowest(constant, 100, 3).count(), 3, 0.001);
}

}  // namespace
}  // namespace cox::forecast
