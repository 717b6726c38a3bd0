// SPDX-License-Identifier: Apache-2.0
/// \file
/// Learns what a stream of updates comes to: gradients at the versions that workers had read, in the order in which they
/// were applied.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"
#include "cox/learn/way.hpp"
#include "cox/sync/stream.hpp"

namespace cox::learn {

/// What a worker takes in one step: `leaves` shards of `samples` samples each. Leaf j of worker w in its step c has the
/// samples from ((c workers + w) leaves + j) samples on, so that W workers with L leaves and W L workers with one do the
/// same. Workers that join have samples of their own.
struct StepShare {
  std::int64_t leaves = 1;
  std::int64_t samples = 1;
  /// Consecutive parts of the leaves that are those of one member each, where a worker is a group: member m of worker w has the
  /// data of number w members + m. Divides `leaves`.
  std::int64_t members = 1;
  [[nodiscard]] std::int64_t batch() const { return leaves * samples; }
  /// The samples of leaf `leaf` of a worker's step, in a job that is numbered for `workers`.
  [[nodiscard]] Shard shard(std::int64_t workers, int worker, std::int64_t step, std::int64_t leaf) const {
    return {.first = ((step * workers + worker) * leaves + leaf) * samples,
            .count = samples,
            .worker = data_of(worker, leaf)};
  }
  /// Whose data leaf `leaf` of a worker is: the worker's own, or its member's.
  [[nodiscard]] int data_of(int worker, std::int64_t leaf) const {
    return static_cast<int>(worker * members + leaf / (leaves / members));
  }
};

/// Where learning ended before its time.
struct Divergence {
  int worker = 0;
  std::int64_t step = 0;  ///< of that worker
  std::string tensor;     ///< the first whose gradient (or difference) is not a number any more
  [[nodiscard]] std::string place() const;  ///< `worker 3, step 40, w1`
  [[nodiscard]] std::string text() const;
};
/// Position of the first value that is infinite or not a number; the size where there is none. Cost: a pass.
[[nodiscard]] std::size_t first_not_finite(std::span<const float> values);
/// The name of the tensor that holds parameter `at`. Pre: there is one.
[[nodiscard]] std::string tensor_at(std::span<const Tensor> tensors, std::size_t at);

/// What a loss scale did.
struct ScaledSteps {
  double factor = 1;         ///< now
  std::int64_t skipped = 0;  ///< versions that are the one before
  double vanished = 0;       ///< part of the gradients' elements that are not 0 and became 0 in FP16
  std::optional<Divergence> last_overflow{};  ///< whose, in which of its steps, and the first tensor
};

/// The parameters of one job, its workers' copies of what they had read, and its optimizers.
///   Delivered, applied: the worker's gradient at what it had read, or the difference that its local steps made, each
///     leaf into an aligned binary tree. Workers come in rank order where they meet, so the sum has the same bits for any
///     number of workers that holds the same leaves.
///   Advanced: one step of the optimizer with the mean over the leaves (differences: of the outer optimizer).
/// Memory: two versions, and one more for each that somebody still works with; optimizers of workers with local steps.
/// Cost: a gradient per update and step that it holds, a copy of the parameters per version that somebody reads.
/// Deterministic: a function of stream, problem, spec. Threads: one owner, as the problem's.
/// Held by: src/learn/run/learner_test.cpp (bits for 1 to 64 workers; edges of delay; fixed points of local SGD,
/// FedProx, SCAFFOLD, DiLoCo; floors of noise)
class Learner {
 public:
  /// `problem` outlives it. `workers`: those that begin. `seed`: of what compression draws.
  Learner(Problem& problem, const OptimizerSpec& optimizer, const Way& way, const StepShare& share,
          int workers, std::uint64_t seed = 0);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  Learner(Learner&&) noexcept;

  /// False: it has diverged, and takes no more. Pre: the stream is one that sync::Ledger takes (asserted in part).
  bool take(const sync::StreamEvent& event);
  [[nodiscard]] const std::optional<Divergence>& diverged() const;
  /// The newest version.
  [[nodiscard]] std::span<const float> parameters() const;
  [[nodiscard]] std::int64_t version() const;
  /// Samples whose gradients were applied, and those whose work was thrown away; a step that was given up counts whole.
  [[nodiscard]] std::int64_t samples() const;
  [[nodiscard]] std::int64_t wasted_samples() const;
  /// What workers that compress put on the wire, all together; zero where nobody does.
  [[nodiscard]] Bytes sent() const;
  /// Where gradients are scaled (`CompressorSpec::loss_scale`). A step in which any update overflows is a version with the
  /// parameters of the one before, without momentum of its own.
  [[nodiscard]] ScaledSteps scaled_steps() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cox::learn
