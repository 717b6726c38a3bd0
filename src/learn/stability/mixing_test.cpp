// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/mixing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cox::learn {
namespace {

// Checks 38 and 39 of the reference, and section 3's gaps.
TEST(Mixing, Gaps) {
  EXPECT_NEAR(mixing_rates(ring_mixing(8)).gap(), .195262, 6e-7);
  EXPECT_NEAR(mixing_rates(ring_mixing(8)).factor(), .804738, 6e-7);
  EXPECT_NEAR(mixing_rates(ring_mixing(16)).gap(), .050747, 6e-7);
  EXPECT_NEAR(mixing_rates(ring_mixing(64)).factor(), .996790, 6e-7);
  EXPECT_NEAR(mixing_rates(ring_mixing(8)).least, -1.0 / 3, 1e-12);
  EXPECT_NEAR(mixing_rates(hypercube_mixing(4)).second, 1 - 2.0 / 5, 1e-12);
  EXPECT_NEAR(mixing_rates(torus_mixing(8)).factor(), .882843, 6e-7);
}

/// Factor per step of x+ = W x - a x.
double descent_factor(Mixing w, double a) {
  for (std::int64_t i = 0; i < w.workers; ++i) w.weights[static_cast<std::size_t>(i * w.workers + i)] -= a;
  const MixingRates rates = mixing_rates(w);
  return std::max({rates.factor(), 1 - a});
}

TEST(Mixing, DescentBesideItIsStableToOnePlusTheLeast) {
  EXPECT_NEAR(mixing_rates(ring_mixing(8)).edge(), 2.0 / 3, 1e-12);
  EXPECT_NEAR(descent_factor(ring_mixing(8), 0.6), .933333, 6e-7);
  EXPECT_NEAR(descent_factor(ring_mixing(8), 0.7), 1.033333, 6e-7);
}

// Check 40.
TEST(Mixing, OnePeerIsExactForPowersOfTwo) {
  for (const auto& [n, error] : {std::pair{16, 0.0}, {12, 1.0 / 24}}) {
    Mixing all = one_peer_mixing(n, 0);
    for (int hop = 1; hop < 4; ++hop) all = product(one_peer_mixing(n, hop), all);
    EXPECT_NEAR(consensus_error(all), error, 1e-12);
    EXPECT_LT(sum_errors(all).columns, 1e-12);
  }
}

TEST(Mixing, AOneSidedPullMovesTheMean) {
  Mixing w = ring_mixing(4);
  EXPECT_LT(sum_errors(w).rows + sum_errors(w).columns, 1e-12);
  w.weights = {.5, .5, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};  // worker 0 pulls worker 1
  EXPECT_EQ(sum_errors(w).rows, 0);
  EXPECT_EQ(sum_errors(w).columns, 0.5);
}

// Check 41.
TEST(Mixing, ElasticAveraging) {
  EXPECT_NEAR(elastic_averaging_factor(8, 1, 0.2), 1, 1e-12);
  for (const double a : {0.1, 1.0, 1.5})
    for (const double pull : {0.03, 0.07}) {
      const double most = (4 - 2 * a - 2 * pull) / (2 - a) / pull;
      const auto n = static_cast<std::int64_t>(most);
      EXPECT_LT(elastic_averaging_factor(n, a, pull), 1) << a << ' ' << pull;
      EXPECT_GT(elastic_averaging_factor(n + 1, a, pull), 1) << a << ' ' << pull;
    }
}

// Check 42.
TEST(Mixing, BackupWorkers) {
  EXPECT_NEAR(backup_wait(8, 0), 2.717857, 6e-7);
  EXPECT_NEAR(backup_wait(8, 1), 1.828968, 6e-7);
  EXPECT_NEAR(backup_wait(8, 2), 1.428968, 6e-7);
}

}  // namespace
}  // namespace cox::learn
