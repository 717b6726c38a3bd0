// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/compress_kernels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/learn/number_format.hpp"

namespace cox::learn {
namespace {

std::vector<float> gaussian(std::size_t n) {
  std::vector<double> z(n);
  RandomStream(7, 1).normals32(0, 0, z);
  return {z.begin(), z.end()};
}

/// All that one variant makes of `x`, as bytes of numbers.
std::vector<double> all_of(const CompressKernels& kernels, const std::vector<float>& x) {
  const std::size_t n = x.size();
  std::vector<double> out = {static_cast<double>(kernels.largest(n, x.data())),
                             kernels.sum_of_sizes(n, x.data()), kernels.sum_of_squares(n, x.data())};
  std::vector<std::int8_t> codes(n);
  kernels.quantise(n, x.data(), 31.7F, 127, 0x123456789abcdefU, 5, codes.data());
  out.insert(out.end(), codes.begin(), codes.end());
  std::vector<float> values(n);
  kernels.dequantise(n, codes.data(), 0.37F, values.data());
  out.insert(out.end(), values.begin(), values.end());
  std::vector<std::uint8_t> signs((n + 7) / 8);
  kernels.pack_signs(n, x.data(), signs.data());
  out.insert(out.end(), signs.begin(), signs.end());
  kernels.unpack_signs(n, signs.data(), 0.5F, values.data());
  out.insert(out.end(), values.begin(), values.end());
  std::vector<std::uint32_t> places(n + 16);
  places.resize(kernels.at_least(n, x.data(), std::bit_cast<std::uint32_t>(1.0F), places.data()));
  out.insert(out.end(), places.begin(), places.end());
  for (const auto format :
       {NumberFormat::Fp16, NumberFormat::Bf16, NumberFormat::E4m3Fn, NumberFormat::E5m2}) {
    std::vector<std::uint16_t> narrow(n);
    kernels.to_codes(format, n, x.data(), narrow.data());
    kernels.from_codes(format, n, narrow.data(), values.data());
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

TEST(CompressKernels, TheSameBitsForEveryInstructionSet) {
  for (const std::size_t n : {0U, 1U, 7U, 15U, 16U, 17U, 64U, 1000U}) {
    const std::vector<float> x = gaussian(n);
    const std::vector<double> baseline = all_of(compress_kernels(kernels::InstructionSet::Baseline), x);
    for (const kernels::InstructionSet set : kernels::instruction_sets())
      EXPECT_EQ(all_of(compress_kernels(set), x), baseline) << n << ' ' << static_cast<int>(set);
  }
}

TEST(CompressKernels, TheLargestIsNaNWhereOneIs) {
  std::vector<float> x = gaussian(100);
  x[41] = -9;
  EXPECT_EQ(std::bit_cast<float>(compress_kernels().largest(100, x.data())), 9);
  x[3] = -NAN;
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(compress_kernels().largest(100, x.data()))));
}

TEST(CompressKernels, RoundingIsRightInTheMeanAndNeverBeyondTheLevels) {
  const std::size_t n = 1 << 16;
  for (const float value : {0.3F, -0.3F, 0.999F, -6.5F, 7.0F, -7.0F, 0.0F, 9.0F}) {
    const std::vector<float> x(n, value);
    std::vector<std::int8_t> codes(n);
    compress_kernels().quantise(n, x.data(), 1, 7, 99, 0, codes.data());
    const double mean = std::accumulate(codes.begin(), codes.end(), 0.0) / static_cast<double>(n);
    EXPECT_NEAR(mean, std::min(static_cast<double>(value), 7.0), 4 * 0.5 / std::sqrt(static_cast<double>(n)));
    if (value == std::floor(value)) {
      EXPECT_EQ(mean, std::min(value, 7.0F));
    }
  }
}

TEST(CompressKernels, DrawsOfTwoKeysDoNotGoTogether) {
  const std::size_t n = 1 << 16;
  const std::vector<float> x(n, 0.5F);
  std::vector<std::int8_t> a(n);
  std::vector<std::int8_t> b(n);
  compress_kernels().quantise(n, x.data(), 1, 1, 1, 0, a.data());
  for (const std::uint64_t key : {std::uint64_t{2}, std::uint64_t{1} | std::uint64_t{1} << 32}) {
    compress_kernels().quantise(n, x.data(), 1, 1, key, 0, b.data());
    double together = 0;
    for (std::size_t i = 0; i < n; ++i) together += a[i] * b[i];
    EXPECT_NEAR(together / static_cast<double>(n), 0.25, 4 * 0.45 / 256);
  }
}

}  // namespace
}  // namespace cox::learn
