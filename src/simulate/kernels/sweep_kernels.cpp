// SPDX-License-Identifier: Apache-2.0
#include "simulate/kernels/sweep_kernels.hpp"

namespace cox::simulate {

extern const SweepKernels kSweepsBaseline;
#if defined(COX_HAS_X86_KERNELS)
extern const SweepKernels kSweepsAvx2;
extern const SweepKernels kSweepsAvx512;
#endif

const SweepKernels& sweep_kernels([[maybe_unused]] kernels::InstructionSet set) {
#if defined(COX_HAS_X86_KERNELS)
  if (set == kernels::InstructionSet::Avx512) return kSweepsAvx512;
  if (set == kernels::InstructionSet::Avx2) return kSweepsAvx2;
#endif
  return kSweepsBaseline;
}

const SweepKernels& sweep_kernels() {
  static const SweepKernels& best = sweep_kernels(kernels::instruction_sets().front());
  return best;
}

}  // namespace cox::simulate
