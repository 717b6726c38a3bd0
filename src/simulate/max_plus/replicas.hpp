// SPDX-License-Identifier: Apache-2.0
/// \file
/// A bulk-synchronous job for many seeds: what its total is on average, and how far it strays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/spread.hpp"

namespace cox::simulate {

/// In each step every rank computes, disturbed, and then takes part in a collective. Ranks are not held
/// together otherwise: a rank that leaves early begins its next step early.
struct BspJob {
  model::Schedule schedule;
  LinkCosts costs{};
  CollectiveOptions collective{};  ///< `noise`, `step` and `number` are not used
  Seconds compute{};               ///< of each rank and step, undisturbed
  std::int64_t steps = 1;
};

/// When the last rank has finished the last step. `step_ends`, where not empty, has one element per step:
/// when the last rank finished it. Memory: 32 bytes per rank, and what the collective needs. Cost: O(steps
/// (draws + messages)). Held by: src/simulate/max_plus/replicas_test.cpp (the BSP values of simulators.md)
[[nodiscard]] Seconds run_bsp(const BspJob& job, const Noise& noise, std::span<Seconds> step_ends = {});

struct ReplicaOutcome {
  std::vector<Seconds> totals;  ///< by seed: `first_seed`, `first_seed` + 1, ...
  ReplicaSpread total{};
};

/// `run_bsp` with the sources of `noise` for as many seeds, over threads (0 = one per core). Totals do not
/// depend on the number of threads, and each seed re-runs alone. Memory: that of `run_bsp` per thread.
[[nodiscard]] ReplicaOutcome run_replicas(const BspJob& job, const Noise& noise, std::uint64_t first_seed,
                                          int replicas, int threads);

}  // namespace cox::simulate
