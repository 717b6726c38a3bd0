// SPDX-License-Identifier: Apache-2.0
#include "learn/kernels/sample_normals.hpp"

#include <algorithm>

#include "cox/base/random.hpp"

namespace cox::learn {

void add_normals_baseline(const std::uint32_t* key, std::size_t n, float* sums);
#if defined(COX_HAS_X86_KERNELS)
void add_normals_avx2(const std::uint32_t* key, std::size_t n, float* sums);
void add_normals_avx512(const std::uint32_t* key, std::size_t n, float* sums);
#endif

AddNormals add_normals([[maybe_unused]] kernels::InstructionSet set) {
#if defined(COX_HAS_X86_KERNELS)
  if (set == kernels::InstructionSet::Avx512) return add_normals_avx512;
  if (set == kernels::InstructionSet::Avx2) return add_normals_avx2;
#endif
  return add_normals_baseline;
}

void SampleNormals::add(std::int64_t sample, std::span<float> sums) const {
  const auto number = static_cast<std::uint64_t>(sample);
  const auto key = philox4x32_10(
      {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), stream_, 0},
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
  add_(key.data(), sums.size(), sums.data());
}

void SampleNormals::draw(std::int64_t sample, std::span<float> out) const {
  std::ranges::fill(out, 0.0F);
  add(sample, out);
}

}  // namespace cox::learn
