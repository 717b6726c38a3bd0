// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the job ended, and which rank ended first.
#pragma once

#include <optional>

#include "cox/diagnose/stall.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Nothing where the command ended with status 0, or its end is not known. Who was first is told by the ranks'
/// own ends where `cox observe` ran once per rank; else by the records, where its samples end well before any
/// other's. All but `text`.
/// Held by: src/diagnose/stall/ending_test.cpp
[[nodiscard]] std::optional<Ending> find_ending(const Matched& matched);

}  // namespace cox::diagnose
