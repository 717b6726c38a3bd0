// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/compute_patterns.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace cox::diagnose {
namespace {

constexpr int kData = 4;
constexpr int kStages = 3;
constexpr int kMicroBatches = 6;

/// Factor on the compute of one micro-batch.
using Factor = std::function<double(int data, int stage, int step, int micro_batch)>;

/// 4 replicas of 3 stages; forward 10 ms, backward 20 ms, each within 1 % by its own noise.
model::Program table_of(const Factor& factor, unsigned seed, int steps = 30) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> noise(1, 0.01);
  model::Program p;
  p.names = {"forward-compute", "backward-compute"};
  for (int r = 0; r < kData * kStages; ++r)
    p.ranks.push_back({Rank{r}, {.data = r % kData, .pipeline = r / kData}});
  for (int step = 0; step < steps; ++step)
    for (int r = 0; r < kData * kStages; ++r)
      for (int mb = 0; mb < kMicroBatches; ++mb)
        for (std::uint32_t pass = 0; pass < 2; ++pass) {
          p.rank.push_back(static_cast<std::uint32_t>(r));
          p.name.push_back(pass);
          p.step.push_back(step);
          p.micro_batch.push_back(mb);
          p.duration.push_back(duration_from_seconds(0.01 * (1 + pass) *
                                                     factor(r % kData, r / kData, step, mb) * noise(bits)));
        }
  return p;
}

double even(int /*data*/, int /*stage*/, int /*step*/, int /*micro_batch*/) {
  return 1;
}

TEST(ComputePatterns, EvenWorkSaysNothing) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const ComputePatterns p = find_compute_patterns(table_of(even, seed));
    EXPECT_FALSE(p.micro_batches) << seed;
    EXPECT_TRUE(p.workers.empty()) << seed;
    EXPECT_FALSE(p.replicas) << seed;
    EXPECT_TRUE(notes_of(p).empty());
  }
}

TEST(ComputePatterns, ALongerStageIsNoUnevenMicroBatch) {
  const auto p =
      find_compute_patterns(table_of([](int, int stage, int, int) { return stage == 2 ? 1.5 : 1.0; }, 1));
  EXPECT_FALSE(p.micro_batches);
  EXPECT_TRUE(p.workers.empty());
}

TEST(ComputePatterns, UnevenMicroBatchesAreToldByBothPasses) {
  const auto p = find_compute_patterns(table_of(
      [](int data, int, int step, int mb) {
        std::mt19937 bits(static_cast<unsigned>(data + 10 * step + 1000 * mb));
        bits.discard(5);
        return 1 + 0.3 * static_cast<double>(bits() % 1000) / 1000;
      },
      2));
  ASSERT_TRUE(p.micro_batches.has_value());
  EXPECT_GT(p.micro_batches->correlation, 0.95);
  EXPECT_EQ(p.micro_batches->pairs, kData * kStages * kMicroBatches * 30);
}

TEST(ComputePatterns, ASlowWorkerInsideOfASlowStageIsFound) {
  const auto p = find_compute_patterns(
      table_of([](int data, int stage, int,
                  int) { return (stage == 2 ? 1.5 : 1.0) * (stage == 2 && data == 1 ? 1.2 : 1.0); },
               3));
  ASSERT_EQ(p.workers.size(), 1U);
  EXPECT_EQ(p.workers[0].rank, Rank{2 * kData + 1});
  EXPECT_NEAR(p.workers[0].excess, 0.2, 0.02);
  ASSERT_TRUE(p.replicas.has_value());
  EXPECT_FALSE(p.replicas->changes);
  EXPECT_EQ(p.replicas->most_often, 1);
}

TEST(ComputePatterns, AReplicaThatChangesFromStepToStepIsNoSlowWorker) {
  const auto p = find_compute_patterns(table_of(
      [](int data, int, int step, int) { return data == static_cast<int>(step * 7 / 3) % kData ? 1.2 : 1.0; },
      4));
  EXPECT_TRUE(p.workers.empty());
  ASSERT_TRUE(p.replicas.has_value());
  EXPECT_TRUE(p.replicas->changes);
  EXPECT_NEAR(p.replicas->excess, 0.2, 0.03);
}

TEST(ComputePatterns, ATableWithoutComputeSaysNothing) {
  EXPECT_TRUE(notes_of(find_compute_patterns({})).empty());
  EXPECT_TRUE(notes_of(find_compute_patterns(table_of(even, 1, 3))).empty());
}

}  // namespace
}  // namespace cox::diagnose
