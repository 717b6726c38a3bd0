// SPDX-License-Identifier: Apache-2.0
/// \file
/// How late a rank would have had to be.
#pragma once

#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// The extra work per step, as part of a usual step, with which any rank would have been named: for each of at most 64
/// ranks the least constant that, added to its delays as they are, clears all bars of `find_persistent`; the largest of
/// them. 2 where not even two whole steps would do.
/// Cost: linear in ranks x steps. Held by: src/diagnose/verdict/answer_test.cpp
[[nodiscard]] double least_named_delay(const Evidenced& x);

}  // namespace cox::diagnose
