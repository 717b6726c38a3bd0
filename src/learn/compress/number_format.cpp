// SPDX-License-Identifier: Apache-2.0
#include "learn/compress/number_format.hpp"

#include <algorithm>
#include <array>

#include "cox/base/assert.hpp"

#include "learn/compress/compress_kernels.hpp"

namespace cox::learn {

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
  std::array<std::uint16_t, 1024> codes{};
  for (std::size_t i = 0; i < in.size(); i += codes.size()) {
    const std::size_t n = std::min(codes.size(), in.size() - i);
    compress_kernels().to_codes(format, n, in.data() + i, codes.data());
    compress_kernels().from_codes(format, n, codes.data(), out.data() + i);
  }
}

}  // namespace cox::learn
