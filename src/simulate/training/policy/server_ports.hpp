// SPDX-License-Identifier: Apache-2.0
/// \file
/// The servers that hold the parameters, where no links are played: a port in and one out of each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/schedule.hpp"

#include "simulate/training/policy/server_messages.hpp"
#include "simulate/training/policy/server_network.hpp"

namespace cox::simulate::training {

/// As many equal shards as servers. Every replica's message is spread over all of them, so that all are equally loaded and one
/// queue per direction stands for them, unless messages are disturbed: then each server has its own.
///
/// Formula: a worker's message begins when the port is free, holds it for bytes / shards x beta (for each of its
///          replicas, or of its sets of shards), and arrives not before the worker's own port has passed all of its bytes, plus
///          alpha. Disturbed, it comes to a server's port later by the most that its ranks' messages to it are; where all are sooner, it
///          comes when it is sent, and is so much sooner behind the port. The worker goes on when the last server is done.
/// Held by: src/simulate/training/policy/policy_test.cpp, src/simulate/training/policy/trouble_test.cpp (by hand)
class ServerPorts {
 public:
  /// `plan` and what disturbs outlive it.
  ServerPorts(const Plan& plan, const MessageTrouble& trouble);

  /// Whether messages are disturbed: then `send` and `next`, else `push` and `pull`, which say at once when they arrive.
  [[nodiscard]] bool disturbed() const { return disturbed_; }
  Seconds push(Seconds at) { return pass(at, in_); }
  Seconds pull(Seconds at) { return pass(at, out_); }
  void send(int worker, bool push, Seconds at, std::int64_t step);
  /// What ends up to `until`, in the order of time; nobody sends before the last end that was handed out.
  [[nodiscard]] std::optional<ServerTransfer> next(Seconds until);

  /// Part of the time until `total` that the busier direction of their ports takes.
  [[nodiscard]] double busy(Seconds total) const {
    return total > Seconds{} ? std::max(in_.busy(), out_.busy()) / total : 0;
  }
  /// One message with parameters, of each replica from somewhere else, as worker `w` reads it in `step`.
  [[nodiscard]] Seconds alone(int w, std::int64_t step) const;

 private:
  /// Gradients come in by one direction of the servers' ports, parameters leave by the other.
  struct Port {
    Seconds service{};  ///< of a worker's message
    Seconds own{};      ///< what it takes of the worker's own port
    Seconds free{};
    std::int64_t passed = 0;
    std::vector<Seconds> free_of{};  ///< disturbed: of each server
    [[nodiscard]] Seconds busy() const { return static_cast<double>(passed) * service; }
  };
  struct Open {
    int left = 0;  ///< servers
    Seconds end{};
  };
  enum class What : std::uint8_t { Ends, Comes };
  /// Worker, whether it pushes, server, what of the latency is saved (below zero).
  using Event = std::tuple<Seconds, What, int, bool, int, Seconds>;
  Seconds pass(Seconds at, Port& port) const {
    ++port.passed;
    port.free = std::max(at, port.free) + port.service;
    return std::max(port.free, at + port.own) + latency_;
  }
  [[nodiscard]] Seconds latest(int worker, bool push, int server, std::int64_t step) const;

  const Plan& plan_;
  ServerMessages messages_;
  MessageTrouble trouble_;
  bool disturbed_;
  double copies_ = 1;  ///< of the gradients, of a worker
  Port in_;
  Port out_;
  Seconds latency_{};
  std::vector<int> devices_;  ///< of the servers
  std::vector<Open> open_;    ///< per worker: it sends or reads one thing at a time
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace cox::simulate::training
