// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names from what ranks of one pipeline stage compute: turns, pauses and stretches, which arrivals do not tell there.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// Ranks and steps that are imagined to be as usual.
using Meant = std::function<bool(std::size_t rank, std::size_t step)>;
/// Whether a suspect without positions is this rank in this step.
[[nodiscard]] bool is_meant(const Suspect& suspect, std::size_t rank, std::size_t step);

/// The rules are those of arrivals, over `x.delays`: what a rank computes beyond its like. `saved` says by how much the Run would be
/// shorter without these. Ranks that are late all along (`known`, by rank) are left out: the what-if of the table names them.
/// Most costly first. Cost: O(ranks x steps), and one call of `saved` per candidate.
/// Held by: src/diagnose/verdict/stage_findings_test.cpp
[[nodiscard]] std::vector<Named> name_in_stages(const Evidenced& x, const Positions& positions,
                                                const std::function<Duration(const Meant&)>& saved,
                                                std::vector<bool> known, int threads);

}  // namespace cox::diagnose
