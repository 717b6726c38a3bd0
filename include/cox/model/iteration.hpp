// SPDX-License-Identifier: Apache-2.0
/// \file
/// One bulk-synchronous job as the evaluation of pacing needs it: what every rank does in an iteration and
/// what it shares with whom. One description drives real processes, the engines and the laws.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"
#include "cox/pace/wait_mode.hpp"

namespace cox::model {

/// Law of the multiplicative jitter of `compute`; its mean is 1.
enum class JitterLaw : std::uint8_t { None, Lognormal, Exponential };
/// Which ranks are slow.
enum class Imbalance : std::uint8_t { None, Persistent, Rotating };

/// An iteration: [delay], then preparation on the host's shared cores, then input over the shared link, then
/// compute (on a device of its own, or on the shared cores), then the synchronisation.
struct IterationWork {
  int cores = 2;      ///< of each host, shared by its ranks
  Seconds prepare{};  ///< CPU time on the host's cores at the start
  Bytes fetch{};      ///< input over a link that all ranks share
  Bandwidth link{};   ///< of that link; unset = none
  Seconds compute{};  ///< mean, of a rank that is not slow
  bool compute_on_cores = false;
  JitterLaw jitter = JitterLaw::None;
  double spread = 0;  ///< coefficient of variation of the jitter
  Imbalance imbalance = Imbalance::None;
  int slow_ranks = 0;                           ///< Persistent: the last so many; Rotating: so many at a time
  double slow_factor = 1;                       ///< times `compute`
  std::int64_t episode = 10;                    ///< Rotating: steps after which others are slow
  Bytes reduce{};                               ///< payload of the all-reduce; 0 = a barrier
  pace::WaitMode wait = pace::WaitMode::Block;  ///< in a synchronisation; never unknown
  /// Engines only (a live host has its own): longest time that a core runs one rank while others want it; 0 =
  /// all of them at once, each at its share, the limit of short slices.
  Seconds time_slice{};
};

/// The same on so many ranks.
struct Iteration : IterationWork {
  int ranks = 1;
  int hosts = 1;  ///< ranks are placed in blocks; the last host may hold fewer
};

/// Compute time of one rank in one step: a pure function of (job, seed, rank, step), alike for every arm and
/// every engine. Formula: compute x slow_factor (where slow) x jitter. Held by: src/model/iteration_test.cpp
[[nodiscard]] Seconds compute_time(const Iteration& job, std::uint64_t seed, int rank, std::int64_t step);
/// Whether a rank is slow in a step.
[[nodiscard]] bool is_slow(const Iteration& job, std::uint64_t seed, int rank, std::int64_t step);

}  // namespace cox::model
