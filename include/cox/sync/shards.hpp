// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters in shards, each with versions of its own: servers that hold a part each, stages of a pipeline, blocks of memory that
/// nobody locks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/sync/stream.hpp"

namespace cox::sync {

/// What a worker has at the beginning.
enum class FirstRead : std::uint8_t {
  Held,  ///< version 0 of every shard
  None,  ///< nothing: it reads each when it comes there
};

/// A step of a worker reads every shard once, in any order and at any time, and brings each a piece of its update, again in any
/// order; with sparse pulls it reads and brings those that it needs (`needs`). A piece is applied when it comes and makes the next version of its shard, so shards' clocks differ: what a worker works with
/// need not be what all shards had at any one time. A worker reads for its next step once all its pieces are there; with
/// a bound it waits while it is more than so many steps ahead of the slowest.
/// The events of one shard are a stream that `Ledger` takes; of one shard alone they are those of `Policy` (asynchronous,
/// bounded-wait) where workers read as soon as they are released.
/// Cost: O(1) per call, O(workers) where the slowest moves. Pure: no clock. Threads: one owner.
/// Held by: src/sync/shards_test.cpp (ledgers of all shards at every event; one shard is `Policy`)
class Shards {
 public:
  Shards(int workers, int shards, std::optional<int> staleness = {}, FirstRead first = FirstRead::Held);

  /// The worker's piece for the shard is there. `released` gets the workers that may begin to read, in rank order; it is cleared
  /// first. Pre: the worker has read all shards (asserted), and this one's piece was not there.
  void delivered(int worker, int shard, std::vector<int>& released);
  /// The worker's next step reads and brings these shards alone; those after it all again, unless it is said anew.
  /// Pre: it was released and has read none; there is one at least, none twice (asserted).
  void needs(int worker, std::span<const int> shards);
  /// The worker takes the newest version of the shard. Pre: it was released, needs it, and has not (asserted).
  void read(int worker, int shard);

  /// The shard's standby takes its newest version. Pre: somebody serves it (asserted), as for the calls above.
  void copied(int shard);
  /// The shard's server is gone. What workers hold of it stays with them. Pre: as above.
  void server_left(int shard);
  /// The standby serves the shard from now on, with the parameters of `version`. Pre: nobody does (asserted).
  void server_joined(int shard, std::int64_t version);

  /// What the last call, or the beginning, made happen, in order; until the next one.
  [[nodiscard]] std::span<const StreamEvent> events() const { return events_; }
  [[nodiscard]] int shards() const { return static_cast<int>(version_.size()); }
  [[nodiscard]] std::int64_t version(int shard) const { return version_[static_cast<std::size_t>(shard)]; }
  /// Steps of a worker of which all pieces are there.
  [[nodiscard]] std::int64_t clock(int worker) const {
    return workers_[static_cast<std::size_t>(worker)].steps;
  }

 private:
  static constexpr std::int64_t kNone = -1;
  static constexpr std::int64_t kNotNeeded = -2;
  struct Worker {
    std::vector<std::int64_t> read{};  ///< version of each shard; kNone = holds none, kNotNeeded = nor will
    int held = 0;                      ///< shards that it holds
    int needed = 0;                    ///< shards of its step
    bool reads = false;                ///< it is released, and has not read all of them
    std::int64_t steps = 0;
  };

  [[nodiscard]] bool may_go(const Worker& w) const {
    return !staleness_ || w.steps - slowest_ <= std::int64_t{*staleness_};
  }
  void release(int worker, std::vector<int>& released);
  void tell_of_server(StreamEvent::Kind kind, int shard, std::int64_t version);

  std::optional<int> staleness_;
  std::vector<Worker> workers_;
  std::vector<std::int64_t> version_;  ///< of each shard
  std::vector<char> serves_;           ///< somebody, each shard
  std::vector<int> waiting_;           ///< for the slowest
  std::int64_t slowest_ = 0;
  std::vector<StreamEvent> events_;
};

/// What a step reads.
enum class StepReads {
  All,   ///< every shard
  Some,  ///< those that it needs: sparse pulls
};

/// A ledger for each shard, and what holds between them: a worker brings pieces of what it has read of all shards (of those it needs), and
/// reads again when all of them are there. Of one shard: a ledger. Cost: O(1) per event. Threads: one owner. Held by: src/sync/shards_test.cpp
class ShardLedgers {
 public:
  ShardLedgers(int workers, int shards, StepReads reads = StepReads::All);
  /// False where the event cannot be; `error` then says why, and nothing more is taken.
  bool take(const StreamEvent& event);
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const Ledger& of(int shard) const { return ledgers_[static_cast<std::size_t>(shard)]; }
  [[nodiscard]] int shards() const { return static_cast<int>(ledgers_.size()); }
  /// Whether `event`, the last that was taken, brought the last piece of its worker's step.
  [[nodiscard]] bool ended_step(const StreamEvent& event) const;
  /// Updates that went with servers, over all shards.
  [[nodiscard]] std::int64_t lost() const;
  /// Whether ages are conserved on every shard.
  [[nodiscard]] bool conserved() const;

 private:
  bool whole(const StreamEvent& event);

  struct Pieces {
    int held = 0;
    bool delivers = false;  ///< some are there, others are not
  };
  StepReads reads_;
  std::vector<Ledger> ledgers_;
  std::vector<Pieces> workers_;
  std::string error_;
};

}  // namespace cox::sync
