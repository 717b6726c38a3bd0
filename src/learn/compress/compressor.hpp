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
#include <vector>

#include "cox/base/units.hpp"
#include "cox/learn/compressor.hpp"
#include "cox/learn/number_format.hpp"
#include "cox/learn/problem.hpp"
#include "cox/model/compression.hpp"

namespace cox::learn {

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
