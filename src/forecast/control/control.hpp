// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is asked of a scenario beside its sizes, answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/text_line.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/control.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/checkpoints/days.hpp"
#include "forecast/checkpoints/goodput.hpp"
#include "forecast/levers/levers.hpp"

namespace cox::forecast {

/// With what failures leave, and how long a training takes.
struct FullControl : Control {
  std::vector<GoodputPoint> goodput{};  ///< where something fails: the scenario's nodes, and those asked
  std::optional<MostWork> most{};       ///< N*, steps as they are at the scenario's size
  std::optional<std::int64_t>
      most_with_steps{};     ///< N* of the forecast, in nodes; empty = not inside its range
  std::vector<Days> days{};  ///< by nodes
  std::optional<NodesFor> nodes_for{};
  std::optional<Seconds> within{};
  std::vector<Sensitivity> sensitivities{};
};

/// Steps of a training are played for at most 50 steps a size, or are those of `steps` at any. Errors: those of the parts, for the scenario as it is.
/// Cost: that of the parts. Held by: src/forecast/control/control_test.cpp
[[nodiscard]] Result<FullControl> make_control(const model::Scenario& scenario,
                                               const ControlQuestion& question, const BudgetAt& steps = {});

/// A line each, at most 100 columns where names allow.
[[nodiscard]] std::vector<TextLine> text_lines(const FullControl& control);

}  // namespace cox::forecast
