// SPDX-License-Identifier: Apache-2.0
#include "study/runs/split_check.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::study {
namespace {

constexpr BlockSplit kSplits[] = {BlockSplit::Columns, BlockSplit::Rows, BlockSplit::Pair};

// Sums of small whole numbers are exact in any order: a slice at the wrong place would show.
TEST(SplitBlock, WholeNumbersAreEqual) {
  const RandomStream draws(1, 0);
  Weights first = draw_weights(12, 7, draws, 0);
  Weights second = draw_weights(5, 12, draws, 1);
  std::vector<float> x = draw_weights(1, 7, draws, 2).values;
  for (std::vector<float>* all : {&first.values, &second.values, &x})
    for (float& v : *all) v = std::round(8 * v);
  const std::vector<float> whole = block_in_one_piece(first, second, x);
  for (const BlockSplit split : kSplits)
    for (const int devices : {1, 2, 3, 5, 8})
      EXPECT_EQ(block_in_parts(first, second, x, split, devices), whole) << devices;
}

TEST(SplitBlock, OnlyTheOrderOfASumChangesNumbers) {
  const RandomStream draws(1, 0);
  const Weights first = draw_weights(256, 64, draws, 0);
  const Weights second = draw_weights(64, 256, draws, 1);
  const std::vector<float> x = draw_weights(1, 64, draws, 2).values;
  const std::vector<float> whole = block_in_one_piece(first, second, x);
  EXPECT_EQ(block_in_parts(first, second, x, BlockSplit::Columns, 8), whole);
  // A sum of n terms is off by at most n roundings of 2^-24 of what was added up.
  for (const BlockSplit split : {BlockSplit::Rows, BlockSplit::Pair}) {
    const double off = largest_difference(block_in_parts(first, second, x, split, 8), whole);
    EXPECT_GT(off, 0);
    EXPECT_LT(off, 1e-5);
  }
  std::vector<double> inner(256);
  double most = 0;
  std::vector<double> y(64);
  for (int o = 0; o < 256; ++o) {
    for (int i = 0; i < 64; ++i)
      inner[static_cast<std::size_t>(o)] +=
          double{first.values[static_cast<std::size_t>(o) * 64 + static_cast<std::size_t>(i)]} *
          double{x[static_cast<std::size_t>(i)]};
    inner[static_cast<std::size_t>(o)] = std::max(inner[static_cast<std::size_t>(o)], 0.0);
  }
  for (int o = 0; o < 64; ++o) {
    for (int i = 0; i < 256; ++i)
      y[static_cast<std::size_t>(o)] +=
          double{second.values[static_cast<std::size_t>(o) * 256 + static_cast<std::size_t>(i)]} *
          inner[static_cast<std::size_t>(i)];
    most = std::max(most, std::abs(y[static_cast<std::size_t>(o)]));
  }
  for (std::size_t o = 0; o < 64; ++o) EXPECT_NEAR(double{whole[o]}, y[o], 1e-5 * most);
}

TEST(SplitBlock, DifferencesAreOverTheLargest) {
  EXPECT_EQ(largest_difference(std::vector<float>{1, -4}, std::vector<float>{2, -4}), 0.25);
  EXPECT_EQ(largest_difference(std::vector<float>{0}, std::vector<float>{0}), 0);
}

}  // namespace
}  // namespace cox::study
