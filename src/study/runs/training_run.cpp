// SPDX-License-Identifier: Apache-2.0
#include "study/runs/training_run.hpp"

#include <cstddef>
#include <utility>

#include "cox/simulate/training.hpp"

namespace cox::study {

model::Scenario data_parallel_job(int workers, const simulate::LinkCosts& links,
                                  std::vector<model::Layer> layers, Bytes bucket) {
  model::Scenario s;
  s.name = "data-parallel";
  s.cluster.nodes = workers;
  model::TrainingJob& job = s.job.work.emplace<model::TrainingJob>();
  job.layout.data = workers;
  job.layers = std::move(layers);
  job.bucket = bucket;
  s.inside = links.inside;
  s.across = links.across;
  return s;
}

model::Scenario pipeline_job(model::PipelineSchedule schedule, int stages, int micro_batches, Seconds forward,
                             Seconds backward) {
  model::Scenario s;
  s.name = "pipeline";
  s.cluster.nodes = stages;
  model::TrainingJob& job = s.job.work.emplace<model::TrainingJob>();
  job.layout.pipeline = stages;
  job.schedule = schedule;
  job.micro_batches = micro_batches;
  job.layers.assign(static_cast<std::size_t>(stages), {.forward = forward, .backward = backward});
  return s;
}

Result<Seconds> training_time(const model::Scenario& scenario) {
  COX_TRY(const simulate::Outcome outcome, simulate::simulate_training(scenario, {.threads = 1}));
  return outcome.total;
}

}  // namespace cox::study
