// SPDX-License-Identifier: Apache-2.0
#include "train/run/memory_plan.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "cox/learn/optimize.hpp"

#include "train/executor/executor.hpp"
#include "train/executor/paged_floats.hpp"
#include "train/executor/piece_norms.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/run/local_steps.hpp"
#include "train/run/mixed_plan.hpp"
#include "train/run/shards.hpp"

namespace cox::train {
namespace {

Bytes of_floats(std::int64_t count) {
  return Bytes{count} * sizeof(float);
}

/// Goes through the leaves of one rank's step, unit by unit.
class StepWalk {
 public:
  StepWalk(const TrainJob& job, TrainLayout layout, const learn::Problem& problem, bool alone, int rank)
      : layout_(layout),
        parting_(parting_of(problem, layout, job.procs)),
        rank_(rank),
        own_(part_of(job.workers, rank, job.procs)),
        first_(alone ? 0 : own_.first),
        passes_(problem.passes(job.samples)),
        sums_(job.local && job.local->variates ? 2 : 1) {
    for (int r = 0; r < job.procs; ++r)
      if (r != rank)
        stretches_ += static_cast<std::int64_t>(aligned(part_of(job.workers, r, job.procs)).size());
    if (alone) stretches_ = 0;
  }

  [[nodiscard]] const Parting& parting() const { return parting_; }
  /// At its most, beside `always`.
  BytesByUse most(const BytesByUse& always) {
    always_ = always;
    for (std::int64_t leaf = 0; leaf < own_.count; ++leaf)
      for (std::int64_t pass = 0; pass < passes_; ++pass) go_through(leaf, pass);
    return most_;
  }

 private:
  using Units = std::vector<bool>;

  /// Sums that wait after so many leaves.
  [[nodiscard]] std::int64_t waiting(std::int64_t leaves) const {
    return static_cast<std::int64_t>(aligned({.first = first_, .count = leaves}).size());
  }
  [[nodiscard]] Units none() const { return Units(parting_.units()); }
  [[nodiscard]] Bytes pages_of(const Units& units) const {
    Bytes all{};
    for (std::size_t u = 0; u < units.size(); ++u) {
      if (!units[u]) continue;
      Stretch run = parting_.unit(u);
      for (; u + 1 < units.size() && units[u + 1]; ++u) run.count += parting_.unit(u + 1).count;
      all += paged_bytes(run);
    }
    return all;
  }
  void look(const Units& parameters, const Units& gradients, std::int64_t sums, std::int64_t received) {
    BytesByUse now = always_;
    const auto add = [&](Use use, Bytes bytes) { now[static_cast<std::size_t>(use)] += bytes; };
    if (layout_ == TrainLayout::Zero3) add(Use::Parameters, pages_of(parameters));
    if (layout_ >= TrainLayout::Zero2) add(Use::Gradients, pages_of(gradients));
    add(Use::Sums, of_floats(sums * sums_));
    add(Use::Received, of_floats(received * sums_));
    if (sum_of(now) > sum_of(most_)) most_ = now;
  }
  /// Floats that wait while `unit` is worked with on the way back: those after it are done.
  [[nodiscard]] std::int64_t sums(std::size_t unit, std::int64_t before, std::int64_t here,
                                  std::int64_t after) const {
    std::int64_t floats = parting_.unit(unit).count * here;
    for (std::size_t u = 0; u < parting_.units(); ++u)
      if (u != unit) floats += parting_.unit(u).count * (u < unit ? before : after);
    return floats;
  }

  void go_through(std::int64_t leaf, std::int64_t pass) {
    const std::size_t units = parting_.units();
    const bool last_leaf = leaf + 1 == own_.count, last_pass = pass + 1 == passes_;
    const bool more = !last_leaf || !last_pass;
    const std::int64_t waits = waiting(leaf), then = last_leaf ? 0 : waiting(leaf + 1);
    for (std::size_t u = 0; u < units; ++u) {
      Units here = none();
      here[u] = true;
      if (u + 1 < units) here[u + 1] = true;
      look(here, Units(units, pass > 0), parting_.elements() * waits, 0);
    }
    for (std::size_t u = units; u-- > 0;) {
      Units next = none(), open = none();
      if (u > 1) next[u - 1] = true;
      if (u < 2 && units > 1 && more) next[0] = true;
      Units here = next;
      if (u > 0 || units == 1) here[u] = true;
      for (std::size_t v = 0; v < units; ++v)
        open[v] = v == u || (v > u && !last_pass) || (v < u && pass > 0);
      const std::int64_t after = last_pass ? then : waits;
      look(here, open, sums(u, waits, waits, after), 0);
      if (!last_pass) continue;
      if (!last_leaf) {
        look(next, open, sums(u, waits, then, then), 0);
        continue;
      }
      const std::int64_t stay = waiting(own_.count) - 1;
      look(next, open, sums(u, waits, stay, 0), stretches_ * parting_.part(u, rank_).count);
    }
  }

  TrainLayout layout_;
  Parting parting_;
  int rank_;
  Stretch own_;
  std::int64_t first_, passes_, sums_;
  std::int64_t stretches_ = 0;  ///< of others
  BytesByUse always_{}, most_{};
};

}  // namespace

Bytes sum_of(std::span<const Bytes> some) {
  return std::accumulate(some.begin(), some.end(), Bytes{});
}

BytesByUse planned_memory(const TrainJob& job, TrainLayout layout, const learn::Problem& problem,
                          const learn::OptimizerSpec& optimizer, int rank) {
  if (!job.precision.empty()) return planned_mixed_memory(job, layout, problem, optimizer, rank);
  const auto by = read_sum(job.sum);
  const bool alone = by && by->algorithm;
  StepWalk walk(job, layout, problem, alone, rank);
  const std::int64_t all = walk.parting().elements(), kept = walk.parting().kept(rank);
  const Bytes pages = paged_bytes({.first = 0, .count = all});
  const bool whole = layout == TrainLayout::DataParallel;
  std::int64_t largest = 0;
  for (const learn::Tensor& t : problem.tensors()) largest = std::max(largest, t.size());
  const learn::OptimizerKind kind = job.local ? job.local->outer.kind : optimizer.kind;
  const auto moments = static_cast<std::int64_t>(learn::moments_of(kind));
  const auto direction = static_cast<std::int64_t>(
      learn::direction_floats(kind, static_cast<std::size_t>(whole ? largest : kept)));
  BytesByUse always{};
  always[static_cast<std::size_t>(Use::Parameters)] = layout == TrainLayout::Zero3 ? of_floats(kept) : pages;
  always[static_cast<std::size_t>(Use::Gradients)] = layout >= TrainLayout::Zero2 ? of_floats(kept) : pages;
  always[static_cast<std::size_t>(Use::Optimizer)] = of_floats(moments * (whole ? all : kept) + direction);
  std::int64_t saved = (1 + moments) * kept;
  if (job.local) {
    const std::int64_t own = part_of(job.workers, rank, job.procs).count;
    always[static_cast<std::size_t>(Use::Parameters)] += of_floats(all);
    Bytes& states = always[static_cast<std::size_t>(Use::Optimizer)];
    states += of_floats(own * LocalSteps::floats(*job.local, optimizer, problem));
    saved += own * LocalSteps::kept_floats(*job.local, optimizer, all);
    if (job.local->after > 0) {
      states += of_floats(LocalSteps::floats(LocalRounds{}, optimizer, problem));
      saved += kept * static_cast<std::int64_t>(learn::moments_of(optimizer.kind));
    }
    if (job.local->variates) {
      always[static_cast<std::size_t>(Use::Gradients)] += of_floats(all);
      states += of_floats(all);
      saved += kept;
    }
  }
  // Each rank saves its own part of what it has.
  if (!job.checkpoint.empty() && job.beside) always[static_cast<std::size_t>(Use::Copies)] = of_floats(saved);
  if (alone) {
    const auto executor = Executor::make({.kind = model::Collective::AllReduce,
                                          .algorithm = *by->algorithm,
                                          .ranks = job.procs,
                                          .bytes = of_floats(all),
                                          .group = by->group},
                                         rank);
    if (executor) always[static_cast<std::size_t>(Use::Received)] = executor->room();
  }
  return walk.most(always);
}

Bytes planned_bytes(const TrainJob& job, TrainLayout layout, const learn::Problem& problem,
                    const learn::OptimizerSpec& optimizer, int rank) {
  if (!job.precision.empty()) return planned_mixed_bytes(job, layout, problem, optimizer, rank, false);
  const Parting parting = parting_of(problem, layout, job.procs);
  Bytes sent = reduce_bytes(job.workers, parting, rank);
  if (layout != TrainLayout::Zero3) {
    sent += gather_bytes(parting, rank);
  } else {
    std::int64_t floats = 0;
    for (const std::size_t unit : units_needed(parting.units())) floats += parting.part(unit, rank).count;
    sent += of_floats(floats * (job.procs - 1) * problem.passes(job.samples) *
                      most_leaves(job.workers, job.procs));
  }
  if (job.local && job.local->variates) sent = sent * 2;
  if (layout == TrainLayout::DataParallel) return sent;
  sent += vote_bytes(layout) * (job.procs - 1);
  if (optimizer.clip > 0) sent += plan_of_all(parting, problem.tensors()).sent_by(rank);
  if (optimizer.kind == learn::OptimizerKind::Lars || optimizer.kind == learn::OptimizerKind::Lamb)
    sent += plan_of_tensors(parting, problem.tensors()).sent_by(rank) * 2;
  return sent;
}

}  // namespace cox::train
