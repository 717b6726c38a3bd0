// SPDX-License-Identifier: Apache-2.0
/// \file
/// What messages put on network cards where no network is played: counted from schedules, not from a course.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/collective/shared_cards.hpp"

namespace cox::simulate {

/// Bytes that go out of and into each card; in a job of one node, each device. Servers have cards of their own, as max-plus gives
/// them, and the same ones for all collectives of a group of devices; switches have none.
/// Formula: bytes over (rate x time), the rate of a card, or that of a message where this is the higher one.
/// Cost: O(ranks x rounds of different peers) a schedule, of lists O(messages); memory O(cards), and with servers O(devices of all groups).
/// Held by: src/simulate/collective/port_loads_test.cpp (equal to the loads of links by flow)
class PortLoads {
 public:
  /// Keeps a reference to the scenario.
  explicit PortLoads(const model::Scenario& scenario);

  /// `times` such collectives among `devices`, a device for each rank of the schedule. The chunks of regular rounds are counted
  /// as equally large: exact where they are, else within a byte a message.
  void add(const model::Schedule& schedule, std::span<const int> devices, double times);
  /// The same beside each other, the devices of one set behind those of another.
  void add_sets(const model::Schedule& schedule, std::span<const int> devices, double times);
  /// What is added from here on is played beside it, message by message: it has a budget of its own.
  void renew() {
    if (left_ >= 0) left_ = kMostPlayed;
  }
  /// A message from device to device.
  void send(int from, int to, double bytes);
  /// Of `total`; nothing where nobody sent anything, no rate is known, or there was too much to count (four million pairs since the last
  /// `renew`).
  [[nodiscard]] std::optional<PortLoad> busiest(Seconds total) const;

 private:
  /// All that goes from one place to another.
  struct Pair {
    int from = 0;
    int to = 0;
    double bytes = 0;
  };
  [[nodiscard]] std::vector<Pair> pairs_of(const model::Schedule& schedule);
  void add_regular(const model::Schedule& schedule, int lane, std::vector<Pair>& pairs);
  void add_list(const model::Schedule& schedule, int lane, std::vector<Pair>& pairs);
  void put(const std::vector<Pair>& pairs, const model::Schedule& schedule, std::span<const int> devices,
           double times);
  const std::vector<std::size_t>& servers_of(std::span<const int> devices, std::size_t count);
  [[nodiscard]] std::size_t port_of(int device) const;
  [[nodiscard]] std::string name_of(std::size_t port) const;
  [[nodiscard]] bool spend(std::int64_t pairs);

  const model::Scenario& scenario_;
  bool cards_ = false;   ///< else ports of devices
  std::size_t own_ = 0;  ///< of devices; behind them those of servers
  std::vector<double> out_, in_;
  std::map<std::vector<int>, std::vector<std::size_t>> servers_;  ///< ports, by the devices of a group
  std::int64_t left_;  ///< that may still be counted; below zero: it was too much
};

}  // namespace cox::simulate
