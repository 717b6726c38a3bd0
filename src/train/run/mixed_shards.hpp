// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one rank keeps of a job in mixed precision, and its steps.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/loss_scale.hpp"
#include "cox/learn/number_format.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"

#include "train/checkpoint/saver.hpp"
#include "train/executor/memory_count.hpp"
#include "train/executor/paged_floats.hpp"
#include "train/executor/piece_norms.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/run/held.hpp"
#include "train/run/job.hpp"
#include "train/run/marks.hpp"
#include "train/transport/group.hpp"
#include "train/transport/transport.hpp"

namespace cox::train {

/// The layouts of Shards with parameters and gradients of two bytes, an FP32 master copy, and the optimizer on it. In a step:
///   a unit's parameters become FP32 where a gradient needs them (zero-3: gathered as codes before), and are given back behind it;
///   a unit's gradient, times the loss scale, becomes codes as soon as it is there;
///   sums over leaves are codes, rounded at each addition, in the tree of Shards;
///   where the sum holds what is no number, nobody steps (with a loss scale); else the optimizer steps the own part of the master
///   copy (data-parallel: all of it) with the sum over leaves and scale;
///   parameters are the master copy's codes, and go round as codes (zero-1, zero-2).
/// A leaf whose FP32 gradient is no number ends the job, as it does without.
/// The bits are those of learn::Learner under a compressor with `master`, in any layout, on any number of ranks.
/// Threads: one owner. Held by: src/train/run/mixed_test.cpp
class MixedShards final : public Held, private learn::UnitUse {
 public:
  /// All outlive it but the problem. Pre: `precision.master`; a layout of Shards.
  MixedShards(const TrainJob& job, const learn::CompressorSpec& precision, TrainLayout layout,
              const learn::OptimizerSpec& optimizer, Transport& transport, Marks& marks,
              std::unique_ptr<learn::Problem> problem);

  void inject(const Injected& fault) override {
    if (fault.rank == transport_.rank()) injected_ = fault;
  }
  [[nodiscard]] Result<std::optional<learn::Divergence>> step(std::int64_t number) override;
  /// The master copy.
  [[nodiscard]] Result<std::span<const float>> whole(bool on_all_ranks) override;
  [[nodiscard]] Result<bool> all_finite() override;
  void go_on(const SavedState& state) override;
  /// Parts of the master copy, and moments: what a job in FP32 saves.
  [[nodiscard]] std::vector<SavedSpan> saved() override;
  [[nodiscard]] double loss() const override { return loss_ / static_cast<double>(sum_.leaves().count); }
  [[nodiscard]] learn::Problem& problem() override { return *problem_; }
  [[nodiscard]] int moments() const override { return static_cast<int>(learn::moments_of(spec_.kind)); }
  [[nodiscard]] Bytes optimizer_bytes() const override;
  [[nodiscard]] MemoryCount& memory() override { return memory_; }
  [[nodiscard]] std::optional<learn::LossScaleState> loss_scale() const override {
    return scale_ ? std::optional(scale_->state()) : std::nullopt;
  }

 private:
  using Codes = std::span<std::uint16_t>;
  /// A leaf whose gradient is no number.
  struct Bad {
    std::int64_t worker = std::numeric_limits<std::int64_t>::max();  ///< nobody's
    std::int64_t at = 0;                                             ///< parameter
  };
  [[nodiscard]] bool is_whole() const { return layout_ == TrainLayout::DataParallel; }
  [[nodiscard]] bool parts_gradients() const { return layout_ >= TrainLayout::Zero2; }
  [[nodiscard]] bool parts_parameters() const { return layout_ == TrainLayout::Zero3; }

  void need(std::size_t unit) override;
  void release(std::size_t unit) override;
  void open(std::size_t unit) override { g_.open(work_[unit]); }
  void done(std::size_t unit) override;

  [[nodiscard]] Status add_leaves(std::int64_t step);
  void idle_leaf();
  void gather(std::size_t unit);
  void look_for_bad(const Stretch& unit);
  [[nodiscard]] Status reduce(std::size_t first, std::size_t end);
  void name_first();
  /// Whether the sum over all leaves holds what is no number, anywhere.
  [[nodiscard]] Result<bool> overflowed();
  /// Steps with what the codes of the sum stand for, times `factor`.
  [[nodiscard]] Status update(float factor);
  [[nodiscard]] Status send_parameters();
  /// The own part of a unit, in an array of all elements or of the parts that are kept.
  template <class Value>
  [[nodiscard]] std::span<Value> part_in(std::span<Value> values, bool parted, std::size_t unit) const;
  /// Codes of the elements that the optimizer steps, in the order of its pieces.
  [[nodiscard]] Codes held_gradients();
  void take_master(std::span<const float> all);
  void keep(Status made) {
    if (ended_ && !made) ended_ = std::move(made);
  }

  const TrainJob& job_;
  TrainLayout layout_;
  learn::NumberFormat format_;
  learn::OptimizerSpec spec_;
  Transport& transport_;
  Marks& marks_;
  std::unique_ptr<learn::Problem> problem_;
  Parting parting_;            ///< of sums and gathers
  std::vector<Stretch> work_;  ///< units that a gradient works with
  Parting held_;               ///< of the optimizer: all elements here, or those of `parting_`
  MemoryCount memory_;
  PagedFloats x_, g_;  ///< units that are worked with
  CodeSum sum_;
  CountedCodes codes_, g_codes_;  ///< all elements, or those that are kept
  CountedCodes coming_;           ///< zero-3: of the unit that is gathered
  CountedCodes leaf_codes_;       ///< from zero-2 on: of the unit's gradient
  CountedFloats master_;
  std::optional<learn::LossScale> scale_;
  learn::PartedOptimizer optimizer_;
  std::vector<KeptPiece> pieces_;
  GroupTransport alone_;
  RankNorms norms_;
  std::vector<std::size_t> order_;
  std::int64_t most_leaves_, passes_;
  std::int64_t leaf_ = 0;    ///< of the most that a rank has, now
  std::int64_t worker_ = 0;  ///< whose it is
  std::size_t needed_ = 0;   ///< units of the step so far
  std::optional<std::size_t> on_its_way_;
  std::vector<int> users_;  ///< of each unit's parameters that are here in FP32
  Injected injected_;       ///< nobody's but on its rank
  std::int64_t step_ = 0;
  Bad bad_;
  double loss_ = 0;  ///< of own leaves, together
  std::vector<Bad> votes_;
  std::optional<learn::Divergence> diverged_;
  Status ended_{};  ///< the first error inside a gradient
  std::vector<float> collected_;
};

/// Bytes that a rank says to each other in a step about gradients that are no numbers, in any layout.
inline constexpr Bytes kMixedVoteBytes{2 * sizeof(std::int64_t)};
/// Units that a gradient works with.
[[nodiscard]] std::vector<Stretch> working_units(const learn::Problem& problem);
/// Elements that the optimizer of a rank steps: all of them, or its parts.
[[nodiscard]] Parting held_parting(const learn::Problem& problem, TrainLayout layout, int ranks);

}  // namespace cox::train
