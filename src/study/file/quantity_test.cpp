// SPDX-License-Identifier: Apache-2.0
#include "cox/study/quantity.hpp"

#include <gtest/gtest.h>

namespace cox::study {
namespace {

double base_of(std::string_view text) {
  const auto q = parse_quantity(text);
  EXPECT_TRUE(q) << text;
  return q ? q->value.in_base_unit() : -1;
}

TEST(Quantity, ReadsEachKindInItsBaseUnit) {
  EXPECT_DOUBLE_EQ(base_of("153.42ms"), 0.15342);
  EXPECT_DOUBLE_EQ(base_of("45.2%"), 0.452);
  EXPECT_DOUBLE_EQ(base_of("115.4x"), 115.4);
  EXPECT_DOUBLE_EQ(base_of("200Gbps"), 25e9);
  EXPECT_DOUBLE_EQ(base_of("17.6MB"), 17'600'000);
  EXPECT_DOUBLE_EQ(base_of("124.8GFLOP"), 124.8e9);
  EXPECT_DOUBLE_EQ(base_of("312TFLOP/s"), 312e12);
  EXPECT_DOUBLE_EQ(base_of("20ns/B"), 20e-9);
  EXPECT_DOUBLE_EQ(base_of("200samples/s"), 200);
  EXPECT_DOUBLE_EQ(base_of("3.3d"), 3.3 * 86'400);
}

TEST(Quantity, KnowsWhatTheLastDigitIsWorth) {
  EXPECT_DOUBLE_EQ(parse_quantity("153.42ms")->last_digit.in_base_unit(), 1e-5);
  EXPECT_DOUBLE_EQ(parse_quantity("45.2%")->last_digit.in_base_unit(), 0.001);
  EXPECT_DOUBLE_EQ(parse_quantity("28ms")->last_digit.in_base_unit(), 1e-3);
  EXPECT_DOUBLE_EQ(parse_quantity("125.4MB")->last_digit.in_base_unit(), 1e5);
}

TEST(Quantity, RefusesWhatHasNoMeaning) {
  for (const char* text :
       {"", "ms", "12parsecs", "-3ms", "1e3ms", "1.ms", "1.2.3ms", "1.2345678901ms", "12 MBs"})
    EXPECT_FALSE(parse_quantity(text)) << text;
}

TEST(Quantity, PrintsFourDigitsInTheUnitThatReadsBest) {
  EXPECT_EQ(to_string(Quantity::of(Seconds{0.18588})), "185.9 ms");
  EXPECT_EQ(to_string(Quantity::of(Seconds{500'000})), "5.787 d");
  EXPECT_EQ(to_string(Quantity::of(Bytes{17'633'000})), "17.63 MB");
  EXPECT_EQ(to_string(Quantity::ratio(0.6725)), "67.25 %");
  EXPECT_EQ(to_string(Quantity::ratio(16.0627)), "16.06x");
  EXPECT_EQ(to_string(Quantity::count(512)), "512");
  EXPECT_EQ(to_string(Quantity::of(Seconds{0})), "0 s");
}

TEST(Quantity, PrintsLikeWhatItStandsBeside) {
  EXPECT_EQ(text_like(Quantity::of(Seconds{0.185881}), *parse_quantity("153.42ms")), "185.88 ms");
  EXPECT_EQ(text_like(Quantity::of(Seconds{5.12e-6}), *parse_quantity("512.00ms")), "0.00512 ms");
  EXPECT_EQ(text_like(Quantity::ratio(2.2137), *parse_quantity("15%")), "221 %");
  EXPECT_EQ(text_like(Quantity::ratio(1.0675), *parse_quantity("4.4x")), "1.07x");
}

}  // namespace
}  // namespace cox::study
