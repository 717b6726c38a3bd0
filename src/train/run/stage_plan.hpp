// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who does what in a job whose replicas go through stages, and what it takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"
#include "cox/learn/problem_stage.hpp"
#include "cox/simulate/training.hpp"

#include "train/executor/memory_count.hpp"
#include "train/executor/parting.hpp"
#include "train/run/job.hpp"

namespace cox::train {

/// `gpipe`, `1f1b`, `interleaved`, `zero-bubble`
[[nodiscard]] std::string_view name_of(model::PipelineSchedule schedule);

/// Whether the processes and the problem's units make such stages. Errors: train-001; learn-001. Pre: `job.pipeline`.
[[nodiscard]] Status check_stages(const TrainJob& job, const learn::Problem& problem);

/// Places of one rank: rank = pipeline x stages + stage, as cox::simulate numbers devices. Units are cut into stages x chunks places as evenly
/// as simulate cuts layers; place p is chunk p / stages of stage p mod stages. Each pipeline takes a stretch of the job's leaves, one micro-batch each,
/// through its stages in one go, in the order of simulate::pipeline_order.
class StagePlan {
 public:
  /// Pre: `check_stages`.
  StagePlan(const TrainJob& job, const learn::Problem& problem, int rank);

  [[nodiscard]] int stages() const { return shape_.stages; }
  [[nodiscard]] int stage() const { return stage_; }
  [[nodiscard]] int pipelines() const { return pipelines_; }
  [[nodiscard]] int pipeline() const { return pipeline_; }
  [[nodiscard]] int chunks() const { return shape_.chunks; }
  [[nodiscard]] int places() const { return shape_.stages * shape_.chunks; }
  [[nodiscard]] int place(int chunk) const { return chunk * shape_.stages + stage_; }
  [[nodiscard]] int stage_of(int place) const { return place % shape_.stages; }
  [[nodiscard]] learn::UnitStretch units(int place) const;
  [[nodiscard]] Stretch elements(int place) const;
  /// Of its pipeline.
  [[nodiscard]] const Stretch& leaves() const { return leaves_; }
  [[nodiscard]] std::int64_t most_leaves() const;  ///< of a pipeline
  [[nodiscard]] const std::vector<simulate::StageOp>& order() const { return order_; }
  /// The members of the own pipeline by stage, and those that hold the own stage by pipeline: ranks of the job.
  [[nodiscard]] std::vector<int> own_pipeline() const;
  [[nodiscard]] std::vector<int> own_stage() const;
  /// All places, each whole with its stage.
  [[nodiscard]] Parting stage_parting() const;
  /// A chunk's elements among the pipelines.
  [[nodiscard]] Parting chunk_parting(int chunk) const;

 private:
  PipelineShape shape_;
  int pipelines_, pipeline_, stage_;
  std::int64_t all_leaves_;
  Stretch leaves_;
  std::vector<learn::ParameterUnit> units_;
  std::vector<simulate::StageOp> order_;
};

/// What a rank says to each other in a step about gradients that are no numbers, and the loss.
inline constexpr Bytes kStageVote{24};

/// Bytes that a rank keeps at its most: 4 P_s for the P_s parameters of its stage (whole pages) and their gradients each, 4 m P_s for the
/// optimizer, sums that wait, parts that came from other pipelines, and activations: with micro-batches of b samples, of which t floats come into a
/// chunk, g leave it, k are kept and w lie between the way back and the gradient,
///   messages  4 b (g + t) of each chunk, for what is sent; recomputing 4 b k of the largest chunk
///   live      4 b (t + k) of each micro-batch and chunk between the way forth and back (recomputing 4 b t): one that was not cut into chunks has
///             min(stages - stage, micro-batches) of them under 1f1b, all under gpipe
///   back      4 b (g + w) while it goes back; under zero-bubble until its gradient (recomputing 4 b g more for that)
/// Held by: src/train/run/stages_test.cpp
[[nodiscard]] Result<BytesByUse> planned_stage_memory(const TrainJob& job, const learn::Problem& problem,
                                                      const learn::OptimizerSpec& optimizer, int rank);
/// Bytes that a rank sends in a step: 4 b g of each chunk and micro-batch forth, 4 b t back; its stage's sum over pipelines
/// (reduce_bytes + gather_bytes); kStageVote to each; norms.
[[nodiscard]] Result<Bytes> planned_stage_bytes(const TrainJob& job, const learn::Problem& problem,
                                                const learn::OptimizerSpec& optimizer, int rank);

}  // namespace cox::train
