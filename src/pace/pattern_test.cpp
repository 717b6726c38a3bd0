// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/pace/controller.hpp"

namespace cox::pace {
namespace {

TEST(Pattern, EachPairHasOnePacedBlock) {
  const Pattern pattern(42, 8);
  int first = 0;
  for (std::uint64_t pair = 0; pair < 1000; ++pair) {
    int paced = 0;
    for (std::uint64_t i = 0; i < 16; ++i) paced += pattern.is_paced(pair * 16 + i) ? 1 : 0;
    ASSERT_EQ(paced, 8) << pair;
    ASSERT_EQ(pattern.is_paced(pair * 16), pattern.is_paced(pair * 16 + 7));
    first += pattern.is_paced(pair * 16) ? 1 : 0;
  }
  EXPECT_NEAR(first, 500, 60);  // a fair coin: 3.8 standard deviations
}

TEST(Pattern, UnpacedBlocksOfRareTestsAreUnpacedInFrequentOnes) {
  const Pattern pattern(7, 8);
  for (std::uint64_t step = 0; step < 4096; ++step)
    for (std::uint32_t every = 2; every <= 16; every *= 2)
      for (const std::uint32_t unpaced : {4U, 8U})
        if (!pattern.is_paced_holding(step, every, unpaced)) {
          ASSERT_FALSE(pattern.is_paced_holding(step, every / 2, unpaced)) << step;
          ASSERT_FALSE(pattern.is_paced_holding(step, every, 8)) << step;
        }
}

TEST(Pattern, AHoldLeavesOnlyTheBeginningOfATestedBlockUnpaced) {
  const Pattern pattern(7, 8);
  int unpaced = 0;
  for (std::uint64_t step = 0; step < 1024; ++step) unpaced += pattern.is_paced_holding(step, 8, 4) ? 0 : 1;
  EXPECT_EQ(unpaced, 1024 / 128 * 4);
}

}  // namespace
}  // namespace cox::pace
