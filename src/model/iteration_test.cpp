// SPDX-License-Identifier: Apache-2.0
#include "cox/model/iteration.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::model {
namespace {

Iteration job_with(JitterLaw law, double spread) {
  return {{.compute = Seconds{0.02}, .jitter = law, .spread = spread}, 16};
}

TEST(Iteration, JitterHasMeanOneAndTheSpreadAsked) {
  for (const JitterLaw law : {JitterLaw::Lognormal, JitterLaw::Exponential}) {
    const Iteration job = job_with(law, 0.2);
    double sum = 0;
    double squares = 0;
    constexpr int kSteps = 2000;
    for (std::int64_t step = 0; step < kSteps; ++step)
      for (int rank = 0; rank < job.ranks; ++rank) {
        const double x = compute_time(job, 7, rank, step) / job.compute;
        sum += x;
        squares += x * x;
      }
    const double n = kSteps * job.ranks;
    EXPECT_NEAR(sum / n, 1, 0.005);
    EXPECT_NEAR(std::sqrt(squares / n - sum * sum / n / n), 0.2, 0.01);
  }
}

TEST(Iteration, SlowRanksStayOrMove) {
  Iteration job = job_with(JitterLaw::None, 0);
  job.imbalance = Imbalance::Persistent;
  job.slow_ranks = 4;
  job.slow_factor = 1.5;
  EXPECT_DOUBLE_EQ(compute_time(job, 1, 12, 5).count(), 0.03);
  EXPECT_DOUBLE_EQ(compute_time(job, 1, 11, 5).count(), 0.02);
  job.imbalance = Imbalance::Rotating;
  bool moved = false;
  for (std::int64_t step = 0; step < 1000; ++step) {
    int slow = 0;
    for (int rank = 0; rank < job.ranks; ++rank) slow += is_slow(job, 1, rank, step) ? 1 : 0;
    ASSERT_EQ(slow, 4) << step;
    ASSERT_EQ(is_slow(job, 1, 0, step), is_slow(job, 1, 0, step / 10 * 10));
    moved = moved || is_slow(job, 1, 0, step) != is_slow(job, 1, 0, 0);
  }
  EXPECT_TRUE(moved);
}

}  // namespace
}  // namespace cox::model
