// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/own_links.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/simulate/flow.hpp"

#include "simulate/flow/ways.hpp"

namespace cox::simulate {
namespace {

using model::MessageCost;
using model::RegularRound;
using model::Transfer;

constexpr int kMostLanes = 16;

bool same(const MessageCost& a, const MessageCost& b) {
  return a.latency == b.latency && a.per_byte == b.per_byte;
}

/// Bytes that each place gets in all rounds of a lane, where these are shifts of a buffer cut into as many
/// chunks as there are places; else nothing.
std::optional<std::vector<double>> ring_bytes(const model::Schedule& schedule, int lane) {
  const std::int64_t rounds = schedule.rounds(lane);
  const auto first = rounds > 0 ? schedule.regular(0, lane) : std::nullopt;
  if (!first || first->pattern != RegularRound::Pattern::Shift || first->chunks != first->size ||
      first->span != 1 || first->flip != 0 || first->copies != 1)
    return std::nullopt;
  Bytes whole = first->total;
  for (const RegularRound::Cut& c : first->outer) {
    if (c.size != 1) return std::nullopt;
    whole = model::chunk_bytes(whole, c.chunks, c.phase % c.chunks);
  }
  const std::int64_t chunks = first->chunks;
  const std::int64_t large = whole.count() % chunks;
  // A place sends chunk (place sign + phase) mod chunks: how often each phase comes, and of each window of
  // `large` phases, how many of them.
  std::vector<std::int64_t> below(2 * static_cast<std::size_t>(chunks) + 1, 0);
  for (std::int64_t k = 0; k < rounds; ++k) {
    const auto round = schedule.regular(k, lane);
    if (!round || round->chunks != chunks || round->size != first->size || round->stride != first->stride ||
        round->by != first->by || round->sign != first->sign || round->total != first->total ||
        round->outer != first->outer)
      return std::nullopt;
    const std::int64_t phase = ((round->phase % chunks) + chunks) % chunks;
    ++below[static_cast<std::size_t>(phase) + 1];
    ++below[static_cast<std::size_t>(phase + chunks) + 1];
  }
  for (std::size_t i = 1; i < below.size(); ++i) below[i] += below[i - 1];
  std::vector<double> bytes(static_cast<std::size_t>(schedule.ranks()));
  for (int from = 0; from < schedule.ranks(); ++from) {
    const std::int64_t chunk = std::int64_t{first->place_of(from)} * first->sign;
    const auto begin = static_cast<std::size_t>(((-chunk % chunks) + chunks) % chunks);
    const std::int64_t longer = below[begin + static_cast<std::size_t>(large)] - below[begin];
    bytes[static_cast<std::size_t>(first->to(from))] =
        static_cast<double>(rounds * (whole / chunks).count() + longer);
  }
  return bytes;
}

}  // namespace

bool has_fixed_routes(const model::Fabric& fabric) {
  return (fabric.routing == model::Routing::Static || fabric.routing == model::Routing::Ecmp) &&
         (fabric.routing == model::Routing::Static || fabric.flows_per_connection == 1) &&
         fabric.switching == model::Switching::CutThrough && fabric.background_load == 0 &&
         !fabric.timeouts.of_ports();
}

OwnLinks::OwnLinks(const Network& network, const model::Fabric& fabric, std::uint64_t seed, bool delays)
    : network_(network), fabric_(fabric), seed_(seed), delays_(delays), links_(network.links().size()) {
  COX_ASSERT(has_fixed_routes(fabric), "routes that are not fixed");
}

int OwnLinks::add_team(std::vector<int> devices, int groups) {
  Team team;
  team.groups = groups;
  team.places = static_cast<int>(devices.size()) / groups;
  team.first = places_;
  team.devices = std::move(devices);
  team.into.resize(static_cast<std::size_t>(team.places));
  team.across_into.resize(static_cast<std::size_t>(team.places));
  places_ += static_cast<std::uint32_t>(team.devices.size());
  goes_on_.resize(std::size_t{places_} * kMostLanes);
  teams_.push_back(std::move(team));
  return static_cast<int>(teams_.size()) - 1;
}

std::uint32_t OwnLinks::id(const Team& team, int group, int place, int lane) const {
  return (team.first + static_cast<std::uint32_t>(group * team.places + place)) * kMostLanes +
         static_cast<std::uint32_t>(lane);
}

bool OwnLinks::add(int team, const model::Schedule& schedule) {
  Team& of = teams_[static_cast<std::size_t>(team)];
  COX_ASSERT(schedule.ranks() == of.places, "a device for every rank of the schedule");
  if (schedule.lanes() > kMostLanes || schedule.participants() != schedule.ranks()) return false;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    if (schedule.rounds(lane) == 0) continue;
    if (!schedule.order(lane).is_plain()) return false;  // channels: striped_ring.hpp
    if (!(schedule.regular(0, lane) ? add_regular(of, schedule, lane) : add_list(of, schedule, lane)))
      return false;
  }
  return true;
}

bool OwnLinks::add_regular(Team& team, const model::Schedule& schedule, int lane) {
  std::set<std::tuple<RegularRound::Pattern, int, int, int, bool>> seen;
  for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
    const auto round = schedule.regular(k, lane);
    COX_ASSERT(round.has_value(), "all rounds of a lane are regular, or none is");
    const bool pairs = !delays_ && round->pattern == RegularRound::Pattern::Xor && round->uniform();
    if (round->size == 1 ||
        !seen.emplace(round->pattern, round->size, round->stride, round->by, pairs).second)
      continue;
    schedule.transfers(k, messages_, lane);
    for (const Transfer& m : messages_)
      if (!pairs || !both_ways_alike(team, m)) goes_on(team, m.from, lane);
    for (const Transfer& m : messages_)
      if (!claim(team, m, lane)) return false;
  }
  return true;
}

// In lists a place waits for its own message unless it gets one, too (the rule of `model::Schedule`); two who exchange as much over
// ways that cost the same are done together.
bool OwnLinks::add_list(Team& team, const model::Schedule& schedule, int lane) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(team.places), -1);  // last round in which it did
  std::vector<std::int64_t> received = sent;
  to_.assign(static_cast<std::size_t>(team.places), nullptr);
  for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
    schedule.transfers(k, messages_, lane);
    for (const Transfer& m : messages_) {
      std::int64_t& last_sent = sent[static_cast<std::size_t>(m.from)];
      std::int64_t& last_received = received[static_cast<std::size_t>(m.to)];
      if (last_sent == k || last_received == k) return false;
      last_sent = last_received = k;
    }
    for (const Transfer& m : messages_) to_[static_cast<std::size_t>(m.from)] = &m;
    for (const Transfer& m : messages_) {
      if (received[static_cast<std::size_t>(m.from)] != k) continue;
      const bool answered = sent[static_cast<std::size_t>(m.to)] == k;
      const Transfer* back = answered ? to_[static_cast<std::size_t>(m.to)] : nullptr;
      const bool exchange = !delays_ && back != nullptr && back->to == m.from && back->bytes == m.bytes;
      if (!exchange || !both_ways_alike(team, m)) goes_on(team, m.from, lane);
    }
    for (const Transfer& m : messages_)
      if (!claim(team, m, lane)) return false;
  }
  return true;
}

void OwnLinks::goes_on(const Team& team, int place, int lane) {
  for (int g = 0; g < team.groups; ++g) goes_on_[id(team, g, place, lane)] = true;
}

bool OwnLinks::both_ways_alike(const Team& team, const Transfer& m) {
  for (int g = 0; g < team.groups; ++g)
    if (!same(cost(team, g, m.from, m.to), cost(team, g, m.to, m.from))) return false;
  return true;
}

/// Leaves the way in `way_`.
MessageCost OwnLinks::cost(const Team& team, int group, int from, int to) {
  const auto device = [&](int place) {
    return team.devices[static_cast<std::size_t>(group) * static_cast<std::size_t>(team.places) +
                        static_cast<std::size_t>(place)];
  };
  fixed_route(network_, fabric_, seed_, device(from), device(to), way_);
  MessageCost all;
  double rate = std::numeric_limits<double>::infinity();
  for (const LinkIndex l : way_) {
    all.latency += network_.links()[l].latency;
    rate = std::min(rate, network_.links()[l].bandwidth.in_bytes_per_s());
  }
  all.per_byte = TimePerByte::seconds_per_byte(1 / rate);
  return all;
}

bool OwnLinks::claim(Team& team, const Transfer& m, int lane) {
  if (m.from == m.to) return true;
  for (int g = 0; g < team.groups; ++g) {
    note_cost(team, m, cost(team, g, m.from, m.to));
    const std::uint32_t sender = id(team, g, m.from, lane);
    const std::uint32_t receiver = id(team, g, m.to, lane);
    for (const LinkIndex l : way_) {
      if (network_.links()[l].bandwidth.in_bytes_per_s() == std::numeric_limits<double>::infinity()) continue;
      Link& link = links_[l];
      if (link.sender != sender) link.sender = link.sender == kNobody ? sender : kSeveral;
      if (link.receiver != receiver) link.receiver = link.receiver == kNobody ? receiver : kSeveral;
      if (!holds(link)) return false;
    }
  }
  return true;
}

bool OwnLinks::holds(const Link& link) const {
  return link.receiver != kSeveral || (link.sender != kSeveral && !goes_on_[link.sender]);
}

void OwnLinks::note_cost(Team& team, const Transfer& m, const MessageCost& cost) {
  std::optional<MessageCost>& into = team.into[static_cast<std::size_t>(m.to)];
  if (!into) into = cost;
  team.by_receiver = team.by_receiver && same(*into, cost);
  const int per_node = network_.ranks_per_node();
  const auto agrees = [&cost](std::optional<MessageCost>& of) {
    if (!of) of = cost;
    return same(*of, cost);
  };
  if (m.from / per_node == m.to / per_node) {
    if (!agrees(team.inside)) team.by_node = team.by_node_across = false;
    return;
  }
  if (!agrees(team.across)) team.by_node = false;
  if (!agrees(team.across_into[static_cast<std::size_t>(m.to)])) team.by_node_across = false;
}

std::optional<LinkCosts> OwnLinks::costs(int team) const {
  // Somebody may have turned out later to go on before its message has arrived.
  if (!std::ranges::all_of(links_, [&](const Link& l) { return l.receiver == kNobody || holds(l); }))
    return std::nullopt;
  const Team& of = teams_[static_cast<std::size_t>(team)];
  const MessageCost inside = of.inside.value_or(of.across.value_or(MessageCost{}));
  const MessageCost across = of.across.value_or(inside);
  LinkCosts costs{.inside = inside, .across = across, .ranks_per_node = 1, .into = {}, .own_ways = true};
  if (of.by_node && same(inside, across)) return costs;
  if (of.by_node) {
    costs.ranks_per_node = network_.ranks_per_node();
    return costs;
  }
  if (of.by_receiver) {
    for (const auto& into : of.into) costs.into.push_back(into.value_or(across));
    return costs;
  }
  if (!of.by_node_across) return std::nullopt;
  costs.ranks_per_node = network_.ranks_per_node();
  for (const auto& into : of.across_into) costs.across_into.push_back(into.value_or(across));
  return costs;
}

void OwnLinks::carry(int team, const model::Schedule& schedule, double times, std::span<double> link_bytes) {
  const Team& of = teams_[static_cast<std::size_t>(team)];
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    if (const auto bytes = ring_bytes(schedule, lane)) {
      schedule.transfers(0, messages_, lane);
      for (const Transfer& m : messages_)
        load(of, m, times * (*bytes)[static_cast<std::size_t>(m.to)], link_bytes);
      continue;
    }
    for (std::int64_t k = 0; k < schedule.rounds(lane); ++k) {
      schedule.transfers(k, messages_, lane);
      for (const Transfer& m : messages_)
        load(of, m, times * static_cast<double>(m.bytes.count()), link_bytes);
    }
  }
}

void OwnLinks::load(const Team& team, const Transfer& m, double bytes, std::span<double> link_bytes) {
  if (m.from == m.to) return;
  for (int g = 0; g < team.groups; ++g) {
    static_cast<void>(cost(team, g, m.from, m.to));
    for (const LinkIndex l : way_) link_bytes[l] += bytes;
  }
}

}  // namespace cox::simulate
