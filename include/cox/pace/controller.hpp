// SPDX-License-Identifier: Apache-2.0
/// \file
/// The coordination controller of one rank: local observations in, a bounded delay out.
///
/// The same object decides in a live job (`observe`, real clock) and in an engine
/// (`simulate`, virtual clock).
/// Source: "When Scaling Fails", sections 4.2, 4.3 and 5.3 (mode `paper`); docs/design/0009 for the rest.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"
#include "cox/pace/crossover.hpp"
#include "cox/pace/decision.hpp"
#include "cox/pace/settings.hpp"
#include "cox/pace/wager.hpp"

namespace cox::pace {

/// Rolling window of waits of one group: mean and spread in O(1).
///
/// Formula: predictable = max(0, mean - deviations x standard deviation) over the last `size` samples. Waits
///          that move from rank to rank have a deviation as large as their mean and leave nothing; those of a
///          rank that is always early keep most of it.
/// Cost: O(1), kMost x 4 bytes. Held by: src/pace/slack_test.cpp
class SlackWindow {
 public:
  static constexpr std::uint32_t kMost = 256;
  void resize(std::uint32_t size) noexcept { size_ = size < 2 ? 2 : (size > kMost ? kMost : size); }
  void add(Duration wait) noexcept;
  void clear() noexcept { *this = SlackWindow{size_}; }
  [[nodiscard]] std::uint32_t count() const noexcept { return seen_ < size_ ? seen_ : size_; }
  [[nodiscard]] Duration mean() const noexcept;
  [[nodiscard]] Duration deviation() const noexcept;
  [[nodiscard]] Duration root_mean_square() const noexcept;
  [[nodiscard]] Duration predictable(double deviations) const noexcept;

  SlackWindow() = default;

 private:
  explicit SlackWindow(std::uint32_t size) : size_(size) {}
  float waits_[kMost] = {};  // in nanoseconds
  double sum_ = 0;
  double squares_ = 0;
  std::uint32_t size_ = 64;
  std::uint32_t seen_ = 0;
};

/// What all ranks do in a block of steps, fixed by seed and step number alone: pairs of blocks, one of them
/// paced, in an order drawn per pair. Held by: src/pace/pattern_test.cpp
class Pattern {
 public:
  Pattern(std::uint64_t seed, std::uint32_t block) noexcept : seed_(seed), block_(block < 2 ? 2 : block) {}
  [[nodiscard]] std::uint64_t pair_of(std::uint64_t step) const noexcept {
    return step / (std::uint64_t{2} * block_);
  }
  [[nodiscard]] std::uint32_t place_of(std::uint64_t step) const noexcept {
    return static_cast<std::uint32_t>(step % block_);
  }
  /// Whether the step lies in its pair's paced block.
  [[nodiscard]] bool is_paced(std::uint64_t step) const noexcept;
  /// The same for a rank that holds and tests one pair out of `every` (a power of two): other pairs are paced
  /// throughout, and of a tested pair's unpaced block the steps from `unpaced` on. Unpaced steps of a larger
  /// `every` are unpaced for any smaller one too.
  [[nodiscard]] bool is_paced_holding(std::uint64_t step, std::uint32_t every,
                                      std::uint32_t unpaced) const noexcept {
    return pair_of(step) % every != 0 || is_paced(step) || place_of(step) >= unpaced;
  }
  /// Whether the step lies in the first block of its pair.
  [[nodiscard]] bool is_first(std::uint64_t step) const noexcept {
    return step % (std::uint64_t{2} * block_) < block_;
  }
  [[nodiscard]] std::uint32_t block() const noexcept { return block_; }

 private:
  std::uint64_t seed_;
  std::uint32_t block_;
};

/// Estimate of a mean that may be looked at after every sample: of gains, for giving up, and of harm in probes.
///
/// Formula: normal mixture confidence sequence, half width = s sqrt((n + r) / n^2 x ln((n + r) / (r
///          alpha^2))) with r = 4 and s^2 the larger of the samples' variance and the one that the caller
///          knows of (Robbins 1970; Howard, Ramdas, McAuliffe, Sekhon 2021, eq. 14).
///          Held by: src/pace/benefit_test.cpp
class BenefitTest {
 public:
  void add(double gain, double known_variance) noexcept;
  void clear() noexcept { *this = BenefitTest{}; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] double mean() const noexcept { return mean_; }
  [[nodiscard]] double variance() const noexcept;  ///< s^2
  [[nodiscard]] double half_width(double alpha) const noexcept;

 private:
  double mean_ = 0;
  double squares_ = 0;  // of the deviations from the mean
  double known_ = 0;    // mean of the variances that the callers know of
  std::uint32_t count_ = 0;
};

/// Decides for one rank and one group of ranks that synchronise.
///
/// Bounds: 0 <= delay <= min(max_delay, max_ratio x typical period), whatever it is told.
/// Mode `auto`: a rank delays at most `share` of its predictable slack, in paced blocks, and goes on only
///         where a `Wager` shows that these are better than unpaced ones, and while a `Crossover` does not
///         show a loss that comes late. How much of it is best is found among a few candidates whose blocks
///         take turns (successive elimination: Even-Dar, Mannor, Mansour 2006).
///         What finding out has cost within two blocks stays below budget x time + one window, because a
///         paced block only begins where the worst that it can cost (its steps x the largest delay) still
///         fits. What comes later is measured and charged.
/// Threads: one owner. Cost: O(1) per step (a block's end: O(block)), no allocation, no clock, no system
///          call, no libm; about 6 KiB (five windows of slack are 5 KiB of it).
/// Held by: src/pace/controller_test.cpp, tests/property/pace_laws.cpp, tests/property/pace_promise.cpp
class Controller {
 public:
  /// Most groups beside the paced one whose slack is looked at.
  static constexpr std::uint32_t kOtherGroups = 4;
  Controller() noexcept : Controller(Settings{}, 0, 1) {}
  /// `rank` of `ranks` in the paced group.
  Controller(const Settings& settings, std::uint32_t rank, std::uint32_t ranks) noexcept;

  /// Takes one passed synchronisation of the paced group.
  void observe(const Observation& o) noexcept;
  /// A wait of another group that the same iteration has (tensor, pipeline, ...): trials and holds of `auto`
  /// never delay by more than the least predictable slack of all groups that were ever told of; turns of a
  /// probe and the other modes do not keep to that. `group` < kOtherGroups; others are ignored.
  void observe_other(std::uint32_t group, Duration wait) noexcept;
  /// What to do before the iteration that follows the last observation.
  [[nodiscard]] const Decision& decide() const noexcept { return decision_; }
  [[nodiscard]] DecisionBasis evidence() const noexcept;
  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }

 private:
  static constexpr double kConfidence = 2;  // standard errors that a mean has to be away
  /// Sums over the steps of one block that count.
  struct Block {
    float costs[64] = {};
    std::uint32_t count = 0;
    double period = 0;   // in nanoseconds, as all doubles here
    double squares = 0;  // of the periods
    double charged = 0;
    double wait = 0;
    void clear() noexcept {
      count = 0;
      period = squares = charged = wait = 0;
    }
  };
  /// What a block has shown: means over its steps.
  struct Shown {
    double cost = 0;
    double period = 0;
    double variance = 0;  // of one step's period
    double charged = 0;   // as `period`, with long ones counting for more
    double wait = 0;
    std::uint32_t steps = 0;
  };
  /// A share of the wanted delay, and what iterations with it cost.
  struct Candidate {
    double cost = 0;
    std::uint32_t blocks = 0;
    bool out = false;
  };
  static constexpr std::uint32_t kCandidates = 4;
  enum class Role : std::uint8_t { Unpaced, Paced, Bystander };  // Bystander: another rank's turn of a probe

  void take_in(const Observation& o) noexcept;
  void note_slack(double wait) noexcept;
  void track(double period) noexcept;
  [[nodiscard]] double cost_of(const Observation& o, double longest) const noexcept;
  [[nodiscard]] Role role_at(std::uint64_t step) const noexcept;
  [[nodiscard]] bool is_in_paced_block(std::uint64_t step) const noexcept;
  [[nodiscard]] std::uint32_t variant_at(std::uint64_t step) const noexcept;
  [[nodiscard]] std::uint32_t candidate_at(std::uint64_t step) const noexcept;
  [[nodiscard]] Shown close_block() noexcept;
  void end_block(std::uint64_t step) noexcept;
  void end_pair(std::uint64_t step) noexcept;
  void note_cost(const Shown& paced, std::uint64_t step) noexcept;
  void compare(const Shown& paced) noexcept;
  void suspect(const Shown& paced, std::uint64_t step) noexcept;
  void judge_trial(std::uint64_t step) noexcept;
  void judge_hold(double gain, std::uint64_t step) noexcept;
  void judge_crossover(std::uint64_t step) noexcept;
  void judge_probe(std::uint64_t step) noexcept;
  void settle_account(const Shown& unpaced) noexcept;
  void write_off() noexcept;
  void charge_others() noexcept;
  void doubt(std::uint64_t step, double loss) noexcept;
  void take_back(double loss) noexcept;
  [[nodiscard]] double lost_since_before() const noexcept;
  void watch(const Shown& shown, std::uint64_t step) noexcept;
  void charge_after() noexcept;
  void begin_trial(std::uint64_t next) noexcept;
  void leave(Reason why, std::uint64_t step) noexcept;

  [[nodiscard]] Decision choose_auto(std::uint64_t next) noexcept;
  [[nodiscard]] Decision choose_watching(std::uint64_t next) noexcept;
  [[nodiscard]] Decision choose_testing(std::uint64_t next) noexcept;
  [[nodiscard]] Decision choose_probe(std::uint64_t next) noexcept;
  [[nodiscard]] Decision choose_paper() noexcept;
  [[nodiscard]] Decision choose_fixed(std::uint64_t next) noexcept;
  [[nodiscard]] Decision served(double delay, Reason reason) const noexcept;
  [[nodiscard]] Decision passive(Reason reason) const noexcept;
  [[nodiscard]] Duration predictable(const SlackWindow& window) const noexcept;
  [[nodiscard]] double wanted() const noexcept;
  [[nodiscard]] double least() const noexcept;
  [[nodiscard]] double cap() const noexcept;
  [[nodiscard]] std::uint32_t most_pairs() const noexcept;
  [[nodiscard]] double remaining() const noexcept;
  [[nodiscard]] bool affords(double blocks) const noexcept;

  Settings settings_;
  Pattern pattern_;
  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 1;
  State state_ = State::WarmUp;
  Reason left_for_ = Reason::BackingOff;  // of the last test
  std::uint32_t unpaced_steps_ = 0;       // of a hold's tested pair, from the beginning of its unpaced block
  std::uint64_t seen_ = 0;
  std::uint64_t last_step_ = 0;
  double deviations_ = 0;  // below the mean wait, where predictable slack lies
  double typical_ = 0;     // running median of the period
  double elapsed_ = 0;
  double first_window_ = 0;  // time of the first `window` iterations
  bool transfer_known_ = true;
  bool paper_active_ = false;

  SlackWindow slack_;  // of unpaced iterations
  SlackWindow others_[kOtherGroups];
  std::uint64_t other_seen_[kOtherGroups] = {};  // iterations seen at its last wait
  std::uint32_t turns_served_ = 0;               // steps of this pair's own turn with a delay
  Block block_;
  Shown unpaced_;  // of this pair
  Shown paced_;
  double reference_ = 0;  // recent mean period of unpaced blocks
  double noise_ = 0;      // recent variance of one step's period

  // A trial tries two of the candidates in turn; a hold begins with the better one and compares all.
  BenefitTest tests_[2];
  Wager wager_;
  double wealth_needed_ = 0;
  double time_gains_[2] = {};  // mean relative gains of the period, whatever the objective
  double tested_loss_ = 0;     // paced minus unpaced, this test
  double spent_before_ = 0;
  double spent_ = 0;
  double at_stake_ = 0;     // the most that paced steps can have cost which are not measured yet
  double others_loss_ = 0;  // of pairs while watching, above what is usual
  double usual_ = 0;        // mean square of the differences of watched pairs
  double held_loss_ = 0;    // steps and time since the last unpaced block of a hold
  std::uint32_t held_steps_ = 0;
  double held_gain_ = 0;
  Crossover crossover_{0, 16, 0};
  double calm_ = 0;        // recent mean period while watching
  double paid_after_ = 0;  // what blocks since the last hold took more than that
  std::uint64_t paying_until_ = 0;
  double to_bear_ = 0;  // loss of a hold until it is proven, at the rate of the last one that was taken back
  std::uint32_t every_ = 1;  // pairs from test to test in a hold
  std::uint32_t suspicions_ = 0;
  Candidate candidates_[kCandidates];
  std::uint32_t best_ = 0;
  double paced_reference_ = 0;  // recent mean period of blocks with the best delay
  std::uint32_t changes_ = 0;
  double paced_noise_ = 0;  // as `noise_`, of paced blocks
  std::uint32_t failures_ = 0;
  std::uint64_t retry_at_ = 0;

  double proven_ = 0;  // delay that has not lengthened iterations where transfer is not known
  double level_ = 0;
  double fixed_ = -1;  // modes always and random: the delay found in the first window
  Decision decision_;
};

}  // namespace cox::pace
