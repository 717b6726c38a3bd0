// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/price.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "learn/drive/job_for_tests.hpp"

namespace cox::learn {
namespace {

WaysQuestion question(double noise) {
  WaysQuestion q{.problem = {.dimension = 20, .condition = 10, .noise = noise}, .optimizer = {.rate = 0.5}};
  q.seeds = 3;
  q.steps = 400;
  return q;
}

model::Scenario local(int workers, int steps) {
  model::Scenario s = testing::job(workers);
  s.policy = {.kind = model::PolicyKind::LocalSgd, .local_steps = steps};
  return s;
}

// Without noise a larger batch is the same gradient: as many steps, so samples in proportion, at the same best rate. Local steps
// save none: each worker would come as far on its own.
TEST(SamplesToTarget, WithoutNoiseWorkersAddNothing) {
  const std::array jobs{testing::job(2), testing::job(4), testing::job(16), local(4, 5)};
  const auto made = samples_to_target(jobs, question(0));
  ASSERT_TRUE(made) << made.error().message;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*made)[i].workers, i == 0 ? 2 : i == 1 ? 4 : 16);
    const std::vector<double>& samples = (*made)[i].by_seed;
    ASSERT_EQ(samples.size(), 3U);
    EXPECT_EQ(samples[0], (*made)[0].by_seed[0] / 2 * (*made)[i].workers);
    EXPECT_EQ(samples[0], samples[2]);
  }
  ASSERT_EQ((*made)[3].by_seed.size(), 3U);
  EXPECT_GE((*made)[3].by_seed[0], (*made)[1].by_seed[0]);
  EXPECT_LE((*made)[3].by_seed[0], (*made)[1].by_seed[0] + 4 * 5)
      << "it is scored every 5 steps of 4 workers";
}

// With noise that rules, a sample is worth as much in a larger batch: four times the workers need few more.
TEST(SamplesToTarget, NoiseMakesWorkersWorthTheirSamples) {
  WaysQuestion q = question(1.5);
  q.seeds = 6;
  const std::array jobs{testing::job(4), testing::job(16)};
  const auto made = samples_to_target(jobs, q);
  ASSERT_TRUE(made) << made.error().message;
  double log_ratio = 0;
  for (std::size_t k = 0; k < 6; ++k)
    log_ratio += std::log((*made)[1].by_seed.at(k) / (*made)[0].by_seed.at(k)) / 6;
  EXPECT_LT(std::exp(log_ratio), 1.6);
  EXPECT_GT(std::exp(log_ratio), 0.8);
}

// What backup workers throw away is not counted: it is not in the throughput of samples that count either.
TEST(SamplesToTarget, WhatIsThrownAwayIsNotCounted) {
  model::Scenario backup = testing::job(4);
  testing::make_uneven(backup, 0.3);
  backup.policy = {.kind = model::PolicyKind::Backup, .backups = 2};
  const std::array jobs{testing::job(4), backup};
  const auto made = samples_to_target(jobs, question(0));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)[1].by_seed.at(0), (*made)[0].by_seed.at(0) / 2) << "as many steps of half the gradients";
}

TEST(SamplesToTarget, TheWayIsThatOfTheScenario) {
  model::Scenario s = local(4, 8);
  auto& job = s.job.as<model::TrainingJob>();
  EXPECT_TRUE(way_of(s)->is_local());
  EXPECT_EQ(way_of(s)->compressor.kind, CompressorKind::Dense);
  job.compression = {.kind = model::Compressor::Quantised, .bits = 4};
  EXPECT_EQ(way_of(s)->compressor.kind, CompressorKind::MaxScaled);
  EXPECT_EQ(way_of(s)->compressor.levels, 7);
  job.compression.bits = 16;
  EXPECT_EQ(way_of(s)->compressor.kind, CompressorKind::Bf16);
  job.compression = {.kind = model::Compressor::Sparse, .density = 0.02};
  EXPECT_EQ(way_of(s)->compressor.kind, CompressorKind::TopK);
  EXPECT_EQ(way_of(s)->compressor.keep, 0.02);
  job.compression = {.kind = model::Compressor::Quantised, .bits = 12};
  EXPECT_EQ(way_of(s).error().id, "learn-002");
}

TEST(SamplesToTarget, WhatCannotBeLearnedSaysWhy) {
  model::Scenario odd = testing::job(4);
  odd.job.as<model::TrainingJob>().compression = {.kind = model::Compressor::Quantised, .bits = 12};
  WaysQuestion hard = question(3);
  hard.target = 1e-6;
  hard.steps = 10;
  const std::array jobs{testing::job(64), odd};
  const auto made = samples_to_target(jobs, hard);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE((*made)[0].by_seed.empty());
  EXPECT_NE((*made)[0].why_not.find("0 of 3 seeds within 1000 steps"), std::string::npos)
      << (*made)[0].why_not;
  EXPECT_NE((*made)[1].why_not.find("12 bits"), std::string::npos);
  EXPECT_FALSE(samples_to_target(std::span(&odd, 1), hard));
}

}  // namespace
}  // namespace cox::learn
