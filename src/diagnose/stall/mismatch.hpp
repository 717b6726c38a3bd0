// SPDX-License-Identifier: Apache-2.0
/// \file
/// Members that disagree on what an operation is, also where the library got away with it.
#pragma once

#include <vector>

#include "cox/diagnose/stall.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

struct Mismatches {
  std::vector<Mismatch> all;       ///< by first occurrence; at most 256
  std::int64_t operations = 0;     ///< in which members disagree, in all
  std::int64_t not_looked_at = 0;  ///< of these, those beyond what is put together
};

/// Compares kind, message size, root and element size of every operation over its members, finished or not.
/// Variable forms (v, w) and neighbourhood exchanges may differ in size and are compared in kind only.
/// Cost: one pass over the events, a second one where something differs; 32 bytes per operation.
[[nodiscard]] Mismatches find_mismatches(const Matched& matched);

}  // namespace cox::diagnose
