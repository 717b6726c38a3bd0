// SPDX-License-Identifier: Apache-2.0
#include "cox/train/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
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
#include "train/run/served.hpp"
#include "train/run/slice_plan.hpp"
#include "train/run/stage_plan.hpp"

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
  const bool meets =
      way.policy.kind == model::PolicyKind::Synchronous || way.policy.kind == model::PolicyKind::LocalSgd;
  if (!(meets && way.rule == learn::Rule::Policy && !(way.centre > 0)) && !served_word(way))
    return refuse(
        fmt::format("{} is not carried out by processes yet", way.name),
        "synchronous, local-sgd, post-local, diloco, fedprox, scaffold, backup, bounded-wait, bounded-discard, asynchronous and age-weighted "
        "are; cox learn knows the others in virtual time");
  const learn::CompressorSpec& c = way.compressor;
  if (c.kind == learn::CompressorKind::Dense) return {};
  const bool steps_together = meets && way.rule == learn::Rule::Policy && !way.is_local();
  if (c.master && steps_together) return {};
  const bool two_bytes = c.kind == learn::CompressorKind::Fp16 || c.kind == learn::CompressorKind::Bf16;
  return refuse(
      fmt::format("{} is not carried out by processes yet", way.name),
      two_bytes && steps_together && c.feedback == learn::FeedbackKind::None
          ? fmt::format("{},master=yes is: mixed precision, with parameters in two bytes, too", way.name)
          : "synchronous without compression is, and synchronous+bf16,master=yes");
}

/// Mixed precision: what it does not go with yet.
Status check_precision(const TrainQuestion& q) {
  if (!q.way.compressor.master) return {};
  COX_TRY(const SumBy by, read_sum(q.all_reduce));
  COX_TRY(const TrainLayout layout, read_layout(q.layout));
  if (layout == TrainLayout::Pipeline || layout == TrainLayout::Tensor)
    return refuse(fmt::format("{} computes in FP32, and {} is mixed precision", q.layout, q.way.name),
                  "data-parallel, zero-1, zero-2 and zero-3 go with it");
  if (by.algorithm)
    return refuse(fmt::format("{} sums in fixed order, rounded at each addition, and {} is another order",
                              q.way.name, q.all_reduce),
                  "leave --all-reduce out");
  return {};
}

/// Rounds of local steps: what they do not go with yet.
Status check_rounds(const TrainQuestion& q) {
  if (!q.way.is_local()) return {};
  const LocalRounds rounds = rounds_of(q.way);
  const std::int64_t behind = std::max<std::int64_t>(q.steps - rounds.after, 0);
  if (behind % rounds.steps != 0)
    return refuse(fmt::format("{} steps are no whole rounds of {}", behind, rounds.steps),
                  fmt::format("--steps {}", rounds.after + (behind / rounds.steps + 1) * rounds.steps));
  if (q.layout != TrainJob{}.layout)
    return refuse(fmt::format("{} shares parameters, and workers of {} have their own", q.layout, q.way.name),
                  "leave --layout out");
  return {};
}

/// A policy with a server: what it does not go with yet.
Status check_served(const TrainQuestion& q) {
  if (!served_word(q.way)) return {};
  const std::string& name = q.way.name;
  if (q.way.policy.servers > 1)
    return refuse(fmt::format("{} has {} servers, and processes have one", name, q.way.policy.servers),
                  fmt::format("say --policy {}", *served_word(q.way)));
  if (q.procs < 2)
    return refuse(fmt::format("{} has a server, and one process is no two", name),
                  "--procs 2: the first is the server, the others compute");
  if (q.layout != TrainJob{}.layout || q.all_reduce != TrainJob{}.sum)
    return refuse(
        fmt::format("under {} gradients go to a server: there is no layout and no all-reduce", name),
        "leave --layout and --all-reduce out");
  if (!q.checkpoint.empty())
    return refuse(
        fmt::format("jobs under {} are not saved: what is under way is no part of a checkpoint", name),
        "leave --checkpoint out; --record keeps what happened, and cox learn comes to the same along it");
  COX_TRY(const Injected fault, read_injected(q.inject));
  if (fault.rank == 0 && fault.nan >= 0)
    return refuse(fmt::format("rank 0 is the server under {}, and computes no gradient to spoil", name),
                  "a fault of another rank, or a delay");
  if (q.predict)
    return refuse(fmt::format("--predict looks at steps that all take together, and {} has none", name),
                  "leave it out");
  return {};
}

/// Slices of layers: what they do not go with yet.
Status check_tensor(const model::Layout& layout) {
  const auto beside = [&](std::string_view what, int degree) {
    return refuse(
        fmt::format("tensor is carried out alone or beside data, and job.layout.{} is {}, too", what, degree),
        fmt::format("--set job.layout.{}=1", what));
  };
  if (layout.pipeline > 1) return beside("pipeline", layout.pipeline);
  if (layout.context > 1) return beside("context", layout.context);
  if (layout.expert > 1) return beside("expert", layout.expert);
  return {};
}

Status check_layout(const TrainQuestion& q, const model::TrainingJob& work) {
  COX_TRY(const SumBy by, read_sum(q.all_reduce));
  COX_TRY(const TrainLayout layout, read_layout(q.layout));
  if (layout == TrainLayout::DataParallel) return {};
  if (layout == TrainLayout::Tensor) COX_CHECK(check_tensor(work.layout));
  if (layout == TrainLayout::Pipeline && q.record != nullptr && work.micro_batches > 1)
    return refuse(fmt::format("each of {} micro-batches is a leaf of the sum, which updates do not say",
                              work.micro_batches),
                  "record a job with job.micro_batches = 1");
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
  const int holders = job.procs - (job.served.empty() ? 0 : 1);
  if (holders > job.workers && !job.pipeline && job.tensor == 0)
    return refuse(fmt::format("{} processes for {} workers: each holds one at least", holders, job.workers),
                  "fewer --procs, or a scenario with more replicas");
  // A sum for each aligned stretch of workers, what others' stretches send, parameters, gradient, mean, optimizer.
  const double copies = 8.0 * job.procs + 4 + (job.local || !job.served.empty() ? 3.0 * job.workers : 0) +
                        (job.local && job.local->variates ? 2.0 * job.workers : 0);
  COX_TRY(const std::unique_ptr<learn::Problem> problem, problem_of(job));
  if (job.pipeline) COX_CHECK(check_stages(job, *problem));
  if (job.tensor > 0) COX_CHECK(check_slices(job));
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
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto version = static_cast<std::int64_t>(i);
    const std::int64_t steps = job.steps_in(version + 1) - job.steps_in(version);
    rules.set_local_steps(static_cast<int>(steps));
    for (std::int64_t k = 0; k < steps; ++k)
      for (int worker = 0; worker < job.workers; ++worker) {
        rules.delivered(worker, released);
        for (const sync::StreamEvent& e : rules.events()) writer.add(e, times[i]);
      }
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

bool same_job(const model::Scenario& one, const model::Scenario& other, const std::string& layout) {
  const auto kind = read_layout(layout);
  if (one.job.workload() == model::Workload::Training && other.job.workload() == model::Workload::Training &&
      kind && *kind == TrainLayout::Tensor &&
      one.job.as<model::TrainingJob>().layout.tensor != other.job.as<model::TrainingJob>().layout.tensor)
    return false;
  if (one.job.workload() == model::Workload::Training && other.job.workload() == model::Workload::Training &&
      kind && *kind == TrainLayout::Pipeline &&
      pipeline_of(layout, one.job.as<model::TrainingJob>()) !=
          pipeline_of(layout, other.job.as<model::TrainingJob>()))
    return false;
  const auto workers_of = [](model::Scenario s) {
    s.job.steps = 1;
    const auto workers = simulate::update_workers(s);
    return workers ? *workers : 0;
  };
  return one.name == other.name && one.job.workload() == other.job.workload() &&
         one.policy.kind == other.policy.kind && workers_of(one) == workers_of(other);
}

Result<TrainAnswer> train(const model::Scenario& scenario, const TrainQuestion& asked,
                          const std::vector<std::string>& inputs) {
  TrainQuestion q = asked;
  if (scenario.job.workload() != model::Workload::Training)
    return refuse("job.workload is not \"training\": there are no workers to carry out",
                  "describe the training job, with its layers and their gradients");
  COX_CHECK(check_way(q.way));
  COX_CHECK(check_layout(q, scenario.job.as<model::TrainingJob>()));
  COX_CHECK(check_precision(q));
  COX_CHECK(check_rounds(q));
  COX_CHECK(check_served(q));
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
               .precision = precision_of(q.way),
               .layout = q.layout,
               .served = served_word(q.way).value_or(""),
               .local = q.way.is_local() ? std::optional(rounds_of(q.way)) : std::nullopt,
               .patience = q.patience,
               .times = q.record != nullptr,
               .checkpoint = q.checkpoint.empty() ? "" : std::filesystem::absolute(q.checkpoint).string(),
               .every = q.every,
               .beside = q.beside,
               .resume = q.resume,
               .predict = q.predict,
               .inject = q.inject,
               .told = static_cast<bool>(q.told)};
  COX_TRY(job.workers, simulate::update_workers(one));
  COX_TRY(const TrainLayout layout, read_layout(q.layout));
  if (layout == TrainLayout::Pipeline) {
    job.pipeline = pipeline_of(q.layout, scenario.job.as<model::TrainingJob>());
    job.layout = "pipeline";
  }
  if (layout == TrainLayout::Tensor) job.tensor = scenario.job.as<model::TrainingJob>().layout.tensor;
  COX_CHECK(check_size(job));
  if (q.carrier == Carrier::Threads && job.procs > kMostThreads)
    return refuse(fmt::format("{} processes are more threads than {}", job.procs, kMostThreads),
                  "start processes: --transport openmpi or mpich");
  if (q.record != nullptr && !job.served.empty()) {
    // A line when it is read, when it comes and when it counts.
    constexpr double kBytesOfUpdate = 130, kMostOverLibrary = 6e7, kMostOnThreads = 2e9;
    const double bytes = kBytesOfUpdate * static_cast<double>(job.steps) * job.workers;
    if (bytes > (q.carrier == Carrier::Threads ? kMostOnThreads : kMostOverLibrary))
      return refuse(
          fmt::format("the updates of {} steps of {} workers are more than can be kept until the end",
                      job.steps, job.workers),
          "fewer --steps, or no --record; --transport threads keeps more");
  }
  const std::int64_t updates =
      job.served.empty() || q.way.policy.kind == model::PolicyKind::Backup ? 1 : job.workers;
  if (q.told && updates > 1)
    q.told = [&asked, updates](std::int64_t version, double loss) { asked.told(version / updates, loss); };
  if (q.told && job.local)
    q.told = [&](std::int64_t version, double loss) { asked.told(job.steps_in(version), loss); };
  const TrainWatch watch{.told = q.told, .stop = q.stop};
  auto ran = q.carrier == Carrier::Threads ? run_on_threads(job, watch) : run_launched(job, q);
  if (!ran) return fail(with_way_on(std::move(ran).error(), job));
  const TrainedRun& made = *ran;
  COX_TRY(const Told told, told_of(scenario.name, job, q, made, inputs));
  if (q.record != nullptr && made.served) *q.record << made.stream;
  if (q.record != nullptr && !made.served) write_stream(q, job, made.times);
  return TrainAnswer{.lines = told.lines,
                     .json = told.json,
                     .workers = job.workers,
                     .diverged = made.diverged.has_value(),
                     .stopped = made.stopped};
}

}  // namespace cox::train
