// SPDX-License-Identifier: Apache-2.0
/// \file
/// Training steps: forward, backward, optimizer and their communication on every rank, under a policy.
#pragma once

#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// What one rank does to its stage and micro-batches, in its order.
struct StageOp {
  enum class Kind : std::uint8_t { Forward, Backward, BackwardInput, BackwardWeight };
  Kind kind = Kind::Forward;
  int micro_batch = 0;
  int chunk = 0;
};

/// Order of operations on `stage` of a pipeline. GPipe (Huang 2019), 1F1B (Narayanan 2019), interleaved
/// (Narayanan 2021), zero-bubble ZB-H1 (Qi 2024). Held by: src/simulate/pipeline_test.cpp (bubble (p - 1) /
/// (m + p - 1), peak live m and min(p - s, m)).
[[nodiscard]] std::vector<StageOp> pipeline_order(model::PipelineSchedule schedule, int stages, int stage,
                                                  int micro_batches, int interleave);

/// Simulates `scenario.job.steps` training steps. Errors: simulate-001 to simulate-004.
[[nodiscard]] Result<Outcome> simulate_training(const model::Scenario& scenario,
                                                const SimulateOptions& options);

/// Difference of two scenarios on common draws (same seeds): `b` minus `a` per replica.
struct Comparison {
  Spread a;
  Spread b;
  Spread difference;  ///< paired
};
[[nodiscard]] Result<Comparison> compare(const model::Scenario& a, const model::Scenario& b,
                                         const SimulateOptions& options);

}  // namespace cox::simulate
