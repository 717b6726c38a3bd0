// SPDX-License-Identifier: Apache-2.0
/// \file
/// The mechanisms of a scenario, and how each is switched off.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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
  Overlap
};

struct Switch {
  std::string name;
  SwitchKind kind = SwitchKind::Noise;
  std::function<void(model::Scenario&)> off;  ///< empty: it has no off (a routing, a policy)
};

/// In a fixed order; names as `mechanisms_of`. Failures and checkpoints are one: without checkpoints a failing job never ends.
/// Held by: src/simulate/attribution/switches_test.cpp
[[nodiscard]] std::vector<Switch> switches_of(const model::Scenario& scenario);

}  // namespace cox::simulate
