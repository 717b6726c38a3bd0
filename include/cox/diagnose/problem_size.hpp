// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is asked of a program on several sizes.
#pragma once

#include <cstdint>

namespace cox::diagnose {

/// How the problem changes with the number of ranks.
enum class ProblemSize : std::uint8_t {
  Fixed,  ///< strong scaling: all sizes solve the same problem
  Grows,  ///< weak scaling: the problem grows as the ranks do
};

}  // namespace cox::diagnose
