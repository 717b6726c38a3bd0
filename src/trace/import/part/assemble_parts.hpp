// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts of one job, each from a file of its own, as one.
#pragma once

#include <vector>

#include "cox/trace/import.hpp"

namespace cox::trace {

/// Puts parts side by side: ranks by number, communicators by identity, hosts by name, names interned, times
/// on one line where the parts know the time of day. Parts must not hold the same rank twice (the first
/// counts, the second becomes a note). Cost: linear in events; columns are moved, not copied, where ids need
/// no change. Programs of several parts are not put together: each becomes a note. Held by:
/// src/trace/import/import_test.cpp
[[nodiscard]] ImportedJob assemble_parts(std::vector<ImportedJob> parts, int threads);

}  // namespace cox::trace
