// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/block_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cox::learn {
namespace {

TEST(BlockNorm, IsTheEuclideanNorm) {
  EXPECT_EQ(block_norm({}), 0);
  EXPECT_EQ(block_norm(std::vector<float>{3, -4}), 5);
  const std::vector<float> ones(5 * kNormBlock + 17, 1.0F);
  EXPECT_EQ(block_norm(ones), std::sqrt(5.0 * kNormBlock + 17));
}

/// Summed one by one, the small blocks would vanish beside the first: 1 + 2^-53 = 1. In a tree they add up first.
TEST(BlockNorm, BlocksAreSummedInATree) {
  std::vector<float> values(8 * kNormBlock);
  values[0] = 1;
  for (std::size_t block = 1; block < 8; ++block)
    values[block * kNormBlock] = values[block * kNormBlock + 9] = 0x1p-27F;
  EXPECT_EQ(block_norm(values), std::sqrt(1 + 3 * 0x1p-52));
  EXPECT_GT(block_norm(values), 1);
}

}  // namespace
}  // namespace cox::learn
