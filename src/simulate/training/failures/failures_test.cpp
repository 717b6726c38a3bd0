// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/failures/failures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/stats.hpp"

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
  EXPECT_NEAR((o.work + o.write + o.rework + o.restart + o.cold).count(), o.total.count(),
              1e-9 * o.total.count());
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

/// Mean total over work of many seeds, and its standard error.
std::pair<double, double> overhead(const std::vector<Seconds>& steps, const model::Failures& f, int nodes,
                                   int seeds) {
  Welford ratios;
  double work = 0;
  for (const Seconds s : steps) work += s.count();
  for (int seed = 0; seed < seeds; ++seed) {
    const auto o = run_with_failures(steps, f, nodes, static_cast<std::uint64_t>(seed));
    EXPECT_TRUE(o);
    expect_balanced(*o, steps);
    ratios.add(o->total.count() / work);
  }
  return {ratios.mean(), ratios.stddev() / std::sqrt(static_cast<double>(seeds))};
}

TEST(Failures, AsynchronousCheckpointsLoseTheirWriteOnceMore) {
  // Minutes: M 1260, restart 10, block 0.1, write 5 beside the steps, every 15.8. Formula: M e^((R + W)/M) (e^((tau + C)/M) - 1) /
  // tau; the end of the job, after which no failure counts, is far away.
  const double m = 1260, r = 10, c = 0.1, w = 5, tau = 15.8;
  const std::vector<Seconds> steps(4000, Seconds{tau});
  const auto [mean, error] = overhead(steps,
                                      {.node_mtbf = Seconds{m * 16},
                                       .restart = Seconds{r},
                                       .checkpoint = Seconds{c},
                                       .checkpoint_interval = Seconds{tau},
                                       .checkpoint_write = Seconds{w}},
                                      16, 400);
  EXPECT_NEAR(law(m, r + w, c, tau), 1.02483, 5e-6);
  EXPECT_NEAR(mean, law(m, r + w, c, tau), 3 * error + 5e-5);  // the law takes the write as lost in full
  EXPECT_LT(error, 2e-4);
}

TEST(Failures, ARestartGrowsWithTheJob) {
  const double m = 10'000, tau = 500;
  const std::vector<Seconds> steps(2000, Seconds{tau});
  const model::Failures f{.node_mtbf = Seconds{m * 64},
                          .restart = Seconds{60},
                          .restart_per_node = Seconds{2},
                          .restart_per_pair = Seconds{0.01},
                          .checkpoint_interval = Seconds{tau},
                          .checkpoint_size = Bytes{1'000'000'000'000},
                          .storage = Bandwidth::gbyte_per_s(50)};
  // The storage holds up each checkpoint for 20 s, and each restart.
  const double r = 60 + 2 * 64 + 0.01 * 64 * 64 + 20;
  const auto [mean, error] = overhead(steps, f, 64, 100);
  EXPECT_NEAR(mean, law(m, r, 20, tau), 3 * error);
}

TEST(Failures, TheSlowestNodeIsWaitedFor) {
  // Exponential parts of mean 10 s: the largest of 64 is 10 H(64) on average. Pareto parts: by their quantiles.
  double harmonic = 0;
  for (int k = 1; k <= 64; ++k) harmonic += 1.0 / k;
  const double m = 20'000, tau = 100;
  const std::vector<Seconds> steps(4000, Seconds{tau});
  model::Failures f{
      .node_mtbf = Seconds{m * 64}, .restart_spread = Seconds{10}, .checkpoint_interval = Seconds{tau}};
  Welford restart;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto o = run_with_failures(steps, f, 64, seed);
    ASSERT_TRUE(o);
    if (o->failures > 0) restart.add(o->restart.count() / static_cast<double>(o->failures));
  }
  EXPECT_NEAR(restart.mean(), 10 * harmonic, 4 * restart.stddev() / 10);
  f.restart_tail = 0.5;
  const auto heavy = overhead(steps, f, 64, 100).first;
  f.restart_tail = 0;
  EXPECT_GT(heavy, overhead(steps, f, 64, 100).first);
}

TEST(Failures, ColdStepsAreCountedApart) {
  const std::vector<Seconds> steps(100, Seconds{1});
  const model::Failures f{
      .node_mtbf = Seconds{40}, .cold_steps = 3, .cold_factor = 2, .checkpoint_interval = Seconds{1}};
  const auto o = run_with_failures(steps, f, 1, 3);
  ASSERT_TRUE(o);
  expect_balanced(*o, steps);
  ASSERT_GT(o->failures, 0);
  EXPECT_GT(o->cold.count(), 0);
  EXPECT_LE(o->cold.count(), 3.0 * static_cast<double>(o->failures));
}

TEST(Failures, ColdStepsAddToARestartWhatTheyTakeLonger) {
  // Three steps of 1 s at 2.5 times: 4.5 s a failure, but for those of the few seconds after another.
  const std::vector<Seconds> steps(20'000, Seconds{1});
  const model::Failures f{
      .node_mtbf = Seconds{10'000}, .cold_steps = 3, .cold_factor = 2.5, .checkpoint_interval = Seconds{1}};
  double cold = 0;
  std::int64_t failures = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto o = run_with_failures(steps, f, 1, seed);
    ASSERT_TRUE(o);
    cold += o->cold.count();
    failures += o->failures;
  }
  ASSERT_GT(failures, 50);
  EXPECT_NEAR(cold, 4.5 * static_cast<double>(failures), 0.01 * cold);
}

TEST(Failures, TheJobFailsByItselfToo) {
  const double m = 5000, tau = 100;
  const std::vector<Seconds> steps(4000, Seconds{tau});
  // Two causes of 10,000 s each are one of 5,000 s.
  const auto [mean, error] = overhead(steps,
                                      {.node_mtbf = Seconds{10'000.0 * 8},
                                       .job_mtbf = Seconds{10'000},
                                       .restart = Seconds{200},
                                       .checkpoint = Seconds{5},
                                       .checkpoint_interval = Seconds{tau}},
                                      8, 100);
  EXPECT_NEAR(mean, law(m, 200, 5, tau), 3 * error);
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
  EXPECT_EQ(o.error().hint, "write checkpoints more often, or say a longer failures.node_mtbf");
  const auto of_job = run_with_failures(steps, {.job_mtbf = Seconds{1}}, 100, 1);
  ASSERT_FALSE(of_job);
  EXPECT_EQ(of_job.error().hint, "write checkpoints more often, or say a longer failures.job_mtbf");
  const auto restarting =
      run_with_failures(steps, {.node_mtbf = Seconds{1}, .restart = Seconds{1e4}}, 100, 1);
  ASSERT_FALSE(restarting);
}

}  // namespace
}  // namespace cox::simulate
