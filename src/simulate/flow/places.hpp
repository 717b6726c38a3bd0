// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a job's ranks sit, for every engine that prices messages by places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// Device of each of the job's first `ranks` ranks. Ranks that share layers of a training job (tensor x context) stay
/// together: they move as one, within their node. A random placement is drawn from `seed` alone, so that all engines
/// see the same one.
/// Errors: simulate-005 (placement file: a line that is no free device of the job; ranks that cannot move as one),
/// base-002 to base-004 (reading it).
/// Held by: src/simulate/flow/places_test.cpp
[[nodiscard]] Result<std::vector<int>> devices_of_job(const model::Scenario& scenario, std::uint64_t seed,
                                                      int ranks);

/// Card of each device of the machine, within its node; empty where a node's devices have equal parts of its cards, in their order.
/// For SharedPlaces::card_of_device. Held by: src/simulate/noise/noise_rails_test.cpp
[[nodiscard]] std::vector<int> cards_of_devices(const model::Cluster& cluster);

/// How much longer than elsewhere the device of each rank computes: 1 / speed of its node's class. Empty where no
/// class says a speed.
/// Held by: src/simulate/training/plan/places_test.cpp
[[nodiscard]] std::vector<double> slowness_of(const model::Cluster& cluster, const std::vector<int>& devices);

/// Which class computes longest, where it is not all the same: one sentence each.
[[nodiscard]] std::vector<std::string> class_notes(const model::Cluster& cluster,
                                                   const std::vector<int>& devices);

/// Whether the places that the scenario says are seen by who plays links, and neighbours by who has a common step.
/// Errors: simulate-003.
[[nodiscard]] Status check_places(const model::Scenario& scenario, bool plays_links, bool has_steps);

/// Puts servers and switches, the participants behind the ranks, on devices of ranks, evenly spread.
/// `rank_of[place]` has the ranks and gets the others.
void add_servers(std::vector<int>& rank_of, int participants);

}  // namespace cox::simulate
