// SPDX-License-Identifier: Apache-2.0
/// \file
/// Steps from which on the usual time is another one.
#pragma once

#include <span>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"

namespace cox::diagnose {

/// From a step on the usual time is another one, and stays so.
struct ChangePoint {
  StepId first_step;     ///< first one at the new level
  StepId earliest_step;  ///< 90 % of the posterior lies between these two
  StepId latest_step;
  Duration before{};       ///< median of the steps since the change before it
  Duration after{};        ///< median of the steps up to the next one
  double shift_ratio = 0;  ///< after over before, less one
  double posterior = 0;    ///< that there is a change here rather than one level
};

/// All of a series, ascending: at least 1 %, at least 10 steps on either side, posterior at least 0.8, and more than noise
/// of this spread, correlation and length would give anywhere. `steps` are the program's numbers, as many as times,
/// ascending. Source and cost: docs/concepts/time-structure.md.
/// Held by: src/diagnose/over_time/time_structure_test.cpp, src/forecast/structure/over_time_test.cpp
[[nodiscard]] std::vector<ChangePoint> change_points(std::span<const Duration> times,
                                                     std::span<const StepId> steps);

}  // namespace cox::diagnose
