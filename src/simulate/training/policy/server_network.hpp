// SPDX-License-Identifier: Apache-2.0
/// \file
/// What workers send to the servers that hold the parameters, and read from them, on the network, and what they send within
/// themselves beside it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"

#include "simulate/flow/engine.hpp"
#include "simulate/flow/neighbours.hpp"
#include "simulate/training/plan/plan.hpp"
#include "simulate/training/policy/server_messages.hpp"
#include "simulate/training/step/shared_network.hpp"

namespace cox::simulate::training {

/// A worker has sent its gradients, or read the parameters.
struct ServerTransfer {
  int worker = 0;
  bool pushed = false;  ///< else it has read
  Seconds at{};
};

/// A worker has left something that it sends within itself.
struct WorkerLeft {
  int worker = 0;
  SharedNetwork::Left left;  ///< on the clock of its step
};

/// Gradients to the servers and parameters back. Each server holds an equal shard and sits on a device beside a rank,
/// spread evenly over all; each stage and tensor rank of a worker sends its own part to all of them at once. What is
/// under way at the same time shares cards, links and switches; so does what workers send within themselves, where they have
/// their part of the network (`of_worker`).
/// Order: as FlowEngine, nobody sends before the last end that was handed out.
/// Held by: src/simulate/training/policy/policy_test.cpp (hand-solved cases)
class ServerNetwork {
 public:
  /// `plan` has servers on a network; it and what disturbs messages outlive it.
  ServerNetwork(const Plan& plan, const MessageTrouble& trouble, std::uint64_t seed);
  ServerNetwork(const ServerNetwork&) = delete;
  ServerNetwork& operator=(const ServerNetwork&) = delete;

  /// Worker `w` sends its gradients of `step`, or reads the parameters for it.
  void send(int worker, bool push, Seconds at, std::int64_t step);
  /// For the steps of worker `w`, whose first replica is `first`: does not outlive this.
  [[nodiscard]] std::unique_ptr<SharedNetwork> of_worker(int worker, int first);
  /// As FlowEngine::next.
  using End = std::variant<ServerTransfer, WorkerLeft>;
  [[nodiscard]] std::optional<End> next(Seconds until);
  [[nodiscard]] FlowOutcome take_outcome() { return engine_.take_outcome(); }
  /// What the scenario's neighbours did so far. They never end: whoever drives it stops when the job is over.
  [[nodiscard]] std::vector<NeighbourOutcome> neighbours() const;

 private:
  /// Of a course: a neighbour's, what goes to servers and comes back, or a worker's.
  struct Owner {
    static constexpr int kNeighbour = -2, kServers = -1;
    int worker = kNeighbour;
    std::int32_t transfer = 0;
  };
  void own(FlowCourseId course, Owner owner);
  struct Transfer {
    int worker = 0;
    bool push = false;
    int left = 0;  ///< messages that have not arrived
  };
  const Plan& plan_;
  ServerMessages what_;
  FlowEngine engine_;
  std::vector<int> servers_;                          ///< devices
  std::map<std::int64_t, model::Schedule> messages_;  ///< by size
  std::vector<Owner> owner_of_;                       ///< by course
  std::vector<SharedNetwork*> of_workers_;
  std::vector<Transfer> transfers_;
  std::optional<NeighbourJobs> neighbours_;
};

}  // namespace cox::simulate::training
