// SPDX-License-Identifier: Apache-2.0
/// \file
/// The factor on gradients that keeps them inside FP16's range, and what a step with an overflow does to it.
#pragma once

#include <cstdint>

#include "cox/learn/compressor.hpp"

namespace cox::learn {

/// Where a loss scale is: what a checkpoint holds of it.
struct LossScaleState {
  double factor = 1;
  std::int64_t good = 0;     ///< steps in a row without an overflow, since the factor changed
  std::int64_t skipped = 0;  ///< in all
  bool operator==(const LossScaleState&) const = default;
};

/// One factor for the whole group, so that all skip a step together: whoever overflows, nobody's update is used.
///   fixed:   the factor stays; a step that overflows is skipped.
///   dynamic: such a step also halves it; it doubles after `growth_interval` steps in a row without one.
/// Powers of two change no bits of what is inside the range. Source: Micikevicius et al. 2018, section 3.2; halving, doubling and
/// their defaults (65,536, 2,000 steps) as torch.cuda.amp.GradScaler has them.
/// Bounds: from 2^-24 to 2^24. Held by: src/learn/run/loss_scale_test.cpp
class LossScale {
 public:
  explicit LossScale(const LossScaleSpec& spec) : spec_(spec), now_{.factor = spec.factor} {}
  [[nodiscard]] float factor() const { return static_cast<float>(now_.factor); }
  /// A step is over; whether it counts.
  bool end_step(bool overflowed);
  [[nodiscard]] std::int64_t skipped() const { return now_.skipped; }
  [[nodiscard]] const LossScaleState& state() const { return now_; }
  void go_on(const LossScaleState& state) { now_ = state; }

 private:
  LossScaleSpec spec_;
  LossScaleState now_;
};

}  // namespace cox::learn
