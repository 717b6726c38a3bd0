// SPDX-License-Identifier: Apache-2.0
#include "cox/base/units.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

#include "cox/base/ids.hpp"

namespace cox {
namespace {

using namespace cox::literals;

TEST(Units, LiteralsMeanWhatTheySay) {
  EXPECT_EQ((25_MB).count(), 25'000'000);
  EXPECT_EQ((25_MiB).count(), 26'214'400);
  EXPECT_EQ((1_GiB).count(), std::int64_t{1} << 30);
  EXPECT_EQ(Duration{1us}.count(), 1'000'000);
  EXPECT_EQ((20_ps).count(), 20);
}

TEST(Units, SizeRateAndTimeFormATriangle) {
  const Bandwidth line = Bandwidth::gbit_per_s(400);
  EXPECT_EQ(line, Bandwidth::gbyte_per_s(50));
  EXPECT_EQ(1_B / line, 20_ps);
  EXPECT_EQ(line * Duration{1us}, 50'000_B);
  EXPECT_EQ(Duration{1us} * line, 50'000_B);
  EXPECT_DOUBLE_EQ((50'000_B / Duration{1us}).in_bytes_per_s(), 50e9);
}

TEST(Units, TimePerByteKeepsWhatNoIntegerHolds) {
  const TimePerByte fast = Bandwidth::gbyte_per_s(900).time_per_byte();
  EXPECT_NEAR(fast.in_seconds_per_byte(), 1.1111e-12, 1e-16);
  EXPECT_EQ(900_GB * fast, Duration{1s});
  EXPECT_EQ(fast * 900_GB, Duration{1s});
}

TEST(Units, DurationFromSecondsRoundsToTheNearestPicosecond) {
  EXPECT_EQ(duration_from_seconds(1.0), Duration{1s});
  EXPECT_EQ(duration_from_seconds(-2.5e-12), -3_ps);
  EXPECT_EQ(duration_from_seconds(0.4e-12), 0_ps);
}

TEST(Units, DurationFromSecondsSaturates) {
  EXPECT_EQ(duration_from_seconds(1e7), Duration::max());
  EXPECT_EQ(duration_from_seconds(-1e7), Duration::min());
  EXPECT_EQ(duration_from_seconds(std::numeric_limits<double>::infinity()), Duration::max());
  EXPECT_EQ(duration_from_seconds(std::numeric_limits<double>::quiet_NaN()), Duration::zero());
  EXPECT_EQ(1_B / Bandwidth{}, Duration::max());
}

TEST(Units, RatiosAreNotTruncated) {
  EXPECT_DOUBLE_EQ(ratio(1_ps, 4_ps), 0.25);
  EXPECT_DOUBLE_EQ(1_B / 4_B, 0.25);
  EXPECT_DOUBLE_EQ(Bandwidth::bytes_per_s(1) / Bandwidth::bytes_per_s(4), 0.25);
}

TEST(Units, BytesAddScaleAndCompare) {
  Bytes total = 3_kB;
  total += 1_B;
  total -= 2_kB;
  EXPECT_EQ(total, 1001_B);
  EXPECT_EQ(2 * total, total * 2);
  EXPECT_EQ(total / 2, 500_B);
  EXPECT_LT(1_MB, 1_MiB);
  EXPECT_EQ((1_B - 2_B).count(), -1);
}

TEST(Ids, OrderAndHashButDoNotCalculate) {
  EXPECT_LT(Rank{1}, Rank{2});
  EXPECT_EQ(Rank{}, Rank{0});
  std::unordered_set<Rank> seen{Rank{3}, Rank{3}, Rank{4}};
  EXPECT_EQ(seen.size(), 2U);
  static_assert(!std::is_same_v<Rank, LocalRank>);
  static_assert(sizeof(Rank) == 4 && sizeof(StepId) == 8);
}

}  // namespace
}  // namespace cox
