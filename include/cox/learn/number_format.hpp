// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers of 16 and 8 bits as accelerators store them: FP32 rounded to nearest, ties to even, bit by bit.
/// Source: IEEE 754-2019 (binary16); Micikevicius et al. 2022, "FP8 formats for deep learning" (E4M3, E5M2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "cox/base/units.hpp"

namespace cox::learn {

enum class NumberFormat : std::uint8_t {
  Fp16,    ///< largest 65 504, infinity from 65 520, least 2^-24
  Bf16,    ///< the upper half of FP32
  E4m3Fn,  ///< largest 448, no infinity: above 464 NaN; least 2^-9
  E5m2,    ///< largest 57 344, infinity from 61 440, least 2^-16
};
[[nodiscard]] std::string_view name_of(NumberFormat format);  ///< `fp16`, `bf16`, `e4m3fn`, `e5m2`
[[nodiscard]] Bytes size_of(NumberFormat format);             ///< of one number

/// The code of `x`: sign, exponent, fraction in the low bits. NaN stays NaN (its payload does not); what is too large
/// becomes infinity, or NaN where there is none. Held by: src/learn/compress/number_format_test.cpp (every code, every
/// tie between two, FP16 against the compiler's own conversion)
[[nodiscard]] std::uint16_t encode(NumberFormat format, float x);
/// What a code stands for, exactly. E4M3FN and E5M2: the high byte must be zero (asserted).
[[nodiscard]] float decode(NumberFormat format, std::uint16_t code);
/// Each value to the nearest that the format has: decode(encode(x)), many at once.
void round_to(NumberFormat format, std::span<const float> in, std::span<float> out);

// Arrays of codes of two bytes (FP16, BF16). Pre: as many of one as of the other.
/// The codes of `in` times `factor`.
void encode_all(NumberFormat format, std::span<const float> in, float factor, std::span<std::uint16_t> out);
/// What the codes stand for, times `factor`.
void decode_all(NumberFormat format, std::span<const std::uint16_t> in, float factor, std::span<float> out);
/// right = left + right, each sum rounded: added in FP32, then encoded.
void add_codes(NumberFormat format, std::span<const std::uint16_t> left, std::span<std::uint16_t> right);
/// Whether none is infinite or NaN.
[[nodiscard]] bool all_finite(NumberFormat format, std::span<const std::uint16_t> codes);

}  // namespace cox::learn
