// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts of one job, each from a file of its own, as one Run.
#pragma once

#include <vector>

#include "cox/trace/run.hpp"

namespace cox::trace {

/// Puts parts side by side: ranks by number, communicators by identity, hosts by name, names interned, times
/// on one line where the parts know the time of day. Parts must not hold the same rank twice (the first
/// counts, the second becomes a note). Cost: linear in events; columns are moved, not copied, where ids need
/// no change. Held by: src/trace/import/import_test.cpp
[[nodiscard]] Run assemble_parts(std::vector<Run> parts, int threads);

}  // namespace cox::trace
