// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages of a pipeline as a chain: what a replica's step takes, and the replicas of a job.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/law/maximum.hpp"

namespace cox::forecast {

/// By how much each stage's work of a step lengthens the step of its replica: [slowest stage][stage].
/// Formula, of p stages and m micro-batches, over m: GPipe m for the slowest, 1 for the others. 1F1B with m >= p: m - (p - 1 - i)
///          for the slowest i, 1 for those before it, 2 for those behind: while it fills and drains, it waits for them. Interleaved:
///          others 1 / chunks. ZB-H1: others 1/3. Their sum is the bubble's formula (docs/concepts/training-steps.md).
/// Error:   GPipe none; 1F1B below 0.1 % of the step for stages that vary by 20 %; the other two have their bubble where stages are
///          alike.
/// Held by: src/forecast/project/pipeline_test.cpp
[[nodiscard]] std::vector<std::vector<double>> weights_of(const Pipeline& pipeline);

/// Where each replica has this part of its work: of a fixed batch fewer micro-batches, else as many.
[[nodiscard]] Pipeline with_batch(Pipeline pipeline, double part);

/// A step of a replica whose stages take so long in it, all micro-batches.
[[nodiscard]] Seconds pipelined(const Pipeline& pipeline, const std::vector<Seconds>& stages);

/// The replicas of a job: one is what its chain of stages takes, a stage what the slowest of its members takes. What a node's ranks
/// share is a replica's where a node holds whole ones; else a stage's, as if each had nodes of its own.
/// Pre: a nest for each stage (asserted). Cost: that of `law_of`. Held by: src/forecast/project/pipeline_test.cpp
[[nodiscard]] Crowd replicas_of(const Pipeline& pipeline, const std::vector<Nest>& stages, std::int64_t ranks,
                                const Quadrature& quadrature);

}  // namespace cox::forecast
