// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each mechanism of a scenario costs: by switching them off, on the same draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// What the scenario switches on beyond an ideal machine, a few words each: `gaussian noise, target compute`, `4:1
/// oversubscription`. Held by: src/simulate/attribution/switches_test.cpp
[[nodiscard]] std::vector<std::string> mechanisms_of(const model::Scenario& scenario);

/// What one mechanism adds to the mean total over seeds.
struct MechanismCost {
  std::string name;
  Seconds share{};       ///< Shapley value: shares add up to `with` - `without`
  Seconds half_width{};  ///< of `share` over drawn orders, 95 %; zero where all were taken
  /// Of `share` over seeds, 95 %; zero for one. Formula: Student's t over the shares of the seeds, each of totals on that seed's
  /// draws; of drawn orders the same for all. Held by: src/simulate/attribution/attribution_test.cpp
  Seconds seeds_half_width{};
  Seconds alone{};  ///< with nothing else switched on
  Seconds last{};   ///< with everything else switched on
};

struct Attribution {
  Seconds with{};     ///< mean total as the scenario says
  Seconds without{};  ///< with every mechanism switched off
  std::vector<MechanismCost> mechanisms;
  std::int64_t simulated = 0;  ///< combinations of switches
  bool exact = true;           ///< all of them
  int seeds = 1;               ///< that each was simulated for
};

/// The same job at one of several sizes.
struct SizeOutcome {
  int nodes = 0;
  std::int64_t ranks = 0;
  ReplicaSpread step;        ///< mean time of a step, over replicas
  bool fixed_batch = false;  ///< all ranks together have as much to do at any size, else each of them
  std::optional<Attribution> attribution{};  ///< where asked for: of the whole run
  std::vector<std::string> not_modelled{};
  std::optional<double> exposed_ratio{};  ///< `Outcome::exposed_ratio`

  /// Time of a step at the smallest size over that at this one, of a fixed batch times the ranks there over those here: 1
  /// where growing costs nothing. Held by: src/simulate/attribution/attribution_test.cpp
  [[nodiscard]] double efficiency(const SizeOutcome& smallest) const {
    if (!(step.mean.count() > 0)) return 0;
    const double shared = fixed_batch ? static_cast<double>(smallest.ranks) / static_cast<double>(ranks) : 1;
    return smallest.step.mean / step.mean * shared;
  }
};

/// Simulates the scenario with each combination of its mechanisms (up to 6; with more, orders are drawn and the
/// error of each share is stated). All with the engine of the whole scenario and the same draws: a source of noise
/// keeps its number when it is switched off.
/// Formula: share of i = mean over orders of (total of those up to and with i, less total of those before i).
/// Source: Shapley 1953; sampled by orders as Castro, Gomez, Tejada 2009, each order beside its reverse.
/// Nothing that can be switched off: no mechanisms. Errors: those of simulate; simulate-003 for more than 63.
/// Cost: 2^mechanisms simulations, at most 64; else about 40 x mechanisms; failures and the start of training not counted.
/// Held by: src/simulate/attribution/attribution_test.cpp (adds up; additive, joint and null mechanisms)
[[nodiscard]] Result<Attribution> attribute(const model::Scenario& scenario, const SimulateOptions& options);
/// The same where `simulate` has said what becomes of the scenario as it is; with `keep_steps` its steps are not played again.
/// Failures and the start change no step: combinations of the others are simulated once for all of those. `progress` is
/// told of (simulations done, the last in part, `whole` among them; simulations in all).
[[nodiscard]] Result<Attribution> attribute(const model::Scenario& scenario, const SimulateOptions& options,
                                            const Outcome& whole);
/// Simulations in all; of drawn orders about as many as they have different beginnings.
/// Held by: src/simulate/attribution/attribution_test.cpp
[[nodiscard]] std::int64_t simulations_to_attribute(const model::Scenario& scenario);

}  // namespace cox::simulate
