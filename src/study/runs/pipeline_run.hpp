// SPDX-License-Identifier: Apache-2.0
/// \file
/// A pipeline's step as an operation graph: the orders of `simulate::pipeline_order`, evaluated by `replay`.
#pragma once

#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/study/answer.hpp"

namespace cox::study {

struct PipelinePlan {
  model::PipelineSchedule schedule = model::PipelineSchedule::GPipe;
  int stages = 1;
  int micro_batches = 1;
  int interleave = 1;
  std::vector<Seconds> forward;   ///< per stage and chunk of it: of one micro-batch
  std::vector<Seconds> backward;  ///< the same; zero: forward only
  Seconds transfer{};             ///< from stage to stage
};

struct PipelineRun {
  Seconds makespan{};
  double bubble_ratio = 0;     ///< idle share of the stages' time
  double any_idle_ratio = 0;   ///< share of the makespan in which at least one stage does nothing
  std::vector<int> peak_live;  ///< per stage: micro-batches whose activations are held, at most
};

/// The same durations on every stage.
[[nodiscard]] PipelinePlan equal_stages(model::PipelineSchedule schedule, int stages, int micro_batches,
                                        Seconds forward, Seconds backward);
/// Cost: O(stages x micro-batches), times the passes until every order is placed
/// (at most stages + micro-batches).
[[nodiscard]] PipelineRun run_pipeline(const PipelinePlan& plan);

/// (p - 1) / (m + p - 1): the idle share of equal stages under GPipe and 1F1B.
[[nodiscard]] double balanced_bubble(int stages, int micro_batches);
/// Adds the check of a run of equal stages against it.
void check_bubble(Computation& out, const PipelineRun& run, int stages, int micro_batches);

}  // namespace cox::study
