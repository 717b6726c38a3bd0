// SPDX-License-Identifier: Apache-2.0
/// \file
/// The mechanisms of a scenario, and how each is switched off.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cox/model/scenario.hpp"

namespace cox::simulate {

struct Switch {
  std::string name;
  std::function<void(model::Scenario&)> off;  ///< empty: it has no off (a routing, a policy)
};

/// In a fixed order. Failures and checkpoints are one: without checkpoints a failing job never ends.
[[nodiscard]] std::vector<Switch> switches_of(const model::Scenario& scenario);

}  // namespace cox::simulate
