// SPDX-License-Identifier: Apache-2.0
/// \file
/// What workers send to the servers that hold the parameters, and read from them, on the network.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"

#include "simulate/flow/engine.hpp"
#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

/// Gradients to the servers and parameters back. Each server holds an equal shard and sits on a device beside a rank,
/// spread evenly over all; each stage and tensor rank of a worker sends its own part to all of them at once. What is
/// under way at the same time shares cards, links and switches.
/// Order: as FlowEngine, nobody sends before the last end that was handed out.
/// Held by: src/simulate/training/policy/policy_test.cpp (hand-solved cases)
class ServerNetwork {
 public:
  struct Done {
    int worker = 0;
    bool pushed = false;  ///< else it has read
    Seconds at{};
  };
  /// `plan` has servers on a network and outlives it.
  ServerNetwork(const Plan& plan, std::uint64_t seed);

  void push(int worker, Seconds at) { send(worker, true, at); }
  void pull(int worker, Seconds at) { send(worker, false, at); }
  /// As FlowEngine::next.
  [[nodiscard]] std::optional<Done> next(Seconds until);
  [[nodiscard]] FlowOutcome take_outcome() { return engine_.take_outcome(); }

 private:
  struct Transfer {
    int worker = 0;
    bool push = false;
    int left = 0;  ///< messages that have not arrived
  };
  void send(int worker, bool push, Seconds at);
  [[nodiscard]] Bytes part_of(int stage, bool push) const;
  const Plan& plan_;
  FlowEngine engine_;
  std::vector<int> servers_;                          ///< devices
  std::map<std::int64_t, model::Schedule> messages_;  ///< by size
  std::vector<std::size_t> transfer_of_;              ///< by course
  std::vector<Transfer> transfers_;
};

}  // namespace cox::simulate::training
