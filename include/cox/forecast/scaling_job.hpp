// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job's throughput at any size, with each of its mechanisms on or off: what regimes and margins are computed from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::forecast {

/// What a mechanism can do to the throughput of a job whose batch grows with it (weak scaling).
enum class Reach : std::uint8_t {
  Flattens,  ///< jitter, tails, detours, collisions, throttling: the step grows slower than the job
  Lowers,  ///< time-outs in sequential rounds, quadratic coordination, restarts that grow, a boundary of tiers
};

struct Mechanism {
  std::string name{};
  Reach reach = Reach::Flattens;
};

/// Bit i: mechanism i is on.
using MechanismSet = std::uint64_t;
inline constexpr MechanismSet kEveryMechanism = ~MechanismSet{0};

/// A job at one size.
struct ThroughputPoint {
  double throughput = 0;  ///< over that of one rank which never waits
  double elasticity = 0;  ///< eps = d ln throughput / d ln ranks; without unit and scale
};

/// A job at any size. `at` is a pure function, and may be called by several threads.
struct ScalingJob {
  std::vector<Mechanism> mechanisms{};  ///< at most 63
  std::function<ThroughputPoint(std::int64_t ranks, MechanismSet on)> at{};
  /// Throughputs that are apart by less, as a part of them, are alike: a peak that is higher than the end by less is none.
  double alike = 0;
};

/// A time that depends on the size.
struct TimeAtSize {
  Seconds value{};
  Seconds growth{};  ///< d value / d ln ranks
};

/// A part of each step. Parts add.
struct StepTerm {
  Mechanism mechanism{};  ///< empty name: always on
  std::function<TimeAtSize(std::int64_t ranks)> at{};
};

/// What failures cost, at the optimum interval between checkpoints.
///
/// Formula: that of `wall_shares` at `best_intervals`, M = mean time of a node / nodes, R = restart + restart_per_node
///          nodes; its growth as a chord of 0.01 % of the nodes on either side.
struct FailureTerm {
  Mechanism failures{"failures, their checkpoints and restarts", Reach::Lowers};
  Mechanism growing{"restarts that grow with the job", Reach::Lowers};
  Seconds node_mean_time{};  ///< between two failures of one node
  int ranks_per_node = 1;
  Seconds checkpoint{};
  Seconds restart{};
  Seconds restart_per_node{};
};

/// A job whose step is a sum of terms. Weak scaling: throughput = ranks x work / step x goodput.
/// `work`: of a rank in a step that never waits; in no term. Pre: at most 61 terms (asserted). Cost: that of the terms.
/// Held by: src/forecast/regimes/scaling_job_test.cpp
[[nodiscard]] ScalingJob job_of(Seconds work, std::vector<StepTerm> terms,
                                const std::optional<FailureTerm>& failures = {});

}  // namespace cox::forecast
