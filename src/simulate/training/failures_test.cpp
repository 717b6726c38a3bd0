// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/stats.hpp"
#include "cox/simulate/training.hpp"

namespace cox::simulate {
namespace {

/// Expected time per second of work (Daly 2006), for exponential failures of mean M.
double law(double m, double r, double c, double tau) {
  return m * std::exp(r / m) * std::expm1((tau + c) / m) / tau;
}

void expect_balanced(const FailureOutcome& o, std::span<const Seconds> steps) {
  Seconds work{};
  for (const Seconds s : steps) work += s;
  EXPECT_NEAR(o.work.count(), work.count(), 1e-9 * work.count());
  EXPECT_NEAR((o.work + o.write + o.rework + o.restart).count(), o.total.count(), 1e-9 * o.total.count());
  EXPECT_TRUE(std::is_sorted(o.step_ends.begin(), o.step_ends.end()));
}

TEST(Failures, MeanTimeIsTheLaw) {
  // Cluster of 21 h: 64 nodes; checkpoints of 5 min, restart of 10 min.
  const double m = 21 * 3600, c = 300;
  for (const auto& [tau, r] : {std::pair{1800.0, 600.0}, std::pair{6534.0, 0.0}, std::pair{14400.0, 600.0}}) {
    const std::vector<Seconds> steps(200, Seconds{tau / 2});
    const model::Failures f{.node_mtbf = Seconds{m * 64},
                            .restart = Seconds{r},
                            .checkpoint = Seconds{c},
                            .checkpoint_interval = Seconds{tau}};
    Welford ratios;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const auto o = run_with_failures(steps, f, 64, seed);
      ASSERT_TRUE(o);
      expect_balanced(*o, steps);
      ratios.add(o->total.count() / (tau * 100));
    }
    const double error = ratios.stddev() / std::sqrt(400.0);
    EXPECT_NEAR(ratios.mean(), law(m, r, c, tau), 3 * error) << tau;
    EXPECT_LT(error, 0.01);
  }
}

TEST(Failures, TheLawsOptimumIsTheCheapestInterval) {
  // Minutes of chapter C.14: 21 h and 5 min have their least waste, 8.65 %, at 108.9 min.
  const double m = 21 * 60;
  double best = 0, least = 1e9;
  for (double tau = 80; tau < 140; tau += 0.1)
    if (law(m, 0, 5, tau) < least) least = law(m, 0, 5, best = tau);
  EXPECT_NEAR(best, 108.9, 0.11);
  EXPECT_NEAR(1 - 1 / least, 0.0865, 5e-5);
}

TEST(Failures, NoneCostsNothingButCheckpoints) {
  const std::vector<Seconds> steps(10, Seconds{2});
  const auto none = run_with_failures(steps, {}, 8, 1);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->total, Seconds{20});
  EXPECT_EQ(none->step_ends[3], Seconds{8});
  const auto written =
      run_with_failures(steps, {.checkpoint = Seconds{1}, .checkpoint_interval = Seconds{5}}, 8, 1);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->write, Seconds{3});  // after the 3rd, 6th and 9th step
  EXPECT_EQ(written->total, Seconds{23});
}

TEST(Failures, WeibullLivesHaveTheirMean) {
  // Without checkpoints to write and with steps that never end, failures are a renewal process.
  for (const double shape : {0.7, 2.0}) {
    const std::vector<Seconds> steps(4000, Seconds{1});
    const auto o = run_with_failures(
        steps, {.node_mtbf = Seconds{50}, .weibull_shape = shape, .checkpoint_interval = Seconds{1}}, 1, 7);
    ASSERT_TRUE(o);
    expect_balanced(*o, steps);
    const double count = o->total.count() / 50;
    EXPECT_NEAR(static_cast<double>(o->failures), count, 4 * std::sqrt(count) * (shape < 1 ? 1.5 : 0.6));
  }
}

TEST(Failures, NoProgressIsAnError) {
  const std::vector<Seconds> steps(2, Seconds{1000});
  const auto o = run_with_failures(steps, {.node_mtbf = Seconds{1}}, 100, 1);
  ASSERT_FALSE(o);
  EXPECT_EQ(o.error().id, "simulate-003");
  const auto restarting =
      run_with_failures(steps, {.node_mtbf = Seconds{1}, .restart = Seconds{1e4}}, 100, 1);
  ASSERT_FALSE(restarting);
}

}  // namespace
}  // namespace cox::simulate
