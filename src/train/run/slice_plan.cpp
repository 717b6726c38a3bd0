// SPDX-License-Identifier: Apache-2.0
#include "train/run/slice_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "cox/learn/optimize.hpp"

#include "train/executor/executor.hpp"
#include "train/executor/slice_norms.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/replica.hpp"

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

Result<std::unique_ptr<learn::ProblemSlice>> slice_of(const TrainJob& job, const SlicePlan& plan) {
  COX_TRY(const learn::ProblemSpec spec, learn::read_problem(job.problem));
  return learn::make_slice(spec, {.number = plan.slice(), .parts = plan.slices()});
}

/// Sums that wait while the leaves of a rank come, at their most, and those that are left when all are there.
struct Waiting {
  std::int64_t most = 0;
  std::int64_t left = 0;
};
Waiting waiting_for(const Stretch& leaves) {
  Waiting made;
  for (std::int64_t n = 1; n < leaves.count; ++n)
    made.most =
        std::max(made.most, static_cast<std::int64_t>(aligned({.first = leaves.first, .count = n}).size()));
  made.left = static_cast<std::int64_t>(aligned(leaves).size()) - 1;
  return made;
}

/// What to change where the parts are unequal: a problem that has them, if there is one.
std::string better_problem(const TrainJob& job, const learn::ProblemSpec& spec) {
  const bool text = spec.kind == learn::ProblemKind::Text;
  const std::int64_t least = std::lcm(std::int64_t{job.tensor}, spec.blocks);
  const std::int64_t parts = (learn::most_slices(spec) / least + 1) * least;
  const std::int64_t hidden = (spec.hidden + parts - 1) / parts * parts;  // a multiple of the heads
  const std::string better =
      fmt::format("{},{}={}", learn::name_of(spec.kind), text ? "heads" : "hidden", parts);
  const std::string wider = fmt::format("{},hidden={}", better, hidden);
  if (!learn::read_problem(text ? wider : better)) return "another job.layout.tensor";
  return "another job.layout.tensor, or --problem " + (text && hidden != spec.hidden ? wider : better);
}

}  // namespace

Status check_slices(const TrainJob& job) {
  COX_TRY(const learn::ProblemSpec spec, learn::read_problem(job.problem));
  const std::int64_t most = learn::most_slices(spec);
  if (most == 0)
    return fail(refused(fmt::format("{} is not cut within its layers", learn::name_of(spec.kind)),
                        "mlp and text are, in pairs of columns and rows: --problem mlp,blocks=4"));
  if (most % job.tensor != 0) {
    const std::string_view of = spec.kind == learn::ProblemKind::Text ? "heads" : "hidden";
    return fail(refused(fmt::format("{} {} cannot be cut into {} equal slices", most, of, job.tensor),
                        better_problem(job, spec)));
  }
  if (job.procs % job.tensor != 0)
    return fail(refused(fmt::format("{} processes are no whole groups of {} slices", job.procs, job.tensor),
                        fmt::format("--procs {}, or a multiple of it", job.tensor)));
  if (job.procs / job.tensor > job.workers)
    return fail(refused(
        fmt::format("{} groups for {} workers: each takes one at least", job.procs / job.tensor, job.workers),
        fmt::format("--procs {} at most", std::int64_t{job.workers} * job.tensor)));
  return {};
}

bool keeps_bits(const TrainJob& job, const learn::ProblemSpec& problem) {
  return problem.blocks % job.tensor == 0 || job.tensor == 1;
}

std::vector<int> SlicePlan::own_group() const {
  std::vector<int> all;
  for (int s = 0; s < slices_; ++s) all.push_back(group() * slices_ + s);
  return all;
}

std::vector<int> SlicePlan::own_slice() const {
  std::vector<int> all;
  for (int g = 0; g < groups_; ++g) all.push_back(g * slices_ + slice());
  return all;
}

model::CollectiveSpec SlicePlan::sum(std::int64_t floats) const {
  return {.kind = model::Collective::AllReduce,
          .algorithm = model::Algorithm::RecursiveDoubling,
          .ranks = slices_,
          .bytes = of_floats(floats)};
}

Result<BytesByUse> planned_slice_memory(const TrainJob& job, const learn::OptimizerSpec& optimizer,
                                        int rank) {
  const SlicePlan plan(job, rank);
  COX_TRY(const auto slice, slice_of(job, plan));
  const std::int64_t own = slice->parameters(), samples = job.share().samples;
  std::int64_t received = 0;
  for (int g = 0; g < plan.groups(); ++g)
    if (g != plan.group())
      received += static_cast<std::int64_t>(aligned(part_of(job.leaves(), g, plan.groups())).size()) *
                  plan.parting(own).part(0, plan.group()).count;
  Bytes sums{};
  const std::vector<std::int64_t> all = slice->sums(samples);
  for (const std::int64_t floats : std::set<std::int64_t>(all.begin(), all.end())) {
    COX_TRY(const Executor executor, Executor::make(plan.sum(floats), plan.slice()));
    sums += executor.room();
  }
  BytesByUse now{};
  const auto use = [&](Use of) -> Bytes& { return now[static_cast<std::size_t>(of)]; };
  use(Use::Parameters) = use(Use::Gradients) = of_floats(own);
  use(Use::Optimizer) = of_floats(
      static_cast<std::int64_t>(learn::moments_of(optimizer.kind)) * own +
      static_cast<std::int64_t>(learn::direction_floats(optimizer.kind, static_cast<std::size_t>(own))));
  use(Use::Activations) = of_floats(slice->room() * samples);
  COX_TRY(const std::unique_ptr<learn::Problem> problem, problem_of(job));
  if (learn::takes_norms(optimizer))
    sums += of_floats(SliceNorms::floats(*slice, plan.slices(), problem->parameters()));
  use(Use::Received) = sums;
  const std::int64_t saved =
      plan.group() == 0 ? part_of(problem->parameters(), plan.slice(), plan.slices()).count : 0;
  const std::int64_t copies = job.checkpoint.empty() ? 0 : job.beside ? 2 : 1;
  use(Use::Copies) =
      of_floats(copies * saved * (1 + static_cast<std::int64_t>(learn::moments_of(optimizer.kind))));
  if (!job.checkpoint.empty() && plan.group() == 0)
    use(Use::Copies) += of_floats(stretch_room(*slice, plan.slice(), plan.slices(), problem->parameters()));
  BytesByUse then = now;
  const Waiting waiting = waiting_for(plan.leaves());
  use(Use::Sums) = of_floats(waiting.most * own);
  then[static_cast<std::size_t>(Use::Sums)] = of_floats(waiting.left * own);
  then[static_cast<std::size_t>(Use::Received)] += of_floats(received);
  return sum_of(then) > sum_of(now) ? then : now;
}

Result<Bytes> planned_slice_bytes(const TrainJob& job, const learn::OptimizerSpec& optimizer, int rank) {
  const SlicePlan plan(job, rank);
  COX_TRY(const auto slice, slice_of(job, plan));
  Bytes sent{};
  for (const std::int64_t floats : slice->sums(job.share().samples)) {
    COX_TRY(const std::vector<Bytes> bytes, scheduled_bytes(plan.sum(floats)));
    sent += bytes[static_cast<std::size_t>(plan.slice())];
  }
  const Parting parting = plan.parting(slice->parameters());
  return sent * plan.leaves().count + reduce_bytes(job.leaves(), parting, plan.group()) +
         gather_bytes(parting, plan.group()) + kSliceVote * (job.procs - 1) +
         norm_bytes(*slice, plan.slices(), optimizer);
}

}  // namespace cox::train
