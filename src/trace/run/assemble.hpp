// SPDX-License-Identifier: Apache-2.0
/// \file
/// Many processes become one Run: ranks, nodes, communicators and one origin of time.
#pragma once

#include <vector>

#include "cox/trace/run.hpp"

#include "trace/raw/process_file.hpp"

namespace cox::trace {

/// Puts processes side by side. What cannot be used becomes a Note of the Run; the outcome depends on the
/// processes' order only through `notes`.
[[nodiscard]] Run assemble(std::vector<ProcessFile> processes, int threads);

}  // namespace cox::trace
