// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text of a GOAL schedule to its binary form.
///
/// The importer of `trace` reads the same language for a Run and is lenient: it skips what it cannot use and
/// keeps no CPU. What is simulated must be understood whole, so this reader refuses; and it reads a mapped
/// file in place.
#pragma once

#include <string>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox::simulate {

/// Source: grammar of the converter of spcl/LogGOPSim 76451de (src/LogGOPSim/txt2bin.re).
/// Errors: goal-001 to goal-004, goal-006; all with file and line.
/// Memory: the result (39 bytes per operation, 4 per dependency; at most 4 GiB) and one rank's labels.
[[nodiscard]] Result<std::string> read_goal_text(std::string_view text, const std::string& name);

}  // namespace cox::simulate
