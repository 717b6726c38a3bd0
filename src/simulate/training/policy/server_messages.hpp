// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages between workers and servers: who sends which, and what disturbs each.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/timeouts.hpp"

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

/// What one worker sends to its servers (or reads from them) in a step: `stage` of each sender to each server. Numbers for
/// the draws are beyond those of all collectives and messages inside workers, and the same for both ways of pricing them.
class ServerMessages {
 public:
  explicit ServerMessages(const Plan& plan);
  /// Ranks of a stage of one replica that send: of a context group, which has the same gradients, only one unless each has
  /// a shard.
  [[nodiscard]] int senders() const { return senders_; }
  /// Of a worker's stage.
  [[nodiscard]] int ranks() const { return senders_ * plan_.job().replicas_per_worker(); }
  /// `r` of these.
  [[nodiscard]] int rank(int worker, int stage, int r) const {
    return plan_.rank_of(worker * plan_.job().replicas_per_worker() + r / senders_, stage, r % senders_);
  }
  [[nodiscard]] int servers() const { return servers_; }
  /// For each server, of a stage's gradients (packed, where they are pushed) or parameters that a rank has.
  [[nodiscard]] Bytes part(int stage, bool push) const;
  /// Of the first rank to the first server; the next server is two further, the next rank as many as there are servers.
  [[nodiscard]] std::int64_t number(int worker, int stage, bool push) const;

 private:
  const Plan& plan_;
  int senders_;
  int servers_;
};

/// What disturbs messages, each by a draw of its own. Both outlive whoever asks; null: nothing of the kind. A BackupMeeting needs
/// both.
struct MessageTrouble {
  const Noise* noise = nullptr;
  const TimeoutDraws* timeouts = nullptr;
  [[nodiscard]] bool any() const {
    return (noise != nullptr && (noise->disturbs_messages() || noise->disturbs_bandwidth())) ||
           (timeouts != nullptr && timeouts->happen());
  }
  /// How much later than undisturbed a message of `bytes` between nodes leaves, at the soonest so that it has no latency.
  /// The draws are those of the flow engine, by the device that receives. Cost: O(1).
  [[nodiscard]] Seconds delay(const Plan& plan, std::int64_t step, std::int64_t number, int from, int to,
                              Bytes bytes) const;
};

}  // namespace cox::simulate::training
