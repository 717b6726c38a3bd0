// SPDX-License-Identifier: Apache-2.0
#include "train/run/mixed_plan.hpp"

#include <vector>

#include "cox/learn/optimize.hpp"

#include "train/executor/paged_floats.hpp"
#include "train/executor/piece_norms.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/run/memory_plan.hpp"
#include "train/run/mixed_shards.hpp"
#include "train/run/shards.hpp"

namespace cox::train {
namespace {

Bytes of_floats(std::int64_t count) {
  return Bytes{count} * sizeof(float);
}
Bytes of_codes(std::int64_t count) {
  return Bytes{count} * sizeof(std::uint16_t);
}

/// Goes through the leaves of one rank's step, unit by unit.
class MixedWalk {
 public:
  MixedWalk(const TrainJob& job, TrainLayout layout, const learn::Problem& problem, int rank)
      : parts_gradients_(layout >= TrainLayout::Zero2),
        parts_parameters_(layout == TrainLayout::Zero3),
        parting_(parting_of(problem, layout, job.procs)),
        work_(working_units(problem)),
        rank_(rank),
        own_(part_of(job.workers, rank, job.procs)),
        passes_(problem.passes(job.samples)) {
    for (int r = 0; r < job.procs; ++r)
      if (r != rank)
        stretches_ += static_cast<std::int64_t>(aligned(part_of(job.workers, r, job.procs)).size());
  }

  [[nodiscard]] const Parting& parting() const { return parting_; }
  /// At its most, beside `always`; the optimizer's step takes `stepping` more of gradients.
  BytesByUse most(const BytesByUse& always, Bytes stepping) {
    always_ = always;
    for (std::int64_t leaf = 0; leaf < own_.count; ++leaf)
      for (std::int64_t pass = 0; pass < passes_; ++pass) go_through(leaf, pass);
    look({.gradient_room = stepping});
    return most_;
  }

 private:
  using Units = std::vector<bool>;
  /// What is there for a while.
  struct Moment {
    Units parameters{}, gradients{};  ///< in FP32
    std::int64_t coming = 0;          ///< codes of the unit that is gathered
    std::int64_t leaf = 0;            ///< codes of the unit's gradient
    std::int64_t sums = 0;            ///< codes
    std::int64_t received = 0;        ///< codes
    Bytes gradient_room{};
  };

  /// Sums that wait after so many leaves.
  [[nodiscard]] std::int64_t waiting(std::int64_t leaves) const {
    return static_cast<std::int64_t>(aligned({.first = own_.first, .count = leaves}).size());
  }
  [[nodiscard]] Bytes pages_of(const Units& units) const {
    Bytes all{};
    for (std::size_t u = 0; u < units.size(); ++u) {
      if (!units[u]) continue;
      Stretch run = work_[u];
      for (; u + 1 < units.size() && units[u + 1]; ++u) run.count += work_[u + 1].count;
      all += paged_bytes(run);
    }
    return all;
  }
  void look(const Moment& m) {
    BytesByUse now = always_;
    const auto add = [&](Use use, Bytes bytes) { now[static_cast<std::size_t>(use)] += bytes; };
    add(Use::Parameters, pages_of(m.parameters) + of_codes(m.coming));
    add(Use::Gradients, pages_of(m.gradients) + of_codes(m.leaf) + m.gradient_room);
    add(Use::Sums, of_codes(m.sums));
    add(Use::Received, of_codes(m.received));
    if (sum_of(now) > sum_of(most_)) most_ = now;
  }
  /// Elements that wait while `unit` is worked with on the way back: those after it are done. Layouts that keep all gradients sum
  /// them as one, when the first unit is done.
  [[nodiscard]] std::int64_t sums(std::size_t unit, std::int64_t before, std::int64_t here,
                                  std::int64_t after) const {
    if (!parts_gradients_) return parting_.elements() * (unit == 0 ? here : before);
    std::int64_t count = work_[unit].count * here;
    for (std::size_t u = 0; u < work_.size(); ++u)
      if (u != unit) count += work_[u].count * (u < unit ? before : after);
    return count;
  }
  [[nodiscard]] Units only(std::size_t unit) const {
    Units units(work_.size());
    units[unit] = true;
    return units;
  }
  [[nodiscard]] std::int64_t gathered(std::size_t unit) const {
    return parts_parameters_ ? work_[unit].count : 0;
  }

  void forth(std::int64_t waits, bool later_pass, bool more) {
    const std::size_t units = work_.size();
    Moment m{.gradients = Units(units, later_pass), .sums = parting_.elements() * waits};
    for (std::size_t u = 0; u < units; ++u) {
      m.parameters = only(u);
      m.coming = gathered(u);
      look(m);
      m.coming = u + 1 < units ? gathered(u + 1) : 0;
      if (u + 1 == units && units > 2) m.coming = gathered(u - 1);
      if (u + 1 == units && units == 2 && more) m.coming = gathered(0);
      look(m);
    }
  }

  void go_through(std::int64_t leaf, std::int64_t pass) {
    const std::size_t units = work_.size();
    const bool last_leaf = leaf + 1 == own_.count, last_pass = pass + 1 == passes_;
    const bool more = !last_leaf || !last_pass;
    const std::int64_t waits = waiting(leaf), then = last_leaf ? 0 : waiting(leaf + 1);
    forth(waits, pass > 0, more);
    for (std::size_t u = units; u-- > 0;) {
      Moment m{.parameters = Units(units), .gradients = Units(units)};
      if (u > 0 || units == 1) m.parameters[u] = true;
      for (std::size_t v = 0; v < units; ++v) m.gradients[v] = (v > u && !last_pass) || (v <= u && pass > 0);
      m.sums = sums(u, waits, waits, last_pass ? then : waits);
      if (u > 0 && u + 1 < units) {
        m.coming = gathered(u);
        look(m);
      }
      m.coming = u > 1 ? gathered(u - 1) : units > 1 && more ? gathered(0) : 0;
      m.gradients[u] = true;
      look(m);
      if (!last_pass) continue;
      m.parameters = Units(units);
      m.leaf = parts_gradients_ ? work_[u].count : 0;
      look(m);
      m.gradients[u] = false;
      if (!last_leaf) {
        m.sums = sums(u, waits, then, then);
        look(m);
        continue;
      }
      const std::int64_t stay = waiting(own_.count) - 1;
      m.sums = sums(u, waits, stay, 0);
      if (parts_gradients_) m.received = stretches_ * parting_.part(u, rank_).count;
      if (!parts_gradients_ && u == 0) m.received = stretches_ * parting_.part(0, rank_).count;
      look(m);
    }
  }

  bool parts_gradients_, parts_parameters_;
  Parting parting_;
  std::vector<Stretch> work_;
  int rank_;
  Stretch own_;
  std::int64_t passes_;
  std::int64_t stretches_ = 0;  ///< of others
  BytesByUse always_{}, most_{};
};

}  // namespace

BytesByUse planned_mixed_memory(const TrainJob& job, TrainLayout layout, const learn::Problem& problem,
                                const learn::OptimizerSpec& optimizer, int rank) {
  MixedWalk walk(job, layout, problem, rank);
  const std::int64_t all = walk.parting().elements(), kept = walk.parting().kept(rank);
  const std::int64_t held = layout == TrainLayout::DataParallel ? all : kept;
  const auto moments = static_cast<std::int64_t>(learn::moments_of(optimizer.kind));
  const auto direction =
      static_cast<std::int64_t>(learn::direction_floats(optimizer.kind, static_cast<std::size_t>(held)));
  BytesByUse always{};
  const auto of = [&](Use use) -> Bytes& { return always[static_cast<std::size_t>(use)]; };
  of(Use::Parameters) = of_codes(layout == TrainLayout::Zero3 ? kept : all);
  of(Use::Gradients) = of_codes(layout >= TrainLayout::Zero2 ? kept : all);
  of(Use::Master) = of_floats(held);
  of(Use::Optimizer) = of_floats(moments * held + direction);
  if (!job.checkpoint.empty() && job.beside) of(Use::Copies) = of_floats((1 + moments) * kept);
  return walk.most(always, learn::takes_norms(optimizer) ? of_floats(held) : Bytes{});
}

Bytes planned_mixed_bytes(const TrainJob& job, TrainLayout layout, const learn::Problem& problem,
                          const learn::OptimizerSpec& optimizer, int rank, bool skipped) {
  const Parting parting = parting_of(problem, layout, job.procs);
  const std::int64_t others = job.procs - 1;
  const bool whole = layout == TrainLayout::DataParallel;
  Bytes sent = reduce_bytes(job.workers, parting, rank) / 2 + kMixedVoteBytes * others;
  if (layout == TrainLayout::Zero3) {
    std::int64_t codes = 0;
    for (const std::size_t unit : units_needed(parting.units())) codes += parting.part(unit, rank).count;
    sent += of_codes(codes * others * problem.passes(job.samples) * most_leaves(job.workers, job.procs));
  } else if (whole || !skipped) {
    sent += gather_bytes(parting, rank) / 2;
  }
  if (whole) return sent;
  const auto precision = read_precision(job.precision);
  if (precision && precision->loss_scale) sent += Bytes{1} * others;
  if (skipped) return sent;
  if (optimizer.clip > 0) sent += plan_of_all(parting, problem.tensors()).sent_by(rank);
  if (optimizer.kind == learn::OptimizerKind::Lars || optimizer.kind == learn::OptimizerKind::Lamb)
    sent += plan_of_tensors(parting, problem.tensors()).sent_by(rank) * 2;
  return sent;
}

}  // namespace cox::train
