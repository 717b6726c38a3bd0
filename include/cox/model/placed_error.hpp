// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where in a scenario's file an error belongs that was found later, when it was simulated.
#pragma once

#include <string>

#include "cox/base/result.hpp"
#include "cox/model/toml.hpp"

namespace cox::model {

/// An error about the scenario that has no place in it, at the line of the key that its hint names, where the file `name` says
/// that key; of several, the longest. A key is named by all of it, as a word (`job.steps`, but not in `job.steps_kept`), one without
/// a dot (`engine`) between backticks. Else as it is. Held by: src/model/toml/explain_test.cpp
[[nodiscard]] Error placed(Error error, const ReadScenario& read, const std::string& name);

}  // namespace cox::model
