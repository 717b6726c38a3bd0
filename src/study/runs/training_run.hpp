// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole training steps for studies, by the training engine.
#pragma once

#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/max_plus.hpp"

namespace cox::study {

/// One step of `workers` replicas, a device per node; `layers` in the order of forward. A bucket leaves once
/// it holds `bucket` bytes.
[[nodiscard]] model::Scenario data_parallel_job(int workers, const simulate::LinkCosts& links,
                                                std::vector<model::Layer> layers, Bytes bucket);
/// One replica in `stages` stages of one layer each; messages for nothing.
[[nodiscard]] model::Scenario pipeline_job(model::PipelineSchedule schedule, int stages, int micro_batches,
                                           Seconds forward, Seconds backward);
/// How long its step takes. Errors: those of simulate_training.
[[nodiscard]] Result<Seconds> training_time(const model::Scenario& scenario);

}  // namespace cox::study
