// SPDX-License-Identifier: Apache-2.0
/// \file
/// What happened to parameters, in order: the one language of policies in virtual time, of real processes, and of what
/// learns from either.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cox::sync {

/// In place of a worker: the server that holds the shard, or its standby.
inline constexpr int kServer = -1;

/// One update that was taken, or not.
struct Update {
  int worker = 0;
  std::int64_t version_read = 0;
  std::int64_t version_applied = 0;  ///< the version that it was added to, or would have been
  bool applied = true;
  int steps = 1;  ///< local steps that it holds
  int shard = 0;  ///< of the parameters, where they have versions of their own (`Shards`): which it is about
  int with = -1;  ///< Averaged: the other
  [[nodiscard]] std::int64_t age() const { return version_applied - version_read; }
};

/// What happened. At the beginning every worker has read version 0.
struct StreamEvent {
  enum class Kind : std::uint8_t {
    Read,       ///< `update.worker` took version `update.version_read`; of kServer: the standby did
    Delivered,  ///< `update`
    Advanced,  ///< version `update.version_applied` exists: what was delivered and applied since the last one is in it
    Left,  ///< `update.worker` is gone; what it works at is lost. Of kServer: nobody serves the shard
    /// `update.worker` is there; a Read follows. Of kServer: the standby serves, with the parameters of `update.version_read`. The number
    /// of the version stays, so that none is given twice: what was applied since then is lost
    Joined,
    /// `update.worker` gives up what it had read, and begins nothing until it reads again: it was interrupted, or is not
    /// needed now. `update.steps`: those that it had begun, perhaps none
    Abandoned,
    /// `update.worker` and `update.with` take the mean of the parameters that each has for itself (gossip in pairs). What they are at was
    /// read before, and stays in flight
    Averaged,
  };
  Kind kind = Kind::Delivered;
  Update update{};
};

/// Checks a stream while it goes by, in memory of O(workers): versions rise by one, an update was computed at what its
/// worker read, and ages are conserved. Source: every applied update adds 1 to the age of each other read in flight, so
///   sum of ages of all that were delivered or abandoned + ages in flight + ages that left = sum over versions of the reads
///   that were in flight beside those that made it.
/// Workers that are always busy in a job of N without meetings: (N - 1) x versions.
/// Cost: O(1) per event. Threads: one owner. Held by: src/sync/stream_test.cpp
class Ledger {
 public:
  explicit Ledger(int workers);
  /// False where the event cannot be; `error` then says why, and nothing more is taken.
  bool take(const StreamEvent& event);
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::int64_t version() const { return version_; }
  [[nodiscard]] std::int64_t applied() const { return applied_; }
  [[nodiscard]] std::int64_t discarded() const { return discarded_; }
  /// Reads that were given up.
  [[nodiscard]] std::int64_t abandoned() const { return abandoned_; }
  /// Versions that went with a server whose standby did not have them.
  [[nodiscard]] std::int64_t lost() const { return lost_; }
  /// Of applied updates.
  [[nodiscard]] std::int64_t largest_age() const { return largest_age_; }
  [[nodiscard]] double mean_age() const {
    return applied_ > 0 ? static_cast<double>(applied_ages_) / static_cast<double>(applied_) : 0;
  }
  /// Both sides of the conservation law.
  [[nodiscard]] std::int64_t ages() const { return delivered_ages_ + ages_in_flight(); }
  [[nodiscard]] std::int64_t aged() const { return aged_; }

 private:
  bool wrong(std::string why);
  bool delivered(const Update& u);
  bool averaged(const Update& u);
  bool take_server(const StreamEvent& event);
  bool holds(const Update& u, const char* does);
  void put_down(int worker);
  [[nodiscard]] std::int64_t ages_in_flight() const { return in_flight_ * version_ - reads_in_flight_; }

  std::vector<std::int64_t> read_;  ///< of each worker; -1 = holds none
  std::vector<char> here_;
  std::int64_t version_ = 0;
  std::int64_t in_flight_ = 0;        ///< workers with a read
  std::int64_t reads_in_flight_ = 0;  ///< sum of their versions
  std::int64_t since_ = 0;            ///< updates applied since the last version
  std::int64_t applied_ = 0, discarded_ = 0, abandoned_ = 0, applied_ages_ = 0, delivered_ages_ = 0,
               aged_ = 0;
  std::int64_t largest_age_ = 0;
  bool serves_ = true;                    ///< somebody, the parameters
  std::array<std::int64_t, 2> copied_{};  ///< the last versions that the standby took; before, the first one
  std::int64_t lost_ = 0;
  std::string error_;
};

}  // namespace cox::sync
