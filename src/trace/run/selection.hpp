// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which processes are a Run: one launch, one process per rank.
#pragma once

#include <vector>

#include "cox/trace/run.hpp"

#include "trace/raw/process_file.hpp"

namespace cox::trace {

/// Ranks are below this.
inline constexpr int kMaxRank = 1 << 24;

/// Keeps one launch and one process per rank of it, sorted by rank. The others become notes.
[[nodiscard]] std::vector<ProcessFile> one_per_rank(std::vector<ProcessFile> processes,
                                                    std::vector<Note>& notes);

}  // namespace cox::trace
