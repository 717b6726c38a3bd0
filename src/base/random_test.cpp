// SPDX-License-Identifier: Apache-2.0
#include "cox/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/kernels/vector_kernels.hpp"

namespace cox {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The three vectors for philox4x32 with 10 rounds that the authors publish with their
// implementation (Random123).
TEST(Random, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32_10({f, f, f, f}, {f, f}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, BitsAreThoseOfTheBlockThatTheHeaderNames) {
  const RandomStream stream(0x299f31d0a4093822, 0x03707344);
  const std::uint64_t step = 0x13198a2e85a308d3;
  const std::uint64_t index = 2 * std::uint64_t{0x243f6a88};
  EXPECT_EQ(stream.bits(step, index), 0x94fdccebd16cfe09U);
  EXPECT_EQ(stream.bits(step, index + 1), 0x24126ea15001e420U);
}

TEST(Random, EveryInstructionSetMakesTheScalarDraws) {
  const std::uint64_t seed = 0x0123456789abcdef;
  const std::uint64_t step = 0xfedcba9876543210;
  const RandomStream stream(seed, 77);
  for (const auto set : kernels::instruction_sets()) {
    const kernels::VectorKernels& k = kernels::vector_kernels(set);
    for (const std::uint64_t first : {0U, 1U, 2U, 7U, 31U, 33U, 1000001U})
      for (const std::size_t n : {0U, 1U, 2U, 3U, 15U, 16U, 17U, 31U, 32U, 33U, 64U, 200U}) {
        std::vector<double> out(n, -1);
        k.uniforms(seed, 77, step, first, n, out.data());
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(out[i], stream.uniform(step, first + i)) << first << '+' << i << " of " << n;
        k.uniforms32(seed, 77, step, first, n, out.data());
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint64_t at = first + i;
          const auto words =
              philox4x32_10({static_cast<std::uint32_t>(8 * (at / 32) + at % 8), 0x76543210, 0xfedcba98, 77},
                            {0x89abcdef, 0x01234567});
          ASSERT_EQ(out[i], (words[at / 8 % 4] + 0.5) * 0x1p-32) << first << '+' << i << " of " << n;
        }
      }
  }
}

// Over bits that reach all of the centre and both tails, and the same bits from every instruction set.
TEST(Random, NormalsOf32BitsAreTheQuantilesOfTheirWords) {
  const RandomStream stream(99, 5);
  constexpr std::size_t kN = 1 << 17;
  std::vector<double> u(kN);
  stream.uniforms32(3, 7, u);
  std::vector<double> exact = u;
  kernels::vector_kernels().normal_quantiles(kN, exact.data());
  std::vector<double> best(kN);
  stream.normals32(3, 7, best);
  double largest = 0;
  for (std::size_t i = 0; i < kN; ++i) {
    ASSERT_NEAR(best[i], exact[i], 1e-6 * std::abs(exact[i]) + 2e-7) << "u = " << u[i];
    largest = std::max(largest, std::abs(best[i]));
  }
  EXPECT_GT(largest, 4);
  for (const auto set : kernels::instruction_sets()) {
    std::vector<double> all(kN);
    kernels::vector_kernels(set).normals32(99, 5, 3, 7, kN, all.data());
    ASSERT_EQ(all, best);
    for (const std::size_t first : {7U, 8U, 31U, 32U, 100U})
      for (const std::size_t n : {0U, 1U, 15U, 16U, 33U, 255U, 256U, 300U}) {
        std::vector<double> part(n);
        kernels::vector_kernels(set).normals32(99, 5, 3, first, n, part.data());
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(part[i], best[first - 7 + i]) << first << '+' << i;
      }
  }
}

TEST(Random, ArraysAreTheScalarDrawsInAnyCut) {
  const RandomStream stream(42, 3);
  std::vector<double> all(1000);
  stream.normals(5, 0, all);
  std::vector<double> part(37);
  for (std::uint64_t first = 0; first + part.size() <= all.size(); first += 19) {
    stream.normals(5, first, part);
    for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], all[first + i]);
  }
  EXPECT_EQ(stream.normal(5, 123), all[123]);
}

TEST(Random, StaysInsideTheOpenInterval) {
  std::vector<double> u(1 << 16);
  RandomStream(1, 1).uniforms32(0, 0, u);
  for (const double x : u) {
    ASSERT_GT(x, 0.0);
    ASSERT_LT(x, 1.0);
  }
}

TEST(Random, MomentsOfNormals) {
  constexpr std::size_t kN = 1 << 18;
  std::vector<double> z(kN);
  RandomStream(2026, 9).normals(1, 0, z);
  double m1 = 0;
  double m2 = 0;
  double m3 = 0;
  double m4 = 0;
  for (const double x : z) {
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
  }
  const double n = kN;
  // standard errors of the mean of z^k: sqrt(Var z^k / n) with Var = 1, 2, 15, 96
  EXPECT_LT(std::abs(m1 / n), 3 * std::sqrt(1 / n));
  EXPECT_LT(std::abs(m2 / n - 1), 3 * std::sqrt(2 / n));
  EXPECT_LT(std::abs(m3 / n), 3 * std::sqrt(15 / n));
  EXPECT_LT(std::abs(m4 / n - 3), 3 * std::sqrt(96 / n));
}

}  // namespace
}  // namespace cox
