// SPDX-License-Identifier: Apache-2.0
/// \file
/// Off for long, on for long: what shows a hold the costs of its delays that come late. Guest code: libc only.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::pace {

/// Frames of steps, each with one long stretch in which a rank that holds leaves its delay out.
///
/// Both blocks of a pair pay what earlier delays cost; a long stretch does not, once its beginning is left out.
/// Lengths: in units of a quarter of `carry`, rounded up to pairs. A frame of level 0, 1, 2 lasts 8, 32, 128
///          units, is off for 2, 6, 6 of them, and 1, 4, 4 are left out after each change. A hold begins at
///          level 0, goes up with each frame that shows a gain, and stays at 2.
/// When: frames begin at multiples of what they are off; where in its frame the stretch lies is drawn from seed,
///       level and the frame's first step, so it is alike on all ranks that began to hold together.
/// Verdict: D = (off - on) / off, of means over the steps that count. Its error is that of means of batches of
///          two pairs of blocks, pooled over both arms, which stands autocorrelation over a dozen steps or two.
///          Harm: D + error < least. Gain: D - error > least.
/// Power: D of a cost c that is spread evenly over the n steps after a delay is too good by at most c / 5 where
///        n <= 100 (level 0) and c / 20 where n <= 300 (level 1), for `carry` = 256.
/// Cost: O(1) per step, no allocation. Held by: src/pace/crossover_test.cpp, tests/property/pace_promise.cpp
class Crossover {
 public:
  enum class Verdict : std::uint8_t {
    None,        ///< no frame ends here
    Gain,        ///< on is better
    Unclear,     ///< neither
    Harm,        ///< off is better
    Unmeasured,  ///< gaps left too little to say
  };
  /// `pair`: steps of a pair of blocks. `carry` = 0: there is none, `is_off` nowhere.
  Crossover(std::uint64_t seed, std::uint32_t pair, std::uint32_t carry) noexcept;

  /// A hold begins; frames count from `step` on.
  void begin(std::uint64_t step) noexcept;
  /// Whether the step is one to leave the delay out for long. Constant within a pair.
  [[nodiscard]] bool is_off(std::uint64_t step) const noexcept;
  /// One step of the hold, in order; a gap in `step` counts as a change of arm.
  void add(std::uint64_t step, Seconds time) noexcept;
  /// To be asked after each `add`. Levels go up by themselves.
  Verdict verdict(std::uint64_t step, double least) noexcept;
  /// Of the last verdict: relative gain, and time per step without delay.
  [[nodiscard]] double gain() const noexcept { return gain_; }
  [[nodiscard]] Seconds unpaced_time() const noexcept { return Seconds{arms_[0].mean}; }
  /// Whether a frame that leaves all of `carry` out has shown a gain in this hold.
  [[nodiscard]] bool is_proven() const noexcept { return level_ > 1; }
  /// Steps with delay since the hold began or a frame of level 1 or 2 last showed a gain.
  [[nodiscard]] double unproven() const noexcept { return unproven_; }
  /// Steps with delay until a hold is proven, if nothing is unclear.
  [[nodiscard]] double longest() const noexcept;
  [[nodiscard]] Seconds unproven_time() const noexcept { return Seconds{unproven_time_}; }

 private:
  struct Arm {
    double mean = 0;  // of batches
    double squares = 0;
    std::uint32_t batches = 0;
  };
  void begin_frame(std::uint64_t from) noexcept;

  std::uint64_t seed_ = 0;
  std::uint64_t pair_ = 16;
  std::uint64_t unit_ = 0;   // steps; 0: no crossover
  std::uint64_t begin_ = 0;  // of the frame
  std::uint64_t end_ = 0;
  std::uint64_t off_begin_ = 0;
  std::uint64_t off_end_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t age_ = 0;  // steps since the arm changed
  std::uint32_t level_ = 0;
  bool was_off_ = false;
  Arm arms_[2];  // off, on
  double batch_ = 0;
  std::uint32_t batched_ = 0;
  double gain_ = 0;
  double unproven_ = 0;
  double unproven_time_ = 0;
};

}  // namespace cox::pace
