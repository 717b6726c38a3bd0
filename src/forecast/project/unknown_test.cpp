// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/unknown.hpp"

#include <gtest/gtest.h>

namespace cox::forecast {
namespace {

TimeEstimate between(double low, double high) {
  return {.value = Seconds{low}, .low = Seconds{low}, .high = Seconds{high}};
}

Parts parts() {
  Parts out;
  out.ranks = 64;
  PositionParts p;
  p.level = between(10, 10.5);
  p.rank = between(0.1, 0.2);
  p.node = between(0.1, 0.3);
  out.positions = {p};
  return out;
}

TEST(Unknown, IsNamedByWhatItMovesAtTheSizeAsked) {
  EXPECT_EQ(largest_unknown(parts(), 1'024, between(1, 1.1)), "what nodes differ by for good");
  EXPECT_EQ(largest_unknown(parts(), 1'024, between(1, 9)), "what communication takes");
  Parts same = parts();
  same.positions[0].rank = same.positions[0].node = {};
  EXPECT_EQ(largest_unknown(same, 1'024, {}), "the mean of own work");
  same.positions[0].level = {};
  EXPECT_EQ(largest_unknown(same, 1'024, {}), "");
}

// A tail is what is not known only where the job asks beyond it.
TEST(Unknown, ATailCountsWhereRanksReachIt) {
  Parts heavy = parts();
  PositionParts& p = heavy.positions[0];
  p.residual = Law::exponential(Seconds{1});
  p.tail_probability = 0.01;
  p.tail_shape = {.value = 0.2, .low = -0.1, .high = 0.5};
  EXPECT_EQ(largest_unknown(heavy, 64, {}), "what nodes differ by for good");
  EXPECT_EQ(largest_unknown(heavy, 4'096, {}), "the tail of own work");
}

}  // namespace
}  // namespace cox::forecast
