// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/compress_kernels.hpp"

namespace cox::learn {

extern const CompressKernels kCompressBaseline;
#if defined(COX_HAS_X86_KERNELS)
extern const CompressKernels kCompressAvx2;
extern const CompressKernels kCompressAvx512;
#endif

const CompressKernels& compress_kernels([[maybe_unused]] kernels::InstructionSet set) {
#if defined(COX_HAS_X86_KERNELS)
  if (set == kernels::InstructionSet::Avx512) return kCompressAvx512;
  if (set == kernels::InstructionSet::Avx2) return kCompressAvx2;
#endif
  return kCompressBaseline;
}

const CompressKernels& compress_kernels() {
  static const CompressKernels& best = compress_kernels(kernels::instruction_sets().front());
  return best;
}

}  // namespace cox::learn
