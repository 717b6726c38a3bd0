// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/fair_shares.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Levels closer than this are one level: far above rounding, far below what a result shows.
constexpr double kSame = 1e-14;

bool same(double a, double b, double tolerance) {
  return a == b || (b < kInfinite && std::abs(a - b) <= tolerance * b);
}

}  // namespace

FairShares::FairShares(const std::vector<double>& capacity, Options options) : options_(std::move(options)) {
  links_.resize(capacity.size());
  for (std::size_t l = 0; l < capacity.size(); ++l) links_[l].capacity = capacity[l];
  if (options_.crowd == 0 || options_.pause) return;
  crowds_.resize(capacity.size());
  guards_.resize(capacity.size());
}

void FairShares::mark(LinkIndex link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  queue_.push_back(link);
}

void FairShares::touch(FlowSlot slot) {
  Flow& flow = flows_[slot];
  if (flow.touched) return;
  flow.touched = true;
  touched_.push_back(slot);
}

void FairShares::set_capacity(LinkIndex link, double bytes_per_s) {
  links_[link].capacity = bytes_per_s;
  if (links_[link].asleep) wake(link);
  const LinkMembers& members = links_[link].members;
  if (members.size() == 1) {
    // Out of the flow's bound and into it again.
    share_hop(members.front().slot, members.front().hop);
    own_hop(members.front().slot, members.front().hop);
  } else if (!members.empty()) {
    mark(link);
  }
}

double FairShares::flows_on(LinkIndex link) const {
  double flows = 0;
  for (const LinkMember& m : links_[link].members) flows += m.part;
  return flows;
}

void FairShares::swap_hops(Flow& flow, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  FlowHop* hops = hops_.data() + flow.first;
  std::swap(hops[a], hops[b]);
  links_[hops[a].link].members[hops[a].place].hop = a;
  links_[hops[b].link].members[hops[b].place].hop = b;
}

// A second flow has come to the link.
void FairShares::share_hop(FlowSlot slot, std::uint32_t hop) {
  let_go(slot);
  Flow& flow = flows_[slot];
  swap_hops(flow, hop, flow.shared++);
  flow.own = kInfinite;
  for (std::uint32_t i = flow.shared; i < flow.count; ++i) {
    const FlowHop& h = hops_[flow.first + i];
    if (links_[h.link].asleep) continue;
    flow.own = std::min(flow.own, links_[h.link].capacity / h.part);
  }
}

// The flow is alone on the link again: its other links see another bound.
void FairShares::own_hop(FlowSlot slot, std::uint32_t hop) {
  let_go(slot);
  Flow& flow = flows_[slot];
  const LinkIndex link = hops_[flow.first + hop].link;
  if (links_[link].asleep) wake(link);
  swap_hops(flow, links_[link].members.front().hop, --flow.shared);
  const FlowHop& h = hops_[flow.first + flow.shared];
  flow.own = std::min(flow.own, links_[h.link].capacity / h.part);
  touch(slot);
  for (std::uint32_t i = 0; i < flow.shared; ++i) mark(hops_[flow.first + i].link);
}

void FairShares::start(FlowSlot slot, std::span<const Hop> hops) {
  if (slot >= flows_.size()) flows_.resize(slot + 1);
  COX_ASSERT(!flows_[slot].on, "a flow started twice");
  if (flows_[slot].room < hops.size()) {
    flows_[slot].first = static_cast<std::uint32_t>(hops_.size());
    flows_[slot].room = static_cast<std::uint32_t>(hops.size());
    hops_.resize(hops_.size() + hops.size());
  }
  Flow& flow = flows_[slot];
  flow.on = true;
  flow.count = static_cast<std::uint32_t>(hops.size());
  flow.shared = 0;
  flow.rate = 0;
  flow.own = kInfinite;
  flow.told = kNoLink;
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    const Hop& hop = hops[i];
    LinkState& link = links_[hop.link];
    const std::size_t place = link.members.size();
    hops_[flow.first + i] = {hop.link, static_cast<std::uint32_t>(place), hop.stage, kNoLink, hop.part};
    link.members.push_back({slot, i, hop.part});
    if (link.followed > 0) swap_members(link, place, place - link.followed);
  }
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    const FlowHop hop = hops_[flow.first + i];
    const LinkMembers& members = links_[hop.link].members;
    if (links_[hop.link].asleep) {
      fresh_.emplace_back(hop.link, slot);
      continue;
    }
    if (members.size() == 1) {
      flow.own = std::min(flow.own, links_[hop.link].capacity / hop.part);
      continue;
    }
    if (members.size() == 2) {
      const LinkMember other = members[1 - hop.place];
      links_[hop.link].level = kInfinite;
      share_hop(other.slot, other.hop);
    }
    swap_hops(flow, i, flow.shared++);
    mark(hop.link);
  }
  touch(slot);
}

void FairShares::stop(FlowSlot slot) {
  Flow& flow = flows_[slot];
  COX_ASSERT(flow.on, "a flow stopped that is not under way");
  let_go(slot);
  flow.on = false;
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    FlowHop& hop = hops_[flow.first + i];
    LinkState& link = links_[hop.link];
    LinkMembers& members = link.members;
    if (link.asleep) unguard(hop.link, hop);
    if (link.followed > 0) swap_members(link, hop.place, link.loose() - 1);
    members[hop.place] = members.back();
    hops_[flows_[members[hop.place].slot].first + members[hop.place].hop].place = hop.place;
    members.pop_back();
    if (members.size() == 1) own_hop(members.front().slot, members.front().hop);
    if (members.size() > 1 && !link.asleep) mark(hop.link);
  }
  for (std::uint32_t i = 0; i < flow.count && crowds_alive_ > 0; ++i) {
    const LinkIndex link = hops_[flow.first + i].link;
    if (is_crowd(link) && links_[link].members.size() < options_.crowd / 2) disband(link);
  }
}

double FairShares::fill(const LinkState& link, double capacity) {
  // u_f of every member; those below the level are taken out until none is.
  std::size_t open = 0;
  const double followed = link.followed;  // each has a part of 1, and nothing below the level
  double parts = followed;
  for (const LinkMember& m : link.members.first(link.loose())) {
    const Flow& flow = flows_[m.slot];
    const FlowHop* hops = hops_.data() + flow.first;
    double limit = flow.own;
    for (std::uint32_t i = 0; i < flow.shared; ++i)
      if (i != m.hop) limit = std::min(limit, links_[hops[i].link].level);
    limits_[open] = limit;
    parts_[open++] = m.part;
    parts += m.part;
  }
  double left = capacity;
  double level = left / parts;
  while (true) {
    std::size_t kept = 0;
    double kept_parts = followed;
    for (std::size_t i = 0; i < open; ++i) {
      if (limits_[i] < level) {
        left -= parts_[i] * limits_[i];
      } else {
        limits_[kept] = limits_[i];
        kept_parts += parts_[kept] = parts_[i];
        ++kept;
      }
    }
    if (kept == 0 && link.followed == 0) return kInfinite;
    if (kept == open) return level;
    open = kept;
    level = left / kept_parts;
  }
}

// The lowest level behind this link on any of its flows' ways.
double FairShares::held_up(const LinkState& link) const {
  double lowest = kInfinite;
  for (const LinkMember& m : link.members) {
    const Flow& flow = flows_[m.slot];
    const FlowHop* hops = hops_.data() + flow.first;
    for (std::uint32_t i = 0; i < flow.count; ++i) {
      if (hops[i].stage <= hops[m.hop].stage) continue;
      const double level =
          i < flow.shared ? links_[hops[i].link].level : links_[hops[i].link].capacity / hops[i].part;
      lowest = std::min(lowest, level);
    }
  }
  return lowest;
}

double FairShares::capacity_for(LinkIndex link) const {
  const IncastLoss& incast = options_.incast;
  const std::size_t n = links_[link].members.size();
  if (incast.fan_in <= 0 || !options_.receiving[link] || n <= static_cast<std::size_t>(incast.fan_in))
    return links_[link].capacity;
  return links_[link].capacity *
         std::max(incast.floor_ratio, static_cast<double>(incast.fan_in) / static_cast<double>(n));
}

void FairShares::evaluate(LinkIndex index) {
  LinkState& link = links_[index];
  const std::size_t n = link.members.size();
  if (n < 2 || link.asleep) return;
  ++evaluated_;
  if (!crowds_.empty() && n >= options_.crowd && !is_crowd(index)) gather(index);
  if (limits_.size() < n) {
    limits_.resize(2 * n);
    parts_.resize(2 * n);
  }
  double level = fill(link, capacity_for(index));
  while (link.followed > 0 && let_slow_ones_go(index, level)) level = fill(link, capacity_for(index));
  const bool sleeps = crowds_alive_ > 0 && can_sleep(index);
  if (sleeps) level = kInfinite;
  if (options_.pause) level = std::min(level, held_up(link));
  const double before = links_[index].level;
  if (!same(level, before, tolerance_)) {
    links_[index].level = level;
    spread(index, before, level);
  }
  if (sleeps) sleep(index);
}

// Marks the links that see the change: those whose level is not below both values. A link that is not full
// stays so when what comes in becomes less.
void FairShares::spread(LinkIndex index, double before, double after) {
  const double lower = std::min(before, after);
  const LinkState& link = links_[index];
  for (const LinkMember& m : link.members.first(link.loose())) {
    touch(m.slot);
    const Flow& flow = flows_[m.slot];
    if (flow.own <= lower) continue;
    const FlowHop* hops = hops_.data() + flow.first;
    for (std::uint32_t i = 0; i < flow.shared; ++i) {
      if (i == m.hop) continue;
      const double level = links_[hops[i].link].level;
      if (options_.pause ? lower <= level : lower < level && (after > before || level < kInfinite))
        mark(hops[i].link);
    }
  }
  if (!is_crowd(index)) return;
  if (!std::exchange(crowds_[index]->moved, true)) moved_.push_back(index);
  wake_above(index, after);
}

// With pause frames two links could hold each other down for ever; from above they cannot.
void FairShares::restart_levels() {
  for (LinkIndex l = 0; l < links_.size(); ++l) {
    links_[l].level = kInfinite;
    if (!links_[l].members.empty()) mark(l);
  }
  for (FlowSlot s = 0; s < flows_.size(); ++s)
    if (flows_[s].on) touch(s);
}

std::span<const FlowSlot> FairShares::settle() {
  if (options_.pause && !queue_.empty()) restart_levels();
  // Rounding could make two levels chase each other; what counts as equal then grows until they stop. No case
  // is known that reaches the first growth.
  tolerance_ = kSame;
  restless_ = false;
  for (const LinkIndex link : moved_)
    if (is_crowd(link)) crowds_[link]->moved = false;
  moved_.clear();
  std::size_t patience = 64 * (links_.size() + 16);
  std::size_t head = 0;
  do {
    for (; head < queue_.size(); ++head) {
      if (head == patience) {
        tolerance_ *= 16;
        restless_ = true;
        patience += links_.size() + 16;
      }
      const LinkIndex link = queue_[head];
      links_[link].dirty = false;
      evaluate(link);
    }
    if (!fresh_.empty()) take_in_fresh();  // may wake links
  } while (head < queue_.size());
  queue_.clear();
  changed_.clear();
  for (const FlowSlot slot : touched_) {
    Flow& flow = flows_[slot];
    flow.touched = false;
    if (!flow.on) continue;
    double rate = flow.own;
    for (std::uint32_t i = 0; i < flow.shared; ++i)
      rate = std::min(rate, links_[hops_[flow.first + i].link].level);
    if (crowds_alive_ > 0) follow(slot);
    const LinkIndex at = followed_at(slot);
    if (at == flow.told && (at != kNoLink || rate == flow.rate)) continue;
    flow.told = at;
    flow.rate = rate;
    changed_.push_back(slot);
  }
  touched_.clear();
  return changed_;
}

}  // namespace cox::simulate
