// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters in shards with versions of their own, and what workers have read of each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"

namespace cox::learn {

/// Shard s of S has the parameters from floor(s d / S) on. A worker's copy is put together of what it read of each, whenever that
/// was; its gradient is taken there once, when its first piece is delivered, and each shard's optimizer steps with its own piece. Of a shard
/// that a step did not read it has what it read last; a step that needs no more does not look at it.
/// Memory: two copies of the parameters for each worker, and two of shards that are copied. Threads: one owner. Held by: src/learn/run/shard_copies_test.cpp
class ShardCopies {
 public:
  /// All workers hold version 0. Pre: at least as many parameters as shards (asserted).
  ShardCopies(const Problem& problem, const OptimizerSpec& optimizer, int shards, int workers);

  void read(int worker, int shard);
  /// What the worker has read, of all shards.
  [[nodiscard]] std::span<const float> of(int worker) const { return held_[index(worker)]; }
  /// Room for its gradient there, to be filled when `begins` says so.
  [[nodiscard]] std::span<float> gradient(int worker) { return gradients_[index(worker)]; }
  /// Whether none of its step's pieces is there.
  [[nodiscard]] bool begins(int worker) const { return pieces_[index(worker)] == 0; }
  /// One more is. True: all are, of those that the step read.
  bool deliver(int worker, int shard);
  /// The shard's next version, with the piece of the worker that delivered last; the step's rate is `factor` times the optimizer's.
  void advance(int shard, double factor);
  /// The shard's standby takes it as it is; it keeps this copy and the one before.
  void copy(int shard);
  /// The shard is again what it was at `version`, its optimizer too; its versions go on counting.
  /// Pre: that is its version, 0, or one of the copies (asserted).
  void restore(int shard, std::int64_t version);
  [[nodiscard]] std::int64_t steps(int shard) const { return optimizers_[index(shard)].steps(); }
  [[nodiscard]] std::span<const float> newest() const { return newest_; }
  [[nodiscard]] int shards() const { return static_cast<int>(optimizers_.size()); }
  /// The first parameter of shard `shard` of `shards`; of shard `shards`: their number.
  [[nodiscard]] static std::size_t first_of(std::size_t parameters, std::size_t shards, std::size_t shard) {
    return parameters * shard / shards;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t first(int shard) const { return first_of(newest_.size(), count_, index(shard)); }

  struct Copy {
    std::int64_t version = -1;
    std::vector<float> values{};
    std::vector<float> state{};
    std::int64_t steps = 0;
  };

  const Problem& problem_;
  std::size_t count_;
  std::vector<float> newest_;
  std::vector<std::vector<float>> held_;
  std::vector<std::vector<float>> gradients_;
  std::vector<int> pieces_;     ///< of each worker's step, that are there
  std::vector<int> reads_;      ///< of each worker's step
  std::vector<int> delivered_;  ///< last to each shard: whose
  std::vector<Optimizer> optimizers_;
  std::vector<std::int64_t> versions_;
  std::vector<std::array<Copy, 2>> copies_;  ///< of each shard that has a standby, the older one first
};

}  // namespace cox::learn
