// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes what happens in simulated steps as a Run, in the records that a guest would have left.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/trace/run.hpp"

#include "simulate/record/run_from_steps.hpp"
#include "simulate/training/account/watcher.hpp"

namespace cox::simulate::training {

/// Records of all ranks. Collectives beside the computation are as of a worker thread, with a wait where the
/// program stands still for them; all-reduces of the layers of one pass are one record at its end.
class Recorder : public Watcher {
 public:
  explicit Recorder(const Plan& plan);
  /// How many records a Run of this job may have at most.
  [[nodiscard]] static double most_records(const Plan& plan);

  /// What follows is step `step` of the units from `first_unit` on; `factors` as StepEngine::factors, which
  /// must outlive the step.
  void open_step(std::int64_t step, int first_unit, const std::vector<double>& factors);
  /// Puts the records of the step in order.
  void close_step();
  /// A stop of a unit that is no part of a program: for a server, or for the slower workers.
  void stop(int unit, Seconds begin, Seconds end);
  /// A decision of the controller of a unit that could begin a step at `begin` and does at `end`; before that step.
  void pace(int unit, std::int64_t step, Seconds begin, Seconds end, const PaceRecord& what);
  /// Moves the records of step k by `by[k]`; one value per step that was opened.
  void shift(std::span<const Seconds> by);
  [[nodiscard]] trace::Run take();

  void begin(int unit, Seconds at) override;
  void computed(int unit, const Instruction& i, Seconds begin, Seconds computed, Seconds end) override;
  void received(int unit, const Instruction& i, Seconds begin, Seconds leaves, Seconds arrives) override;
  void met(const Gathering& g) override;
  void awaited(int unit, const Instruction& i, Seconds begin, Seconds alone, Seconds end) override;

 private:
  struct Event {
    Seconds begin{};
    Seconds end{};
    std::int64_t bytes = 0;
    CommId comm = trace::kNoComm;
    std::uint32_t seq = 0;
    trace::EventKind kind = trace::EventKind::None;
    std::uint8_t op = 0;
    std::uint16_t flags = 0;
    std::uint32_t aux = 0;
    std::uint32_t thread = 0;
  };
  void add_communicators();
  void add_group(std::string name, std::vector<Rank> ranks);
  void set_role(trace::RankTrack& track) const;
  void put_inner(int place, int unit, const Instruction& i, Seconds done, Seconds end);
  [[nodiscard]] std::uint32_t& next_seq(CommId comm) { return seq_[static_cast<std::size_t>(comm.value())]; }
  void put(int rank, const Event& e) { events_[static_cast<std::size_t>(rank)].push_back(e); }
  void put_call(int rank, model::Collective kind, CommId comm, Bytes bytes, Seconds begin, Seconds end,
                std::uint32_t seq, bool beside);
  void activity(int rank, const Instruction& i, Seconds begin, Seconds end);
  [[nodiscard]] std::uint32_t name_of(const Instruction& i);
  [[nodiscard]] int first_rank(int unit) const { return (first_unit_ + unit) * plan_.ranks_per_unit(); }
  void add_groups(ReplicaGroup of, const std::function<std::string(int stage, int inner, Rank first)>& name);
  [[nodiscard]] int beside(ReplicaGroup of) const;
  /// `inner`: of the unit's ranks.
  [[nodiscard]] CommId comm_of(ReplicaGroup of, int stage, int group, int inner) const;
  [[nodiscard]] CommId tensor_comm(int unit, int context) const;
  [[nodiscard]] CommId context_comm(int unit, int tensor) const;

  const Plan& plan_;
  int first_of_[std::size(kAllReplicaGroups)] = {};  ///< communicators
  int first_tensor_ = 0, first_context_ = 0;
  int first_unit_ = 0;
  std::int64_t step_ = 0;
  const std::vector<double>* factors_ = nullptr;
  trace::Run run_;
  std::vector<std::vector<Event>> events_;         ///< of the open step, per rank
  std::vector<Seconds> pass_begin_;                ///< per unit
  std::map<int, Seconds> held_from_;               ///< units that begin later than they could
  std::vector<std::optional<pace::Reason>> told_;  ///< per unit: of its last decision that was written
  std::vector<std::uint32_t> seq_;                 ///< next number, per communicator
  std::vector<std::vector<std::size_t>> first_;    ///< per rank: first event of each step
  std::vector<std::vector<std::size_t>> first_activity_;
  std::vector<std::uint32_t> names_;  ///< index of a pass's name by (part, micro-batch); 0 = none yet
};

}  // namespace cox::simulate::training
