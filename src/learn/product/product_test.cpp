// SPDX-License-Identifier: Apache-2.0
#include "learn/product/product.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/random.hpp"

namespace cox::learn {
namespace {

std::vector<float> drawn(std::size_t n, std::uint32_t stream) {
  std::vector<double> z(n);
  RandomStream(7, stream).normals(0, 0, z);
  return {z.begin(), z.end()};
}

/// The definition: a chain per element.
std::vector<float> chains(std::size_t m, std::size_t n, std::size_t k, const std::vector<float>& a,
                          const std::vector<float>& b, std::vector<float> c) {
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t p = 0; p < k; ++p) c[i * n + j] = std::fma(a[i * k + p], b[p * n + j], c[i * n + j]);
  return c;
}

std::vector<float> transposed(std::size_t rows, std::size_t columns, const std::vector<float>& a) {
  std::vector<float> t(a.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) t[j * rows + i] = a[i * columns + j];
  return t;
}

TEST(Product, EveryInstructionSetMakesTheChainsOfTheDefinition) {
  struct Shape {
    std::size_t m, n, k;
  };
  for (const auto& [m, n, k] :
       {Shape{1, 1, 1}, {13, 33, 5}, {3, 7, 300}, {24, 64, 64}, {5, 530, 9}, {2, 3, 0}}) {
    const auto a = drawn(m * k, 1);
    const auto b = drawn(k * n, 2);
    const auto c = drawn(m * n, 3);
    const auto expected = chains(m, n, k, a, b, c);
    const auto at = transposed(m, k, a);
    const auto bt = transposed(k, n, b);
    for (const auto set : kernels::instruction_sets()) {
      Product product(set);
      auto got = c;
      product.add(m, n, k, rows_of(a.data(), k), rows_of(b.data(), n), got.data());
      EXPECT_EQ(got, expected) << m << ' ' << n << ' ' << k << " set " << static_cast<int>(set);
      got = c;
      product.add(m, n, k, columns_of(at.data(), m), columns_of(bt.data(), k), got.data());
      EXPECT_EQ(got, expected) << m << ' ' << n << ' ' << k << " transposed, set " << static_cast<int>(set);
    }
  }
}

TEST(Product, RowsAloneAreThoseOfABatch) {
  constexpr std::size_t kM = 29, kN = 70, kK = 90;
  const auto a = drawn(kM * kK, 1);
  const auto b = drawn(kK * kN, 2);
  Product product;
  std::vector<float> whole(kM * kN);
  std::vector<float> alone(kM * kN);
  product.add(kM, kN, kK, rows_of(a.data(), kK), rows_of(b.data(), kN), whole.data());
  for (std::size_t i = 0; i < kM; ++i)
    product.add(1, kN, kK, rows_of(a.data() + i * kK, kK), rows_of(b.data(), kN), alone.data() + i * kN);
  EXPECT_EQ(alone, whole);
}

/// A gradient is a product over samples: added up part by part, it is the whole's.
TEST(Product, PartsOfTheSumContinueTheChain) {
  constexpr std::size_t kM = 17, kN = 35, kK = 90;
  const auto a = drawn(kM * kK, 1);
  const auto b = drawn(kK * kN, 2);
  Product product;
  std::vector<float> whole(kM * kN);
  std::vector<float> parts(kM * kN);
  product.add(kM, kN, kK, rows_of(a.data(), kK), rows_of(b.data(), kN), whole.data());
  for (std::size_t p = 0; p < kK; p += 30)
    product.add(kM, kN, 30, rows_of(a.data() + p, kK), rows_of(b.data() + p * kN, kN), parts.data());
  EXPECT_EQ(parts, whole);
}

/// The definition: leaves of one chain each, neighbours first.
std::vector<float> tree(std::size_t m, std::size_t n, std::size_t k, std::size_t blocks,
                        const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<std::vector<float>> sums;
  const std::size_t depth = k / blocks;
  for (std::size_t at = 0; at < k; at += depth) {
    std::vector<float> left;
    for (std::size_t i = 0; i < m; ++i)
      left.insert(left.end(), a.begin() + static_cast<std::ptrdiff_t>(i * k + at),
                  a.begin() + static_cast<std::ptrdiff_t>(i * k + at + depth));
    const std::vector<float> right(b.begin() + static_cast<std::ptrdiff_t>(at * n),
                                   b.begin() + static_cast<std::ptrdiff_t>((at + depth) * n));
    sums.push_back(chains(m, n, depth, left, right, std::vector<float>(m * n)));
  }
  for (std::size_t by = 1; by < blocks; by *= 2)
    for (std::size_t at = 0; at < blocks; at += 2 * by)
      for (std::size_t i = 0; i < m * n; ++i) sums[at][i] += sums[at + by][i];
  return sums.front();
}

TEST(Product, BlocksAreAddedInAnAlignedTree) {
  constexpr std::size_t kM = 5, kN = 37, kK = 48;
  const auto a = drawn(kM * kK, 1);
  const auto b = drawn(kK * kN, 2);
  for (const auto set : kernels::instruction_sets())
    for (const std::size_t blocks : {1, 2, 4, 8, 16}) {
      Product product(set);
      std::vector<float> got(kM * kN, 7);
      product.in_blocks(kM, kN, kK, blocks, rows_of(a.data(), kK), rows_of(b.data(), kN), got.data());
      EXPECT_EQ(got, tree(kM, kN, kK, blocks, a, b)) << blocks << " set " << static_cast<int>(set);
    }
}

// What learn::ProblemSlice says of inner dimensions that are cut elsewhere: 2 gamma_(k + 2) sum |a b|.
TEST(Product, AnInnerDimensionThatIsCutStaysWithinItsBound) {
  constexpr std::size_t kM = 7, kN = 19, kK = 96;
  const auto a = drawn(kM * kK, 1);
  const auto b = drawn(kK * kN, 2);
  Product product;
  std::vector<float> whole(kM * kN);
  product.add(kM, kN, kK, rows_of(a.data(), kK), rows_of(b.data(), kN), whole.data());
  const double nu = static_cast<double>(kK + 2) * std::ldexp(1.0, -24), gamma = nu / (1 - nu);
  for (const std::size_t parts : {2, 3, 6, 12}) {
    std::vector<float> sum(kM * kN);
    const std::size_t depth = kK / parts;
    for (std::size_t p = 0; p < kK; p += depth) {
      std::vector<float> one(kM * kN);
      product.add(kM, kN, depth, rows_of(a.data() + p, kK), rows_of(b.data() + p * kN, kN), one.data());
      for (std::size_t i = 0; i < one.size(); ++i) sum[i] += one[i];
    }
    EXPECT_NE(sum, whole) << parts;
    for (std::size_t i = 0; i < kM; ++i)
      for (std::size_t j = 0; j < kN; ++j) {
        double size = 0;
        for (std::size_t p = 0; p < kK; ++p)
          size += std::abs(static_cast<double>(a[i * kK + p]) * static_cast<double>(b[p * kN + j]));
        const double off = static_cast<double>(sum[i * kN + j]) - static_cast<double>(whole[i * kN + j]);
        EXPECT_LE(std::abs(off), 2 * gamma * size) << i << ' ' << j << " in " << parts;
      }
  }
}

}  // namespace
}  // namespace cox::learn
