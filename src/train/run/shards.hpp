// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one rank keeps of a job, and its steps.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"

#include "train/checkpoint/saver.hpp"
#include "train/executor/executor.hpp"
#include "train/executor/memory_count.hpp"
#include "train/executor/paged_floats.hpp"
#include "train/executor/piece_norms.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/run/held.hpp"
#include "train/run/job.hpp"
#include "train/run/local_steps.hpp"
#include "train/run/marks.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// Units that the layout brings and takes away one by one: those of the problem from ZeRO 2 on, else all elements as one.
[[nodiscard]] Parting parting_of(const learn::Problem& problem, TrainLayout layout, int ranks);
/// Units in the order in which a pass needs them: forth, and back all but the last and the first again.
[[nodiscard]] std::vector<std::size_t> units_needed(std::size_t units);
/// Most leaves of one rank.
[[nodiscard]] std::int64_t most_leaves(std::int64_t leaves, int ranks);
/// What all ranks keep, each its parts one after the other in `own`, into `into` of all elements, on rank 0 or on all. Errors: those of Transport::wait.
[[nodiscard]] Status collect(Transport& transport, const Parting& parting, std::span<const float> own,
                             bool on_all_ranks, std::span<float> into);
/// Bytes that a rank says to each other in a step about gradients that are no numbers; nothing where everybody sees all means.
[[nodiscard]] Bytes vote_bytes(TrainLayout layout);

/// Parameters, gradients and optimizer of one rank, by the job's layout. In a step:
///   data-parallel  gradients of own leaves, their sum over all ranks, the optimizer on all elements
///   zero-1         the sum of the own part, the optimizer there, parameters go round
///   zero-2         the same; a unit's gradient is summed as soon as it is there, and only the own part of it stays
///   zero-3         and parameters: a unit is gathered where a gradient needs it, the next one while it is worked with
/// With rounds of local steps (data-parallel) leaves are what their workers bring, and the optimizer is the outer one; steps before the
/// first round are those of data-parallel, by an optimizer of their own. SCAFFOLD: what variates change by is a second sum.
/// Ranks with fewer leaves take part in the gathers of those with more. Weights have the bits of the unsplit model.
/// Threads: one owner. Held by: src/train/run/replica_test.cpp
class Shards final : public Held, private learn::UnitUse {
 public:
  /// All outlive it but the problem.
  Shards(const TrainJob& job, TrainLayout layout, const learn::OptimizerSpec& optimizer, Transport& transport,
         Marks& marks, std::unique_ptr<learn::Problem> problem);

  void inject(const Injected& fault) override {
    if (fault.rank == transport_.rank()) injected_ = fault;
  }
  /// Of an all-reduce by name, where there is one. Errors: those of Executor::make.
  [[nodiscard]] Status choose(const SumBy& by);
  /// One step; where a worker's gradient is no number, parameters are what they were and it is named.
  [[nodiscard]] Result<std::optional<learn::Divergence>> step(std::int64_t number) override;
  /// All parameters, on rank 0 (zero-3: sent there) or on all ranks; valid until the next call.
  [[nodiscard]] Result<std::span<const float>> whole(bool on_all_ranks) override;
  /// Whether all parameters are numbers.
  [[nodiscard]] Result<bool> all_finite() override;
  void go_on(const SavedState& state) override;
  /// What this rank saves.
  [[nodiscard]] std::vector<SavedSpan> saved() override;

  /// Mean over the samples of the last step that were this rank's.
  [[nodiscard]] double loss() const override { return loss_ / static_cast<double>(sum_.leaves().count); }
  [[nodiscard]] learn::Problem& problem() override { return *problem_; }
  /// Values that are saved of each parameter beside itself.
  [[nodiscard]] int moments() const override;
  [[nodiscard]] std::int64_t worker_floats() const override { return worker_floats_; }
  [[nodiscard]] Bytes optimizer_bytes() const override;
  [[nodiscard]] MemoryCount& memory() override { return memory_; }

 private:
  /// A leaf whose gradient is no number.
  struct Bad {
    std::int64_t worker = std::numeric_limits<std::int64_t>::max();  ///< nobody's
    std::int64_t at = 0;                                             ///< parameter
  };
  [[nodiscard]] bool parts_gradients() const { return layout_ >= TrainLayout::Zero2; }
  [[nodiscard]] bool parts_parameters() const { return layout_ == TrainLayout::Zero3; }

  void need(std::size_t unit) override;
  void release(std::size_t unit) override;
  void open(std::size_t unit) override;
  void done(std::size_t unit) override;

  /// Gradients of all own leaves into their sums.
  [[nodiscard]] Status add_leaves(std::int64_t step);
  void idle_leaf();
  void take_round();
  /// The step is a round.
  [[nodiscard]] bool in_round() const { return local_ && step_ >= job_.local->after; }
  [[nodiscard]] bool sums_variates() const { return variate_sum_ && in_round(); }
  /// What is saved of each parameter beside itself, one after the other.
  [[nodiscard]] std::vector<std::span<const float>> states();
  void gather(std::size_t unit);
  void look_for_bad(const Stretch& unit);
  /// Unit by unit, those from `first` to before `end`, in one wait.
  [[nodiscard]] Status reduce(std::size_t first, std::size_t end);
  [[nodiscard]] Status update_all();
  [[nodiscard]] Status update_part();
  /// `steps`: of each rank's.
  void name_first(const std::vector<Bad>& all, std::span<const std::int64_t> steps);
  void scale(std::span<float> sum) const;
  [[nodiscard]] double factor(const learn::Optimizer& optimizer) const;
  [[nodiscard]] std::span<float> kept(CountedFloats& of, std::size_t unit);
  void keep_own(std::span<const float> all);
  void keep(Status made) {
    if (ended_ && !made) ended_ = std::move(made);
  }

  const TrainJob& job_;
  TrainLayout layout_;
  learn::OptimizerSpec spec_;  ///< of what all bring together
  Transport& transport_;
  Marks& marks_;
  std::unique_ptr<learn::Problem> problem_;
  Parting parting_;
  MemoryCount memory_;
  PagedFloats x_, g_;
  UnitSum sum_;
  std::optional<Executor> executor_;
  std::optional<learn::Optimizer> whole_;  ///< data-parallel
  std::optional<LocalSteps> local_;
  std::int64_t worker_floats_ = 0;
  std::optional<learn::Optimizer> before_;  ///< of steps before the first round
  std::optional<UnitSum> variate_sum_;
  CountedFloats variate_, change_;  ///< SCAFFOLD's c, and what a worker's own one changes by
  std::optional<learn::PartedOptimizer> parted_;
  std::vector<KeptPiece> pieces_;
  RankNorms norms_;
  CountedFloats own_x_, own_g_;  ///< parts of all units
  std::vector<std::size_t> order_;
  std::int64_t most_leaves_, passes_;
  std::int64_t leaf_ = 0;    ///< of the most that a rank has, now
  std::int64_t worker_ = 0;  ///< whose it is
  std::size_t needed_ = 0;   ///< units of the step so far
  std::optional<std::size_t> on_its_way_;
  std::vector<int> users_;  ///< of each unit's parameters that are here
  Injected injected_;       ///< nobody's but on its rank
  std::int64_t step_ = 0;
  Bad bad_;
  std::int64_t bad_step_ = 0;  ///< of its worker
  double loss_ = 0;            ///< of own leaves, together
  std::vector<Bad> votes_;
  std::optional<learn::Divergence> diverged_;
  Status ended_{};  ///< the first error inside a gradient
  std::vector<float> collected_;
};

}  // namespace cox::train
