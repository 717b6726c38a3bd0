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

}  // namespace
}  // namespace cox::learn
