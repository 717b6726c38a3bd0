// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations one by one, for inputs that hold so few that nothing repeats.
#pragma once

#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {

/// One sentence per operation: how far apart the members came and left, who came last where that can be told,
/// its transfer at most, and whether the host's launch says why. Empty where there are more than 16
/// operations.
///
/// Last arriver: by entry with one clock, else the shortest call; told only where all members are there and
/// the spread of ends is under a tenth of that of begins. Source: diagnosis.md 2.2 and 2.6. Held by:
/// src/diagnose/few_operations_test.cpp
[[nodiscard]] std::vector<std::string> describe_few(const trace::Run& run, bool clocks_comparable);

}  // namespace cox::diagnose
