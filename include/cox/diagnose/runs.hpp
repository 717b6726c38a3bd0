// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs side by side, of which only the times of their steps are compared: which are equal, which is slower,
/// which has stalls that the others have not.
#pragma once

#include <string>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::diagnose {

/// One run. Runs are held against those whose name is the same up to the last `/`.
struct RunTimes {
  std::string name;
  std::vector<Duration> steps;  ///< in their order
};

}  // namespace cox::diagnose
