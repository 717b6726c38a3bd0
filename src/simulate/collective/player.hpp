// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plays a replica of a job of collectives, by max-plus, on a network, or by what the whole collective takes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/timeouts.hpp"

#include "simulate/collective/setup.hpp"
#include "simulate/record/run_from_steps.hpp"

namespace cox::simulate {

/// What the ranks' time goes into, in sums over them: computing, then waiting for the last one that comes, as long as the rank
/// has not left before, and all else is communication that nothing hides. Behind the last step, waiting for the last rank.
/// Formula: as docs/concepts/training-steps.md has it for the groups of a step.
/// Cost: two passes over the ranks a step, three where a rank may leave before all are there.
/// Held by: src/simulate/collective/rank_time_test.cpp
class RankTime {
 public:
  /// `may_leave_early`: in some collectives (broadcast, reduce, send-recv) a rank leaves before the last one comes.
  explicit RankTime(bool may_leave_early) : may_leave_early_(may_leave_early) {}
  /// All ranks have computed and come to the collective; `packing` of that is communication.
  void arrive(std::span<const Seconds> at, Seconds packing);
  void depart(std::span<const Seconds> at);
  /// Mean of a rank and step, of a job that is over at `total`.
  [[nodiscard]] GroupTime mean(Seconds total) const;
  /// When the last rank left.
  [[nodiscard]] Seconds last() const { return last_; }

 private:
  bool may_leave_early_;
  std::vector<Seconds> arrived_;  ///< where ranks may leave early
  Seconds came_{};                ///< sum
  Seconds latest_{};              ///< who came
  Seconds left_{};                ///< sum
  Seconds last_{};
  Seconds busy_{};
  Seconds waiting_{};
  std::int64_t ranks_ = 0;
  std::int64_t steps_ = 0;
};

/// What one replica leaves.
struct CollectiveReplica {
  Seconds total{};
  std::vector<Seconds> step_ends;
  std::vector<Seconds> rank_ends;
  std::int64_t messages = 0;
  std::int64_t evaluated = 0;
  bool closure = false;
  bool memo = false;
  bool bounded = false;    ///< `FlowOutcome::bounded`
  bool own_links = false;  ///< flow engine: no link was shared, so that max-plus did its work
  std::vector<double> link_bytes;
  std::vector<NeighbourOutcome> neighbours;
  GroupTime time;  ///< mean over ranks and steps
};

/// One replica's own: scratch memory of its engine, its draws, what it leaves.
class CollectivePlayer {
 public:
  CollectivePlayer(const CollectiveSetup& job, int number);
  CollectivePlayer(const CollectivePlayer&) = delete;  ///< its engine tells it how far it is
  CollectivePlayer& operator=(const CollectivePlayer&) = delete;
  CollectiveReplica play(StepRecorder* recorder, const SimulateOptions& options);

 private:
  /// A random placement has the replica's own draws.
  [[nodiscard]] std::vector<int> devices() const;
  [[nodiscard]] Noise own_noise() const;
  /// Of each rank before each collective, undisturbed.
  [[nodiscard]] std::vector<Seconds> compute() const;
  /// Whether a step's messages may meet those of the step before: by flow, several steps.
  [[nodiscard]] bool goes_on() const;
  /// All steps on one network, which neighbours use as well.
  CollectiveReplica play_beside(StepRecorder* recorder, const SimulateOptions& options);
  /// Of ranks that do not sit on their own places; empty where all do.
  [[nodiscard]] std::vector<int> ranks_on_places() const;
  /// What each place computes, with the noise of the rank on it.
  void disturb(int step, std::span<const Seconds> now, std::span<Seconds> work);
  /// Where max-plus may stand in: whether no message ever meets another.
  void find_own_links();
  /// Moves arrivals to departures with the job's engine. When its servers are done.
  Seconds meet(std::int64_t step, std::span<Seconds> times);

  const CollectiveSetup& job_;
  int number_;                ///< of the replica
  std::uint64_t seed_;        ///< of all its draws: a run with this seed alone gives the same
  std::vector<int> rank_of_;  ///< flow engine: place in the schedule to rank
  Noise noise_;
  NoiseMemory memory_;
  TimeoutDraws timeouts_;
  std::vector<int> nodes_;              ///< of each rank, where messages between nodes may be lost
  std::optional<LinkCosts> own_costs_;  ///< flow engine: set where no link is shared; max_plus_ refers to it
  std::optional<MaxPlus> max_plus_;
  CollectiveReplica out_;
  std::function<void(double)> progress_;  ///< of the step that is played: its part that is over
};

}  // namespace cox::simulate
