// SPDX-License-Identifier: Apache-2.0
/// \file
/// Disturbances of a scenario as draws that depend on (seed, source, step, rank) only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// Which ranks share a node, a switch, a rail, a stage.
struct SharedPlaces {
  int ranks = 1;
  int ranks_per_node = 1;
  int nodes_per_switch = 1;
  int rails = 1;            ///< cards of a node, each for as many of its ranks
  int ranks_per_stage = 1;  ///< of one replica
  int stages = 1;
  /// Device of each rank, where they do not sit on them in their order; else empty.
  std::vector<int> devices{};
  /// Card of each device of the machine, where devices do not have equal parts of all cards in their order; else empty.
  std::vector<int> card_of_device{};
};

/// What the draws of one step leave for the next, where the same ranks are asked for step by step: results are the same
/// without it, and later. One per caller; at most 256 MB, 8 bytes per rank and source, and for correlated sources as much
/// again for each doubling of how long they remember.
class NoiseMemory {
 public:
  NoiseMemory();
  NoiseMemory(NoiseMemory&& other) noexcept;
  NoiseMemory& operator=(NoiseMemory&& other) noexcept;
  ~NoiseMemory();

 private:
  friend class Noise;
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

/// All noise sources of a scenario. Immutable; const calls from any thread; copies share what was read.
/// Formulas: docs/concepts/noise.md. Held by: src/simulate/noise/noise_test.cpp (moments and quantiles
/// against closed forms, order and thread independence)
class Noise {
 public:
  Noise() = default;
  /// Errors: simulate-001 (a law whose parameters have no meaning: shape <= 1 with a mean), base-002 to
  /// base-004 and simulate-002 (trace file).
  [[nodiscard]] static Result<Noise> make(const std::vector<model::NoiseSource>& sources,
                                          const SharedPlaces& placement, std::uint64_t seed);
  /// The same sources with other draws. Cost: O(1).
  [[nodiscard]] Noise with_seed(std::uint64_t seed) const;
  [[nodiscard]] bool disturbs_compute() const;
  [[nodiscard]] bool disturbs_messages() const;
  [[nodiscard]] bool disturbs_bandwidth() const;
  /// Some source on messages or bandwidth depends on which rank receives: `messages` then wants `ranks` where places
  /// are not ranks.
  [[nodiscard]] bool names_ranks() const;
  /// The rank that sits on a device of the job; where ranks sit on the devices in their order, the device's number.
  [[nodiscard]] int rank_on(int device) const;
  /// Some source acts at points of simulated time: `compute` then needs `now`.
  [[nodiscard]] bool needs_time() const;
  /// Recordings that are shorter than a run of so many steps and so long, and are played again: one sentence each.
  [[nodiscard]] std::vector<std::string> repeats(std::int64_t steps, Seconds total) const;

  /// Disturbed durations of ranks [first, first + base.size()) in `step`; `now` is when each begins (periodic
  /// daemons, recorded detours; may be empty where `needs_time` is false). `out` may be `base`.
  void compute(std::int64_t step, int first, std::span<const Seconds> base, std::span<Seconds> out,
               std::span<const Seconds> now = {}, NoiseMemory* memory = nullptr) const;
  /// Disturbed costs of the messages that ranks [first, ...) receive in round `round` of collective number
  /// `collective` of `step`. `latency`: the part of each that bandwidth does not change; empty = none. `ranks`: who
  /// receives each, where `first`, ... are places that others sit on; empty = the places themselves.
  void messages(std::int64_t step, std::int64_t collective, std::int64_t round, int first,
                std::span<Seconds> costs, std::span<const Seconds> latency = {},
                std::span<const int> ranks = {}) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
  std::uint64_t seed_ = 0;
};

}  // namespace cox::simulate
