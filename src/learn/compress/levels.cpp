// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/levels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "learn/compress/compress_kernels.hpp"

namespace cox::learn {
namespace {

/// Bits of a code: 2 for -1, 0, 1; 4 up to 7 levels; else 8.
std::size_t width_of(int levels) {
  return levels == 1 ? 2 : levels <= 7 ? 4 : 8;
}

std::size_t bucket_of(const Levels& levels, std::size_t size) {
  return levels.bucket == 0 ? size : std::min(levels.bucket, size);
}

/// What the highest level stands for.
float scale_of(const Levels& levels, std::span<const float> in) {
  const CompressKernels& kernels = compress_kernels();
  const auto norm = [&] { return std::sqrt(kernels.sum_of_squares(in.size(), in.data())); };
  if (levels.scale == BucketScale::Norm) return static_cast<float>(norm());
  const auto largest = std::bit_cast<float>(kernels.largest(in.size(), in.data()));
  if (levels.clip == 0) return largest;
  const double cut = levels.clip * norm() / std::sqrt(static_cast<double>(in.size()));
  return static_cast<double>(largest) > cut ? static_cast<float>(cut) : largest;  // NaN stays
}

/// Codes, `8 / width` to a byte, the first lowest.
void pack_codes(std::size_t width, std::span<const std::int8_t> codes, std::byte* to) {
  const std::size_t each = 8 / width;
  const unsigned mask = (1U << width) - 1;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const unsigned code = static_cast<unsigned>(codes[i]) & mask;
    to[i / each] |= static_cast<std::byte>(code << i % each * width);
  }
}

void unpack_codes(std::size_t width, const std::byte* from, std::span<std::int8_t> codes) {
  const std::size_t each = 8 / width;
  const auto unused = static_cast<int>(32 - width);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(from[i / each]) >> i % each * width;
    codes[i] =
        static_cast<std::int8_t>(static_cast<std::int32_t>(bits << unused) >> unused);  // with its sign
  }
}

}  // namespace

std::size_t bytes_of(const Levels& levels, std::size_t size) {
  const std::size_t bucket = bucket_of(levels, size);
  const std::size_t buckets = (size + bucket - 1) / bucket;
  return buckets * sizeof(float) + (size * width_of(levels.count) + 7) / 8;
}

void put_levels(const Levels& levels, std::span<const float> in, std::uint64_t key, Packed& to) {
  const std::size_t bucket = bucket_of(levels, in.size());
  const std::size_t width = width_of(levels.count);
  const auto count = static_cast<float>(levels.count);
  std::byte* const packed = to.grow(bytes_of(levels, in.size()));
  std::byte* unit_at = packed;
  std::byte* const codes_at = packed + (in.size() + bucket - 1) / bucket * sizeof(float);
  std::vector<std::int8_t> narrow(width == 8 ? 0 : in.size());
  auto* const codes = width == 8 ? reinterpret_cast<std::int8_t*>(codes_at) : narrow.data();
  for (std::size_t first = 0; first < in.size(); first += bucket) {
    const std::span<const float> part = in.subspan(first, std::min(bucket, in.size() - first));
    float scale = scale_of(levels, part);
    if (scale < 0x1p-120F) scale = 0;
    const float unit = scale / count;
    std::memcpy(unit_at, &unit, sizeof unit);
    unit_at += sizeof unit;
    const float inverse = scale == 0 ? 0 : count / scale;
    compress_kernels().quantise(part.size(), part.data(), inverse, levels.count, key,
                                static_cast<std::uint32_t>(first), codes + first);
  }
  if (width != 8) pack_codes(width, narrow, codes_at);
}

void take_levels(const Levels& levels, PackedReader& from, std::span<float> out) {
  const std::size_t bucket = bucket_of(levels, out.size());
  const std::size_t width = width_of(levels.count);
  const std::byte* const packed = from.skip(bytes_of(levels, out.size()));
  const std::byte* unit_at = packed;
  const std::byte* const codes_at = packed + (out.size() + bucket - 1) / bucket * sizeof(float);
  std::vector<std::int8_t> narrow(width == 8 ? 0 : out.size());
  if (width != 8) unpack_codes(width, codes_at, narrow);
  const auto* const codes = width == 8 ? reinterpret_cast<const std::int8_t*>(codes_at) : narrow.data();
  for (std::size_t first = 0; first < out.size(); first += bucket) {
    const std::size_t n = std::min(bucket, out.size() - first);
    float unit = 0;
    std::memcpy(&unit, unit_at, sizeof unit);
    unit_at += sizeof unit;
    compress_kernels().dequantise(n, codes + first, unit, out.data() + first);
  }
}

}  // namespace cox::learn
