// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "cox/base/hash.hpp"

#include "forecast/structure/structure.hpp"

namespace cox::forecast {
namespace {

TEST(Concentration, IntervalOfAShareIsWilsons) {
  const Proportion p = wilson(5, 10);  // by hand: 1.64485^2 / 10 = 0.270554
  EXPECT_NEAR(p.low, 0.26927, 1e-5);
  EXPECT_NEAR(p.high, 0.73073, 1e-5);
  EXPECT_EQ(wilson(0, 10).low, 0);
  EXPECT_NEAR(wilson(0, 10).high, 0.212943, 1e-5);
  EXPECT_EQ(wilson(10, 10).high, 1);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

TEST(Concentration, EntropyOfKnownShares) {
  constexpr std::array kShares{0.5, 0.25, 0.125, 0.125};
  const Concentration c = concentration_of(kShares, 0);
  EXPECT_NEAR(c.entropy, 1.213008, 1e-6);
  EXPECT_NEAR(c.normalised, 0.875, 1e-12);
  EXPECT_NEAR(c.effective, 3.3636, 1e-4);
  EXPECT_NEAR(c.moves_if_free, 1 - 0.34375, 1e-12);
  const Concentration one = concentration_of(std::array{1.0}, 100);
  EXPECT_EQ(one.entropy, 0);
  EXPECT_EQ(one.effective, 1);
}

// 4,096 ranks that are last equally often, seen for 2,000 steps: the plug-in entropy reads 0.877 of what it is. Corrected
// it is nearer, and the header says how much can be seen at all.
TEST(Concentration, FewStepsBiasItAndThatIsSaid) {
  SplitMix random{7};
  std::vector<double> shares(4'096, 0.0);
  for (int k = 0; k < 2'000; ++k) shares[random.below(4'096)] += 1 / 2'000.0;
  const Concentration c = concentration_of(shares, 2'000);
  EXPECT_NEAR(c.plug_in / std::log(4'096), 0.877, 0.003);
  EXPECT_GT(c.normalised, 0.91);
  EXPECT_NEAR(c.at_most, std::log(2'000) / std::log(4'096), 1e-12);
}

}  // namespace
}  // namespace cox::forecast
