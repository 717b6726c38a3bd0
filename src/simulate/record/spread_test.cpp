// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/spread.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cox::simulate {
namespace {

TEST(Spread, FiveValuesByHand) {
  const std::vector<Seconds> v = {Seconds{3}, Seconds{1}, Seconds{2}, Seconds{5}, Seconds{4}};
  const ReplicaSpread s = spread_of(v);
  EXPECT_DOUBLE_EQ(s.mean.count(), 3);
  EXPECT_DOUBLE_EQ(s.p50.count(), 3);
  EXPECT_NEAR(s.half_width_95.count(), 2.776 * 1.5811388 / 2.2360680, 2e-3);
  EXPECT_EQ(s.low_95(), s.mean - s.half_width_95);
  EXPECT_EQ(s.high_95(), s.mean + s.half_width_95);
  EXPECT_EQ(s.replicas, 5);
}

TEST(Spread, OneValueHasNoWidthAndNoneHasNothing) {
  const std::vector<Seconds> one = {Seconds{7}};
  EXPECT_EQ(spread_of(one).half_width_95, Seconds{0});
  EXPECT_EQ(spread_of(one).p99, Seconds{7});
  EXPECT_EQ(spread_of({}).replicas, 0);
}

}  // namespace
}  // namespace cox::simulate
