// SPDX-License-Identifier: Apache-2.0
/// \file
/// For which of the processor's instruction sets arithmetic on arrays is compiled, and which are there at run time.
#pragma once

#include <cstdint>
#include <span>

namespace cox::kernels {

/// In the order in which they are preferred less.
enum class InstructionSet : std::uint8_t { Avx512, Avx2, Baseline };

/// What this processor has, best first; never empty. Cost: none after the first call.
[[nodiscard]] std::span<const InstructionSet> instruction_sets();

}  // namespace cox::kernels
