// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters of workers that have no common ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"
#include "cox/sync/gossip_graph.hpp"

namespace cox::learn {

/// Each worker's copy with its own optimizer, from the same beginning.
/// A round: x_i <- sum_j W_ij (x_j - step of j), W those of sync::Neighbours (adapt, then combine: stable as one
/// worker alone; Sayed 2014). Columns of W sum to 1, so the mean of all moves by the mean of the steps and by nothing else.
/// Memory: two copies a worker, and its optimizer. Threads: one owner. Held by: src/learn/stability/gossip_copies_test.cpp
class GossipCopies {
 public:
  GossipCopies(const Problem& problem, const OptimizerSpec& optimizer, const sync::GossipSpec& graph,
               int workers);
  [[nodiscard]] std::span<const float> of(int worker) const {
    return copies_[static_cast<std::size_t>(worker)];
  }
  /// Steps that its optimizer has made.
  [[nodiscard]] std::int64_t steps(int worker) const {
    return optimizers_[static_cast<std::size_t>(worker)].steps();
  }
  /// The worker's own step; `factor` on the rate.
  void step(int worker, std::span<const float> gradient, double factor);
  /// Pairs: what the worker computes with next is what it has now.
  void keep(int worker) {
    next_[static_cast<std::size_t>(worker)] = copies_[static_cast<std::size_t>(worker)];
  }
  [[nodiscard]] std::span<const float> kept(int worker) const {
    return next_[static_cast<std::size_t>(worker)];
  }
  /// Pairs: both have the mean of the two.
  void average(int a, int b);
  /// All have made theirs: they take each other's.
  void combine(std::int64_t round);
  /// The mean of all copies, summed in rank order in double precision.
  void mean(std::span<float> out) const;
  /// Root mean square of their distances from the mean.
  [[nodiscard]] double apart() const;

 private:
  /// Where weights differ.
  void combine_unevenly(int worker, std::span<const int> peers, std::span<float> out) const;

  sync::Neighbours neighbours_;
  std::vector<Optimizer> optimizers_;
  std::vector<std::vector<float>> copies_;
  std::vector<std::vector<float>> next_;  ///< rounds: while they are combined; pairs: what each computes with
};

}  // namespace cox::learn
