// SPDX-License-Identifier: Apache-2.0
#include "simulate/noise/bursts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace cox::simulate {
namespace {

constexpr std::uint64_t kUnits = 4000;
constexpr std::uint64_t kSeed = 11;

double share_on(const Bursts& bursts, std::uint64_t step) {
  double on = 0;
  for (std::uint64_t u = 0; u < kUnits; ++u) on += bursts.on(kSeed, 5, step, u) ? 1 : 0;
  return on / static_cast<double>(kUnits);
}

// Stationary from the first step on: the share is burst / (burst + calm) in any.
TEST(Bursts, AreStationary) {
  for (const auto& [burst, calm] : {std::pair{5.0, 45.0}, {2.0, 2.0}, {400.0, 100.0}, {1.25, 5.0}}) {
    const double share = burst / (burst + calm);
    const double error = 4 * std::sqrt(share * (1 - share) / static_cast<double>(kUnits));
    for (const std::uint64_t step : {0U, 1U, 7U, 1000U, 99'999'999U})
      EXPECT_NEAR(share_on(Bursts(burst, calm), step), share, error) << burst << ' ' << calm << ' ' << step;
  }
}

// What follows a step on, and a step off, is that of the chain, and of no step before: over three steps.
TEST(Bursts, AreAMarkovChain) {
  for (const auto& [burst, calm] : {std::pair{5.0, 15.0}, {2.0, 2.0}, {3.0, 1.5}}) {
    const Bursts bursts(burst, calm);
    double seen[2][2][2] = {};
    for (std::uint64_t u = 0; u < kUnits; ++u)
      for (std::uint64_t step = 0; step < 100; ++step)
        ++seen[bursts.on(kSeed, 5, step, u)][bursts.on(kSeed, 5, step + 1, u)]
              [bursts.on(kSeed, 5, step + 2, u)];
    for (const int before : {0, 1})
      for (const int now : {0, 1}) {
        const double all = seen[before][now][0] + seen[before][now][1];
        const double goes_on = now == 1 ? 1 - 1 / burst : 1 / calm;
        EXPECT_NEAR(seen[before][now][1] / all, goes_on, 0.01) << burst << ' ' << calm << before << now;
      }
  }
}

TEST(Bursts, LastAsLongAsTheyShould) {
  const Bursts bursts(8, 24);
  std::uint64_t on = 0;
  std::uint64_t began = 0;
  for (std::uint64_t u = 0; u < 200; ++u)
    for (std::uint64_t step = 1; step < 2000; ++step)
      if (bursts.on(kSeed, 5, step, u)) {
        ++on;
        if (!bursts.on(kSeed, 5, step - 1, u)) ++began;
      }
  EXPECT_NEAR(static_cast<double>(on) / static_cast<double>(began), 8, 0.2);
}

}  // namespace
}  // namespace cox::simulate
