// SPDX-License-Identifier: Apache-2.0
#include "forecast/checkpoints/drawn_failures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace cox::forecast {
namespace {

TEST(DrawnFailures, OneOfTwentyIsBeyondEachEnd) {
  const FactorRange range{.low = 0.5, .high = 3};
  int below = 0, above = 0;
  const std::vector<FailureDraw> draws = failure_draws(2'000);
  for (const FailureDraw& d : draws) {
    below += range.at(d.between) < range.low ? 1 : 0;
    above += range.at(d.between) > range.high ? 1 : 0;
  }
  EXPECT_NEAR(below, 100, 10);
  EXPECT_NEAR(above, 100, 10);
  EXPECT_EQ(range.at(0), 1);
}

// Independent to what so many draws tell: correlations of two hundred are within 2 / sqrt(200).
TEST(DrawnFailures, AxesAreNotTied) {
  const std::vector<FailureDraw> draws = failure_draws(200);
  const auto tied = [&](double FailureDraw::*a, double FailureDraw::*b) {
    double ab = 0, aa = 0, bb = 0;
    for (const FailureDraw& d : draws) {
      ab += d.*a * (d.*b);
      aa += d.*a * (d.*a);
      bb += d.*b * (d.*b);
    }
    return ab / std::sqrt(aa * bb);
  };
  double FailureDraw::*axes[] = {&FailureDraw::between, &FailureDraw::restart, &FailureDraw::checkpoint,
                                 &FailureDraw::start, &FailureDraw::step};
  for (double FailureDraw::*const a : axes)
    for (double FailureDraw::*const b : axes) {
      if (a != b) {
        EXPECT_LT(std::abs(tied(a, b)), 0.14);
      }
    }
}

TEST(DrawnFailures, EveryTimeOfAKindIsChanged) {
  model::Failures f{.node_mtbf = Seconds{100},
                    .job_mtbf = Seconds{10},
                    .restart = Seconds{5},
                    .restart_per_node = Seconds{0.1},
                    .checkpoint = Seconds{2},
                    .storage = Bandwidth::gbyte_per_s(8),
                    .classes = {{.mtbf = Seconds{50}, .restart = Seconds{7}, .repair = Seconds{3}}},
                    .repair = Seconds{60}};
  FailureDraw draw{.between = 1.6448536269514722, .restart = 1.6448536269514722, .checkpoint = 0};
  draw.apply({.between = {.low = 0.5, .high = 2}, .restart = {.low = 0.5, .high = 4}}, f);
  EXPECT_NEAR(f.node_mtbf.count(), 200, 1e-9);
  EXPECT_NEAR(f.job_mtbf.count(), 20, 1e-9);
  EXPECT_NEAR(f.classes[0].mtbf.count(), 100, 1e-9);
  EXPECT_NEAR(f.restart.count(), 20, 1e-9);
  EXPECT_NEAR(f.restart_per_node.count(), 0.4, 1e-9);
  EXPECT_NEAR(f.classes[0].restart.count(), 28, 1e-9);
  EXPECT_NEAR(f.classes[0].repair.count(), 12, 1e-9);
  EXPECT_NEAR(f.repair.count(), 240, 1e-9);
  EXPECT_EQ(f.checkpoint, Seconds{2});
  EXPECT_NEAR(f.storage.in_bytes_per_s(), 8e9, 1);
  change_checkpoints(f, 2);
  EXPECT_EQ(f.checkpoint, Seconds{4});
  EXPECT_NEAR(f.storage.in_bytes_per_s(), 4e9, 1);
}

}  // namespace
}  // namespace cox::forecast
