// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/spread.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cox::simulate {
namespace {

// Values of tables: Abramowitz, Stegun 1964, table 26.10.
TEST(Spread, StudentsQuantileAgreesWithTables) {
  EXPECT_NEAR(student_t_95(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t_95(2), 4.303, 1e-3);
  EXPECT_NEAR(student_t_95(3), 3.182, 1e-3);
  EXPECT_NEAR(student_t_95(4), 2.776, 1e-3);
  EXPECT_NEAR(student_t_95(9), 2.262, 1e-3);
  EXPECT_NEAR(student_t_95(29), 2.045, 1e-3);
  EXPECT_NEAR(student_t_95(60), 2.000298, 2e-6);
  EXPECT_NEAR(student_t_95(999), 1.962, 1e-3);
}

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
