// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one rank holds of a job in which all ranks meet in each step, whatever its layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/loss_scale.hpp"
#include "cox/learn/problem.hpp"

#include "train/checkpoint/saver.hpp"
#include "train/executor/memory_count.hpp"
#include "train/run/job.hpp"

namespace cox::train {

/// All ranks call the same, in the same order. Threads: one owner.
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  virtual ~Held() = default;

  virtual void inject(const Injected& fault) = 0;
  /// One step; where a gradient is no number, parameters are what they were and its worker is named.
  [[nodiscard]] virtual Result<std::optional<learn::Divergence>> step(std::int64_t number) = 0;
  /// All parameters, on rank 0 or on all ranks; valid until the next call.
  [[nodiscard]] virtual Result<std::span<const float>> whole(bool on_all_ranks) = 0;
  /// Whether all parameters are numbers.
  [[nodiscard]] virtual Result<bool> all_finite() = 0;
  virtual void go_on(const SavedState& state) = 0;
  /// Before what is saved is saved: it is brought together, where it does not lie as it is saved. Errors: those of the transport.
  [[nodiscard]] virtual Status collect_saved() { return {}; }
  /// What this rank saves.
  [[nodiscard]] virtual std::vector<SavedSpan> saved() = 0;
  /// Mean over samples of the last step; on the first rank.
  [[nodiscard]] virtual double loss() const = 0;
  [[nodiscard]] virtual learn::Problem& problem() = 0;
  [[nodiscard]] virtual int moments() const = 0;
  /// Floats that each worker keeps from version to version, beside what is parted.
  [[nodiscard]] virtual std::int64_t worker_floats() const { return 0; }
  [[nodiscard]] virtual Bytes optimizer_bytes() const = 0;
  /// Where gradients are scaled: what is saved of it.
  [[nodiscard]] virtual std::optional<learn::LossScaleState> loss_scale() const { return std::nullopt; }
  /// Counted by who takes buffers, those of what is saved too.
  [[nodiscard]] virtual MemoryCount& memory() = 0;
};

}  // namespace cox::train
