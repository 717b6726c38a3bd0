// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/replicas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cox::simulate {
namespace {

using namespace literals;

BspJob job_of(int ranks, std::int64_t steps) {
  const model::MessageCost link{.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(20e-12)};
  return {.schedule = *model::Schedule::make(
              {.algorithm = model::Algorithm::RecursiveDoubling, .ranks = ranks, .bytes = 8_KiB}),
          .costs = {.inside = link, .across = link},
          .compute = Seconds{0.01},
          .steps = steps};
}

Noise jitter(int ranks) {
  return *Noise::make({{.name = "jitter", .cv = 0.05}}, {.ranks = ranks}, 0);
}

TEST(Replicas, WithoutNoiseAStepIsComputeAndCollective) {
  const BspJob job = job_of(16, 7);
  std::vector<Seconds> ends(7);
  const double step = 0.01 + 4 * job.costs.across(8_KiB).count();
  EXPECT_NEAR(run_bsp(job, Noise{}, ends).count(), 7 * step, 1e-14);
  for (std::size_t k = 0; k < 7; ++k) EXPECT_NEAR(ends[k].count(), static_cast<double>(k + 1) * step, 1e-14);
}

// Rendezvous holds all ranks together, so a job lasts the sum of the latest draws and of the collectives.
TEST(Replicas, RendezvousIsTheSumOfTheLatest) {
  const BspJob job = job_of(64, 30);
  const Noise noise = jitter(64);
  double want = 0;
  for (std::int64_t step = 0; step < 30; ++step) {
    std::vector<Seconds> t(64, Seconds{0.01});
    noise.compute(step, 0, t, t);
    want += std::ranges::max_element(t)->count() + 6 * job.costs.across(8_KiB).count();
  }
  EXPECT_NEAR(run_bsp(job, noise).count(), want, 1e-12);
}

TEST(Replicas, AnySeedReRunsAloneAndThreadsChangeNothing) {
  for (const auto protocol : {model::Protocol::Rendezvous, model::Protocol::Eager}) {
    BspJob job = job_of(24, 10);  // no power of two
    job.collective.protocol = protocol;
    const Noise noise = jitter(24);
    const auto one = run_replicas(job, noise, 100, 50, 1);
    const auto four = run_replicas(job, noise, 100, 50, 4);
    EXPECT_EQ(one.totals, four.totals);
    EXPECT_EQ(one.totals[37], run_bsp(job, noise.with_seed(137)));
    EXPECT_NE(one.totals[36], one.totals[37]);
    EXPECT_EQ(one.total.replicas, 50);
    EXPECT_GT(one.total.half_width_95.count(), 0);
  }
}

// Each point of the table and of the expansion against the integral of Student's density.
TEST(Replicas, StudentsPoints) {
  for (const int n : {2, 3, 11, 31, 32, 50, 101, 1001}) {
    std::vector<Seconds> sample(static_cast<std::size_t>(n), Seconds{0});
    sample[0] = Seconds{1};
    const ReplicaSpread s = spread_of(sample);
    const double deviation = std::sqrt((1.0 - 1.0 / n) / (n - 1));  // of 1, 0, 0, ...
    const double t = s.half_width_95.count() / (deviation / std::sqrt(n));
    const double nu = n - 1;
    const double scale =
        std::exp(std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2)) / std::sqrt(nu * 3.14159265358979323846);
    double inside = 0;
    constexpr int kParts = 200000;
    for (int i = 0; i < kParts; ++i) {
      const double x = t * (i + 0.5) / kParts;
      inside += std::pow(1 + x * x / nu, -(nu + 1) / 2) * t / kParts;
    }
    EXPECT_NEAR(2 * scale * inside, 0.95, 1e-6) << n;
  }
}

// Compute of N(10 ms, 5 %) on 256 ranks: the mean of many seeds against the expected latest of 256 normals.
TEST(Replicas, MeanOverSeedsIsTheExpectedLatest) {
  const BspJob job = job_of(256, 10);
  double latest = 0;
  constexpr double kStep = 1e-4;
  for (double z = -6 + kStep / 2; z < 8; z += kStep)
    latest += ((z > 0 ? 1 : 0) - std::pow(0.5 * std::erfc(-z / std::sqrt(2.0)), 256)) * kStep;
  const double want = 10 * (0.01 * (1 + 0.05 * latest) + 8 * job.costs.across(8_KiB).count());
  const auto out = run_replicas(job, jitter(256), 1, 200, 2);
  EXPECT_NEAR(out.total.mean.count(), want, 1.5 * out.total.half_width_95.count());
}

}  // namespace
}  // namespace cox::simulate
