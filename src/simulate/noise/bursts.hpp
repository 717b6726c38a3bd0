// SPDX-License-Identifier: Apache-2.0
/// \file
/// Disturbances that come and go: on or off, by a Markov chain over the steps.
#pragma once

#include <cstdint>

namespace cox::simulate {

/// A chain that leaves `on` with probability 1 / burst and `off` with 1 / calm, stationary from the first step on.
/// Any step can be asked for without the ones before. With a = 1 / calm, b = 1 / burst and a + b <= 1, a step in which,
/// with probability a + b, the state is drawn anew (on with a / (a + b)) is a step of the chain: what counts is the last
/// such step, and these are drawn by their gaps, block by block. Held by: src/simulate/noise/bursts_test.cpp
class Bursts {
 public:
  /// Mean lengths in steps. Pre: both 1 or more, 1 / burst + 1 / calm <= 1.
  Bursts(double burst, double calm);
  /// Whether `unit` is in a burst in `step`, by the streams `stream` and `stream` + 1. Cost: some four draws.
  [[nodiscard]] bool on(std::uint64_t seed, std::uint32_t stream, std::uint64_t step,
                        std::uint64_t unit) const;

 private:
  double share_;         ///< of steps that are on
  double log_stay_;      ///< logarithm of 1 - a - b
  std::uint64_t block_;  ///< steps
};

}  // namespace cox::simulate
