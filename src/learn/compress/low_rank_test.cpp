// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/low_rank.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cox/base/random.hpp"

#include "learn/compress/compressor.hpp"

namespace cox::learn {
namespace {

std::vector<float> gaussian(std::size_t n, std::uint64_t step) {
  std::vector<double> z(n);
  RandomStream(13, 1).normals32(step, 0, z);
  return {z.begin(), z.end()};
}

TEST(LowRank, AMatrixOfThatRankIsKept) {
  const MatrixShape shape{30, 20};
  std::vector<float> matrix(600);
  multiply(gaussian(60, 0), gaussian(40, 1), shape, 2, matrix);
  for (const std::size_t rank : {2U, 3U}) {  // a third column has nothing to do
    std::vector<float> p(30 * rank);
    std::vector<float> q = gaussian(20 * rank, 2);
    std::vector<float> out(600);
    low_rank(matrix, shape, rank, p, q);
    multiply(p, q, shape, rank, out);
    EXPECT_LT(left_over(matrix, out), 1e-12);
  }
}

TEST(LowRank, IsAProjectionAndWarmStartsComeNearerToTheBest) {
  // Singular values 3, 2 and 1: the best of rank 1 leaves (4 + 1) / 14.
  std::vector<float> matrix(9);
  matrix[0] = 3;
  matrix[4] = 2;
  matrix[8] = 1;
  std::vector<float> p(3);
  std::vector<float> q = {1, 1, 1};
  std::vector<float> out(9);
  double before = 1;
  for (int step = 0; step < 30; ++step) {
    low_rank(matrix, {3, 3}, 1, p, q);
    multiply(p, q, {3, 3}, 1, out);
    const double left = left_over(matrix, out);
    EXPECT_LE(left, before + 1e-6);
    before = left;
  }
  EXPECT_NEAR(before, 5.0 / 14, 1e-6);
}

TEST(LowRank, CompressorsSendFactorsOfMatricesAndTheRestAsItIs) {
  const std::vector<Tensor> tensors = {{.name = "w", .first = 0, .rows = 30, .columns = 20},
                                       {.name = "b", .first = 600, .rows = 30, .columns = 1},
                                       {.name = "tiny", .first = 630, .rows = 2, .columns = 2}};
  Compressor by({.kind = CompressorKind::PowerSgd, .rank = 2}, tensors, 1);
  const std::vector<float> x = gaussian(634, 3);
  std::vector<float> out(634);
  EXPECT_EQ(by.compress(x, 0, 0, out), Bytes{4 * 2 * (30 + 20) + 4 * 30 + 4 * 4});
  const double cold = left_over(x, out);
  for (std::size_t i = 600; i < 634; ++i) EXPECT_EQ(out[i], x[i]);
  for (int step = 1; step < 20; ++step) by.compress(x, step, 0, out);
  EXPECT_LT(left_over(x, out), cold - 0.02);
  by.compress(x, 0, 1, out);  // a worker of its own
  EXPECT_EQ(left_over(x, out), cold);
}

TEST(LowRank, AfterZerosItBeginsAgain) {
  const std::vector<Tensor> tensors = {{.name = "w", .first = 0, .rows = 10, .columns = 10}};
  Compressor by({.kind = CompressorKind::PowerSgd, .rank = 1}, tensors, 1);
  std::vector<float> out(100);
  by.compress(std::vector<float>(100), 0, 0, out);
  by.compress(gaussian(100, 4), 1, 0, out);
  EXPECT_LT(left_over(gaussian(100, 4), out), 0.95);
}

}  // namespace
}  // namespace cox::learn
