// SPDX-License-Identifier: Apache-2.0
#include "learn/kernels/step_kernels.hpp"

namespace cox::learn {

extern const StepKernels kStepBaseline;
#if defined(COX_HAS_X86_KERNELS)
extern const StepKernels kStepAvx2;
extern const StepKernels kStepAvx512;
#endif

const StepKernels& step_kernels([[maybe_unused]] kernels::InstructionSet set) {
#if defined(COX_HAS_X86_KERNELS)
  if (set == kernels::InstructionSet::Avx512) return kStepAvx512;
  if (set == kernels::InstructionSet::Avx2) return kStepAvx2;
#endif
  return kStepBaseline;
}

const StepKernels& step_kernels() {
  static const StepKernels& best = step_kernels(kernels::instruction_sets().front());
  return best;
}

}  // namespace cox::learn
