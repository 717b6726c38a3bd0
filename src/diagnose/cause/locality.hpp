// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where ranks may run: the guests' copies of sysfs, understood by hwloc.
#pragma once

#include <vector>

#include "cox/diagnose/locality.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// One entry per node of which a rank recorded where it may run; facts, no judgement.
///
/// Errors:  where hwloc does not understand the copy (or none was recorded) only CPUs are compared, and
///          `source` says `affinity`.
/// Threads: sets hwloc's environment variables while it works: not beside other threads that use hwloc.
/// Held by: src/diagnose/cause/locality_test.cpp
[[nodiscard]] std::vector<NodeLocality> understand_locality(const Matched& matched);

}  // namespace cox::diagnose
