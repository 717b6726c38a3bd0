// SPDX-License-Identifier: Apache-2.0
/// \file
/// The collective among the workers that were in time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"

#include "simulate/collective/port_loads.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/policy/server_messages.hpp"

namespace cox::simulate::training {

/// Sums of gradients among the workers that were in time: of each stage, among all of their replicas, or among the copies
/// of each shard.
/// Held by: src/simulate/training/policy/policy_test.cpp, src/simulate/training/policy/trouble_test.cpp
class BackupMeeting {
 public:
  /// `plan` and `workers` outlive it.
  BackupMeeting(const Plan& plan, std::span<const int> workers);

  [[nodiscard]] ReplicaGroup of() const { return hybrid_ ? ReplicaGroup::Copies : ReplicaGroup::All; }
  /// Ranks of one of its collectives.
  [[nodiscard]] int members() const { return static_cast<int>(workers_.size()) * each_; }
  /// What is sent of a stage.
  [[nodiscard]] model::Compressed sum(int stage) const;

  struct Left {
    std::vector<Seconds> at;  ///< per worker
    std::int64_t messages = 0;
    std::int64_t evaluated = 0;
    bool memo = false;
    std::vector<double> link_bytes{};
  };
  /// When each worker has the sum of `stage`'s gradients, by the messages of the job's algorithm, played alone. Errors: those
  /// of the schedule.
  [[nodiscard]] Result<Left> play(int stage, std::span<const Seconds> arrivals, const MessageTrouble& trouble,
                                  std::int64_t version) const;
  /// When each worker has the sums of all stages, which share the plan's network with each other and nothing else.
  [[nodiscard]] Result<Left> play_on_links(std::span<const Seconds> arrivals, const MessageTrouble& trouble,
                                           std::int64_t version, std::uint64_t seed) const;
  /// What a meeting's messages, in the order of `play`, put on the cards of those who are in time. Errors: those of the schedule.
  [[nodiscard]] Status add_loads(PortLoads& loads) const;

 private:
  [[nodiscard]] std::int64_t number(int stage) const;
  /// Of copy `beside` of the collective, in the order of its places.
  [[nodiscard]] std::vector<int> ranks(int stage, int beside) const;

  const Plan& plan_;
  std::span<const int> workers_;
  bool hybrid_;
  int each_;    ///< ranks of a worker in one collective
  int beside_;  ///< collectives beside each other
};

}  // namespace cox::simulate::training
