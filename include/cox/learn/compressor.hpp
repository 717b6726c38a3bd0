// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which operator gradients go through to be fewer bytes, and what becomes of the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox::learn {

/// d: elements of a part (below). Contraction delta: |x - C(x)|^2 <= (1 - delta) |x|^2. Variance omega: E C(x) = x and
/// E |C(x) - x|^2 <= omega |x|^2.
enum class CompressorKind : std::uint8_t {
  Dense,    ///< as it is
  TopK,     ///< the k largest by size, ties to the lower place. delta >= k/d
  RandomK,  ///< k places, the same on all workers of a step. Scaled by d/k: omega = d/k - 1; else delta = k/d
  Threshold,  ///< those of at least this size. No constant
  Qsgd,       ///< s levels of a bucket's 2-norm, stochastic. omega <= min(m/s^2, sqrt(m)/s), m = bucket
  MaxScaled,  ///< s levels of a bucket's largest, stochastic. omega <= m/(4 s^2)
  TernGrad,   ///< -1, 0, 1 of the part's largest, stochastic. omega = max E|x| / E x^2 - 1; clipped: biased
  Sign,       ///< signs, scale |x|_1/d. delta = |x|_1^2 / (d |x|_2^2)
  SignRms,  ///< signs, scale |x|_2/sqrt(d), as 1-bit Adam does. May leave more than there was: no contraction
  PowerSgd,  ///< matrices of rank r, warm start: a projection, delta >= 0
  Fp16,      ///< relative error 2^-11
  Bf16,      ///< 2^-8
  E4m3Fn,    ///< 2^-4, after the power of two that puts the part's largest just below 448
  E5m2,      ///< 2^-3, 57 344
};
[[nodiscard]] std::string_view name_of(CompressorKind kind);  ///< `top-k`, `qsgd`, ...

/// What becomes of the part of a gradient that was not sent.
enum class FeedbackKind : std::uint8_t {
  None,   ///< lost
  Error,  ///< added to the next one: p = g + e, c = C(p), e = p - c
  Ef21,   ///< differences are sent: h = h + C(g - h); the sum sees h. Exact for unlike workers without noise
};

/// A factor on gradients before they are rounded to FP16, taken off behind it; a step in which any of them overflows is used
/// by nobody.
struct LossScaleSpec {
  double factor = 65536;  ///< a power of two
  bool dynamic = false;   ///< halved at an overflow, doubled after `growth_interval` steps without one
  std::int64_t growth_interval = 2000;
};

struct CompressorSpec {
  CompressorKind kind = CompressorKind::Dense;
  double keep = 0.01;         ///< top-k, random-k: k = keep d, rounded up
  double threshold = 0;       ///< threshold, in the gradient's units
  int levels = 127;           ///< qsgd, max-scaled: s, up to 127
  std::int64_t bucket = 512;  ///< qsgd, max-scaled: elements that share a scale; 0 = all of a part
  double clip = 0;            ///< terngrad: standard deviations beyond which values are cut; 0 = none
  int rank = 1;               ///< powersgd
  bool scaled = true;         ///< random-k: by d/k, without bias; with feedback it must not be
  /// a part is a tensor rather than all parameters: k, threshold and scales of each layer
  bool by_tensor = false;
  /// top-k, random-k: steps in which k/d falls from 1 to `keep`, by the same factor each
  std::int64_t warm_up = 0;
  FeedbackKind feedback = FeedbackKind::None;
  std::optional<LossScaleSpec> loss_scale{};  ///< fp16 without feedback
  /// fp16, bf16 without feedback: mixed precision. Parameters are read rounded to the format, sums of gradients are rounded to it at
  /// each addition, and the optimizer steps an FP32 master copy.
  bool master = false;
};

/// Reads `top-k,keep=0.01`, `qsgd,levels=7,bucket=512`, `powersgd,rank=2,feedback=none`, `int8` (= max-scaled). Where the
/// text does not say, top-k, threshold, signs, PowerSGD and clipped TernGrad have error feedback, the others none; random-k
/// is scaled where it has none.
/// Errors: learn-001 (an unknown name, a key that this one has not, a value out of range), one line that says what is
/// allowed.
/// Held by: src/learn/compress/compressor_spec_test.cpp
[[nodiscard]] Result<CompressorSpec> read_compressor(std::string_view text);

}  // namespace cox::learn
