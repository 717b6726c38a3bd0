// SPDX-License-Identifier: Apache-2.0
/// \file
/// Disturbances of a scenario as draws that depend on (seed, source, step, rank) only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// Which ranks share a node and a switch.
struct Placement {
  int ranks = 1;
  int ranks_per_node = 1;
  int nodes_per_switch = 1;
};

/// All noise sources of a scenario. Immutable; const calls from any thread.
/// Held by: src/simulate/noise_test.cpp (moments and quantiles against closed forms, order and thread
/// independence)
class Noise {
 public:
  Noise() = default;
  /// Errors: simulate-001 (a law whose parameters have no meaning: shape <= 1 with a mean), base-002 and
  /// simulate-002 (trace file).
  [[nodiscard]] static Result<Noise> make(const std::vector<model::NoiseSource>& sources,
                                          const Placement& placement, std::uint64_t seed);
  [[nodiscard]] bool disturbs_compute() const;
  [[nodiscard]] bool disturbs_messages() const;

  /// Disturbed durations of ranks [first, first + base.size()) in `step`; `now` is when each begins (periodic
  /// daemons; may be empty where there are none). `out` may be `base`.
  void compute(std::int64_t step, int first, std::span<const Seconds> base, std::span<Seconds> out,
               std::span<const Seconds> now = {}) const;
  /// Disturbed costs of the messages that ranks [first, ...) receive in round `round` of collective number
  /// `collective` of `step`.
  void messages(std::int64_t step, std::int64_t collective, std::int64_t round, int first,
                std::span<Seconds> costs) const;

 private:
  std::vector<model::NoiseSource> sources_;
  Placement placement_{};
  std::uint64_t seed_ = 0;
};

}  // namespace cox::simulate
