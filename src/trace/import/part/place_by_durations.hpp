// SPDX-License-Identifier: Apache-2.0
/// \file
/// Times for calls of which only the durations are known.
#pragma once

#include "cox/trace/run.hpp"

namespace cox::trace {

/// Places every finished collective of a Run so that all members of one operation leave it together, as early
/// as the order of each rank's calls allows.
///
/// Nobody leaves such an operation before the last has entered, so with e = max over members of (free(r) +
/// d(r)): begin(r) = e - d(r), end(r) = e, free(r) = e. Who came last is then who has the shortest duration,
/// and the own work of a rank against another's is right; the length of the run is a lower bound. Calls whose
/// members cannot all be reached in order (gaps) are placed by those that can. Source: diagnosis.md 2.2
/// restated: lateness = max d - d. Cost: O(events log). Held by: src/trace/import/import_test.cpp
void place_by_durations(Run& run);

}  // namespace cox::trace
