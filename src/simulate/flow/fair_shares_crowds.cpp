// SPDX-License-Identifier: Apache-2.0
// Many flows on one link, followed together, and the links on their way that sleep meanwhile.
#include <algorithm>

#include "cox/base/assert.hpp"

#include "simulate/flow/fair_shares.hpp"

namespace cox::simulate {
namespace {

// A link that rounding fills by so much more is no bottleneck beside the crowd that fills it. What sleeps may be a
// little fuller than what goes to sleep, or the order of a sum could make it do both for ever.
constexpr double kFull = 1 + 1e-13;
constexpr double kFuller = 1 + 3e-13;

}  // namespace

void FairShares::swap_members(LinkState& link, std::size_t a, std::size_t b) {
  if (a == b) return;
  LinkMembers& members = link.members;
  std::swap(members[a], members[b]);
  for (const std::size_t place : {a, b}) {
    Flow& flow = flows_[members[place].slot];
    const std::uint32_t hop = members[place].hop;
    hops_[flow.first + hop].place = static_cast<std::uint32_t>(place);
    if (hop < 2) flow.at[hop] = &members[place];
  }
}

/// The flow's links have it now.
void FairShares::cross_beside_crowds(FlowSlot slot, std::span<const Hop> hops) {
  Flow& flow = flows_[slot];
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    const Hop& hop = hops[i];
    LinkState& link = links_[hop.link];
    const std::size_t place = link.members.size();
    hops_[flow.first + i] = {hop.link, static_cast<std::uint32_t>(place), hop.stage, kNoLink, hop.part};
    if (link.members.push_back({slot, i, hop.part, 0, hop.link})) find_again(link);
    if (link.members.followed > 0) swap_members(link, place, place - link.members.followed);
  }
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    const FlowHop hop = hops_[flow.first + i];
    const LinkMembers& members = links_[hop.link].members;
    if (flags_[hop.link].asleep) {
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
  tell_limits(flow);
}

/// The link has many flows now: each is looked at when `settle` ends.
void FairShares::gather(LinkIndex link) {
  crowds_[link] = std::make_unique<Crowd>();
  ++crowds_alive_;
  for (const LinkMember& m : links_[link].members) touch(m.slot);
}

/// Few are left.
void FairShares::disband(LinkIndex link) {
  LinkState& state = links_[link];
  wake_above(link, -kInfinite);
  while (state.members.followed > 0) let_go(state.members.back().slot);
  crowds_[link].reset();
  --crowds_alive_;
}

/// From now on, if nothing but one crowd holds the flow. Those with other parts than 1 are left: sums would drift.
void FairShares::follow(FlowSlot slot) {
  Flow& flow = flows_[slot];
  if (flow.followed || flow.shared != 1) return;
  const FlowHop& hop = hops_[flow.first];
  if (!is_crowd(hop.link) || hop.part != 1 || links_[hop.link].level == kInfinite ||
      flow.own < links_[hop.link].level)
    return;
  flow.followed = true;
  LinkState& link = links_[hop.link];
  swap_members(link, hop.place, link.members.loose() - 1);
  ++link.members.followed;
  Crowd& crowd = *crowds_[hop.link];
  crowd.floor = link.members.followed == 1 ? flow.own : std::min(crowd.floor, flow.own);
}

void FairShares::let_followed_go(FlowSlot slot) {
  Flow& flow = flows_[slot];
  flow.followed = false;
  const FlowHop& hop = hops_[flow.first];
  LinkState& link = links_[hop.link];
  swap_members(link, hop.place, link.members.loose());
  --link.members.followed;
  touch(slot);
  mark(hop.link);
}

/// Those whose own links allow less than the level; whether there were any.
bool FairShares::let_slow_ones_go(LinkIndex index, double level) {
  Crowd& crowd = *crowds_[index];
  if (level <= crowd.floor) return false;
  LinkState& link = links_[index];
  crowd.floor = kInfinite;
  bool any = false;
  for (std::size_t i = link.members.loose(); i < link.members.size(); ++i) {
    const FlowSlot slot = link.members[i].slot;  // another one takes a place before i
    const double own = flows_[slot].own;
    if (own < level) {
      let_go(slot);
      any = true;
    } else {
      crowd.floor = std::min(crowd.floor, own);
    }
  }
  return any;
}

/// Of the crowds that hold the flow the one that holds it most, another link than `but`; or kNoLink.
LinkIndex FairShares::crowd_of(const Flow& flow, LinkIndex but) const {
  LinkIndex lowest = kNoLink;
  for (std::uint32_t i = 0; i < flow.shared; ++i) {
    const LinkIndex link = hops_[flow.first + i].link;
    if (link == but || !is_crowd(link) || links_[link].level == kInfinite) continue;
    if (lowest == kNoLink || links_[link].level < links_[lowest].level) lowest = link;
  }
  return lowest;
}

bool FairShares::can_sleep(LinkIndex index) const {
  const LinkState& link = links_[index];
  if (link.members.followed > 0 || restless_ || (is_crowd(index) && !crowds_[index]->watched.empty()))
    return false;
  double load = 0;
  const double most = capacity_for(index) * kFull;
  for (const LinkMember& m : link.members) {
    const LinkIndex crowd = crowd_of(flows_[m.slot], index);
    if (crowd == kNoLink) return false;
    load += m.part * links_[crowd].level;
    if (load > most) return false;
  }
  return true;
}

/// After `can_sleep`.
void FairShares::sleep(LinkIndex index) {
  LinkState& link = links_[index];
  links_[index].level = kInfinite;
  flags_[index].asleep = true;
  if (is_crowd(index)) --crowds_alive_;
  crowds_[index].reset();
  for (const LinkMember& m : link.members) {
    Flow& flow = flows_[m.slot];
    guard(index, hops_[flow.first + m.hop], crowd_of(flow, index));
    swap_hops(flow, m.hop, --flow.shared);
    tell_limits(flow);
    touch(m.slot);
  }
  if (!watch(index)) wake(index);
}

void FairShares::wake(LinkIndex index) {
  LinkState& link = links_[index];
  stop_watching(index);
  guards_[index].clear();
  flags_[index].asleep = false;
  for (const LinkMember& m : link.members) {
    let_go(m.slot);
    Flow& flow = flows_[m.slot];
    hops_[flow.first + m.hop].guard = kNoLink;
    swap_hops(flow, m.hop, flow.shared++);
    tell_limits(flow);
  }
  mark(index);
}

/// What the crowd's level, now `level`, may fill: all that sleep behind it if it is no longer one (-infinity).
void FairShares::wake_above(LinkIndex crowd, double level) {
  const auto& watched = crowds_[crowd]->watched;
  while (!watched.empty() && (watched.begin()->first < level || level == -kInfinite)) {
    const LinkIndex link = watched.begin()->second;
    // Flows may have left since it was last looked at.
    if (level != -kInfinite && level < kInfinite && watch(link)) continue;
    wake(link);
  }
}

/// Flows that have come to sleeping links, when the levels of their crowds are known.
void FairShares::take_in_fresh() {
  std::ranges::sort(fresh_);
  for (std::size_t i = 0; i < fresh_.size(); ++i) {
    const auto [link, slot] = fresh_[i];
    if (!flags_[link].asleep) continue;
    const Flow& flow = flows_[slot];
    for (std::uint32_t h = flow.shared; flow.on && flags_[link].asleep && h < flow.count; ++h) {
      FlowHop& hop = hops_[flow.first + h];
      if (hop.link != link || hop.guard != kNoLink) continue;
      const LinkIndex crowd = crowd_of(flow, link);
      crowd == kNoLink ? wake(link) : guard(link, hop, crowd);
      break;
    }
    if (i + 1 < fresh_.size() && fresh_[i + 1].first == link) continue;
    ++evaluated_;
    if (flags_[link].asleep && !watch(link)) wake(link);
  }
  fresh_.clear();
}

/// Up to which levels of its crowds the link is not full: the present ones, all raised alike. False: it is full.
bool FairShares::watch(LinkIndex index) {
  stop_watching(index);
  double load = 0;
  for (const Guard& g : guards_[index]) load += g.parts * links_[g.crowd].level;
  const double room = capacity_for(index) * kFuller / load;
  if (!(room >= 1)) return false;
  for (Guard& g : guards_[index]) {
    g.level = links_[g.crowd].level * room;
    crowds_[g.crowd]->watched.emplace(g.level, index);
  }
  return true;
}

void FairShares::stop_watching(LinkIndex index) {
  for (const Guard& g : guards_[index]) crowds_[g.crowd]->watched.erase({g.level, index});
}

void FairShares::guard(LinkIndex link, FlowHop& hop, LinkIndex crowd) {
  std::vector<Guard>& guards = guards_[link];
  auto known = std::ranges::find(guards, crowd, &Guard::crowd);
  if (known == guards.end()) known = guards.insert(known, {.crowd = crowd});
  hop.guard = crowd;
  ++known->flows;
  known->parts += hop.part;
}

/// The flow goes. What the others may fill does not become more.
void FairShares::unguard(LinkIndex link, FlowHop& hop) {
  if (hop.guard == kNoLink) return;
  std::vector<Guard>& guards = guards_[link];
  const auto known = std::ranges::find(guards, hop.guard, &Guard::crowd);
  COX_ASSERT(known != guards.end(), "every flow of a sleeping link is held by a crowd");
  hop.guard = kNoLink;
  known->parts -= hop.part;
  if (--known->flows > 0) return;
  crowds_[known->crowd]->watched.erase({known->level, link});
  guards.erase(known);
}

}  // namespace cox::simulate
