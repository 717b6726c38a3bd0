// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the compute of a table of operations says beside the what-if: micro-batches that are uneven, workers that are
/// slower than their like within a stage, replicas that are slow by turns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/model/program.hpp"

namespace cox::diagnose {

/// Work that differs from micro-batch to micro-batch: both passes over the same one are long.
struct UnevenMicroBatches {
  /// of forward and backward compute of the same micro-batch, each over its worker's median
  double correlation = 0;
  double spread = 0;  ///< of forward compute, scaled MAD over the median
  std::int64_t pairs = 0;
};

/// A worker that takes longer than its like in the same stage on other data ranks.
struct SlowerThanPeers {
  Rank rank;
  int stage = -1;
  double excess = 0;  ///< compute of a step over the lower median of the stage, less 1; median over steps
  std::int64_t late_steps = 0;
  std::int64_t steps = 0;
  double chance = 1;  ///< by chance, over all workers
};

/// Replicas of the model (data ranks) by how often each is the slowest of a step by enough.
struct ReplicaTurns {
  bool changes = false;  ///< another one from step to step
  int most_often = -1;   ///< data rank
  double share = 0;      ///< of the steps in which one stands out, those in which it is that one
  double excess = 0;     ///< of the one that stands out over the median replica, median over those steps
  std::int64_t standing_out = 0;  ///< steps in which one does
  std::int64_t steps = 0;
};

/// What ranks of a stage compute in a usual step against those of the other stages.
struct StageLength {
  int stage = -1;
  double excess = 0;  ///< usual compute over the median of the other stages', less 1
  bool lasts =
      true;  ///< in three steps of four it is longer than them by half of that at least, where there are ten steps
};

struct ComputePatterns {
  std::optional<UnevenMicroBatches> micro_batches;
  std::vector<SlowerThanPeers> workers;  ///< most first
  std::optional<ReplicaTurns> replicas;
  std::vector<StageLength> stages;  ///< by stage; empty where there is one
  /// Passes over micro-batches of the worker that has fewest of them, over all steps.
  std::int64_t passes = 0;
  /// Workers whose passes are longer than those of their like over the same micro-batches: 3 % in the median over ten at least, in
  /// three of four, by chance (sign test, over all workers) less than 1e-3; of fewer passes and three workers or more, one whose
  /// others differ by a fiftieth of its excess at most. What few steps can be asked.
  std::vector<Rank> slower_in_passes;

  /// Whether a stage is longer in usual steps, by 3 % at least, and lasts so. Scatter, a slow stretch, and bad moments of one of its ranks
  /// also make steps wait for a stage; they are no imbalance. True where nothing is known of its compute.
  [[nodiscard]] bool is_longer(int stage) const;
};

/// Bars: correlation 0.8 and a spread of 5 % over 20 pairs, each against the usual one of the steps around it, so that a lasting change is none; a worker 3 % above its stage's lower median, in three of
/// four steps and ten at least, by chance (sign test, over all workers) less than 1e-3; a replica 5 % above the median
/// one, in a third of the steps at least, and never the same in more than 60 % of those with three replicas or more; what a stage
/// computes: lower median over its ranks of the median over steps.
/// Source: imbalance of sequence lengths by the correlation of both passes after "Understanding Stragglers in Large
/// Model Training Using What-if Analysis" (OSDI 2025), section 5.
/// Cost: O(operations log operations). Held by: src/diagnose/operations/compute_patterns_test.cpp
[[nodiscard]] ComputePatterns find_compute_patterns(const model::Program& program);

/// The same as sentences, without ends of line.
[[nodiscard]] std::vector<std::string> notes_of(const ComputePatterns& p);

}  // namespace cox::diagnose
