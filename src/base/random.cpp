// SPDX-License-Identifier: Apache-2.0
#include "cox/base/random.hpp"

#include "cox/base/assert.hpp"

#include "base/kernels/vector_kernels.hpp"

namespace cox {
namespace {

constexpr std::uint64_t kIndices = std::uint64_t{1} << 33;

}  // namespace

// Ours, not Random123's: the vector kernels need the rounds across lanes anyway.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += 0x9E3779B9U;
    k[1] += 0xBB67AE85U;
  }
  return c;
}

std::uint64_t RandomStream::bits(std::uint64_t step, std::uint64_t index) const {
  COX_ASSERT(index < kIndices, "the counter has 32 bits for index / 2");
  const auto words =
      philox4x32_10({static_cast<std::uint32_t>(index / 2), static_cast<std::uint32_t>(step),
                     static_cast<std::uint32_t>(step >> 32), stream_},
                    {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
  const std::size_t half = index % 2 * 2;
  return words[half] | std::uint64_t{words[half + 1]} << 32;
}

double RandomStream::uniform(std::uint64_t step, std::uint64_t index) const {
  return (static_cast<double>(bits(step, index) >> 12) + 0.5) * 0x1p-52;
}

void RandomStream::uniforms(std::uint64_t step, std::uint64_t first, std::span<double> out) const {
  COX_ASSERT(first < kIndices && out.size() <= kIndices - first, "the counter has 32 bits for index / 2");
  kernels::vector_kernels().uniforms(seed_, stream_, step, first, out.size(), out.data());
}

void RandomStream::uniforms32(std::uint64_t step, std::uint64_t first, std::span<double> out) const {
  COX_ASSERT(first < 2 * kIndices && out.size() <= 2 * kIndices - first,
             "the counter has 32 bits for the block");
  kernels::vector_kernels().uniforms32(seed_, stream_, step, first, out.size(), out.data());
}

double RandomStream::normal(std::uint64_t step, std::uint64_t index) const {
  double value = uniform(step, index);
  kernels::vector_kernels().normal_quantiles(1, &value);
  return value;
}

void RandomStream::normals(std::uint64_t step, std::uint64_t first, std::span<double> out) const {
  uniforms(step, first, out);
  kernels::vector_kernels().normal_quantiles(out.size(), out.data());
}

void RandomStream::normals32(std::uint64_t step, std::uint64_t first, std::span<double> out) const {
  COX_ASSERT(first < 2 * kIndices && out.size() <= 2 * kIndices - first,
             "the counter has 32 bits for the block");
  kernels::vector_kernels().normals32(seed_, stream_, step, first, out.size(), out.data());
}

}  // namespace cox
