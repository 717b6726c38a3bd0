// SPDX-License-Identifier: Apache-2.0
/// \file
/// Disturbances at points of simulated time: how much later work ends that is interrupted by them.
#pragma once

#include <cstdint>

#include "simulate/noise/laws.hpp"
#include "simulate/noise/trace.hpp"

namespace cox::simulate {

/// A daemon that wakes each `period`, from a drawn phase on, and runs for what its law draws.
/// Times in seconds. `unit`: whom the draws are for.
struct Daemon {
  const NoiseDraws& draws;
  double period;

  /// What is added to `work`: the rest of an interruption that is running at `now`, and all that begin until
  /// the work is done. Cost: O(1) for a constant law;
  /// else one draw per interruption, the first 1,000; what follows lasts the mean.
  [[nodiscard]] double delay(std::uint64_t seed, std::uint64_t unit, double now, double work) const;
  /// Of the interruption number `turn`.
  [[nodiscard]] double lasts(std::uint64_t seed, std::uint64_t unit, double turn) const;
};

/// Recorded detours, over and over, from a drawn phase on.
struct DetourReplay {
  const NoiseDraws& draws;
  const Detours& detours;

  /// As `Daemon::delay`. Cost: O(log detours + those met), at most those of a window.
  [[nodiscard]] double delay(std::uint64_t seed, std::uint64_t unit, double now, double work) const;
};

}  // namespace cox::simulate
