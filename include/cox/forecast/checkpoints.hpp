// SPDX-License-Identifier: Apache-2.0
/// \file
/// What failures, restarts and checkpoints leave of a job's time: best intervals, goodput, and goodput against size.
/// Formulas and their limits: docs/concepts/goodput.md.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::forecast {

/// Interval of least waste to first order: sqrt(2 C M), C what a checkpoint takes, M the mean time between failures.
/// Source: Young, "A first order approximation to the optimum checkpoint interval", 1974.
/// Held by: src/forecast/checkpoints/intervals_test.cpp
[[nodiscard]] Seconds young_interval(Seconds checkpoint, Seconds between);

/// sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C; M where C >= 2M. Source: Daly, "A higher order estimate of the
/// optimum checkpoint interval for restart dumps", 2006. Held by: src/forecast/checkpoints/intervals_test.cpp
[[nodiscard]] Seconds daly_interval(Seconds checkpoint, Seconds between);

/// The exact one for exponential failures: M (1 + W0(-e^(-1 - C/M))). What a restart takes is not in it, nor how cold the
/// job is after one. Held by: src/forecast/checkpoints/intervals_test.cpp
[[nodiscard]] Seconds best_interval(Seconds checkpoint, Seconds between);

/// Wall time over work, for exponential failures that happen in writes and restarts too:
/// M e^(R/M) (e^((tau + C)/M) - 1) / tau. Source: Daly 2006. Held by: src/forecast/checkpoints/intervals_test.cpp
[[nodiscard]] double wall_over_work(Seconds interval, Seconds checkpoint, Seconds restart, Seconds between);

/// How often checkpoints are taken.
struct Intervals {
  Seconds far{};   ///< to storage
  Seconds near{};  ///< into the nodes' own memory; zero = none
};

/// Where the wall time goes, as shares that add up to 1.
struct WallShares {
  double work = 0;  ///< the goodput
  double write = 0;
  double rework = 0;             ///< undone by failures, and writes beside the steps that were cut off
  double restart = 0;            ///< with cold steps
  double waiting = 0;            ///< for nodes that are being repaired, where no spare is left
  double failures_per_work = 0;  ///< failures, per second of work
};

/// Ends of a part, or of a ratio: nine of ten draws lie between them.
struct ShareBand {
  double low = 0;
  double high = 0;
};

/// What the batch does where the nodes are another number.
enum class BatchRule : std::uint8_t {
  Grows,  ///< each replica keeps its micro-batches
  Stays,  ///< replicas share them out: fewer each
};

}  // namespace cox::forecast
