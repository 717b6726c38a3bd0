// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/number_format.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "cox/base/random.hpp"

namespace cox::learn {
namespace {

/// A format by its definition: (1 + m / 2^M) 2^(e - bias), and m / 2^M 2^(1 - bias) where e = 0.
struct Definition {
  NumberFormat format;
  int exponent_bits;
  int fraction_bits;
  int bias;
  bool finite_only;  ///< only the code of all ones is no number
};
constexpr Definition kDefinitions[] = {{NumberFormat::Fp16, 5, 10, 15, false},
                                       {NumberFormat::Bf16, 8, 7, 127, false},
                                       {NumberFormat::E4m3Fn, 4, 3, 7, true},
                                       {NumberFormat::E5m2, 5, 2, 15, false}};

/// Values of the codes 0, 1, ..., up to the largest number.
std::vector<double> values_of(const Definition& d) {
  std::vector<double> values;
  const int fractions = 1 << d.fraction_bits;
  const int exponents = 1 << d.exponent_bits;
  for (int e = 0; e < exponents; ++e)
    for (int m = 0; m < fractions; ++m) {
      if (e == exponents - 1 && (!d.finite_only || m == fractions - 1)) continue;
      values.push_back(e == 0 ? std::ldexp(m, 1 - d.bias - d.fraction_bits)
                              : std::ldexp(fractions + m, e - d.bias - d.fraction_bits));
    }
  return values;
}

TEST(NumberFormat, EveryCodeStandsForItsNumber) {
  for (const Definition& d : kDefinitions) {
    const std::vector<double> values = values_of(d);
    const auto sign = static_cast<std::uint16_t>(1 << (d.exponent_bits + d.fraction_bits));
    for (std::size_t code = 0; code < values.size(); ++code) {
      const auto c = static_cast<std::uint16_t>(code);
      ASSERT_EQ(decode(d.format, c), values[code]) << name_of(d.format) << ' ' << code;
      ASSERT_EQ(encode(d.format, static_cast<float>(values[code])), c) << name_of(d.format);
      ASSERT_EQ(encode(d.format, -static_cast<float>(values[code])), c | sign) << name_of(d.format);
      ASSERT_EQ(std::signbit(decode(d.format, static_cast<std::uint16_t>(c | sign))), true);
    }
  }
}

TEST(NumberFormat, TiesGoToEvenAndTheNextFloatToItsSide) {
  for (const Definition& d : kDefinitions) {
    const std::vector<double> values = values_of(d);
    for (std::size_t code = 0; code + 1 < values.size(); ++code) {
      const auto tie = static_cast<float>((values[code] + values[code + 1]) / 2);
      if (static_cast<double>(tie) != (values[code] + values[code + 1]) / 2)
        continue;  // no float: bf16's least
      ASSERT_EQ(encode(d.format, tie), code + code % 2) << name_of(d.format) << ' ' << tie;
      ASSERT_EQ(encode(d.format, std::nextafter(tie, 0.0F)), code) << name_of(d.format) << ' ' << tie;
      ASSERT_EQ(encode(d.format, std::nextafter(tie, INFINITY)), code + 1) << name_of(d.format) << ' ' << tie;
    }
  }
}

// Check 48 of the reference.
TEST(NumberFormat, LargestAndWhereItEnds) {
  const float inf = INFINITY;
  const auto round = [](NumberFormat f, float x) { return decode(f, encode(f, x)); };
  EXPECT_EQ(round(NumberFormat::E4m3Fn, 464), 448);
  EXPECT_TRUE(std::isnan(round(NumberFormat::E4m3Fn, std::nextafter(464.0F, inf))));
  EXPECT_TRUE(std::isnan(round(NumberFormat::E4m3Fn, inf)));
  EXPECT_EQ(decode(NumberFormat::E4m3Fn, 1), 0x1p-9F);
  EXPECT_EQ(round(NumberFormat::E5m2, std::nextafter(61440.0F, 0.0F)), 57344);
  EXPECT_EQ(round(NumberFormat::E5m2, 61440), inf);
  EXPECT_EQ(decode(NumberFormat::E5m2, 1), 0x1p-16F);
  EXPECT_EQ(round(NumberFormat::Fp16, std::nextafter(65520.0F, 0.0F)), 65504);
  EXPECT_EQ(round(NumberFormat::Fp16, 65520), inf);
  EXPECT_EQ(decode(NumberFormat::Fp16, 1), 0x1p-24F);
  EXPECT_EQ(round(NumberFormat::Bf16, 3.39617753e38F), inf);
  EXPECT_LT(round(NumberFormat::Bf16, std::nextafter(3.39617753e38F, 0.0F)), inf);
  for (const Definition& d : kDefinitions) {
    EXPECT_TRUE(std::isnan(round(d.format, NAN))) << name_of(d.format);
    EXPECT_TRUE(std::isnan(round(d.format, std::bit_cast<float>(0x7f800001U)))) << name_of(d.format);
    EXPECT_EQ(round(d.format, 1e-40F) == 0, d.format != NumberFormat::Bf16);
  }
}

// Check 49: a running sum of ones.
TEST(NumberFormat, ASumOfOnesStops) {
  for (const auto& [format, stop] : {std::pair{NumberFormat::Fp16, 2048.0F}, {NumberFormat::Bf16, 256.0F}}) {
    float sum = 0;
    for (int i = 0; i < 4096; ++i) sum = decode(format, encode(format, sum + 1));
    EXPECT_EQ(sum, stop);
  }
  EXPECT_EQ(decode(NumberFormat::Bf16, encode(NumberFormat::Bf16, 1 - 0.001F)), 1);
}

#if defined(__FLT16_MAX__) && defined(__SSE2__)
TEST(NumberFormat, Fp16AsTheCompilerConverts) {
  const RandomStream random(1, 1);
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits(0, i)));
    if (std::isnan(x)) continue;
    ASSERT_EQ(encode(NumberFormat::Fp16, x), std::bit_cast<std::uint16_t>(static_cast<_Float16>(x))) << x;
  }
}
#endif

TEST(NumberFormat, ArraysOfTwoBytesAreTheSameOneByOne) {
  std::vector<float> in(2500), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(static_cast<int>(i) - 1200) * 0.37F;
  std::vector<std::uint16_t> codes(in.size()), more(in.size());
  for (const NumberFormat format : {NumberFormat::Fp16, NumberFormat::Bf16})
    for (const float factor : {1.0F, 64.0F, 0.3F}) {
      encode_all(format, in, factor, codes);
      decode_all(format, codes, factor, out);
      for (std::size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(codes[i], encode(format, in[i] * factor));
        ASSERT_EQ(out[i], decode(format, codes[i]) * factor);
        more[i] = encode(format, in[in.size() - 1 - i] * 3);
      }
      const std::vector<std::uint16_t> right = more;
      add_codes(format, codes, more);
      for (std::size_t i = 0; i < in.size(); ++i)
        ASSERT_EQ(more[i], encode(format, decode(format, codes[i]) + decode(format, right[i])));
    }
}

TEST(NumberFormat, WhatIsNoNumberIsSeenAnywhere) {
  for (const NumberFormat format : {NumberFormat::Fp16, NumberFormat::Bf16}) {
    std::vector<std::uint16_t> codes(77, encode(format, std::numeric_limits<float>::max() / 0x1p120F));
    EXPECT_TRUE(all_finite(format, {}));
    EXPECT_TRUE(all_finite(format, codes));
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()})
      for (const std::size_t at : {0U, 40U, 76U}) {
        auto spoiled = codes;
        spoiled[at] = encode(format, bad);
        EXPECT_FALSE(all_finite(format, spoiled));
      }
  }
}

TEST(NumberFormat, ManyAtOnceAreTheSame) {
  std::vector<float> in(3000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(static_cast<int>(i) - 1500) * 0.37F;
  std::vector<float> out(in.size());
  for (const Definition& d : kDefinitions) {
    round_to(d.format, in, out);
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]),
                std::bit_cast<std::uint32_t>(decode(d.format, encode(d.format, in[i]))));
  }
}

}  // namespace
}  // namespace cox::learn
