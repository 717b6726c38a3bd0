// SPDX-License-Identifier: Apache-2.0
#include "base/kernels/vector_kernels.hpp"

#include <array>

namespace cox::kernels {

extern const VectorKernels kBaseline;
#if defined(COX_HAS_X86_KERNELS)
extern const VectorKernels kAvx2;
extern const VectorKernels kAvx512;
#endif

std::span<const InstructionSet> instruction_sets() {
  static constexpr std::array kAll = {InstructionSet::Avx512, InstructionSet::Avx2, InstructionSet::Baseline};
#if defined(COX_HAS_X86_KERNELS)
  static const std::size_t first = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") != 0;
    const bool avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                        __builtin_cpu_supports("avx512vl") != 0;
    return std::size_t{avx2 && avx512 ? 0U : avx2 ? 1U : 2U};
  }();
  return std::span{kAll}.subspan(first);
#else
  return std::span{kAll}.subspan(2);
#endif
}

const VectorKernels& vector_kernels([[maybe_unused]] InstructionSet set) {
#if defined(COX_HAS_X86_KERNELS)
  if (set == InstructionSet::Avx512) return kAvx512;
  if (set == InstructionSet::Avx2) return kAvx2;
#endif
  return kBaseline;
}

const VectorKernels& vector_kernels() {
  static const VectorKernels& best = vector_kernels(instruction_sets().front());
  return best;
}

}  // namespace cox::kernels
