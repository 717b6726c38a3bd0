// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gradients in fewer bytes: operators, what they leave behind (feedback), and what they put on the wire.
///
/// Use when: a run is to learn from what would arrive, and count what would be sent.
/// Not when: only the time of compressed messages is asked for; see cox/model/compression.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/number_format.hpp"
#include "cox/learn/problem.hpp"
#include "cox/model/compression.hpp"

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

struct CompressorSpec {
  CompressorKind kind = CompressorKind::Dense;
  double keep = 0.01;         ///< top-k, random-k: k = keep d, rounded up
  double threshold = 0;       ///< threshold, in the gradient's units
  int levels = 127;           ///< qsgd, max-scaled: s, up to 127
  std::int64_t bucket = 512;  ///< qsgd, max-scaled: elements that share a scale; 0 = all of a part
  double clip = 0;            ///< terngrad: standard deviations beyond which values are cut; 0 = none
  int rank = 1;               ///< powersgd
  bool scaled = true;         ///< random-k: by d/k, without bias; with feedback it must not be
  bool by_tensor =
      false;  ///< a part is a tensor rather than all parameters: k, threshold and scales of each layer
  std::int64_t warm_up =
      0;  ///< top-k, random-k: steps in which k/d falls from 1 to `keep`, by the same factor each
  FeedbackKind feedback = FeedbackKind::None;
};

/// Reads `top-k,keep=0.01`, `qsgd,levels=7,bucket=512`, `powersgd,rank=2,feedback=none`, `int8` (= max-scaled). Where the
/// text does not say, top-k, threshold, signs, PowerSGD and clipped TernGrad have error feedback, the others none; random-k
/// is scaled where it has none.
/// Errors: learn-001 (an unknown name, a key that this one has not, a value out of range), one line that says what is
/// allowed.
/// Held by: src/learn/compress/compressor_spec_test.cpp
[[nodiscard]] Result<CompressorSpec> read_compressor(std::string_view text);

/// What a sum of compressed gradients is carried by.
enum class Reduction : std::uint8_t {
  AllReduce,  ///< parts can be added as they are: dense, FP16, BF16, random-k, both factors of PowerSGD
  AllGather,  ///< supports differ: top-k, threshold
  AllToAllThenAllGather,  ///< each rank sums a chunk in FP32 and compresses it again: levels, signs, FP8
};
[[nodiscard]] Reduction reduction_of(CompressorKind kind);

/// What `sent` bytes for `elements` FP32 numbers are for a schedule's cost: sparse for an all-gather, else as many bits.
[[nodiscard]] model::Compression wire_of(CompressorKind kind, Bytes sent, std::int64_t elements);

/// Part of |in|^2 that is not in `out`: |in - out|^2 / |in|^2; 1 - delta of one vector, or one draw of omega. 0 for a
/// zero vector. Sums in double, in order. Cost: O(d)
[[nodiscard]] double left_over(std::span<const float> in, std::span<const float> out);

class Packed;
class PackedReader;

/// An operator with what it remembers (PowerSGD's factors). Draws are functions of (seed, step, worker, place): the same
/// in any order. A NaN or infinite element makes its scale NaN: it is not hidden.
/// Tensors that a compressed form would not make smaller are sent as they are.
/// Threads: one owner.
/// Held by: src/learn/compress/compressor_test.cpp
class Compressor {
 public:
  /// Pre: `tensors` in order and without gaps (asserted).
  Compressor(const CompressorSpec& spec, std::span<const Tensor> tensors, std::uint64_t seed);
  [[nodiscard]] const CompressorSpec& spec() const { return spec_; }
  [[nodiscard]] std::int64_t parameters() const { return parameters_; }

  /// What `worker` sends at `step`, and what arrives: `out`, as long as `in`, may be the same. Returns the bytes on the
  /// wire, those of indices and scales included; keys of random-k follow from the seed and cost none.
  /// Random-k, dense and PowerSGD's group are linear: the mean compressed is the mean of the compressed.
  /// Cost: O(d); top-k O(d) on average; PowerSGD O(r d + r^2 (rows + columns)).
  Bytes compress(std::span<const float> in, std::int64_t step, int worker, std::span<float> out);

  /// The same in two halves: the bytes themselves, and what they say.
  void encode(std::span<const float> in, std::int64_t step, int worker, std::vector<std::byte>& packed);
  void decode(std::span<const std::byte> packed, std::int64_t step, std::span<float> out) const;

 private:
  /// Consecutive elements with a scale, a k or a bound of their own.
  struct Part {
    std::int64_t first = 0;
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    [[nodiscard]] std::int64_t size() const { return rows * columns; }
  };
  void put_part(std::size_t number, std::span<const float> in, std::int64_t step, int worker, Packed& to);
  void take_part(std::size_t number, PackedReader& from, std::int64_t step, std::span<float> out) const;
  [[nodiscard]] bool dense(const Part& part) const;
  [[nodiscard]] std::size_t rank_of(const Part& part) const;  ///< 0: not worth it
  [[nodiscard]] std::vector<std::uint32_t> shared_places(const Part& part, std::int64_t step) const;
  [[nodiscard]] std::vector<float>& factor_of(std::size_t number, int worker);
  void draw_missing(std::size_t number, std::int64_t step, std::vector<float>& q) const;

  CompressorSpec spec_;
  std::vector<Part> parts_;
  std::int64_t parameters_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<std::vector<float>> factors_;  ///< PowerSGD: by worker, then part: Q of the step before
  std::vector<std::byte> packed_;
};

/// What one worker has not sent yet.
/// Threads: one owner.
/// Held by: src/learn/compress/feedback_test.cpp
class Feedback {
 public:
  Feedback(FeedbackKind kind, std::int64_t parameters);
  /// `gradient` is compressed with what was left; `out` is what the sum sees of this worker. Returns bytes on the wire.
  ///
  /// `rate` is what the step will be multiplied by. The residual is kept in units of parameters: when the rate changes it
  /// is scaled by the old over the new, so that sum rate g = applied + e holds exactly for any schedule. At rate 0 the
  /// gradient is compressed alone and nothing is remembered, for nothing moves.
  Bytes compress(Compressor& by, std::span<const float> gradient, double rate, std::int64_t step, int worker,
                 std::span<float> out);
  /// Error feedback: e, in units of parameters over `rate()`. EF21: h. Empty without feedback. To save, to send densely
  /// before a resize, to add where workers merge.
  [[nodiscard]] std::span<float> state() { return state_; }
  [[nodiscard]] double rate() const { return rate_; }

 private:
  FeedbackKind kind_;
  std::vector<float> state_;
  std::vector<float> sum_;
  double rate_ = 0;
};

}  // namespace cox::learn
