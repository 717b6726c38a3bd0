// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cox/bench/pace.hpp"

namespace cox::bench {
namespace {

constexpr std::int64_t kPairs = 4000;

TEST(PaceBackground, HalfOfTheTimeIsOneEpisodeOfEveryPair) {
  const PaceBackground half{.share = 0.5, .episode = 4};
  int first = 0;
  for (std::int64_t pair = 0; pair < kPairs; ++pair) {
    const std::int64_t begin = 8 * pair;
    EXPECT_NE(half.is_on(7, begin), half.is_on(7, begin + 4)) << pair;
    first += half.is_on(7, begin) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(first) / kPairs, 0.5, 0.04);
}

TEST(PaceBackground, AnyShareIsKeptOnAverage) {
  for (const double share : {0.0, 0.1, 0.3, 0.8, 1.0}) {
    const PaceBackground some{.share = share, .episode = 3};
    std::int64_t on = 0;
    for (std::int64_t draw = 0; draw < 6 * kPairs; ++draw) on += some.is_on(7, draw) ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(on) / (6 * kPairs), share, 0.03);
  }
}

TEST(PaceBackground, AnEpisodeIsOnOrOffAsAWhole) {
  const PaceBackground half{.share = 0.5, .episode = 4};
  for (std::int64_t draw = 0; draw < 4 * kPairs; ++draw)
    EXPECT_EQ(half.is_on(7, draw), half.is_on(7, draw / 4 * 4)) << draw;
}

}  // namespace
}  // namespace cox::bench
