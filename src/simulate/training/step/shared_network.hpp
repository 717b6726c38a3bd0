// SPDX-License-Identifier: Apache-2.0
/// \file
/// What of a training step is under way between units, on the network that all of it shares.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/flow.hpp"

#include "simulate/flow/engine.hpp"
#include "simulate/flow/neighbours.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/plan/transfer.hpp"

namespace cox::simulate::training {

/// One step's collectives and messages. Ranks of a unit that do the same at the same time (the data groups of
/// each tensor rank, messages between stages) are groups of one transfer, each on its own devices.
/// Order: nobody joins before the last departure that was handed out; see FlowEngine.
/// Held by: src/simulate/training/step/shared_network_test.cpp
class SharedNetwork {
 public:
  using Kind = TransferKind;
  using Key = TransferKey;
  /// A member has left: all of its ranks. Of a message: 0 is the sender, 1 the receiver.
  struct Left {
    Key key;
    int member = 0;
    Seconds at{};
  };

  /// Of `plan`, whose replicas from `first` on are meant by the units and groups of all keys. It, `network` and the noise of `options`
  /// outlive this. Neighbours are on the plan's network for all alone.
  SharedNetwork(const Plan& plan, const Network& network, int first, FlowOptions options, Seconds origin);
  /// What is under way on an engine that others use, too, and that outlives this: whoever drives it is told which course is which
  /// transfer, and hands in what leaves (`take`). Steps begin by `open_step`.
  using Tell = std::function<void(FlowCourseId, std::int32_t transfer)>;
  SharedNetwork(const Plan& plan, int first, FlowEngine& engine, Tell tell)
      : plan_(plan), first_(first), engine_(engine), tell_(std::move(tell)) {}
  SharedNetwork(const SharedNetwork&) = delete;
  SharedNetwork& operator=(const SharedNetwork&) = delete;

  /// With neighbours, or on an engine of others, the network goes on from step to step: `step` begins, on a clock that is
  /// `offset` behind the network's. All of the step before has left.
  void open_step(std::int64_t step, Seconds offset);

  /// A group's `member` joins a collective of its stage.
  void join(const Key& key, const model::Schedule& schedule, int member, Seconds at);
  /// All ranks of a unit join a collective of its tensor groups, or of its context groups.
  void meet(const Key& key, const InnerCollective& what, Seconds at);
  /// A unit's messages to other stages go one after the other: the next one begins when the one before has left.
  void send(const Key& key, int from_unit, Bytes bytes, Seconds at);
  /// As FlowEngine::next.
  [[nodiscard]] std::optional<Left> next(Seconds until = FlowEngine::kForEver);
  /// A rank of a transfer has left; the member that has by that.
  [[nodiscard]] std::optional<Left> take(std::int32_t transfer, const FlowDeparture& one);
  /// Of what was begun in this step.
  [[nodiscard]] bool all_left() const { return open_ == 0; }
  [[nodiscard]] FlowOutcome take_outcome() { return engine_.take_outcome(); }
  [[nodiscard]] std::vector<NeighbourOutcome> neighbours() const;
  /// The most by which something was taken as later than it came: ranks that began a step while others, in the one
  /// before, had the network's clock beyond that.
  [[nodiscard]] Seconds late() const { return late_; }

 private:
  struct Transfer {
    Key key;
    int ranks = 1;             ///< of a member, in each group
    std::vector<int> staying;  ///< per member: ranks that have not left
    int sender = -1;           ///< of a message: the unit
  };
  struct Message {
    Key key;
    Bytes bytes{};
    Seconds at{};  ///< asked for
  };
  void begin_message(const Message& what, int from_unit);
  void sender_left(int unit, Seconds at);
  FlowCourseId begin(const Key& key, FlowCollective what, int ranks_per_member);
  [[nodiscard]] Seconds on_clock(Seconds at);
  /// Of place `inner` of a unit.
  [[nodiscard]] int device_of(int unit, int inner) const {
    return plan_.device_of((first_ * plan_.stages() + unit) * plan_.ranks_per_unit() + inner);
  }
  const Plan& plan_;
  int first_;  ///< replica
  std::optional<FlowEngine> own_;
  FlowEngine& engine_;
  Tell tell_;                            ///< where it is not our own
  std::map<Key, std::uint32_t> by_key_;  ///< collectives among units
  std::vector<Transfer> transfers_;
  FlowCourseId first_course_ = 0;          ///< of the step
  std::vector<std::int32_t> transfer_of_;  ///< by course since then; -1 = a neighbour's
  std::optional<NeighbourJobs> neighbours_;
  std::optional<std::int64_t> step_;  ///< where it goes on from step to step
  Seconds offset_{};
  Seconds late_{};
  std::int64_t open_ = 0;                             ///< members that have not left
  std::map<std::int64_t, model::Schedule> messages_;  ///< by size
  std::map<int, std::deque<Message>>
      behind_;  ///< by unit that has a message under way: those that wait for it
  std::map<std::pair<model::Collective, std::int64_t>, model::Schedule> inner_;
};

}  // namespace cox::simulate::training
