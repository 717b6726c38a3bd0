// SPDX-License-Identifier: Apache-2.0
/// \file
/// Some units of a problem, worked with alone: a stage of a pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cox/base/result.hpp"
#include "cox/learn/problem.hpp"

namespace cox::learn {

/// Consecutive units of a problem (Problem::units).
struct UnitStretch {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// What a stage does with the samples of a shard, all at once. What stages do one after the other, forth and back, has the bits of
/// Problem::gradient of the shard, wherever units are cut. Buffers are the caller's: it decides what is kept from the way forth to the way
/// back, and what is computed again. `x`, `g`: of all parameters; only those of own units are touched.
/// Threads: one owner. Held by: src/learn/problem/problem_stage_test.cpp
class ProblemStage {
 public:
  /// Floats of a sample.
  struct Sizes {
    std::int64_t taken = 0;    ///< that come from the unit before; 0: it is the first, and draws its samples
    std::int64_t given = 0;    ///< that go to the next unit; 0: it is the last
    std::int64_t kept = 0;     ///< that the way back needs beside `taken`
    std::int64_t between = 0;  ///< that the gradient of the parameters needs of the way back
  };
  ProblemStage() = default;
  ProblemStage(const ProblemStage&) = delete;
  ProblemStage& operator=(const ProblemStage&) = delete;
  virtual ~ProblemStage() = default;
  [[nodiscard]] virtual const Sizes& sizes() const = 0;
  /// Fills `kept` and `given`. Returns the shard's mean loss on the last stage, 0 on others.
  virtual double forward(std::span<const float> x, const Shard& shard, std::span<const float> taken,
                         std::span<float> kept, std::span<float> given) = 0;
  /// From slopes of the loss by `given` to those by `taken`; fills `between`.
  virtual void backward(std::span<const float> x, const Shard& shard, std::span<const float> taken,
                        std::span<const float> kept, std::span<const float> of_given,
                        std::span<float> between, std::span<float> of_taken) = 0;
  /// Behind `backward`: g = mean gradient over the shard.
  virtual void gradient(const Shard& shard, std::span<const float> taken, std::span<const float> kept,
                        std::span<const float> of_given, std::span<const float> between,
                        std::span<float> g) = 0;
};

/// Null where the problem is not cut between its units: all but `mlp` and `logistic`. Errors: learn-001. Pre: `units` are some of the
/// problem's.
[[nodiscard]] Result<std::unique_ptr<ProblemStage>> make_stage(const ProblemSpec& spec, UnitStretch units);

}  // namespace cox::learn
