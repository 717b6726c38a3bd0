// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether durations tell who was late, where it matters: in the group whose members come furthest apart.
#pragma once

#include "diagnose/match/matching.hpp"

namespace cox::diagnose {

/// Spread of ends, aligned by a constant per rank, over spread of begins, medians over operations, of the
/// group with most time between first and last arrival. `look_at_clocks` asks the widest group; where groups
/// nest, all may come to that one together, and then it has no order to report. 1 where nobody comes apart
/// anywhere. Formula: docs/concepts/wait-and-transfer.md. Cost: at most 256 operations of each group.
[[nodiscard]] double validity_where_it_matters(const Matching& m);

}  // namespace cox::diagnose
