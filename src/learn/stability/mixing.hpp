// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gossip, elastic averaging and backups: how fast workers agree. Exact for a quadratic; `a` is rate times curvature.
///
/// Threads: functions without state. No elementary function of libm but the square root: the same bits everywhere.
#pragma once

#include <cstdint>
#include <vector>

namespace cox::learn {

/// Weights W of gossip, row by row: worker i takes sum_j W_ij x_j.
struct Mixing {
  std::int64_t workers = 1;
  std::vector<double> weights{1};
};
[[nodiscard]] Mixing ring_mixing(std::int64_t workers);               ///< 1/3 each; from 3 workers on
[[nodiscard]] Mixing hypercube_mixing(int dimensions);                ///< 1/(d+1) each
[[nodiscard]] Mixing torus_mixing(std::int64_t side);                 ///< 1/5 each; from 3 on
[[nodiscard]] Mixing one_peer_mixing(std::int64_t workers, int hop);  ///< half of the worker 2^hop before
[[nodiscard]] Mixing product(const Mixing& after, const Mixing& before);

/// Largest distance of a row's and of a column's sum from 1. Rows: agreement stays. Columns: the mean stays; without,
/// gossip moves it (a one-sided pull). Held by: src/learn/stability/mixing_test.cpp
struct SumErrors {
  double rows = 0;
  double columns = 0;
};
[[nodiscard]] SumErrors sum_errors(const Mixing& w);
/// Largest distance of a weight from 1/n: 0 where one round is the exact mean.
[[nodiscard]] double consensus_error(const Mixing& w);

/// Of symmetric weights with sums 1. Cost: O(n^3) per sweep of Jacobi's method, some ten of them.
struct MixingRates {
  double second = 0;  ///< second largest eigenvalue
  double least = 0;
  /// Distance from consensus per step: max(|second|, |least|).
  [[nodiscard]] double factor() const { return second > -least ? second : -least; }
  [[nodiscard]] double gap() const { return 1 - factor(); }
  /// Edge of x+ = W x - rate g: 1 + least. Of W (x - rate g): 2.
  [[nodiscard]] double edge() const { return 1 + least; }
};
[[nodiscard]] MixingRates mixing_rates(const Mixing& w);

/// Elastic averaging, x+ = x - a x - r (x - c), c+ = c + r sum (x - c): factor per step, the largest |eigenvalue|; below 1
/// where N r < (4 - 2a - 2r) / (2 - a). Held by: src/learn/stability/mixing_test.cpp
[[nodiscard]] double elastic_averaging_factor(std::int64_t workers, double a, double pull);

/// Mean time until N of N + b workers are there, of one's mean: exponential times, H(N + b) - H(b).
[[nodiscard]] double backup_wait(std::int64_t workers, std::int64_t backups);

}  // namespace cox::learn
