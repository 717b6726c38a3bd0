// SPDX-License-Identifier: Apache-2.0
// Which way a message takes, and eager: when the port that it leaves by is free.
#include "simulate/flow/ways.hpp"

#include <algorithm>
#include <limits>

#include "cox/base/assert.hpp"
#include "cox/base/hash.hpp"

#include "simulate/flow/engine.hpp"

namespace cox::simulate {
namespace {

constexpr int kMostLookedAt = 64;  // paths that adaptive routing compares
constexpr double kUnitLatency = 1e-6;

// Over what names a flow. The first of a connection is the connection.
std::uint64_t hash(std::uint64_t seed, int from, int to, int number) {
  const std::uint64_t flow =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) | static_cast<std::uint32_t>(to);
  const std::uint64_t first = mix_bits(seed + kGoldenStep * (1 + flow));
  return number == 0 ? first : mix_bits(first + kGoldenStep * static_cast<std::uint64_t>(number));
}

int hashed(std::uint64_t seed, int from, int to, int paths, int number = 0) {
  return static_cast<int>(hash(seed, from, to, number) % static_cast<std::uint64_t>(paths));
}

}  // namespace

void fixed_route(const Network& network, const model::Fabric& fabric, std::uint64_t seed, int from, int to,
                 std::vector<LinkIndex>& out) {
  const bool ecmp = fabric.routing == model::Routing::Ecmp;
  COX_ASSERT(ecmp || fabric.routing == model::Routing::Static, "routes that are not fixed");
  const int choice = ecmp ? hashed(seed, from, to, network.paths(from, to)) : network.static_choice(from, to);
  network.route(from, to, choice, out);
}

/// The place whose device says where a participant is. A switch above leaves is where the first of all ranks is, a leaf
/// where the first of its own is (the order of `model::Schedule`: leaves, then what is above them).
int stands_with(const model::Schedule& schedule, int participant) {
  if (!schedule.is_switch(participant)) return participant;
  const bool above = participant + 1 == schedule.participants();
  return above ? 0 : (participant - schedule.ranks()) * schedule.spec().group;
}

void FlowEngine::find_way(MessageState& m) {
  const FlowCourse& course = course_of(m);
  const model::Schedule& schedule = *course.what.schedule;
  const int from = course.device(m.lane, stands_with(schedule, m.from));
  const int to = course.device(m.lane, stands_with(schedule, m.to));
  const int ranks = schedule.ranks();
  m.crosses = m.from >= ranks || m.to >= ranks || network_.node_of(from) != network_.node_of(to);
  if (schedule.is_switch(m.from) || schedule.is_switch(m.to)) return use_switch(schedule, m, from, to);
  if (fabric_.routing == model::Routing::Spray) return spray(m, from, to, network_.paths(from, to), false);
  if (fabric_.routing == model::Routing::Ecmp && fabric_.flows_per_connection > 1)
    return spray(m, from, to, fabric_.flows_per_connection, true);
  const int choice = choose(from, to);
  use_path(m, choice, from, to);
}

int FlowEngine::choose(int from, int to) {
  using enum model::Routing;
  if (fabric_.routing == Static) return network_.static_choice(from, to);
  const int paths = network_.paths(from, to);
  if (paths == 1) return 0;
  const int first = hashed(options_.seed, from, to, paths);
  if (fabric_.routing == Ecmp) return first;
  // Adaptive: the path whose fullest link has most left for one more; the first of equals, counted from the
  // hash, so that equal flows do not all begin at path 0.
  int best = first;
  double best_offer = -1;
  for (int i = 0; i < std::min(paths, kMostLookedAt); ++i) {
    const int choice = (first + i) % paths;
    network_.route(from, to, choice, way_);
    double offer = std::numeric_limits<double>::infinity();
    for (const LinkIndex link : way_)
      offer = std::min(offer, network_.links()[link].bandwidth.in_bytes_per_s() / (assigned_[link] + 1));
    // A longer way (a dragonfly's detour) must be better by what it costs the others.
    offer /= static_cast<double>(way_.size());
    if (offer > best_offer) {
      best = choice;
      best_offer = offer;
    }
  }
  return best;
}

// A switch that adds up stands where the fabric meets the node of a rank of its own, or is the one between the devices of a
// single node: no port of its own. In a tree the one above leaves is where the ways between these turn.
void FlowEngine::use_switch(const model::Schedule& schedule, MessageState& m, int from, int to) {
  std::vector<LinkIndex> between;
  if (schedule.is_switch(m.from) && schedule.is_switch(m.to) && fabric_.kind == model::FabricKind::FatTree) {
    between = way_to_top(m, from, to);
  } else {
    network_.route(from, to, network_.static_choice(from, to), between);
    std::erase_if(between, [&](LinkIndex l) { return !network_.between_switches(l); });
  }
  way_.clear();
  if (!schedule.is_switch(m.from)) network_.leave_node(from, way_);
  way_.insert(way_.end(), between.begin(), between.end());
  if (!schedule.is_switch(m.to)) network_.enter_node(to, way_);
  use_links(m, 0);
}

/// From a leaf up to the switch above all, or from there down to it: half of the way to the leaf that is furthest, by the first path for
/// everybody, so that all meet in one switch. Nothing where all stand at one leaf. Cost: O(leaves).
std::vector<LinkIndex> FlowEngine::way_to_top(const MessageState& m, int from, int to) const {
  const FlowCourse& course = course_of(m);
  const model::Schedule& schedule = *course.what.schedule;
  const bool up = m.to + 1 == schedule.participants();
  std::vector<LinkIndex> longest, way;
  for (int leaf = schedule.ranks(); leaf + 1 < schedule.participants(); ++leaf) {
    const int other = course.device(m.lane, stands_with(schedule, leaf));
    up ? network_.route(from, other, 0, way) : network_.route(other, to, 0, way);
    std::erase_if(way, [&](LinkIndex l) { return !network_.between_switches(l); });
    if (way.size() > longest.size()) longest.swap(way);
  }
  const auto turn = longest.begin() + static_cast<std::ptrdiff_t>(longest.size() / 2);
  up ? longest.erase(turn, longest.end()) : longest.erase(longest.begin(), turn);
  return longest;
}

void FlowEngine::use_path(MessageState& m, int choice, int from, int to) {
  network_.route(from, to, choice, way_);
  use_links(m, choice);
}

void FlowEngine::use_links(MessageState& m, int choice) {
  m.choice = choice;
  m.all_links.clear();
  for (std::uint32_t i = 0; i < way_.size(); ++i)
    m.all_links.push_back({.link = way_[i], .stage = i, .part = 1});
  finish_way(m);
}

// In equal parts over all paths, or over those that as many hashes pick: each link carries the parts that cross it.
void FlowEngine::spray(MessageState& m, int from, int to, int paths, bool by_hash) {
  m.choice = 0;
  m.all_links.clear();
  const int all = network_.paths(from, to);
  for (int p = 0; p < paths; ++p) {
    network_.route(from, to, by_hash ? hashed(options_.seed, from, to, all, p) : p, way_);
    for (std::uint32_t i = 0; i < way_.size(); ++i)
      m.all_links.push_back({.link = way_[i], .stage = i, .part = 1.0 / paths});
  }
  std::sort(m.all_links.begin(), m.all_links.end(), [](const Hop& a, const Hop& b) {
    return a.link != b.link ? a.link < b.link : a.stage < b.stage;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < m.all_links.size();) {
    Hop hop = m.all_links[i];
    std::size_t same = i;
    while (same < m.all_links.size() && m.all_links[same].link == hop.link) ++same;
    hop.part = static_cast<double>(same - i) / paths;
    m.all_links[kept++] = hop;
    i = same;
  }
  m.all_links.resize(kept);
  std::stable_sort(m.all_links.begin(), m.all_links.end(),
                   [](const Hop& a, const Hop& b) { return a.stage < b.stage; });
  finish_way(m);
}

// Latency and slowest link of `all_links`; those with a limit are what is shared.
void FlowEngine::finish_way(MessageState& m) {
  m.latency = 0;
  m.idle_rate = std::numeric_limits<double>::infinity();
  m.hops.clear();
  const std::uint32_t stages = m.all_links.empty() ? 0 : m.all_links.back().stage + 1;
  for (std::uint32_t s = 0; s < stages; ++s) m.latency += stage_latency(m, s);
  for (const Hop& hop : m.all_links) {
    const double rate = network_.links()[hop.link].bandwidth.in_bytes_per_s();
    m.idle_rate = std::min(m.idle_rate, rate / hop.part);
    if (rate < std::numeric_limits<double>::infinity()) m.hops.push_back(hop);
  }
  // A weighted flow takes weight x level, so its parts of a level are as much larger.
  const bool weighted = options_.sharing == Sharing::ByRoundTrip && m.latency > 0;
  m.weight = weighted ? kUnitLatency / m.latency : 1;
  for (Hop& hop : m.hops) hop.part *= m.weight;
}

// A flow that does not take all that links give passes a link of its own first.
void FlowEngine::limit_way(MessageState& m, std::size_t limit) {
  const double rate = options_.limits[limit].in_bytes_per_s();
  m.idle_rate = std::min(m.idle_rate, rate);
  m.hops.insert(
      m.hops.begin(),
      {.link = static_cast<LinkIndex>(network_.links().size() + limit), .stage = 0, .part = m.weight});
}

double FlowEngine::stage_latency(const MessageState& m, std::uint32_t stage) const {
  double latency = 0;
  for (const Hop& hop : m.all_links)
    if (hop.stage == stage) latency = std::max(latency, network_.links()[hop.link].latency.count());
  return latency;
}

// A switch has a port for each of its links.
FlowPort& FlowEngine::port_of(const MessageState& m) {
  FlowPorts& ports = *courses_[m.course]->ports;
  return m.chain < ports.of_senders.size() ? ports.of_senders[static_cast<std::size_t>(m.chain)]
                                           : ports.of_switches[m.chain];
}

// First come first served.
void FlowEngine::take_port(Slot slot) {
  MessageState& m = slots_[slot];
  FlowPort& port = port_of(m);
  if (port.busy) {
    m.phase = FlowPhase::Queued;
    (port.waiting++ == 0 ? port.first : slots_[port.last].behind) = slot;
    port.last = slot;
    return;
  }
  port.busy = true;
  m.phase = FlowPhase::Latency;
  heap_.set(slot, now_);
}

/// Its bytes have left, or were lost at once.
void FlowEngine::free_port(const MessageState& m) {
  FlowPort& port = port_of(m);
  port.busy = port.waiting > 0;
  if (!port.busy) return;
  const Slot next = port.first;
  --port.waiting;
  port.first = slots_[next].behind;
  slots_[next].phase = FlowPhase::Latency;
  heap_.set(next, now_);
}

/// What is sent in vain takes no time of the port, which is free until the timer is over.
void FlowEngine::lose(Slot slot, double wait) {
  slots_[slot].phase = FlowPhase::Lost;
  heap_.set(slot, now_ + wait);
}

/// Where the rank could begin one collective after the other, ahead of its port. Two: one leaves, and the next is there. What takes
/// its port no time, or far less than it is under way, is bounded, too: each takes memory.
bool FlowEngine::waits_for_port(const FlowCourse& course, int lane, int place) {
  constexpr std::uint32_t kAhead = 2;
  // Servers are in all collectives at once.
  if (!eager_ || course.what.ports == nullptr || place >= course.what.schedule->ranks()) return false;
  const FlowPort& port = course.ports->of_senders[static_cast<std::size_t>(course.key(lane, 0, place))];
  if (port.to_leave > kAhead) return true;
  const bool bounded = port.to_arrive > FlowPorts::kMostUnderWay;
  outcome_.bounded = outcome_.bounded || bounded;
  return bounded;
}

/// Its sender perhaps leaves: less of what it sent is still to leave or to arrive.
void FlowEngine::let_go(const MessageState& m) {
  const FlowCourse& course = course_of(m);
  const auto held = course.ports->held.find(m.chain);
  if (held == course.ports->held.end() || waits_for_port(course, m.lane, m.from)) return;
  const FlowCourseId id = held->second;
  course.ports->held.erase(held);
  end_lane(id, m.from);
}

}  // namespace cox::simulate
