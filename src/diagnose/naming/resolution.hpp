// SPDX-License-Identifier: Apache-2.0
/// \file
/// How finely a Run's times are told.
#pragma once

#include "cox/base/units.hpp"

#include "diagnose/match/matched.hpp"
#include "diagnose/match/skew.hpp"

namespace cox::diagnose {

/// What a rank's own work in a step is a multiple of, and changes by from step to step, as where a clock or a table tells times
/// in whole milliseconds; zero where there is no such thing, or too few changes to tell. One that is found is seen: there are
/// steps without a change, and changes by one of it and by several. So nothing is found where work is exact (a simulation
/// without noise: none changes), nor where one effect comes and goes (all changes are of one size, and no work is a multiple).
/// Cost: O(ranks x steps), at most some 100,000 of them. Held by: src/diagnose/naming/resolution_test.cpp
[[nodiscard]] Duration resolution_of(const StepTable& work);

/// The same of some ranks of a Run; where most numbers do not change from step to step, so that it cannot be seen, what its
/// input was written in multiples of.
[[nodiscard]] Duration resolution_of(const Matched& matched);

}  // namespace cox::diagnose
