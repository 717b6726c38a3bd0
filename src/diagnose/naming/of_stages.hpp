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

struct Stages {
  std::function<Duration(const Meant&)> saved;  ///< by how much the Run would be shorter without these
  std::vector<int> of_rank;                     ///< by rank
};

/// The rules are those of arrivals, over `x.delays`: what a rank computes beyond its like.
/// Ranks that are late all along (`known`, by rank) are left out: the what-if of the table names them.
/// Where no turns are found over all ranks, those of each stage are looked at by themselves; such turns hide each other,
/// so they count by what they cost where nobody else is late, too.
/// Most costly first. Cost: O(ranks x steps), and one or two calls of `saved` per candidate.
/// Held by: src/diagnose/verdict/stage_findings_test.cpp
[[nodiscard]] std::vector<Named> name_in_stages(const Evidenced& x, const Positions& positions,
                                                const Stages& stages, std::vector<bool> known, int threads);

}  // namespace cox::diagnose
