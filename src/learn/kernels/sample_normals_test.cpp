// SPDX-License-Identifier: Apache-2.0
#include "learn/kernels/sample_normals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/base/elementary.hpp"

namespace cox::learn {
namespace {

TEST(SampleNormals, EveryInstructionSetMakesTheSameBits) {
  const std::uint32_t key[] = {1, 0xfeedbeef, 77};
  for (const std::size_t n : {std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{1000}}) {
    std::vector<float> expected(n, 0.25F);
    add_normals(kernels::InstructionSet::Baseline)(key, n, expected.data());
    for (const auto set : kernels::instruction_sets()) {
      std::vector<float> got(n, 0.25F);
      add_normals(set)(key, n, got.data());
      EXPECT_EQ(got, expected) << n << " set " << static_cast<int>(set);
    }
  }
}

TEST(SampleNormals, ADrawDoesNotDependOnHowManyThereAre) {
  const SampleNormals normals(1, 2);
  std::vector<float> many(100);
  std::vector<float> few(37);
  normals.draw(5, many);
  normals.draw(5, few);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  std::vector<float> other(100);
  normals.draw(6, other);
  EXPECT_NE(many, other);
  SampleNormals(2, 2).draw(5, other);
  EXPECT_NE(many, other);
  SampleNormals(1, 3).draw(5, other);
  EXPECT_NE(many, other);
}

/// Moments to the sixth, the distribution function, and products of neighbours, all within four standard errors.
TEST(SampleNormals, AreIndependentStandardNormals) {
  constexpr std::size_t kSamples = 2000, kDraws = 100;
  const SampleNormals normals(1, 2);
  std::vector<float> z(kDraws);
  std::vector<float> before(kDraws);
  std::vector<double> all;
  double in_sample = 0, half_block = 0, in_coordinate = 0, squares = 0;
  for (std::size_t s = 0; s < kSamples; ++s) {
    std::swap(z, before);
    normals.draw(static_cast<std::int64_t>(s), z);
    for (std::size_t i = 0; i < kDraws; ++i) {
      all.push_back(z[i]);
      in_sample += z[i] * z[(i + 1) % kDraws];
      half_block += z[i] * z[(i + 16) % kDraws];
      in_coordinate += z[i] * before[i];
      squares += (z[i] * z[i] - 1) * (z[(i + 1) % kDraws] * z[(i + 1) % kDraws] - 1) / 2;
    }
  }
  constexpr double kN = kSamples * kDraws;
  for (const double sum : {in_sample, half_block, in_coordinate, squares})
    EXPECT_NEAR(sum / std::sqrt(kN), 0, 4);
  double power_sums[7] = {};
  for (const double v : all)
    for (int p = 1; p <= 6; ++p) power_sums[p] += std::pow(v, p) / kN;
  const double expected[] = {0, 0, 1, 0, 3, 0, 15};
  const double variances[] = {0, 1, 2, 15, 96, 945, 10170};
  for (int p = 1; p <= 6; ++p) EXPECT_NEAR(power_sums[p], expected[p], 4 * std::sqrt(variances[p] / kN)) << p;
  std::ranges::sort(all);
  std::vector<double> probabilities = all;
  normal_probabilities(probabilities);
  double largest = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    largest = std::max(largest, std::abs(probabilities[i] - (static_cast<double>(i) + 0.5) / kN));
  EXPECT_LT(largest * std::sqrt(kN), 1.95);  // Kolmogorov's distribution: exceeded once in a thousand
}

}  // namespace
}  // namespace cox::learn
