// SPDX-License-Identifier: Apache-2.0
/// \file
/// From open calls to who holds them up: docs/concepts/hangs.md.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/diagnose/stall.hpp"

#include "diagnose/match/open_calls.hpp"
#include "diagnose/stall/last_seen.hpp"

namespace cox::diagnose {

struct Stalls {
  std::vector<Stall> all;  ///< causes before consequences, hung before others, oldest first; at most 256
  std::int64_t more = 0;   ///< found beyond that
};

/// Everything that stands still at the end of the Run. Cost: linear in open calls and their members, plus one
/// pass over the events of each rank that is told about.
[[nodiscard]] Stalls find_stalls(const Matched& matched, const OpenCalls& open, const LastLook& look,
                                 const std::vector<Mismatch>& mismatches);

/// Sets of operations that wait for each other through ranks that stand still: strongly connected parts with
/// at least two ranks, each ascending. Held by: src/diagnose/stall/hang_test.cpp
[[nodiscard]] std::vector<std::vector<std::int32_t>> find_cycles(const OpenCalls& open);

}  // namespace cox::diagnose
