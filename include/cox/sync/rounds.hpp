// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rounds that not all workers take part in, or not all to the end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/sync/stream.hpp"

namespace cox::sync {

struct RoundSpec {
  /// Of the workers, drawn anew for each round, rounded up: federated averaging's C (McMahan et al. 2017, algorithm 1).
  double fraction = 1;
  int local_steps = 1;  ///< of each that takes part
  int dropped = 0;      ///< the slowest this many of those who take part are not waited for
  /// The work of the last so many is begun again, by those who are there first; of the two who are at it the first counts. Of rounds of
  /// one step (asserted).
  int copies = 0;
  std::uint64_t seed = 1;  ///< of who is drawn
};

/// A round begins with all who take part reading the newest version. It ends when as many have delivered as are waited for,
/// or when its time is up (`expired`) and anybody has; whoever has not is interrupted and gives up its steps, which makes
/// it another thing than `Policy`'s backup workers, who finish first. Those who are not drawn hold nothing.
/// A copy is work of another: the stream says of whom it is, not who computed it, so that a round with copies is one without.
/// Numbers beyond their range count as the nearest that has a meaning: at least one takes part, and one is waited for.
/// Who is drawn depends on seed, round and who is there, on nothing else: not on speed.
/// Cost: O(workers) per round, O(1) per step else; with copies O(workers) per step. Pure: no clock. Threads: one owner.
/// Held by: src/sync/rounds_test.cpp (the ledger at every event, with workers that leave; every worker is drawn alike)
class Rounds {
 public:
  /// The first round begins: its participants, in `participants`, begin their steps; the others give up, in `events`.
  Rounds(const RoundSpec& spec, int workers);

  /// Worker `worker` has finished a step of this round, or its copy of another's. `released` gets the workers that begin a step now, in rank order; it is
  /// cleared first, as by the calls below.
  void delivered(int worker, std::vector<int>& released);
  /// The round's time is up.
  void expired(std::vector<int>& released);
  /// It is gone, in the middle of a round or between two.
  void left(int worker, std::vector<int>& released);

  /// What the last call made happen, in order; until the next one.
  [[nodiscard]] std::span<const StreamEvent> events() const { return events_; }
  /// Whose step, or copy, the last call cut off; they take part in the next round only where `released` names them.
  [[nodiscard]] std::span<const int> interrupted() const { return interrupted_; }
  struct Copy {
    int by = 0;  ///< who has delivered its own
    int of = 0;  ///< whose work it begins now
  };
  /// What the last call made begin again.
  [[nodiscard]] std::span<const Copy> begun_again() const { return begun_again_; }
  /// Rounds that are over.
  [[nodiscard]] std::int64_t version() const { return version_; }
  /// Of this round, in rank order.
  [[nodiscard]] std::span<const int> participants() const { return participants_; }
  /// Of these, who has delivered.
  [[nodiscard]] int arrived() const { return static_cast<int>(waiting_.size()); }
  /// Arrivals that end this round.
  [[nodiscard]] int awaited() const;

 private:
  void start_call(std::vector<int>& released);
  void draw();
  void hold(std::vector<int>& released);
  void give_up(int worker, int steps);
  /// The work of `worker` is there; whoever else is at it stops.
  void bring(int worker, bool copied);
  void begin_copies();

  RoundSpec spec_;
  std::int64_t version_ = 0;
  std::vector<int> members_;       ///< workers that have not left, in rank order
  std::vector<int> participants_;  ///< of this round
  std::vector<int> waiting_;
  std::vector<int> done_;  ///< local steps in this round, by worker
  std::vector<StreamEvent> events_;
  std::vector<int> interrupted_;
  std::vector<int> copies_of_;  ///< by worker: whose work it does again; -1 = nobody's
  std::vector<Copy> begun_again_;
};

}  // namespace cox::sync
