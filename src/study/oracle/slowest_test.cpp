// SPDX-License-Identifier: Apache-2.0
#include "study/oracle/slowest.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "study/oracle/extremes.hpp"

namespace cox::study {
namespace {

TEST(Slowest, WithoutDelaysItIsTheMaximum) {
  for (const double cv : {0.05, 0.3, 0.9}) {
    const DelayedMaximum all(cv, {{.groups = 256, .workers = 1}});
    EXPECT_NEAR(all.mean(), lognormal_maximum(256, cv).mean, 1e-6) << cv;
    EXPECT_NEAR(all.quantile(0.5), lognormal_maximum_median(256, cv), 1e-9);
    EXPECT_NEAR(all.above(all.quantile(0.95)), 0.05, 1e-9);
    // Cut into groups, or into kinds, they are the same workers.
    EXPECT_NEAR(DelayedMaximum(cv, {{.groups = 32, .workers = 8}}).mean(), all.mean(), 1e-9);
    const DelayedMaximum two(cv, {{.groups = 255, .workers = 1}, {.groups = 1, .workers = 1}});
    EXPECT_NEAR(two.mean(), all.mean(), 1e-9);
    EXPECT_NEAR(two.slowest_is_of(1), 1.0 / 256, 1e-5);
    EXPECT_NEAR(two.slowest_is_of(0) + two.slowest_is_of(1), 1, 1e-5);
  }
}

TEST(Slowest, DelaysOfAllShiftTheMean) {
  const double plain = lognormal_maximum(64, 0.1).mean;
  EXPECT_NEAR(DelayedMaximum(0.1, {{.groups = 8, .workers = 8, .delay = 0.5}}).mean(), plain + 0.5, 1e-6);
  // One group of all, late with a half: half the time.
  EXPECT_NEAR(DelayedMaximum(0.1, {{.groups = 1, .workers = 64, .delay = 0.5, .probability = 0.5}}).mean(),
              plain + 0.25, 1e-6);
}

// chapter-part3, C.2: racks of 8, of which 10 % are 20 % slower, over 256 workers with a CV of 0.05.
TEST(Slowest, SlowRacks) {
  const DelayedMaximum racks(0.05, {{.groups = 32, .workers = 8, .delay = 0.2, .probability = 0.1}});
  EXPECT_NEAR(racks.mean(), 1.31, 0.02);
}

TEST(Slowest, ALateWorkerIsTheSlowest) {
  const DelayedMaximum late(0.05, {{.groups = 7, .workers = 1}, {.groups = 1, .workers = 1, .delay = 2}});
  EXPECT_NEAR(late.slowest_is_of(1), 1, 1e-6);
  EXPECT_NEAR(late.mean(), 3, 1e-6);
}

// chapter-part3, C.2: none, 1 % and 5 % of the slowest dropped.
TEST(Slowest, Dropped) {
  EXPECT_NEAR(lognormal_without_slowest(256, 0.1, 0), 1.32, 5e-3);
  EXPECT_NEAR(lognormal_without_slowest(256, 0.1, 3), 1.24, 1e-2);
  EXPECT_NEAR(lognormal_without_slowest(256, 0.1, 13), 1.17, 1e-2);
  EXPECT_NEAR(lognormal_without_slowest(256, 0.3, 3), 1.83, 2e-2);
  EXPECT_NEAR(lognormal_without_slowest(256, 0.3, 13), 1.56, 2e-2);
  // All the ranks of a sample together have the sample's mean.
  double sum = 0;
  for (int dropped = 0; dropped < 9; ++dropped) sum += lognormal_without_slowest(9, 0.4, dropped);
  EXPECT_NEAR(sum, 9, 1e-6);
}

TEST(Slowest, Copies) {
  EXPECT_NEAR(lognormal_maximum_of_copies(64, 0.3, 1), lognormal_maximum(64, 0.3).mean, 1e-6);
  // The quickest of two has a mean of 2 minus that of the slower.
  EXPECT_NEAR(lognormal_maximum_of_copies(1, 0.3, 2), 2 - lognormal_maximum(2, 0.3).mean, 1e-6);
}

// chapter-part3, C.2: 1.8 times at two standard deviations, 7.3 at three, for a CV of 0.3.
TEST(Slowest, NormalTailsAreLighter) {
  EXPECT_NEAR(lognormal_over_normal_beyond(0.3, 2), 1.8, 0.05);
  EXPECT_NEAR(lognormal_over_normal_beyond(0.3, 3), 7.3, 0.05);
}

}  // namespace
}  // namespace cox::study
