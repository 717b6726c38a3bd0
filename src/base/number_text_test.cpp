// SPDX-License-Identifier: Apache-2.0
#include "cox/base/number_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace cox {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Percent, IsWholeFromTenOnAndHasTenthsBelow) {
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(percent(0.431), "43 %");
  EXPECT_EQ(percent(0.1), "10 %");
  EXPECT_EQ(percent(0.0431), "4.3 %");
  EXPECT_EQ(percent(0.001), "0.1 %");
  EXPECT_EQ(percent(125.59), "12559 %");
  EXPECT_EQ(percent(0.9949), "99 %");
  EXPECT_EQ(percent(0.997), "99.7 %");
  EXPECT_EQ(percent(0.99951), "over 99.9 %");
  EXPECT_EQ(percent(-0.25), "-25 %");
  EXPECT_EQ(percent(-0.025), "-2.5 %");
}

TEST(Percent, SaysWhatWouldVanish) {
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(-0.0), "0 %");
  EXPECT_EQ(percent(0.0009), "under 0.1 %");
  EXPECT_EQ(percent(-0.0009), "about 0 %");
}

TEST(Percent, IsNoNumberWhereThereIsNone) {
  EXPECT_EQ(percent(kNaN), "not known");
  EXPECT_EQ(percent(kInfinity), "not known");
  EXPECT_EQ(percent_change(kNaN), "not known");
  EXPECT_EQ(percent_change(-kInfinity), "not known");
}

TEST(Percent, IsWholeWhereAskedFor) {
  EXPECT_EQ(percent(0.043, PartDigits::Whole), "4 %");
  EXPECT_EQ(percent(0.0004, PartDigits::Whole), "0 %");
}

TEST(PercentChange, HasTenthsAndASign) {
  EXPECT_EQ(percent_change(0.186), "+18.6 %");
  EXPECT_EQ(percent_change(-0.004), "-0.4 %");
  EXPECT_EQ(percent_change(-0.123, ChangeSign::InWords), "12.3 %");
}

TEST(Grouped, PutsABlankBeforeEveryThirdDigit) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(-12345), "-12 345");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(1234567), "1 234 567");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9 223 372 036 854 775 808");
}

TEST(Counted, AgreesWithItsNumber) {
  EXPECT_EQ(counted(1, "row is", "rows are"), "1 row is");
  EXPECT_EQ(counted(0, "row is", "rows are"), "0 rows are");
  EXPECT_EQ(counted(12, "row is", "rows are"), "12 rows are");
  EXPECT_EQ(counted(-1, "row", "rows"), "-1 rows");
  EXPECT_EQ(counted(12345, "row", "rows"), "12345 rows");
}

}  // namespace
}  // namespace cox
