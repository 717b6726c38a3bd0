// SPDX-License-Identifier: Apache-2.0
/// \file
/// All computations that the file of a study may name, of all rooms that bring some.
#pragma once

#include "cox/study/computation.hpp"

namespace cox::evaluate {

/// Made anew by each call, in the order of the rooms below. A room that brings computations adds a line
/// there. Held by: src/evaluate/computations_test.cpp
[[nodiscard]] study::ComputationTable computations();

}  // namespace cox::evaluate
