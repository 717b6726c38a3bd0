// SPDX-License-Identifier: Apache-2.0
#include "train/answer/told.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "cox/base/json.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"

#include "train/executor/executor.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/mixed_plan.hpp"
#include "train/run/replica.hpp"
#include "train/run/served.hpp"
#include "train/run/slice_plan.hpp"
#include "train/run/stage_plan.hpp"

namespace cox::train {
namespace {

/// What each rank sends in a step, by the description of what it takes part in.
Result<std::vector<Bytes>> scheduled(const TrainJob& job, const learn::Problem& problem,
                                     const learn::OptimizerSpec& optimizer) {
  COX_TRY(const SumBy by, read_sum(job.sum));
  COX_TRY(const TrainLayout layout, read_layout(job.layout));
  if (by.algorithm) {
    COX_TRY(std::vector<Bytes> bytes, scheduled_bytes({.kind = model::Collective::AllReduce,
                                                       .algorithm = *by.algorithm,
                                                       .ranks = job.procs,
                                                       .bytes = Bytes{problem.parameters()} * sizeof(float),
                                                       .group = by.group}));
    if (job.local && job.local->variates)
      for (Bytes& b : bytes) b = b * 2;
    return bytes;
  }
  std::vector<Bytes> bytes;
  if (!job.served.empty()) return bytes;
  if (job.pipeline) {
    for (int r = 0; r < job.procs; ++r) {
      COX_TRY(const Bytes sent, planned_stage_bytes(job, problem, optimizer, r));
      bytes.push_back(sent);
    }
    return bytes;
  }
  for (int r = 0; r < job.procs && job.tensor > 0; ++r) {
    COX_TRY(const Bytes sent, planned_slice_bytes(job, optimizer, r));
    bytes.push_back(sent);
  }
  if (job.tensor > 0) return bytes;
  for (int r = 0; r < job.procs; ++r) bytes.push_back(planned_bytes(job, layout, problem, optimizer, r));
  return bytes;
}

/// What steps that were skipped did not send.
Result<std::vector<Bytes>> unsent(const TrainJob& job, const TrainedRun& run, const learn::Problem& problem,
                                  const learn::OptimizerSpec& optimizer) {
  std::vector<Bytes> bytes(static_cast<std::size_t>(job.procs));
  if (!run.scaled) return bytes;
  COX_TRY(const TrainLayout layout, read_layout(job.layout));
  for (int r = 0; r < job.procs; ++r)
    bytes[static_cast<std::size_t>(r)] = (planned_mixed_bytes(job, layout, problem, optimizer, r, false) -
                                          planned_mixed_bytes(job, layout, problem, optimizer, r, true)) *
                                         run.scaled->skipped_now;
  return bytes;
}

struct Facts {
  learn::ProblemSpec problem;
  learn::OptimizerSpec optimizer;
  std::vector<Bytes> scheduled;  ///< of each rank, in all steps
  std::vector<Bytes> counted;
  std::vector<BytesByUse> planned_memory;  ///< of each rank
};

Result<Facts> facts_of(const TrainJob& job, const TrainedRun& run) {
  Facts f;
  COX_TRY(f.problem, learn::read_problem(job.problem));
  COX_TRY(f.optimizer, learn::read_optimizer(job.optimizer));
  COX_TRY(const TrainLayout layout, read_layout(job.layout));
  COX_TRY(const std::unique_ptr<learn::Problem> problem, problem_of(job));
  COX_TRY(f.scheduled, scheduled(job, *problem, f.optimizer));
  COX_TRY(const std::vector<Bytes> skipped, unsent(job, run, *problem, f.optimizer));
  for (std::size_t r = 0; r < f.scheduled.size(); ++r)
    f.scheduled[r] = f.scheduled[r] * run.own_versions() - skipped[r];
  if (run.served)
    for (const std::int64_t messages : run.served->messages)
      f.scheduled.push_back(served_message(problem->parameters()) * messages);
  for (const auto& row : run.sent) f.counted.push_back(sum_of(row));
  for (int r = 0; r < job.procs && job.pipeline; ++r) {
    COX_TRY(const BytesByUse memory, planned_stage_memory(job, *problem, f.optimizer, r));
    f.planned_memory.push_back(memory);
  }
  for (int r = 0; r < job.procs && job.tensor > 0; ++r) {
    COX_TRY(const BytesByUse memory, planned_slice_memory(job, f.optimizer, r));
    f.planned_memory.push_back(memory);
  }
  for (int r = 0; r < job.procs && !run.served && !job.pipeline && job.tensor == 0; ++r)
    f.planned_memory.push_back(planned_memory(job, layout, *problem, f.optimizer, r));
  return f;
}

/// What makes a version.
std::string turn_of(const TrainJob& job) {
  return job.local ? "round" : "step";
}
std::int64_t samples_at(std::int64_t version, const TrainJob& job) {
  return job.steps_in(version) * job.workers * job.samples;
}

std::string per_step(Bytes all, std::int64_t steps) {
  return to_string(steps > 0 ? all / steps : Bytes{});
}

std::string bytes_text(const TrainJob& job, const TrainedRun& run, const Facts& f) {
  if (run.served)
    return fmt::format(
        "the server sent {}, a process at most {}, {}", to_string(f.counted.front()),
        to_string(*std::max_element(f.counted.begin() + 1, f.counted.end())),
        f.counted == f.scheduled ? "as much as their messages hold" : "which their messages do not hold");
  if (job.procs == 1) return "one process sends nothing";
  if (run.own_versions() == 0) return fmt::format("no {} was left to take", turn_of(job));
  const std::string sent = per_step(std::ranges::max(f.counted), run.own_versions());
  if (f.counted == f.scheduled)
    return fmt::format("a process sends at most {} in a {}, each as much as its schedule says", sent,
                       turn_of(job));
  return fmt::format("a process sends at most {} in a {}, its schedule says {}", sent, turn_of(job),
                     per_step(std::ranges::max(f.scheduled), run.own_versions()));
}

std::string forecast_text(const TrainJob& job, const TrainedRun& run, const Facts& f) {
  const std::string turn = turn_of(job);
  if (!run.forecast)
    return fmt::format("predicted: nothing, of {} at least a fifth predict the rest",
                       counted(kLeastForecastSteps, turn, turn + "s"));
  const StepForecast& said = *run.forecast;
  const std::int64_t steps = run.own_versions();
  return fmt::format(
      "predicted from {}s {} to {}: a {} takes {} ({} to {} with 95 %), a process sends at most {}; measured in the {} "
      "behind them: {}{}, {}",
      turn, said.from, said.to, turn, to_string(said.mean), to_string(said.low), to_string(said.high),
      per_step(std::ranges::max(f.scheduled), steps), said.rest, to_string(said.measured),
      said.held() ? "" : " (outside)", per_step(std::ranges::max(f.counted), steps));
}

/// Who holds a worker.
int rank_of(int worker, const TrainJob& job) {
  if (job.pipeline) {
    const int stages = job.pipeline->stages;
    int pipeline = 0;
    while (part_of(job.leaves(), pipeline, job.procs / stages).end() <= worker * job.share().leaves)
      ++pipeline;
    return pipeline * stages;
  }
  if (job.tensor > 0) {
    int group = 0;
    while (part_of(job.workers, group, job.procs / job.tensor).end() <= worker) ++group;
    return group * job.tensor;
  }
  const int servers = job.served.empty() ? 0 : 1;
  int rank = 0;
  while (part_of(job.workers, rank, job.procs - servers).end() <= worker) ++rank;
  return rank + servers;
}

std::string stopped_text(const TrainJob& job, const TrainedRun& run) {
  if (run.served) return fmt::format("interrupted at version {}", run.versions);
  const std::string at = fmt::format("interrupted at version {} of {}", run.versions, job.versions());
  if (!run.saved_version) return at + ": nothing was saved; --checkpoint FOLDER saves a job";
  if (*run.saved_version < 0) return fmt::format("{}: there is no checkpoint in {}", at, job.checkpoint);
  return fmt::format("{}: checkpoint {} is in {}; the same command with --resume goes on from it", at,
                     *run.saved_version, job.checkpoint);
}

/// Of the rank that keeps most.
std::string memory_text(const TrainJob& job, const TrainedRun& run, const Facts& f) {
  const auto most = std::ranges::max_element(run.memory, {}, [](const BytesByUse& m) { return sum_of(m); });
  const Bytes planned = sum_of(f.planned_memory[static_cast<std::size_t>(most - run.memory.begin())]);
  std::string parts;
  for (std::size_t u = 0; u < kUses; ++u)
    if ((*most)[u] > Bytes{})
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", name_of(static_cast<Use>(u)),
                           to_string((*most)[u]));
  const Bytes counted = sum_of(*most);
  const std::string formula =
      counted == planned ? "as its formula says" : fmt::format("its formula says {}", to_string(planned));
  return fmt::format("memory: a process keeps at most {} in a {}, {}: {}", to_string(counted), turn_of(job),
                     formula, parts);
}

std::string precision_text(const learn::CompressorSpec& precision, const TrainedRun& run) {
  const std::string_view format = name_of(precision.kind);
  std::string text = fmt::format(
      "mixed precision: parameters and gradients are {}, sums are rounded to it, the optimizer steps an FP32 master copy",
      format);
  if (run.scaled)
    text += fmt::format("; loss scale {} at the end, {} skipped by all", plain_number(run.scaled->factor),
                        counted(run.scaled->skipped, "step", "steps"));
  return text;
}

std::string pipeline_text(const TrainJob& job) {
  const PipelineShape& p = *job.pipeline;
  return fmt::format("{} of {}{}, {}: {} of {} for each worker and step{}",
                     counted(job.procs / p.stages, "pipeline", "pipelines"),
                     counted(p.stages, "stage", "stages"),
                     p.chunks > 1 ? fmt::format(" with {} chunks each", p.chunks) : "", name_of(p.schedule),
                     counted(p.micro_batches, "micro-batch", "micro-batches"),
                     counted(job.share().samples, "sample", "samples"),
                     p.recompute ? ", activations computed again on the way back" : "");
}

std::string tensor_text(const TrainJob& job, const learn::ProblemSpec& problem) {
  const std::string text =
      fmt::format("{} of {}: columns, then rows of each pair of layers, summed by {}",
                  counted(job.procs / job.tensor, "group", "groups"), counted(job.tensor, "slice", "slices"),
                  model::name_of(SlicePlan(job, 0).sum(1).algorithm));
  if (keeps_bits(job, problem)) return text + "; the bits of the unsplit model";
  const bool power = std::has_single_bit(static_cast<unsigned>(job.tensor));
  return fmt::format(
      "{}; not the bits of the unsplit model: {} does not divide its {}{}", text, job.tensor,
      counted(problem.blocks, "block", "blocks"),
      power ? fmt::format(" (--problem {},blocks={} has them)", learn::name_of(problem.kind), job.tensor)
            : "");
}

std::vector<TextLine> lines_of(const std::string& scenario, const TrainJob& job, const TrainQuestion& q,
                               const TrainedRun& run, const Facts& f) {
  std::vector<TextLine> lines;
  lines.emplace_back(fmt::format("{}: {} on {} ({}), {}", scenario, counted(job.workers, "worker", "workers"),
                                 counted(job.procs, "process", "processes"), run.library, q.way.name));
  lines.emplace_back(fmt::format("learned: {} of {}, {} at rate {}, {} a worker and step",
                                 name_of(f.problem.kind), counted(run.parameters, "parameter", "parameters"),
                                 name_of(f.optimizer.kind), plain_number(f.optimizer.rate),
                                 counted(job.samples, "sample", "samples")));
  if (q.way.compressor.master) lines.emplace_back(precision_text(q.way.compressor, run));
  if (job.local)
    lines.emplace_back(fmt::format(
        "{}a version is a round: {} of each worker from its own parameters, then the mean of what they moved by{}{}",
        job.local->after > 0 ? fmt::format("{} with gradients, then ",
                                           counted(job.step_versions(), "step of all", "steps of all"))
                             : "",
        counted(job.local->steps, "step", "steps"),
        job.local->outer.kind == learn::OptimizerKind::Sgd
            ? ""
            : fmt::format(", by {} at rate {}", name_of(job.local->outer.kind),
                          plain_number(job.local->outer.rate)),
        job.local->variates ? ", and of what their variates changed by" : ""));
  if (run.served) {
    lines.emplace_back(fmt::format(
        "process 0 is the server; of {} it applied {} and discarded {}; {}ages: {:.3g} versions at the mean, {} at most",
        counted(run.served->applied + run.served->discarded + run.served->left, "gradient", "gradients"),
        run.served->applied, run.served->discarded,
        run.served->left > 0 ? fmt::format("{} were waiting for others at the end; ", run.served->left) : "",
        run.served->mean_age, run.served->largest_age));
    lines.emplace_back(fmt::format("messages: {}", bytes_text(job, run, f)));
  } else {
    lines.emplace_back(fmt::format("all-reduce: {}; {}", job.sum, bytes_text(job, run, f)));
  }
  if (job.pipeline) lines.emplace_back(pipeline_text(job));
  if (job.tensor > 0) lines.emplace_back(tensor_text(job, f.problem));
  if (job.layout != TrainJob{}.layout)
    lines.emplace_back(fmt::format("{}: a process keeps at most {} of the optimizer's state", job.layout,
                                   to_string(std::ranges::max(run.optimizer))));
  if (run.own_versions() > 0 && !run.served) lines.emplace_back(memory_text(job, run, f));
  if (run.resumed)
    lines.emplace_back(fmt::format("goes on from version {} in {}", *run.resumed, job.checkpoint));
  else if (job.resume)
    lines.emplace_back(fmt::format("no checkpoint in {} yet: begins anew", job.checkpoint));
  for (const std::string& what : run.refused) lines.emplace_back("refused: " + what);
  lines.emplace_back("");
  const bool classes =
      std::ranges::any_of(run.points, [](const TrainPoint& p) { return p.score.accuracy > 0; });
  lines.push_back(TextLine::row(
      fmt::format("{:>9}  {:>10}  {:>10}{}", "version", "samples", "loss", classes ? "  accuracy" : "")));
  for (const TrainPoint& p : run.points)
    lines.push_back(
        TextLine::row(fmt::format("{:>9}  {:>10}  {:>10.4g}{}", p.version, p.samples, p.score.loss,
                                  classes ? fmt::format("  {:>8}", percent(p.score.accuracy)) : "")));
  if (run.stopped) {
    lines.emplace_back("");
    lines.emplace_back(stopped_text(job, run));
  }
  if (run.diverged) lines.emplace_back("");
  if (run.diverged)
    lines.emplace_back(fmt::format("diverged: {} (a worker of process {})", run.diverged->text(),
                                   rank_of(run.diverged->worker, job)));
  lines.emplace_back("");
  lines.emplace_back(fmt::format("parameters of all processes are alike: {:016x}", run.hashes.front()));
  if (run.own_versions() > 0)
    lines.emplace_back(fmt::format("a {} took {} (mean of {})", run.served ? "version" : turn_of(job),
                                   to_string(run.steps_took / static_cast<double>(run.own_versions())),
                                   run.own_versions()));
  if (job.predict) lines.emplace_back(forecast_text(job, run, f));
  if (run.saved.count > 0) {
    const auto count = static_cast<double>(run.saved.count);
    lines.emplace_back(fmt::format(
        "{} to {}, each took {} of the steps ({} of the time){}",
        counted(run.saved.count, "checkpoint", "checkpoints"), job.checkpoint,
        to_string(run.saved.took / count), percent(run.saved.took / (run.saved.took + run.steps_took)),
        job.beside ? fmt::format(" and was written in {} beside them", to_string(run.saved.beside / count))
                   : ""));
  }
  if (!job.inject.empty()) lines.emplace_back(fmt::format("note: a fault was injected: {}", job.inject));
  for (const std::string& note : q.notes) lines.emplace_back("note: " + note);
  return lines;
}

Json memory_json(const BytesByUse& memory) {
  Json uses = Json::object();
  for (std::size_t u = 0; u < kUses; ++u)
    uses[fmt::format("{}_bytes", name_of(static_cast<Use>(u)))] = memory[u].count();
  return uses;
}

Json pipeline_json(const TrainJob& job) {
  if (!job.pipeline) return nullptr;
  const PipelineShape& p = *job.pipeline;
  return {{"pipelines", job.procs / p.stages}, {"stages", p.stages},
          {"schedule", name_of(p.schedule)},   {"chunks", p.chunks},
          {"micro_batches", p.micro_batches},  {"recompute", p.recompute}};
}

Json tensor_json(const TrainJob& job, const learn::ProblemSpec& problem) {
  if (job.tensor == 0) return nullptr;
  return {{"groups", job.procs / job.tensor},
          {"slices", job.tensor},
          {"blocks", problem.blocks},
          {"unsplit_bits", keeps_bits(job, problem)}};
}

std::string json_of(const std::string& scenario, const TrainJob& job, const TrainQuestion& q,
                    const TrainedRun& run, const Facts& f, const std::vector<std::string>& inputs) {
  Json result{{"scenario", scenario},
              {"workers", job.workers},
              {"processes", job.procs},
              {"transport", name_of(q.carrier)},
              {"library", run.library},
              {"policy", q.way.name},
              {"problem", name_of(f.problem.kind)},
              {"parameters", run.parameters},
              {"optimizer", name_of(f.optimizer.kind)},
              {"rate", f.optimizer.rate},
              {"batch_per_worker", job.samples},
              {"precision", q.way.compressor.master ? name_of(q.way.compressor.kind) : "fp32"},
              {"loss_scale", or_null(run.scaled, [](const ScaledRun& s) { return s.factor; })},
              {"skipped_steps", or_null(run.scaled, [](const ScaledRun& s) { return s.skipped; })},
              {"layout", job.layout},
              {"pipeline", pipeline_json(job)},
              {"tensor", tensor_json(job, f.problem)},
              {"all_reduce", job.sum},
              {"versions", run.versions},
              {"local_steps", job.local ? Json(job.local->steps) : Json(nullptr)},
              {"samples", run.served ? run.served->samples : samples_at(run.versions, job)},
              {"step_mean_s", run.own_versions() > 0
                                  ? Json(run.steps_took.count() / static_cast<double>(run.own_versions()))
                                  : Json(nullptr)},
              {"parameters_hash", fmt::format("{:016x}", run.hashes.front())},
              {"diverged", or_null(run.diverged, [](const learn::Divergence& d) { return d.text(); })},
              {"predicted", or_null(run.forecast,
                                    [&](const StepForecast& p) {
                                      return Json{{"first_step", p.from},
                                                  {"last_step", p.to},
                                                  {"step_mean_s", p.mean.count()},
                                                  {"step_low_s", p.low.count()},
                                                  {"step_high_s", p.high.count()},
                                                  {"measured_steps", p.rest},
                                                  {"measured_step_mean_s", p.measured.count()},
                                                  {"held", p.held()}};
                                    })},
              {"diverged_rank",
               or_null(run.diverged, [&](const learn::Divergence& d) { return rank_of(d.worker, job); })},
              {"injected", job.inject.empty() ? Json(nullptr) : Json(job.inject)},
              {"interrupted", run.stopped},
              {"served", or_null(run.served,
                                 [](const ServedUpdates& u) {
                                   return Json{{"applied", u.applied},
                                               {"discarded", u.discarded},
                                               {"left_waiting", u.left},
                                               {"mean_age", u.mean_age},
                                               {"largest_age", u.largest_age}};
                                 })},
              {"resumed_version", or_null(run.resumed, [](std::int64_t v) { return v; })},
              {"refused_checkpoints", run.refused},
              {"checkpoints", run.saved.count},
              {"checkpoints_s", run.saved.took.count()},
              {"checkpoints_beside_s", job.beside ? Json(run.saved.beside.count()) : Json(nullptr)},
              {"points", Json::array()},
              {"links", Json::array()},
              {"ranks", Json::array()}};
  for (const TrainPoint& p : run.points)
    result["points"].push_back({{"version", p.version},
                                {"time_s", p.at.count()},
                                {"samples", p.samples},
                                {"loss", p.score.loss},
                                {"accuracy", p.score.accuracy}});
  for (std::size_t from = 0; from < run.sent.size(); ++from) {
    result["ranks"].push_back({{"rank", from},
                               {"sent_bytes", f.counted[from].count()},
                               {"scheduled_bytes", f.scheduled[from].count()},
                               {"optimizer_bytes", run.optimizer[from].count()},
                               {"memory_bytes", nullptr},
                               {"planned_memory_bytes", nullptr},
                               {"memory", nullptr}});
    if (!run.served) {
      Json& rank = result["ranks"].back();
      rank["memory_bytes"] = sum_of(run.memory[from]).count();
      rank["planned_memory_bytes"] = sum_of(f.planned_memory[from]).count();
      rank["memory"] = memory_json(run.memory[from]);
    }
    for (std::size_t to = 0; to < run.sent[from].size(); ++to)
      if (run.sent[from][to] > Bytes{})
        result["links"].push_back({{"from", from}, {"to", to}, {"bytes", run.sent[from][to].count()}});
  }
  return framed({.schema = "cox.train/1", .inputs = inputs, .warnings = q.notes}, std::move(result));
}

}  // namespace

Result<Told> told_of(const std::string& scenario, const TrainJob& job, const TrainQuestion& question,
                     const TrainedRun& run, const std::vector<std::string>& inputs) {
  COX_TRY(const Facts facts, facts_of(job, run));
  return Told{.lines = lines_of(scenario, job, question, run, facts),
              .json = json_of(scenario, job, question, run, facts, inputs)};
}

}  // namespace cox::train
