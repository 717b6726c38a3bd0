// SPDX-License-Identifier: Apache-2.0
/// \file
/// What slices of a model have, brought together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"
#include "cox/learn/problem_slice.hpp"

#include "train/executor/memory_count.hpp"
#include "train/transport/group.hpp"

namespace cox::train {

/// Who of a group takes part in bringing values together.
struct Gathered {
  bool wanted = true;     ///< this one wants all of them
  bool gives = true;      ///< this one gives its own
  bool by_first = false;  ///< nobody but the first slice wants them
};
/// One value of each own element of this slice becomes one of each element of all, in `all`; `room`: of as many values as all slices have together. Only who
/// wants them needs either. Values that every slice has are this one's. Bytes sent: 4 (own elements) to each who wants them. Errors: those of the transport.
[[nodiscard]] Status gather_slices(const learn::ProblemSlice& slice, GroupTransport& links,
                                   std::span<const float> own, const Gathered& how, std::span<float> room,
                                   std::span<float> all);

/// Of all elements each slice gets its stretch, `mine`, of as many equal ones as there are slices; from one slice after the other, in `room` of
/// stretch_room floats. All ranks call it, for they number messages alike; who takes no part has an empty `mine`.
/// Bytes sent: 4 for each own element, less those of the own stretch. Errors: those of the transport.
[[nodiscard]] Status gather_stretch(const learn::ProblemSlice& slice, GroupTransport& links,
                                    std::span<const float> own, std::int64_t elements, std::span<float> room,
                                    std::span<float> mine);
/// The most that another slice has of that one's stretch.
[[nodiscard]] std::int64_t stretch_room(const learn::ProblemSlice& slice, int number, int slices,
                                        std::int64_t elements);

/// Norms over all slices: blocks of learn::kNormBlock follow rows, which columns cut, so each slice has all values for as long as it adds up. The bits are
/// those of learn::block_norm.
/// Bytes sent: 4 (slices - 1) (own elements) for each vector of all elements. Memory: bytes_of, received. Threads: one owner.
/// Held by: src/train/run/slices_test.cpp
class SliceNorms final : public learn::PieceNorms {
 public:
  /// `slice`, `tensors` (the problem's) and `links` outlive it.
  SliceNorms(const learn::ProblemSlice& slice, std::span<const learn::Tensor> tensors, GroupTransport& links,
             MemoryCount& memory);
  [[nodiscard]] Result<double> of_all(std::span<const float* const> values) override;
  [[nodiscard]] Result<std::vector<double>> of_tensors(std::span<const float* const> values) override;

  [[nodiscard]] static std::int64_t floats(const learn::ProblemSlice& slice, int slices,
                                           std::int64_t parameters) {
    return slice.parameters() * (slices + 1) + parameters;
  }

 private:
  /// Values of own pieces, a tensor each.
  [[nodiscard]] Status gather(std::span<const float* const> values);

  const learn::ProblemSlice& slice_;
  std::span<const learn::Tensor> tensors_;
  GroupTransport& links_;
  CountedFloats own_, room_, all_;
};

/// Bytes that a slice sends for the norms of a step.
[[nodiscard]] Bytes norm_bytes(const learn::ProblemSlice& slice, int slices,
                               const learn::OptimizerSpec& optimizer);

}  // namespace cox::train
