// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/port_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

using model::RegularRound;

/// What rounds with the same peers and as large chunks have in common.
RegularRound kind_of(RegularRound round) {
  round.phase = 0;
  round.sign = 1;
  round.flip = 0;
  round.combine = {};
  for (RegularRound::Cut& cut : round.outer) cut.phase = 0;
  return round;
}

}  // namespace

PortLoads::PortLoads(const model::Scenario& scenario)
    : scenario_(scenario), cards_(scenario.cluster.nodes > 1), left_(kMostPlayed) {
  const model::Cluster& c = scenario.cluster;
  own_ = static_cast<std::size_t>(cards_ ? std::int64_t{c.nodes} * std::max(1, c.nics_per_node) : c.ranks());
  out_.resize(own_);
  in_.resize(own_);
}

bool PortLoads::spend(std::int64_t pairs) {
  left_ = left_ < pairs ? -1 : left_ - pairs;
  return left_ >= 0;
}

std::size_t PortLoads::port_of(int device) const {
  return static_cast<std::size_t>(cards_ ? card_of(scenario_.cluster, device) : device);
}

void PortLoads::send(int from, int to, double bytes) {
  const int per_node = std::max(1, scenario_.cluster.devices_per_node);
  if (from == to || (cards_ && from / per_node == to / per_node)) return;
  out_[port_of(from)] += bytes;
  in_[port_of(to)] += bytes;
}

void PortLoads::add_regular(const model::Schedule& schedule, int lane, std::vector<Pair>& pairs) {
  std::map<RegularRound, std::pair<std::int64_t, double>> kinds;  // the first of them, and how many there are
  auto last = kinds.end();
  for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
    const auto round = schedule.regular(k, lane);
    COX_ASSERT(round.has_value(), "all rounds of a lane are regular, or none is");
    const RegularRound kind = kind_of(*round);
    if (last == kinds.end() || last->first != kind) last = kinds.try_emplace(kind, k, 0).first;
    ++last->second.second;
  }
  std::vector<model::Transfer> messages;
  for (const auto& [kind, rounds] : kinds) {
    if (!spend(schedule.ranks())) return;
    schedule.transfers(rounds.first, messages, lane);
    double all = 0;
    for (const model::Transfer& m : messages) all += static_cast<double>(m.bytes.count());
    const double each = all / static_cast<double>(messages.size()) * rounds.second;
    for (const model::Transfer& m : messages) pairs.push_back({m.from, m.to, each});
  }
}

void PortLoads::add_list(const model::Schedule& schedule, int lane, std::vector<Pair>& pairs) {
  std::map<std::pair<int, int>, double> found;
  std::vector<model::Transfer> messages;
  for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
    schedule.transfers(k, messages, lane);
    if (!spend(static_cast<std::int64_t>(messages.size()))) return;
    for (const model::Transfer& m : messages) found[{m.from, m.to}] += static_cast<double>(m.bytes.count());
  }
  for (const auto& [ends, bytes] : found) pairs.push_back({ends.first, ends.second, bytes});
}

std::vector<PortLoads::Pair> PortLoads::pairs_of(const model::Schedule& schedule) {
  std::vector<Pair> pairs;
  for (int lane = 0; lane < schedule.lanes() && left_ >= 0; ++lane) {
    if (schedule.rounds(lane) == 0) continue;
    if (schedule.regular(0, lane))
      add_regular(schedule, lane, pairs);
    else
      add_list(schedule, lane, pairs);
  }
  return pairs;
}

void PortLoads::put(const std::vector<Pair>& pairs, const model::Schedule& schedule,
                    std::span<const int> devices, double times) {
  if (!spend(static_cast<std::int64_t>(pairs.size()))) return;
  const auto behind = static_cast<std::size_t>(schedule.participants() - schedule.ranks());
  const std::vector<std::size_t>* servers = behind > 0 ? &servers_of(devices, behind) : nullptr;
  for (const auto& [from, to, bytes] : pairs) {
    if (std::max(from, to) < schedule.ranks()) {
      send(devices[static_cast<std::size_t>(from)], devices[static_cast<std::size_t>(to)], bytes * times);
      continue;
    }
    const auto add_to = [&, all = bytes * times](int place, std::vector<double>& loads) {
      if (schedule.is_switch(place)) return;
      const auto at = static_cast<std::size_t>(place);
      loads[place < schedule.ranks() ? port_of(devices[at])
                                     : (*servers)[at - static_cast<std::size_t>(schedule.ranks())]] += all;
    };
    add_to(from, out_);
    add_to(to, in_);
  }
}

/// Ports of at least so many servers of a group, the same for all that it does.
const std::vector<std::size_t>& PortLoads::servers_of(std::span<const int> devices, std::size_t count) {
  std::vector<std::size_t>& ports = servers_[{devices.begin(), devices.end()}];
  while (ports.size() < count) {
    ports.push_back(out_.size());
    out_.push_back(0);
    in_.push_back(0);
  }
  return ports;
}

void PortLoads::add(const model::Schedule& schedule, std::span<const int> devices, double times) {
  put(pairs_of(schedule), schedule, devices.first(static_cast<std::size_t>(schedule.ranks())), times);
}

void PortLoads::add_sets(const model::Schedule& schedule, std::span<const int> devices, double times) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks());
  COX_ASSERT(devices.size() % ranks == 0, "whole sets");
  const std::vector<Pair> pairs = pairs_of(schedule);
  for (std::size_t at = 0; at < devices.size() && left_ >= 0; at += ranks)
    put(pairs, schedule, devices.subspan(at, ranks), times);
}

std::string PortLoads::name_of(std::size_t port) const {
  const auto at = static_cast<int>(port);
  if (port >= own_) return fmt::format("server {}", port - own_);
  if (!cards_) return fmt::format("n0.d{}", at);
  const int cards = std::max(1, scenario_.cluster.nics_per_node);
  return cards == 1 ? fmt::format("n{}", at) : fmt::format("n{}.nic{}", at / cards, at % cards);
}

std::optional<PortLoad> PortLoads::busiest(Seconds total) const {
  const Bandwidth card = cards_ ? scenario_.cluster.nic.bandwidth : scenario_.cluster.scale_up.bandwidth;
  const double per_byte = (cards_ ? scenario_.across : scenario_.inside).per_byte.in_seconds_per_byte();
  const double rate = std::max(card.in_bytes_per_s(), per_byte > 0 ? 1 / per_byte : 0);
  const auto out = std::ranges::max_element(out_), in = std::ranges::max_element(in_);
  if (left_ < 0 || !(rate > 0) || total <= Seconds{} || out == out_.end()) return std::nullopt;
  const bool goes_out = *out >= *in;
  const double most = goes_out ? *out : *in;
  if (!(most > 0)) return std::nullopt;
  const auto is_alike = [&](double one) { return one >= most * (1 - 1e-9); };
  return PortLoad{.name = name_of(static_cast<std::size_t>(goes_out ? out - out_.begin() : in - in_.begin())),
                  .is_card = cards_,
                  .goes_out = goes_out,
                  .bytes = Bytes{std::llround(most)},
                  .utilisation_ratio = most / (rate * total.count()),
                  .alike = std::ranges::count_if(out_, is_alike) + std::ranges::count_if(in_, is_alike)};
}

}  // namespace cox::simulate
