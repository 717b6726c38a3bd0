// SPDX-License-Identifier: Apache-2.0
#include "study/compute/training_run.hpp"

#include <cstddef>
#include <utility>

#include "cox/simulate/training.hpp"

namespace cox::study {

model::Scenario data_parallel_job(int workers, const simulate::LinkCosts& links,
                                  std::vector<model::Layer> layers, Bytes bucket) {
  model::Scenario s;
  s.name = "data-parallel";
  s.cluster.nodes = workers;
  s.job.workload = model::Workload::Training;
  s.job.layout.data = workers;
  s.job.layers = std::move(layers);
  s.job.bucket = bucket;
  s.inside = links.inside;
  s.across = links.across;
  return s;
}

model::Scenario pipeline_job(model::PipelineSchedule schedule, int stages, int micro_batches, Seconds forward,
                             Seconds backward) {
  model::Scenario s;
  s.name = "pipeline";
  s.cluster.nodes = stages;
  s.job.workload = model::Workload::Training;
  s.job.layout.pipeline = stages;
  s.job.schedule = schedule;
  s.job.micro_batches = micro_batches;
  s.job.layers.assign(static_cast<std::size_t>(stages), {.forward = forward, .backward = backward});
  return s;
}

Result<Seconds> training_time(const model::Scenario& scenario) {
  COX_TRY(const simulate::Outcome outcome, simulate::simulate_training(scenario, {.threads = 1}));
  return outcome.total;
}

}  // namespace cox::study
