// SPDX-License-Identifier: Apache-2.0
#include "cox/train/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cox/learn/problem.hpp"
#include "cox/simulate/training.hpp"
#include "cox/sync/policy.hpp"
#include "cox/sync/stream_file.hpp"

#include "train/answer/launch.hpp"
#include "train/answer/told.hpp"
#include "train/checkpoint/generations.hpp"
#include "train/run/job.hpp"
#include "train/run/replica.hpp"

namespace cox::train {
namespace {

constexpr int kMostThreads = 64;
constexpr double kMostValues = 1e9;                       ///< 4 GB
constexpr double kMostSamples = 9'007'199'254'740'992.0;  ///< 2^53, that are numbered

tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail({.code = Errc::Unsupported,
               .id = "train-001",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = {}});
}

/// What processes do not carry out yet.
Status check_way(const learn::Way& way) {
  if (way.policy.kind != model::PolicyKind::Synchronous)
    return refuse(fmt::format("{} is not carried out by processes yet", way.name),
                  "synchronous is; cox learn knows the others in virtual time");
  if (way.compressor.kind != learn::CompressorKind::Dense)
    return refuse(fmt::format("{} is not carried out by processes yet", way.name),
                  "synchronous without compression is");
  return {};
}

Status check_layout(const TrainQuestion& q) {
  COX_TRY(const SumBy by, read_sum(q.all_reduce));
  COX_TRY(const TrainLayout layout, read_layout(q.layout));
  if (layout == TrainLayout::DataParallel) return {};
  if (by.algorithm)
    return refuse(fmt::format("{} sums in fixed order, and {} is another", q.layout, q.all_reduce),
                  "leave --all-reduce out");
  return {};
}

Status check_size(const TrainJob& job) {
  COX_TRY(const learn::ProblemSpec spec, learn::read_problem(job.problem));
  if (spec.workers > 1 && spec.workers != job.workers)
    return refuse(
        fmt::format("the problem is made for {} workers, and the job has {}", spec.workers, job.workers),
        "leave workers= out, or say that number");
  if (job.procs > job.workers)
    return refuse(fmt::format("{} processes for {} workers: each holds one at least", job.procs, job.workers),
                  "fewer --procs, or a scenario with more replicas");
  // A sum for each aligned stretch of workers, what others' stretches send, parameters, gradient, mean, optimizer.
  const double copies = 8.0 * job.procs + 4;
  COX_TRY(const std::unique_ptr<learn::Problem> problem, problem_of(job));
  const auto parameters = static_cast<double>(problem->parameters());
  if (parameters * copies > kMostValues)
    return refuse(fmt::format("{:.0f} parameters in {:.0f} copies are more than 4 GB", parameters, copies),
                  "learn a smaller problem, or on fewer processes");
  const double numbered = static_cast<double>(job.steps) * job.workers * static_cast<double>(job.samples);
  if (numbered > kMostSamples)
    return refuse(fmt::format("{} steps of {} samples are more than are numbered", job.steps, job.samples),
                  "fewer --steps, or a smaller --batch");
  return {};
}

Status check_fault(const TrainQuestion& q) {
  COX_TRY(const Injected fault, read_injected(q.inject));
  if (fault.rank >= q.procs)
    return refuse(fmt::format("a fault of rank {}, and there are {} processes", fault.rank, q.procs),
                  "ranks count from 0");
  return {};
}

Status check_saving(const TrainQuestion& q) {
  COX_CHECK(read_save_every(q.every));
  if (q.resume && q.record != nullptr)
    return refuse("the updates before the checkpoint are not known to the job that goes on",
                  "record without --resume");
  return {};
}

/// An error while a job ran says where it can go on.
Error with_way_on(Error error, const TrainJob& job) {
  const bool ran = error.id == "train-003" || error.id == "train-004" || error.id == "train-005" ||
                   error.id == "train-006";
  if (job.checkpoint.empty() || !ran) return error;
  const auto newest = Generations(job.checkpoint).newest_version();
  if (!newest) return error;
  if (!error.hint.empty()) error.hint += "; ";
  error.hint += *newest
                    ? fmt::format("checkpoint {} is in {}: the same command with --resume goes on from it",
                                  **newest, job.checkpoint)
                    : fmt::format("there is no checkpoint in {} yet", job.checkpoint);
  return error;
}

/// What the policy makes happen, at the times that versions came: the stream of the job.
void write_stream(const TrainQuestion& q, const TrainJob& job, const std::vector<Seconds>& times) {
  sync::StreamWriter writer(*q.record, job.workers);
  sync::Policy rules(q.way.policy, job.workers);
  std::vector<int> released;
  for (const Seconds at : times)
    for (int worker = 0; worker < job.workers; ++worker) {
      rules.delivered(worker, released);
      for (const sync::StreamEvent& e : rules.events()) writer.add(e, at);
    }
}

}  // namespace

std::string_view name_of(Carrier carrier) {
  switch (carrier) {
    case Carrier::Threads:
      return "threads";
    case Carrier::OpenMpi:
      return "openmpi";
    case Carrier::Mpich:
      return "mpich";
    case Carrier::Gloo:
      break;
  }
  return "gloo";
}

bool same_job(const model::Scenario& one, const model::Scenario& other) {
  const auto workers_of = [](model::Scenario s) {
    s.job.steps = 1;
    const auto workers = simulate::update_workers(s);
    return workers ? *workers : 0;
  };
  return one.name == other.name && one.job.workload() == other.job.workload() &&
         one.policy.kind == other.policy.kind && workers_of(one) == workers_of(other);
}

Result<TrainAnswer> train(const model::Scenario& scenario, const TrainQuestion& q,
                          const std::vector<std::string>& inputs) {
  if (scenario.job.workload() != model::Workload::Training)
    return refuse("job.workload is not \"training\": there are no workers to carry out",
                  "describe the training job, with its layers and their gradients");
  COX_CHECK(check_way(q.way));
  COX_CHECK(check_layout(q));
  COX_CHECK(check_saving(q));
  COX_CHECK(check_fault(q));
  model::Scenario one = scenario;
  one.policy = q.way.policy;
  one.job.steps = 1;
  TrainJob job{.problem = q.problem,
               .optimizer = q.optimizer,
               .samples = q.samples,
               .steps = q.steps,
               .procs = q.procs,
               .sum = q.all_reduce,
               .layout = q.layout,
               .patience = q.patience,
               .times = q.record != nullptr,
               .checkpoint = q.checkpoint.empty() ? "" : std::filesystem::absolute(q.checkpoint).string(),
               .every = q.every,
               .resume = q.resume,
               .predict = q.predict,
               .inject = q.inject,
               .told = static_cast<bool>(q.told)};
  COX_TRY(job.workers, simulate::update_workers(one));
  COX_CHECK(check_size(job));
  if (q.carrier == Carrier::Threads && job.procs > kMostThreads)
    return refuse(fmt::format("{} processes are more threads than {}", job.procs, kMostThreads),
                  "start processes: --transport openmpi or mpich");
  const TrainWatch watch{.told = q.told, .stop = q.stop};
  auto ran = q.carrier == Carrier::Threads ? run_on_threads(job, watch) : run_launched(job, q);
  if (!ran) return fail(with_way_on(std::move(ran).error(), job));
  const TrainedRun& made = *ran;
  COX_TRY(const Told told, told_of(scenario.name, job, q, made, inputs));
  if (q.record != nullptr) write_stream(q, job, made.times);
  return TrainAnswer{.lines = told.lines,
                     .json = told.json,
                     .workers = job.workers,
                     .diverged = made.diverged.has_value(),
                     .stopped = made.stopped};
}

}  // namespace cox::train
