// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/number_format.hpp"

#include <algorithm>
#include <array>

#include "cox/base/assert.hpp"

#include "learn/compress/compress_kernels.hpp"

namespace cox::learn {
namespace {

constexpr std::size_t kBlock = 1024;

}  // namespace

std::string_view name_of(NumberFormat format) {
  static constexpr std::array<std::string_view, 4> kNames = {"fp16", "bf16", "e4m3fn", "e5m2"};
  return kNames[static_cast<std::size_t>(format)];
}

Bytes size_of(NumberFormat format) {
  return Bytes{format == NumberFormat::Fp16 || format == NumberFormat::Bf16 ? 2 : 1};
}

std::uint16_t encode(NumberFormat format, float x) {
  if (size_of(format) == Bytes{2}) {
    std::uint16_t code = 0;
    compress_kernels().to_codes(format, 1, &x, &code);
    return code;
  }
  std::uint8_t code = 0;
  compress_kernels().to_codes(format, 1, &x, &code);
  return code;
}

float decode(NumberFormat format, std::uint16_t code) {
  float x = 0;
  if (size_of(format) == Bytes{2}) {
    compress_kernels().from_codes(format, 1, &code, &x);
    return x;
  }
  COX_ASSERT(code < 256, "a code of 8 bits");
  const auto narrow = static_cast<std::uint8_t>(code);
  compress_kernels().from_codes(format, 1, &narrow, &x);
  return x;
}

void round_to(NumberFormat format, std::span<const float> in, std::span<float> out) {
  COX_ASSERT(in.size() == out.size(), "one for each");
  std::array<std::uint16_t, kBlock> codes{};
  for (std::size_t i = 0; i < in.size(); i += codes.size()) {
    const std::size_t n = std::min(codes.size(), in.size() - i);
    compress_kernels().to_codes(format, n, in.data() + i, codes.data());
    compress_kernels().from_codes(format, n, codes.data(), out.data() + i);
  }
}

void encode_all(NumberFormat format, std::span<const float> in, float factor, std::span<std::uint16_t> out) {
  COX_ASSERT(in.size() == out.size() && size_of(format) == Bytes{2}, "one code of two bytes for each");
  if (factor == 1) return compress_kernels().to_codes(format, in.size(), in.data(), out.data());
  std::array<float, kBlock> scaled{};
  for (std::size_t i = 0; i < in.size(); i += scaled.size()) {
    const std::size_t n = std::min(scaled.size(), in.size() - i);
    for (std::size_t k = 0; k < n; ++k) scaled[k] = in[i + k] * factor;
    compress_kernels().to_codes(format, n, scaled.data(), out.data() + i);
  }
}

void decode_all(NumberFormat format, std::span<const std::uint16_t> in, float factor, std::span<float> out) {
  COX_ASSERT(in.size() == out.size() && size_of(format) == Bytes{2}, "one code of two bytes for each");
  compress_kernels().from_codes(format, in.size(), in.data(), out.data());
  if (factor == 1) return;
  for (float& v : out) v *= factor;
}

void add_codes(NumberFormat format, std::span<const std::uint16_t> left, std::span<std::uint16_t> right) {
  COX_ASSERT(left.size() == right.size() && size_of(format) == Bytes{2}, "one code of two bytes for each");
  std::array<float, kBlock> a{}, b{};
  for (std::size_t i = 0; i < left.size(); i += kBlock) {
    const std::size_t n = std::min(kBlock, left.size() - i);
    compress_kernels().from_codes(format, n, left.data() + i, a.data());
    compress_kernels().from_codes(format, n, right.data() + i, b.data());
    for (std::size_t k = 0; k < n; ++k) b[k] = a[k] + b[k];
    compress_kernels().to_codes(format, n, b.data(), right.data() + i);
  }
}

bool all_finite(NumberFormat format, std::span<const std::uint16_t> codes) {
  COX_ASSERT(size_of(format) == Bytes{2}, "codes of two bytes");
  const std::uint16_t exponent = format == NumberFormat::Fp16 ? 0x7c00 : 0x7f80;
  bool finite = true;
  for (const std::uint16_t c : codes) finite &= (c & exponent) != exponent;
  return finite;
}

}  // namespace cox::learn
