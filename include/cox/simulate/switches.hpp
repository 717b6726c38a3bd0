// SPDX-License-Identifier: Apache-2.0
/// \file
/// The mechanisms of a scenario, and how each is switched off.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// What a switch belongs to.
enum class SwitchKind : std::uint8_t {
  Noise,
  Fabric,
  Timeouts,
  Failures,
  Start,
  Input,
  Place,
  Policy,
  Overlap,
  Dips,
  Compression
};

struct Switch {
  std::string name;
  SwitchKind kind = SwitchKind::Noise;
  /// Empty: it has no off (a routing, a policy). One that takes an entry out of a list knows it by its number: several are
  /// switched off by `switch_off`.
  std::function<void(model::Scenario&)> off;
  bool of_links = false;  ///< only links that are played have it
  std::string unmet{};    ///< why the job does not meet it, and it is not on; empty = it does
};

/// In a fixed order; names as `mechanisms_of`. Without what changes nothing: what only links have, where none are played
/// (`unplayed_mechanisms`), what the job does not meet where it sits (`unmet_mechanisms`), and overlap of a single replica, which sums with nobody. Failures and checkpoints are one: without checkpoints a failing job never ends.
/// Reads `cost.table` where the scenario names one: dips are known from it only.
/// Held by: src/simulate/attribution/switches_test.cpp
[[nodiscard]] std::vector<Switch> switches_of(const model::Scenario& scenario);

/// The same without neighbours that begin at `end` or later, when the job of every seed is over (`Outcome::last_end`): they
/// did nothing.
/// Held by: src/simulate/attribution/switches_test.cpp
[[nodiscard]] std::vector<Switch> switches_within(const model::Scenario& scenario, Seconds end);

/// Names of what only links have that are played, where none are: by another engine than flow, under loggops, where collectives
/// are priced as a whole. The scenario may say it all the same: an option has chosen the engine.
/// Held by: src/simulate/attribution/switches_test.cpp
[[nodiscard]] std::vector<std::string> unplayed_mechanisms(const model::Scenario& scenario, Seconds end);

/// What the scenario says and the job does not meet where it sits, a sentence for each reason: switches of a job on one node, ratios and
/// loads above the one leaf or pod that it is below, a class of nodes that it has no rank on. Nothing beside neighbours, who may.
/// Held by: src/simulate/attribution/unmet_test.cpp
[[nodiscard]] std::vector<std::string> unmet_mechanisms(const model::Scenario& scenario);

/// Names of `switches_within`.
/// Held by: src/simulate/attribution/switches_test.cpp
[[nodiscard]] std::vector<std::string> mechanisms_within(const model::Scenario& scenario, Seconds end);

/// Switches off all whose bit of `on` is 0, the last first, so that what leaves a list leaves the numbers before it as they
/// are. Needs: at most 64 switches, each with an off. Held by: src/simulate/attribution/switches_test.cpp
void switch_off(std::span<const Switch> switches, std::uint64_t on, model::Scenario& scenario);

}  // namespace cox::simulate
