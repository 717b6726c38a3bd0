// SPDX-License-Identifier: Apache-2.0
#include "cox/pace/wager.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/random.hpp"

namespace cox::pace {
namespace {

TEST(Wager, WealthIsTheFormula) {
  Wager wager;
  wager.add(0, 3, 16);
  EXPECT_DOUBLE_EQ(wager.wealth(), 1 + 0.9 * 3 / 5);
  wager.add(1, -3, 16);
  EXPECT_DOUBLE_EQ(wager.wealth(), (1 + 0.9 * 3 / 5) * (1 - 0.9 * 3 / 5));
  wager.add(1, 3, 16);  // nothing is staked on a delay that has lost
  EXPECT_DOUBLE_EQ(wager.wealth(), (1 + 0.9 * 3 / 5) * (1 - 0.9 * 3 / 5));
}

TEST(Wager, SixPairsWithoutNoiseAreEnoughAtTheStart) {
  Wager wager;
  for (std::uint32_t i = 0; i < 5; ++i) wager.add(i % 2, 0.1, 0);
  EXPECT_LT(wager.wealth(), Wager::needed(0, 0.05));
  wager.add(1, 0.1, 0);
  EXPECT_GT(wager.wealth(), Wager::needed(0, 0.05));
}

TEST(Wager, BlocksOfNoLengthAndNoNoiseStakeNothing) {
  Wager wager;
  for (std::uint32_t i = 0; i < 9; ++i) wager.add(i % 2, 0, 0);
  EXPECT_EQ(wager.wealth(), 1);
}

TEST(Wager, TheErrorsOfAllEpochsTogetherAreAlpha) {
  double sum = 0;
  for (std::uint64_t epoch = 0; epoch < 100'000; ++epoch) sum += 1 / Wager::needed(epoch, 0.05);
  EXPECT_NEAR(sum, 0.05, 1e-6);
}

/// Whatever goes on from pair to pair, as long as a coin says which block is paced: slow waves, jumps, tails.
TEST(Wager, DoesNotGrowWhereACoinSaysWhichBlockIsPaced) {
  const RandomStream draws(5, 0);
  constexpr int kTests = 4000;
  for (int law = 0; law < 4; ++law) {
    int grown = 0;
    for (std::uint64_t i = 0; i < kTests; ++i) {
      Wager wager;
      double level = 0;
      bool reached = false;
      for (std::uint64_t n = 0; n < 40 && !reached; ++n) {
        const double z = draws.normal(i, 2 * n);
        level = 0.95 * level + z;
        double difference = z;
        if (law == 1) difference = level;
        if (law == 2) difference = z * z * z * std::abs(z);
        if (law == 3) difference = n % 3 == 0 ? 50 : 0.1;
        const bool coin = draws.bits(i, 2 * n + 1) % 2 == 0;
        wager.add(static_cast<std::uint32_t>(n % 2), coin ? difference : -difference, 0.01);
        reached = wager.wealth() >= 20;
      }
      grown += reached ? 1 : 0;
    }
    EXPECT_LE(grown, kTests * 0.05) << law;
    EXPECT_GE(grown, kTests * 0.002) << law << ": a test that never errs shows nothing";
  }
}

}  // namespace
}  // namespace cox::pace
