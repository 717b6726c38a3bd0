// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sequence numbers that were only counted from the start of a file, made the same on all ranks or refused.
#pragma once

#include <vector>

#include "cox/trace/run.hpp"

namespace cox::trace {

/// Profilers start and stop on each rank at a moment of its own, so the k-th collective of one file need not
/// be the k-th of another. For every communicator of which files count by position (no kTagged), each part is
/// held against the one that has most calls: a shift of at most 16 positions is accepted where kinds and
/// sizes agree and, where the parts know the time of day, the calls end together; position by position is
/// kept where nothing speaks against it. A part that agrees nowhere is left unmatched. Both become Notes.
/// Source: diagnosis.md 2.1 (equal ends confirm a match, unequal ends refute it).
/// Cost: O(calls x shifts). Held by: src/trace/import/part/align_sequences_test.cpp
void align_sequences(std::vector<Run>& parts);

}  // namespace cox::trace
