// SPDX-License-Identifier: Apache-2.0
#include "learn/product/product_tile.hpp"

namespace cox::learn {

extern const ProductTile kBaselineTile;
#if defined(COX_HAS_X86_KERNELS)
extern const ProductTile kAvx2Tile;
extern const ProductTile kAvx512Tile;
#endif

const ProductTile& product_tile([[maybe_unused]] kernels::InstructionSet set) {
#if defined(COX_HAS_X86_KERNELS)
  const bool fused = __builtin_cpu_supports("fma") != 0;
  if (set == kernels::InstructionSet::Avx512) return kAvx512Tile;
  if (set == kernels::InstructionSet::Avx2 && fused) return kAvx2Tile;
#endif
  return kBaselineTile;
}

}  // namespace cox::learn
