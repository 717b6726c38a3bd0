// SPDX-License-Identifier: Apache-2.0
/// \file
/// What workers do between two meetings where each goes on from its own parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"

#include "train/executor/memory_count.hpp"
#include "train/executor/parting.hpp"
#include "train/run/job.hpp"

namespace cox::train {

/// A gradient that is no number.
struct BadGradient {
  std::int64_t step = 0;  ///< of its worker
  std::int64_t at = 0;    ///< parameter
};

/// Rounds of the workers of one rank, each with an optimizer of its own: from x, K times y -= the optimizer's step with the gradient at y
/// (FedProx: + proximal (y - x); SCAFFOLD, option II: + c - c_i, and then c_i += (x - y) / (K rate) - c); what a worker brings is x - y. The same as learn::Learner makes of a local way, bit for bit.
/// Memory: y, and the optimizers' states and variates of the rank's workers. Cost: K gradients and steps a worker and round.
/// Threads: one owner. Held by: src/train/run/local_steps_test.cpp
class LocalSteps {
 public:
  /// `problem` and `memory` outlive it. Pre: `job.local`. `workers`: of this rank.
  LocalSteps(const TrainJob& job, const learn::OptimizerSpec& inner, learn::Problem& problem,
             const Stretch& workers, MemoryCount& memory);

  struct Round {
    double loss = 0;                   ///< mean over the samples of all steps
    std::optional<BadGradient> bad{};  ///< the first; what is brought then is no number either
  };
  /// Of SCAFFOLD: the mean one, and what the worker's own one changes by. Empty: none.
  struct Variates {
    std::span<const float> mean{};
    std::span<float> change{};
  };
  /// Of `worker`, the one behind version `version`, into `brought`. `nan`: the step whose gradient is spoiled on purpose, or -1.
  [[nodiscard]] Round take(std::int64_t worker, std::int64_t version, std::span<const float> x,
                           std::span<float> brought, const Variates& variates, std::int64_t nan);
  /// After so many rounds, with what all workers of the job kept.
  void go_on(std::int64_t rounds, std::span<const float> all_workers);
  /// What the rank's workers keep from round to round, worker by worker.
  [[nodiscard]] std::vector<std::span<const float>> kept();
  /// Momentum, moments and variates of all workers.
  [[nodiscard]] Bytes state_bytes() const;
  /// Floats that a round needs of each worker from the one before: its optimizer's state, where that lasts, and its variate.
  [[nodiscard]] static std::int64_t kept_floats(const LocalRounds& local, const learn::OptimizerSpec& inner,
                                                std::int64_t parameters);
  /// Floats of one worker's optimizer and variate.
  [[nodiscard]] static std::int64_t floats(const LocalRounds& local, const learn::OptimizerSpec& inner,
                                           const learn::Problem& problem);

 private:
  [[nodiscard]] std::span<float> variate(std::size_t worker);

  const TrainJob& job_;
  LocalRounds rounds_;
  learn::OptimizerSpec inner_;
  learn::Problem& problem_;
  std::int64_t first_;
  std::vector<learn::Optimizer> optimizers_;  ///< of each worker
  CountedFloats y_;
  std::vector<float> variates_;  ///< of each worker, one after the other
};

}  // namespace cox::train
