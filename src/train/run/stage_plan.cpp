// SPDX-License-Identifier: Apache-2.0
#include "train/run/stage_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cox/learn/optimize.hpp"

#include "train/executor/paged_floats.hpp"
#include "train/executor/piece_norms.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/run/memory_plan.hpp"

namespace cox::train {
namespace {

Error refused(std::string message, std::string hint) {
  return {.code = Errc::Unsupported,
          .id = "train-001",
          .message = std::move(message),
          .hint = std::move(hint),
          .where = {}};
}

Bytes of_floats(std::int64_t count) {
  return Bytes{count} * sizeof(float);
}

using Sizes = learn::ProblemStage::Sizes;
/// Of each chunk of a rank, for a micro-batch.
Result<std::vector<Sizes>> sizes_of(const TrainJob& job, const StagePlan& plan) {
  COX_TRY(const learn::ProblemSpec spec, learn::read_problem(job.problem));
  std::vector<Sizes> all;
  const std::int64_t samples = job.share().samples;
  for (int c = 0; c < plan.chunks(); ++c) {
    COX_TRY(const auto stage, learn::make_stage(spec, plan.units(plan.place(c))));
    const Sizes one = stage->sizes();
    all.push_back({.taken = one.taken * samples,
                   .given = one.given * samples,
                   .kept = one.kept * samples,
                   .between = one.between * samples});
  }
  return all;
}

/// Goes through a rank's step.
class StageWalk {
 public:
  StageWalk(const TrainJob& job, const StagePlan& plan, std::vector<Sizes> sizes, const BytesByUse& always)
      : plan_(plan),
        recompute_(job.pipeline->recompute),
        backwards_(job.pipeline->schedule == model::PipelineSchedule::GPipe),
        sizes_(std::move(sizes)),
        now_(always),
        most_(always),
        added_(sizes_.size()),
        waiting_(sizes_.size()) {}

  BytesByUse most(std::int64_t received) {
    for (const simulate::StageOp& op : plan_.order()) {
      const Sizes& s = sizes_[static_cast<std::size_t>(op.chunk)];
      const std::int64_t live = s.taken + (recompute_ ? 0 : s.kept), back = s.given + s.between;
      using Kind = simulate::StageOp::Kind;
      if (op.kind == Kind::Forward) take(Use::Activations, live);
      if (op.kind == Kind::Backward || op.kind == Kind::BackwardInput) take(Use::Activations, back);
      if (op.kind == Kind::Backward || op.kind == Kind::BackwardWeight) {
        if (recompute_ && op.kind == Kind::BackwardWeight) {
          take(Use::Activations, s.given);
          take(Use::Activations, -s.given);
        }
        take(Use::Activations, -live - back);
        add_leaf(static_cast<std::size_t>(op.chunk));
      }
    }
    take(Use::Received, received);
    return most_;
  }

 private:
  void take(Use use, std::int64_t floats) {
    now_[static_cast<std::size_t>(use)] += of_floats(floats);
    if (sum_of(now_) > sum_of(most_)) most_ = now_;
  }
  /// Sums that wait behind so many leaves of a chunk: aligned stretches of those that came, less the last leaf where it lies as it is.
  [[nodiscard]] std::int64_t waiting(std::int64_t leaves) const {
    const Stretch& own = plan_.leaves();
    const Stretch came{.first = backwards_ ? own.end() - leaves : own.first, .count = leaves};
    const auto stretches = static_cast<std::int64_t>(aligned(came).size());
    const bool lies = leaves == own.count && (!backwards_ || own.count == 1 || own.first % 2 == 1);
    return stretches - (lies ? 1 : 0);
  }
  void add_leaf(std::size_t chunk) {
    const std::int64_t wait = waiting(++added_[chunk]);
    const std::int64_t floats = plan_.elements(plan_.place(static_cast<int>(chunk))).count;
    take(Use::Sums, (wait - std::exchange(waiting_[chunk], wait)) * floats);
  }

  const StagePlan& plan_;
  bool recompute_, backwards_;
  std::vector<Sizes> sizes_;
  BytesByUse now_, most_;
  std::vector<std::int64_t> added_, waiting_;
};

/// Pages that any of a rank's chunks lies in.
Bytes pages_of(const StagePlan& plan) {
  Bytes all{};
  std::int64_t end = 0;  // of pages so far, in elements
  for (int c = 0; c < plan.chunks(); ++c) {
    Stretch s = plan.elements(plan.place(c));
    const std::int64_t skipped = std::clamp(end - s.first, std::int64_t{0}, s.count);
    s = {.first = s.first + skipped, .count = s.count - skipped};
    if (s.count == 0) continue;
    all += paged_bytes(s);
    const auto page =
        paged_bytes({.first = 0, .count = 1}).count() / static_cast<std::int64_t>(sizeof(float));
    end = (s.end() + page - 1) / page * page;
  }
  return all;
}

}  // namespace

std::string_view name_of(model::PipelineSchedule schedule) {
  constexpr std::array<std::string_view, 4> kNames = {"gpipe", "1f1b", "interleaved", "zero-bubble"};
  return kNames[static_cast<std::size_t>(schedule)];
}

Status check_stages(const TrainJob& job, const learn::Problem& problem) {
  const PipelineShape& shape = *job.pipeline;
  COX_TRY(const learn::ProblemSpec spec, learn::read_problem(job.problem));
  COX_TRY(const auto stage, learn::make_stage(spec, {.first = 0, .count = 1}));
  if (stage == nullptr)
    return fail(refused(fmt::format("{} is not cut into stages", learn::name_of(spec.kind)),
                        "mlp is, between its layers: --problem mlp,layers=7"));
  const auto units = static_cast<std::int64_t>(problem.units().size());
  if (units < std::int64_t{shape.stages} * shape.chunks)
    return fail(refused(
        fmt::format("{} layers cannot be cut into {} stages of {} chunks", units, shape.stages, shape.chunks),
        fmt::format("fewer stages (job.layout.pipeline), or a deeper problem: --problem mlp,layers={}",
                    std::int64_t{shape.stages} * shape.chunks - 1)));
  if (job.procs % shape.stages != 0)
    return fail(
        refused(fmt::format("{} processes are no whole pipelines of {} stages", job.procs, shape.stages),
                fmt::format("--procs {}, or a multiple of it", shape.stages)));
  if (job.procs / shape.stages > job.workers)
    return fail(refused(fmt::format("{} pipelines for {} workers: each takes one at least",
                                    job.procs / shape.stages, job.workers),
                        fmt::format("--procs {} at most", std::int64_t{job.workers} * shape.stages)));
  if (job.samples % shape.micro_batches != 0)
    return fail(refused(
        fmt::format("{} samples of a worker are no {} micro-batches", job.samples, shape.micro_batches),
        fmt::format("--batch {}, or another job.micro_batches", shape.micro_batches)));
  return {};
}

StagePlan::StagePlan(const TrainJob& job, const learn::Problem& problem, int rank)
    : shape_(*job.pipeline),
      pipelines_(job.procs / shape_.stages),
      pipeline_(rank / shape_.stages),
      stage_(rank % shape_.stages),
      all_leaves_(job.leaves()),
      leaves_(part_of(all_leaves_, pipeline_, pipelines_)),
      units_(problem.units()),
      order_(simulate::pipeline_order(shape_.schedule, shape_.stages, stage_, static_cast<int>(leaves_.count),
                                      shape_.chunks)) {}

learn::UnitStretch StagePlan::units(int place) const {
  const auto all = static_cast<std::int64_t>(units_.size());
  const std::int64_t first = all * place / places(), end = all * (place + 1) / places();
  return {.first = static_cast<std::size_t>(first), .count = static_cast<std::size_t>(end - first)};
}

Stretch StagePlan::elements(int place) const {
  const learn::UnitStretch own = units(place);
  const learn::ParameterUnit& last = units_[own.first + own.count - 1];
  return {.first = units_[own.first].first, .count = last.first + last.count - units_[own.first].first};
}

std::int64_t StagePlan::most_leaves() const {
  return part_of(all_leaves_, 0, pipelines_).count;
}

std::vector<int> StagePlan::own_pipeline() const {
  std::vector<int> all;
  for (int s = 0; s < stages(); ++s) all.push_back(pipeline_ * stages() + s);
  return all;
}

std::vector<int> StagePlan::own_stage() const {
  std::vector<int> all;
  for (int p = 0; p < pipelines_; ++p) all.push_back(p * stages() + stage_);
  return all;
}

Parting StagePlan::stage_parting() const {
  std::vector<Stretch> units;
  std::vector<int> owners;
  for (int p = 0; p < places(); ++p) {
    units.push_back(elements(p));
    owners.push_back(stage_of(p));
  }
  return {std::move(units), std::move(owners), stages()};
}

Parting StagePlan::chunk_parting(int chunk) const {
  return {{{.first = 0, .count = elements(place(chunk)).count}}, pipelines_};
}

Result<BytesByUse> planned_stage_memory(const TrainJob& job, const learn::Problem& problem,
                                        const learn::OptimizerSpec& optimizer, int rank) {
  const StagePlan plan(job, problem, rank);
  COX_TRY(std::vector<Sizes> sizes, sizes_of(job, plan));
  const std::int64_t kept = plan.stage_parting().kept(plan.stage());
  std::int64_t messages = 0, largest = 0, received = 0;
  for (const Sizes& s : sizes) {
    messages += s.given + s.taken;
    largest = std::max(largest, s.kept);
  }
  for (int c = 0; c < plan.chunks(); ++c)
    for (int p = 0; p < plan.pipelines(); ++p)
      if (p != plan.pipeline())
        received += static_cast<std::int64_t>(aligned(part_of(job.leaves(), p, plan.pipelines())).size()) *
                    plan.chunk_parting(c).part(0, plan.pipeline()).count;
  BytesByUse always{};
  always[static_cast<std::size_t>(Use::Parameters)] = pages_of(plan);
  always[static_cast<std::size_t>(Use::Gradients)] = pages_of(plan);
  always[static_cast<std::size_t>(Use::Optimizer)] = of_floats(
      static_cast<std::int64_t>(learn::moments_of(optimizer.kind)) * kept +
      static_cast<std::int64_t>(learn::direction_floats(optimizer.kind, static_cast<std::size_t>(kept))));
  const std::int64_t saved =
      plan.pipeline() == 0 ? (1 + static_cast<std::int64_t>(learn::moments_of(optimizer.kind))) * kept : 0;
  if (!job.checkpoint.empty() && job.beside) always[static_cast<std::size_t>(Use::Copies)] = of_floats(saved);
  always[static_cast<std::size_t>(Use::Activations)] =
      of_floats(messages + (job.pipeline->recompute ? largest : 0));
  return StageWalk(job, plan, std::move(sizes), always).most(received);
}

Result<Bytes> planned_stage_bytes(const TrainJob& job, const learn::Problem& problem,
                                  const learn::OptimizerSpec& optimizer, int rank) {
  const StagePlan plan(job, problem, rank);
  COX_TRY(const std::vector<Sizes> sizes, sizes_of(job, plan));
  Bytes sent = kStageVote * (job.procs - 1);
  for (int c = 0; c < plan.chunks(); ++c) {
    const Sizes& s = sizes[static_cast<std::size_t>(c)];
    sent += of_floats((s.given + s.taken) * plan.leaves().count);
    const Parting parting = plan.chunk_parting(c);
    sent += reduce_bytes(job.leaves(), parting, plan.pipeline()) + gather_bytes(parting, plan.pipeline());
  }
  const Parting parting = plan.stage_parting();
  if (optimizer.clip > 0) sent += plan_of_all(parting, problem.tensors()).sent_by(plan.stage());
  if (optimizer.kind == learn::OptimizerKind::Lars || optimizer.kind == learn::OptimizerKind::Lamb)
    sent += plan_of_tensors(parting, problem.tensors()).sent_by(plan.stage()) * 2;
  return sent;
}

}  // namespace cox::train
