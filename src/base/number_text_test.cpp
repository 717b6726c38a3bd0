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

TEST(Percent, IsWrittenWithTheDigitsThatWereSet) {
  EXPECT_EQ(percent(0.025, PartDigits::AsSet), "2.5 %");
  EXPECT_EQ(percent(0.07, PartDigits::AsSet), "7 %");
  EXPECT_EQ(percent(0.9999, PartDigits::AsSet), "99.99 %");
  EXPECT_EQ(percent_in_name(0.05), "5%");
  EXPECT_EQ(percent_in_name(0.875), "87.5%");
}

TEST(Percent, HasFourDigitsBesideWhatWasPrinted) {
  EXPECT_EQ(percent(0.075, PartDigits::Four), "7.500 %");
  EXPECT_EQ(percent(0.84837, PartDigits::Four), "84.84 %");
  EXPECT_EQ(percent(1, PartDigits::Four), "100.0 %");
  EXPECT_EQ(percent(0, PartDigits::Four), "0 %");
  EXPECT_EQ(percent(1e-9, PartDigits::Four), "1.000e-07 %");
  EXPECT_EQ(percent(kNaN, PartDigits::Four), "not known");
}

TEST(Percent, AUnitStandsOnce) {
  EXPECT_EQ(without_percent("+12.3 %"), "+12.3");
  EXPECT_EQ(without_percent("not known"), "not known");
  EXPECT_EQ(percent_change_within(0.007, 0.001, 0.013), "+0.7 [+0.1, +1.3] %");
}

TEST(PlainNumber, KeepsEveryDigitBeforeThePoint) {
  EXPECT_EQ(plain_number(0), "0");
  EXPECT_EQ(plain_number(0.5), "0.5");
  EXPECT_EQ(plain_number(1.256), "1.26");
  EXPECT_EQ(plain_number(9.996), "10");
  EXPECT_EQ(plain_number(118.84, 4), "118.8");
  EXPECT_EQ(plain_number(999.6), "1 000");
  EXPECT_EQ(plain_number(2'000'006.4), "2 000 006");
  EXPECT_EQ(plain_number(-11'041.7, 4), "-11 042");
  EXPECT_EQ(plain_number(12'345.678, 7), "12 345.68");
  EXPECT_EQ(plain_number(999'999'999'999'999), "999 999 999 999 999");
}

TEST(PlainNumber, SmallAndLongOnesKeepTheirDigits) {
  EXPECT_EQ(plain_number(0.000'05), "0.00005");
  EXPECT_EQ(plain_number(0.000'012'34), "0.0000123");
  EXPECT_EQ(plain_number(2e-7), "2.00e-07");
  EXPECT_EQ(plain_number(1.236e15), "1.24e+15");
  EXPECT_EQ(plain_number(kInfinity), "not known");
}

TEST(FourDigits, StandWithTheirZeros) {
  EXPECT_EQ(four_digits(7.5), "7.500");
  EXPECT_EQ(four_digits(12345.6), "12346");
  EXPECT_EQ(four_digits(1.2346e12), "1.235e+12");
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
