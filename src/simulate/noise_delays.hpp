// SPDX-License-Identifier: Apache-2.0
/// \file
/// Disturbances at points of simulated time: how much later work ends that is interrupted by them.
#pragma once

#include <cstdint>

#include "simulate/noise_laws.hpp"
#include "simulate/noise_trace.hpp"

namespace cox::simulate {

/// A daemon that wakes each `period`, from a drawn phase on, and runs for what its law draws.
/// Times in seconds. `unit`: whom the draws are for.
struct Daemon {
  const NoiseDraws& draws;
  double period;

  /// What interruptions that begin in [now, end of the work) add to `work`. Cost: O(1) for a constant law;
  /// else one draw per interruption, the first 1,000; what follows lasts the mean.
  [[nodiscard]] double delay(std::uint64_t seed, std::uint64_t unit, double now, double work) const;
};

/// Recorded detours, over and over, from a drawn phase on.
struct DetourReplay {
  const NoiseDraws& draws;
  const Detours& detours;

  /// Cost: O(detours of a window), O(log) where few are met.
  [[nodiscard]] double delay(std::uint64_t seed, std::uint64_t unit, double now, double work) const;
};

}  // namespace cox::simulate
