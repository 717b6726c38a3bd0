// SPDX-License-Identifier: Apache-2.0
// Between a job and the keys that say it.
#include <variant>

#include "model/toml/keys/derive.hpp"
#include "model/toml/keys/keys.hpp"

namespace cox::model {

Job job_of(const JobKeys& keys) {
  Job job{.steps = keys.steps, .places = keys.places};
  switch (keys.workload) {
    case Workload::Collective:
      job.work = CollectiveJob{.collective = keys.collective,
                               .order = keys.order,
                               .compute = keys.compute,
                               .compression = keys.compression};
      break;
    case Workload::Training:
      job.work = keys.training;
      job.as<TrainingJob>().collective = keys.collective;
      job.as<TrainingJob>().compression = keys.compression;
      job.as<TrainingJob>().pace = keys.iteration.pace;
      break;
    case Workload::Goal:
      job.work = GoalJob{.file = keys.file};
      break;
    case Workload::Chakra:
      job.work = TraceJob{.file = keys.file, .algorithm = keys.collective.algorithm};
      break;
    case Workload::Iteration:
      job.work = keys.iteration;
      break;
  }
  return job;
}

JobKeys keys_of(const Job& job, const Cluster& cluster) {
  JobKeys keys{.workload = job.workload(), .steps = job.steps, .places = job.places};
  // What other workloads would say: the defaults that follow from the cluster.
  if (const auto* traced = std::get_if<TraceJob>(&job.work)) keys.collective.algorithm = traced->algorithm;
  Notes nobody("");
  derive_job(cluster, keys, nobody);
  if (const auto* collective = std::get_if<CollectiveJob>(&job.work)) {
    keys.collective = collective->collective;
    keys.order = collective->order;
    keys.compute = collective->compute;
    keys.compression = collective->compression;
  }
  if (const auto* training = std::get_if<TrainingJob>(&job.work)) {
    keys.training = *training;
    if (training->global_batch > 0)
      keys.training.micro_batches = TrainingJob{}.micro_batches;  // follows from it
    keys.collective = training->collective;
    keys.compression = training->compression;
    keys.iteration.pace = training->pace;
  }
  if (const auto* goal = std::get_if<GoalJob>(&job.work)) keys.file = goal->file;
  if (const auto* traced = std::get_if<TraceJob>(&job.work)) keys.file = traced->file;
  if (const auto* iteration = std::get_if<IterationJob>(&job.work)) keys.iteration = *iteration;
  return keys;
}

}  // namespace cox::model
