// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who does what in a job whose layers are cut, and what it takes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"
#include "cox/learn/problem_slice.hpp"
#include "cox/model/schedule.hpp"

#include "train/executor/memory_count.hpp"
#include "train/executor/parting.hpp"
#include "train/run/job.hpp"

namespace cox::train {

/// Whether processes, problem and optimizer make such slices. Errors: train-001; learn-001. Pre: `job.tensor`.
[[nodiscard]] Status check_slices(const TrainJob& job);

/// Whether the sums over slices have the bits of the unsplit problem: their number divides its blocks.
[[nodiscard]] bool keeps_bits(const TrainJob& job, const learn::ProblemSpec& problem);

/// Places of one rank: rank = group x tensor + slice, as cox::simulate numbers devices. A group is a replica of the model; it takes a stretch of the
/// job's workers through its slices, one after the other, a leaf of the sum each.
class SlicePlan {
 public:
  /// Pre: `check_slices`.
  SlicePlan(const TrainJob& job, int rank)
      : slices_(job.tensor), groups_(job.procs / job.tensor), rank_(rank), all_leaves_(job.leaves()) {}

  [[nodiscard]] int slices() const { return slices_; }
  [[nodiscard]] int slice() const { return rank_ % slices_; }
  [[nodiscard]] int groups() const { return groups_; }
  [[nodiscard]] int group() const { return rank_ / slices_; }
  [[nodiscard]] Stretch leaves() const { return part_of(all_leaves_, group(), groups_); }
  [[nodiscard]] std::int64_t most_leaves() const {  ///< of a group
    return part_of(all_leaves_, 0, groups_).count;
  }
  /// The members of the own group by slice, and those that hold the own slice by group: ranks of the job.
  [[nodiscard]] std::vector<int> own_group() const;
  [[nodiscard]] std::vector<int> own_slice() const;
  /// The slice's elements among the groups.
  [[nodiscard]] Parting parting(std::int64_t elements) const {
    return {{{.first = 0, .count = elements}}, groups_};
  }
  /// Of so many floats over the slices of a group: distances 1, 2, 4, ..., which add them in an aligned tree where they are a power of two.
  [[nodiscard]] model::CollectiveSpec sum(std::int64_t floats) const;

 private:
  int slices_, groups_, rank_;
  std::int64_t all_leaves_;
};

/// What a rank says to each other in a step about gradients that are no numbers, and the loss.
inline constexpr Bytes kSliceVote{24};

/// Bytes that a rank keeps at its most. With the P_s parameters of its slice, leaves of b samples, r floats of a sample that its
/// slice works in (learn::ProblemSlice::room; `text` does not count its own), and sums of s floats of a sample (`text`: of at most 16 samples at once):
///   parameters, gradients  4 P_s each
///   optimizer              4 m P_s, and lamb's direction
///   activations            4 b r
///   received               4 b s for each size of sums that the rank adds to, kept; 4 (stretches of others) (own part of P_s) while gradients are summed;
///                          where the optimizer takes norms 4 ((tensor + 1) P_s + P)
///   copies                 of a job that saves, on the first group: 4 (1 + m) P / tensor, which is brought together; beside the steps twice; 4 (the most that another slice has
///                          of that stretch)
///   sums                   4 (aligned stretches of the leaves before the last) P_s
/// P_s = P / tensor, but for biases behind rows and a layer that is left over, which every slice has whole.
/// Held by: src/train/run/slices_test.cpp
[[nodiscard]] Result<BytesByUse> planned_slice_memory(const TrainJob& job,
                                                      const learn::OptimizerSpec& optimizer, int rank);
/// Bytes that a rank sends in a step: 4 b s log2(tensor) for each sum of each of its group's leaves (other degrees: what the schedule says), its slice's sum
/// over groups (reduce_bytes + gather_bytes), kSliceVote to each; norms (norm_bytes).
[[nodiscard]] Result<Bytes> planned_slice_bytes(const TrainJob& job, const learn::OptimizerSpec& optimizer,
                                                int rank);

}  // namespace cox::train
