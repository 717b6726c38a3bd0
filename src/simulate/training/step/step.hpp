// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plays the programs of a step on all units: each goes on as far as it can, and stands still where its input
/// or a collective is not there yet.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/simulate/timeouts.hpp"

#include "simulate/training/account/watcher.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/plan/rank_groups.hpp"
#include "simulate/training/step/input.hpp"
#include "simulate/training/step/repeats.hpp"
#include "simulate/training/step/shared_network.hpp"

namespace cox::simulate::training {

/// What may be computed at once where that gives the same.
struct StepShortcuts {
  bool closure = true;  ///< max-plus
  bool memo = true;     ///< flow; steps and collectives that begin as earlier ones did
};

/// Some or all replicas of a plan. Keeps buffers between steps; one owner.
///
/// Alone, a collective is priced when its last member has come. On a network a step is played with a clock: all
/// units go on until each stands still; then the network's next departure wakes one, or the end of a computation
/// that the stream beside it slowed all the time, if that is earlier. What it was like is told to a watcher
/// afterwards, in an order in which causes come first.
///
/// A step has a clock of its own, from its first unit's begin. A step that begins as one of the last few did,
/// with the same draws, ends as that one did and is not played again.
/// Held by: src/simulate/training/step/repeats_test.cpp
class StepEngine {
 public:
  /// Replicas [first, first + count): all of them where the plan has a network for all. `noise` may be null and
  /// outlives the engine; `seed` is of what a network draws.
  StepEngine(const Plan& plan, const Noise* noise, std::uint64_t seed, int first, int count,
             StepShortcuts shortcuts = {});

  /// Moves `now` (one time per unit: replica-major, then stage) from the begin of step `step` to its end; a unit
  /// that is held begins so much later (`holds`: one per unit, or none). Errors: simulate-004: a program waits for ever.
  [[nodiscard]] Status run(std::int64_t step, Meeting meeting, std::span<Seconds> now,
                           Watcher* watcher = nullptr, std::span<const Seconds> holds = {});

  /// From now on its steps are played on a network that others use at the same time, instead of by `run`: by `begin`, what leaves
  /// (`take`) and ends of computations (`come_due`) in the order of time, and `end` where the step is over. Nothing repeats.
  void share(std::unique_ptr<SharedNetwork> network) { shared_ = std::move(network); }
  /// Step `step` begins; its units go on until each stands still.
  void begin(std::int64_t step, Meeting meeting, std::span<const Seconds> now);
  void take(const SharedNetwork::Left& left);
  /// When a computation beside a stream ends if nothing leaves before; infinite where there is none.
  [[nodiscard]] Seconds due() const { return due_.empty() ? kNotYet : clock_.origin + due_.top().first; }
  void come_due();
  /// All units are through, and nothing of theirs is under way.
  [[nodiscard]] bool is_over() const;
  /// Moves `now` to its end, as `run`, and keeps account of it. Errors: simulate-004, where it is not over.
  [[nodiscard]] Status end(std::span<Seconds> now, Watcher* watcher);

  /// Of a step that is played on a network: told its part that is over, now and then. A step may be many minutes of work.
  void tell_progress(std::function<void(double)> told) { progress_ = std::move(told); }

  /// Of the next step alone, where no step is common to all: when each unit's input is there.
  void feed(std::span<const Seconds> begins) { given_.assign(begins.begin(), begins.end()); }
  /// From the next step on, replicas [first, first + count).
  void move_to(int first) { first_ = first; }

  [[nodiscard]] std::int64_t messages() const { return messages_; }
  [[nodiscard]] bool closure() const { return closure_used_; }
  [[nodiscard]] bool memo() const { return memo_used_; }
  /// Per link of the plan's network: what it carried so far.
  [[nodiscard]] const std::vector<double>& link_bytes() const { return link_bytes_; }
  /// What neighbours did so far, and by how much at most messages were taken as later: see SharedNetwork::late.
  [[nodiscard]] std::vector<NeighbourOutcome> neighbours() const {
    return shared_ ? shared_->neighbours() : std::vector<NeighbourOutcome>{};
  }
  [[nodiscard]] Seconds late() const { return shared_ ? shared_->late() : Seconds{}; }
  /// Of each rank of these replicas in the last step: its own compute time over the undisturbed one of a device of no
  /// class.
  [[nodiscard]] const std::vector<double>& factors() const { return factors_; }
  /// Steps that were played, not repeated; instructions, messages and links that were computed in them.
  [[nodiscard]] std::int64_t played() const { return played_; }
  [[nodiscard]] std::int64_t evaluated() const { return evaluated_; }
  /// What the ranks' time of all steps so far went into, one account per group; from the next step on, if asked for
  /// before it. A step that is not played again is counted as it was.
  void keep_accounts(const RankGroups& groups) {
    of_unit_ = groups.of_unit;
    accounts_.resize(groups.names.size());
  }
  /// From the next step on, of other replicas: the account of each unit.
  void account_to(std::span<const int> of_unit) { of_unit_.assign(of_unit.begin(), of_unit.end()); }
  [[nodiscard]] const std::vector<StepParts>& accounts() const { return accounts_; }

 private:
  static constexpr Seconds kNotYet{std::numeric_limits<double>::infinity()};
  struct Mail {
    Seconds leaves{};
    Seconds arrives = kNotYet;
  };
  struct Interval {
    Seconds begin{};
    Seconds complete{};  ///< last member's arrival
    Seconds end = kNotYet;
    bool joined = false;
  };
  enum class Exchange : std::uint8_t { None, Waiting, Done };
  /// A thread that takes messages of one direction, beside the computation.
  struct Receiver {
    Seconds processor{};
    Seconds port{};
  };
  struct Unit {
    std::size_t at = 0;  ///< next instruction
    Seconds now{};
    double factor = 1;
    Seconds mail_free{};           ///< its next message to another stage leaves then at the earliest
    Receiver receivers[2]{};       ///< of what comes forward, and backward: LogGOPS
    std::vector<Interval> stream;  ///< its data collectives of the step, by slot
    int open = 0;                  ///< of them are not over
    std::size_t busy = 0;          ///< the first of them that may not be over
    Seconds due = kNotYet;         ///< end of its computation if its stream stays busy until then
    bool parked = false;
    Exchange exchange = Exchange::None;
    Seconds exposed{};  ///< waited for its stream in this step
  };
  struct Instance {
    std::vector<Seconds> times;
    int arrived = 0;
  };
  struct Known {
    model::Schedule schedule;
    std::vector<Seconds> equal;  ///< departures where all arrive at zero; empty = not asked yet
    std::int64_t messages = 0;   ///< of all ranks of a group
    LastFew<KnownTimes> unequal{};
  };
  /// A step as it was: from when its units began, on its own clock, to when they ended.
  struct KnownStep {
    Meeting meeting = Meeting::Gradients;
    int first = 0;  ///< replica
    std::vector<double> factors;
    std::vector<Seconds> longer;   ///< overlap feedback: of the last step, per unit
    std::vector<Seconds> exposed;  ///< for the next one
    KnownTimes times;
    std::int64_t messages = 0;
    std::vector<double> link_bytes;
    std::vector<StepParts> accounts{};
    std::vector<Seconds> input_from{};  ///< as NodeInput::made_from, or as it was given
  };
  /// The job's clock between two steps, kept in two parts so that steps which repeat do so exactly.
  struct Clock {
    Seconds origin{};
    std::vector<Seconds> after;  ///< origin
    std::vector<Seconds> told;   ///< their sums, as they were given to the caller
  };

  [[nodiscard]] int stage_of(int unit) const { return unit % plan_.stages(); }
  [[nodiscard]] Status run_on_own_clock(std::span<Seconds> now, Watcher* watcher);
  [[nodiscard]] Status play_accounted(std::span<Seconds> now, Watcher* watcher);
  [[nodiscard]] Status play_step(std::span<Seconds> now, Watcher* watcher);
  [[nodiscard]] Status pass(std::span<Seconds> now, Watcher* watcher);
  void open_pass(std::span<Seconds> now, Watcher* watcher);
  void go_on();
  [[nodiscard]] Status close_pass(std::span<Seconds> now);
  [[nodiscard]] Status tell_pass(std::span<Seconds> now, Watcher& watcher);
  void set_clock(std::span<const Seconds> now, std::span<const Seconds> holds);
  void begin_step(std::span<Seconds> now);
  void join_stream(int unit, int slot);
  void leave_stream(int unit, int slot, const Interval& was);
  [[nodiscard]] Seconds may_begin(const Unit& u, const DataCollective& c, const Interval& at) const;
  [[nodiscard]] const Interval* next_busy(int unit, Seconds at, std::size_t (&from)[2]) const;
  void leave(const SharedNetwork::Left& left);
  [[nodiscard]] std::int64_t departures() const;
  [[nodiscard]] Bytes shared_bytes(Bytes bytes, ReplicaGroup of) const;
  [[nodiscard]] const DataCollective& data_collective(int stage, int slot) const {
    return (*programs_)[static_cast<std::size_t>(stage)].data[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] Instance& instance(int stage, int group, int slot) {
    return data_[static_cast<std::size_t>(group * plan_.stages() + stage)][static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] bool is_told() const { return watcher_ != nullptr && network_ != nullptr; }
  void open_network();
  [[nodiscard]] const std::vector<Seconds>& told(const SharedNetwork::Key& key) const;
  void draw(std::int64_t step, std::span<const Seconds> now, std::span<const Seconds> holds);
  void proceed(int unit);
  [[nodiscard]] bool play(int unit, const Instruction& i);
  [[nodiscard]] bool compute(int unit, const Instruction& i);
  void send(int unit, const Instruction& i);
  [[nodiscard]] Mail by_processors(Unit& from, Unit& to, const Instruction& i, const model::MessageCost& cost,
                                   Seconds late);
  [[nodiscard]] bool receive(int unit, const Instruction& i);
  void issue(int unit, const Instruction& i);
  [[nodiscard]] bool await(int unit, const Instruction& i);
  [[nodiscard]] bool exchange(int unit, const Instruction& i);
  [[nodiscard]] bool inner(int unit, const Instruction& i);
  [[nodiscard]] Seconds beside_streams(int unit, Seconds begin, Seconds work) const;
  [[nodiscard]] bool knows_end(int unit, Seconds computed);
  [[nodiscard]] Seconds delay(int from_unit, int to_unit, int slot, const model::MessageCost& cost,
                              Bytes bytes) const;
  [[nodiscard]] Seconds late(int from, int to, std::int64_t number) const;
  [[nodiscard]] bool loses(const model::Schedule& schedule, std::int64_t number) const;
  [[nodiscard]] bool loses(const Gathering& g, const model::Schedule& schedule, int copies) const;
  [[nodiscard]] std::span<const int> nodes_of(const Gathering& g, int copies, int copy);
  [[nodiscard]] std::int64_t number_of(const Gathering& g, int copies, int copy) const;
  void complete_data(int stage, int group, int slot);
  void complete_exchange(int stage, int group, int slot);
  void collect(Gathering g, std::vector<Seconds>& times);
  void collect_equal(Known& known, const LinkCosts& links, int copies, std::vector<Seconds>& times);
  void collect_unequal(Known& known, const LinkCosts& links, int copies, std::vector<Seconds>& times);
  void collect_drawn(const Gathering& g, const Known& known, const LinkCosts& links, int copies,
                     std::vector<Seconds>& times);
  [[nodiscard]] Seconds drawn(const model::LookedUp& whole, const Gathering& g) const;
  [[nodiscard]] Instruction with_dips(int unit, const Instruction& i) const;
  void expand(std::span<const Seconds> times, int copies);
  void gather_latest(int copies, std::span<Seconds> latest) const;
  [[nodiscard]] Known& known(model::Collective kind, Bytes bytes, ReplicaGroup of);
  /// Whether messages of one collective do not cost the same each time.
  [[nodiscard]] bool draws_messages() const;
  [[nodiscard]] std::int64_t sweep(const Known& known, const LinkCosts& links, std::int64_t number,
                                   std::span<const int> nodes, std::vector<int> ranks = {});
  void wake(int unit);
  [[nodiscard]] Error stuck() const;
  [[nodiscard]] Seconds longer_wait(int unit) const;
  [[nodiscard]] const std::vector<Seconds>& input_from() const {
    return input_ ? input_->made_from() : given_;
  }
  void feed_back();

  const Plan& plan_;
  const Network* network_;          ///< that steps are played on; null: what is sent is priced alone
  bool beside_neighbours_ = false;  ///< on it
  const Noise* noise_;
  NoiseMemory memory_;
  std::uint64_t seed_;
  TimeoutDraws timeouts_;
  int first_;
  int count_;
  StepShortcuts shortcuts_;
  Watcher* watcher_ = nullptr;
  const std::vector<StageCode>* programs_ = nullptr;
  std::int64_t step_ = 0;
  Meeting meeting_ = Meeting::Gradients;
  std::vector<Unit> units_;
  std::vector<double> factors_;
  std::vector<Mail> mail_;
  std::vector<std::vector<Instance>> data_;            ///< [stage and group][slot]
  std::map<std::pair<int, int>, Instance> exchanges_;  ///< (stage and group, slot)
  std::map<std::tuple<ReplicaGroup, model::Collective, std::int64_t>, Known> known_;
  std::vector<int> ready_;
  std::vector<int> members_;
  std::vector<Seconds> base_, disturbed_, starts_;
  std::vector<Seconds> arrivals_, expanded_, latest_;
  std::unique_ptr<SharedNetwork>
      shared_;         ///< while a step is played on the plan's network; with neighbours always
  Seconds reached_{};  ///< of that
  std::priority_queue<std::pair<Seconds, int>, std::vector<std::pair<Seconds, int>>, std::greater<>> due_;
  bool keeps_ = false;                                       ///< there is somebody to tell of it
  std::map<SharedNetwork::Key, std::vector<Seconds>> told_;  ///< departures of that step, by member
  std::vector<Seconds> told_mail_;  ///< as `mail_`: when messages of that step arrived
  std::vector<double> link_bytes_;
  Clock clock_;
  LastFew<KnownStep> known_steps_;
  std::vector<Seconds>
      longer_;  ///< per unit, that the end of this step's communication is waited for; empty: none
  std::map<SharedNetwork::Key, std::vector<int>> nodes_;  ///< [group][place] of those with losses
  std::int64_t played_ = 0;
  std::int64_t evaluated_ = 0;
  std::int64_t messages_ = 0;
  std::function<void(double)> progress_;
  std::int64_t left_ = 0;            ///< departures of this step
  std::vector<int> of_unit_;         ///< their places in the accounts
  std::vector<StepParts> accounts_;  ///< empty: nobody asks
  std::optional<NodeInput> input_;
  std::vector<Seconds> given_;  ///< on the step's own clock, while it runs; empty: nobody gave any
  bool closure_used_ = false;
  bool memo_used_ = false;
};

}  // namespace cox::simulate::training
