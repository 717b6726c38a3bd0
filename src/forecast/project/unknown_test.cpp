// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/unknown.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "forecast/project/project.hpp"
#include "forecast/project/refused.hpp"

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

// The range that is said is that of its words: the step of a refused size over the step at the ranks that were seen.
TEST(Refused, TheRangeIsOfTheStepAtTheRanksSeen) {
  Parts job = parts();
  ProjectOptions options;
  options.rest = [&](std::int64_t ranks) {
    const double n = static_cast<double>(ranks) / static_cast<double>(job.ranks);
    return TimeEstimate{.value = Seconds{n},
                        .low = Seconds{n},
                        .high = Seconds{n > 1 ? 100 * n : n},
                        .origin = Origin::Range};
  };
  const Projection p = project(job, {job.ranks, 1'024}, options);
  const SizePoint& seen = p.points[0];
  const SizePoint& far = p.points[1];
  ASSERT_TRUE(seen.refused.empty()) << seen.refused;
  ASSERT_FALSE(far.refused.empty());
  EXPECT_NE(far.refused.find(fmt::format("between {:.2g}x and {:.2g}x of the step at {} ranks",
                                         far.mean.low / seen.mean.value, far.mean.high / seen.mean.value,
                                         job.ranks)),
            std::string::npos)
      << far.refused;
}

}  // namespace
}  // namespace cox::forecast
