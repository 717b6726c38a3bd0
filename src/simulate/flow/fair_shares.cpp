// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/fair_shares.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

// Levels closer than this are one level: far above rounding, far below what a result shows.
constexpr double kSame = 1e-14;

// Of a link's capacity: nearer to it a sum may be full but for rounding.
constexpr double kNearlyFull = 1e-9;

// In one branch.
bool same(double a, double b, double tolerance) {
  return (a == b) | ((b < std::numeric_limits<double>::infinity()) & (std::abs(a - b) <= tolerance * b));
}

/// What a link with nobody else on it gives a flow of which `part` crosses it.
double all_of(double capacity, double part) {
  return part == 1 ? capacity : capacity / part;
}

}  // namespace

FairShares::FairShares(const std::vector<double>& capacity, Options options) : options_(std::move(options)) {
  links_.resize(capacity.size() + 1);
  const auto nowhere = static_cast<LinkIndex>(capacity.size());
  for (std::uint32_t i = 0; i < 2; ++i) links_.back().members.push_back({0, i, 1, 0, nowhere});
  flags_.resize(links_.size());
  queue_.resize(std::bit_ceil(links_.size() + 1));
  queue_mask_ = queue_.size() - 1;
  touched_.resize(1);
  changed_.resize(1);
  for (std::size_t l = 0; l < capacity.size(); ++l) links_[l].capacity = capacity[l];
  if (options_.pause || options_.incast.fan_in > 0) plain_below_ = 0;
  knows_slack_ = plain_below_ > 0 && options_.crowd == 0;
  if (knows_slack_) slack_.resize(links_.size());
  if (options_.crowd == 0 || options_.pause) return;
  plain_below_ = std::min(plain_below_, options_.crowd);
  crowds_.resize(capacity.size());
  guards_.resize(capacity.size());
}

/// The link's flows lie elsewhere.
void FairShares::find_again(LinkState& link) {
  for (LinkMember& m : link.members)
    if (m.hop < 2) flows_[m.slot].at[m.hop] = &m;
}

/// `tell_limits`, of three or more.
void FairShares::tell_many_limits(const Flow& flow) {
  const FlowHop* hops = hops_.data() + flow.first;
  double lowest = flow.own;
  double next = flow.own;  // the lowest but one
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < flow.shared; ++i) {
    const double level = links_[hops[i].link].level;
    if (level < lowest) {
      next = std::exchange(lowest, level);
      at = i;
    } else {
      next = std::min(next, level);
    }
  }
  for (std::uint32_t i = 0; i < flow.shared; ++i) member_at(hops[i]).limit = i == at ? next : lowest;
}

void FairShares::set_capacity(LinkIndex link, double bytes_per_s) {
  links_[link].capacity = bytes_per_s;
  if (flags_[link].asleep) wake(link);
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

// Number by number: what has just been written so is not yet to be read in larger pieces.
void FairShares::swap_hops(Flow& flow, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  FlowHop& one = hops_[flow.first + a];
  FlowHop& other = hops_[flow.first + b];
  std::swap(one.link, other.link);
  std::swap(one.place, other.place);
  std::swap(one.stage, other.stage);
  std::swap(one.guard, other.guard);
  std::swap(one.part, other.part);
  member_at(one).hop = a;
  member_at(other).hop = b;
}

// A second flow has come to the link.
void FairShares::share_hop(FlowSlot slot, std::uint32_t hop) {
  let_go(slot);
  Flow& flow = flows_[slot];
  swap_hops(flow, hop, flow.shared++);
  flow.own = kInfinite;
  for (std::uint32_t i = flow.shared; i < flow.count; ++i) {
    const FlowHop& h = hops_[flow.first + i];
    if (flags_[h.link].asleep) continue;
    flow.own = std::min(flow.own, all_of(links_[h.link].capacity, h.part));
  }
  tell_limits(flow);
}

// The flow is alone on the link again: its other links see another bound.
void FairShares::own_hop(FlowSlot slot, std::uint32_t hop) {
  let_go(slot);
  Flow& flow = flows_[slot];
  const LinkIndex link = hops_[flow.first + hop].link;
  if (flags_[link].asleep) wake(link);
  swap_hops(flow, links_[link].members.front().hop, --flow.shared);
  const FlowHop* hops = hops_.data() + flow.first;
  links_[link].level = kInfinite;
  flow.own = std::min(flow.own, all_of(links_[link].capacity, hops[flow.shared].part));
  tell_limits(flow);
  touch(slot, flow);
  mark(hops[0].link, flow.shared > 0);
  mark(hops[1].link, flow.shared > 1);
  for (std::uint32_t i = 2; i < flow.shared; ++i) mark(hops[i].link);
}

void FairShares::start(FlowSlot slot, std::span<const Hop> hops) {
  if (slot >= flows_.size()) {
    flows_.resize(slot + std::size_t{1});
    touched_.resize(flows_.size() + 1);
    changed_.resize(flows_.size() + 1);
  }
  Flow& flow = flows_[slot];
  COX_ASSERT(!flow.on, "a flow started twice");
  if (flow.room < std::max(hops.size(), std::size_t{2})) {
    flow.first = static_cast<std::uint32_t>(hops_.size());
    flow.room = static_cast<std::uint32_t>(std::max(hops.size(), std::size_t{2}));
    hops_.resize(hops_.size() + flow.room);
  }
  flow.on = true;
  flow.count = static_cast<std::uint32_t>(hops.size());
  const auto nowhere = static_cast<LinkIndex>(links_.size() - 1);
  for (std::uint32_t i = flow.count; i < 2; ++i) hops_[flow.first + i] = {nowhere, i, 0, kNoLink, 1};
  flow.shared = 0;
  flow.rate = 0;
  flow.own = kInfinite;
  flow.told = kNoLink;
  is_plain() ? cross(slot, hops) : cross_beside_crowds(slot, hops);
  touch(slot, flow);
}

/// The flow's links have it now; nothing is followed, nothing sleeps.
void FairShares::cross(FlowSlot slot, std::span<const Hop> hops) {
  Flow& flow = flows_[slot];
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    const Hop& hop = hops[i];
    LinkState& link = links_[hop.link];
    const std::size_t others = link.members.size();
    hops_[flow.first + i] = {hop.link, static_cast<std::uint32_t>(others), hop.stage, kNoLink, hop.part};
    if (link.members.push_back({slot, i, hop.part, 0, hop.link})) find_again(link);
    if (others == 0) {
      flow.own = std::min(flow.own, all_of(link.capacity, hop.part));
      continue;
    }
    if (others == 1) {
      const LinkMember& other = link.members.front();
      share_hop(other.slot, other.hop);
    }
    swap_hops(flow, i, flow.shared++);
    mark(hop.link, others == 1 || !knows_slack_);
  }
  tell_limits(flow);
  if (knows_slack_) take_slack(flow);
}

/// The flow has come to its links.
void FairShares::take_slack(const Flow& flow) {
  for (std::uint32_t i = 0; i < flow.shared; ++i) {
    const LinkIndex link = hops_[flow.first + i].link;
    const LinkMember& m = member_at(hops_[flow.first + i]);
    const double more = m.part * m.limit;
    mark(link, fills(link, links_[link].level, more));
    slack_[link] -= more;
  }
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
    if (flags_[hop.link].asleep) unguard(hop.link, hop);
    if (link.members.followed > 0) swap_members(link, hop.place, link.members.loose() - 1);
    if (members.size() == 1) {
      members.pop_back();
      continue;
    }
    LinkMember* const all = members.begin();
    const LinkMember& last = all[members.size() - 1];
    Flow& moved = flows_[last.slot];
    hops_[moved.first + last.hop].place = hop.place;
    if (last.hop < 2) moved.at[last.hop] = all + hop.place;
    all[hop.place] = last;
    if (members.pop_back()) find_again(link);
    if (members.size() == 1)
      own_hop(members.front().slot, members.front().hop);
    else
      mark(hop.link, !flags_[hop.link].asleep & fills(hop.link, link.level, 0));
  }
  for (std::uint32_t i = 0; i < flow.count && crowds_alive_ > 0; ++i) {
    const LinkIndex link = hops_[flow.first + i].link;
    if (is_crowd(link) && links_[link].members.size() < options_.crowd / 2) disband(link);
  }
}

/// The level of a link with two flows, none of them followed: as `fill`, without a branch on what comes in.
[[gnu::always_inline]] inline double FairShares::fill_two(const LinkMembers& members, double capacity,
                                                          double& left) {
  const LinkMember& a = members[0];
  const LinkMember& b = members[1];
  if (a.part == 1 && b.part == 1) {  // the same numbers without a division, which would be waited for
    const double both = capacity * 0.5;
    const double low = std::min(a.limit, b.limit);
    const double high = std::max(a.limit, b.limit);
    const double rest = capacity - low;
    const double other = (high < both) | (high < rest) ? kInfinite : rest;
    left = rest - high;
    return low >= both ? both : other;
  }
  const double both = capacity / (a.part + b.part);
  const bool first = a.limit < b.limit;
  const double low = first ? a.limit : b.limit;
  const double high = first ? b.limit : a.limit;
  const double rest = (capacity - (first ? a.part : b.part) * low) / (first ? b.part : a.part);
  const double other = (high < both) | (high < rest) ? kInfinite : rest;
  left = (rest - high) * (first ? b.part : a.part);
  return low >= both ? both : other;
}

double FairShares::fill(const LinkMembers& members, double capacity, double& left) {
  double parts = members.followed;  // each has a part of 1, and nothing below the level
  double lowest = kInfinite;
  for (const LinkMember& m : members.first(members.loose())) {
    parts += m.part;
    lowest = std::min(lowest, m.limit);
  }
  const double level = capacity / parts;
  return lowest >= level ? level : fill_upwards(members, capacity, level, left);
}

/// Those below the level are taken out until none is.
double FairShares::fill_upwards(const LinkMembers& members, double capacity, double level, double& left) {
  const double followed = members.followed;
  left = capacity;
  double parts = followed;
  std::size_t open = 0;
  if (limits_.size() < members.loose()) {
    limits_.resize(2 * members.loose());
    parts_.resize(limits_.size());
  }
  for (const LinkMember& m : members.first(members.loose())) {
    if (m.limit < level) {
      left -= m.part * m.limit;
    } else {
      limits_[open] = m.limit;
      parts += parts_[open++] = m.part;
    }
  }
  while (open > 0 || followed > 0) {
    level = left / parts;
    std::size_t kept = 0;
    parts = followed;
    for (std::size_t i = 0; i < open; ++i) {
      if (limits_[i] < level) {
        left -= parts_[i] * limits_[i];
      } else {
        limits_[kept] = limits_[i];
        parts += parts_[kept++] = parts_[i];
      }
    }
    if (kept == open) return level;
    open = kept;
  }
  return kInfinite;
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

/// The level where crowds, incast or pause matter; and whether the link goes to sleep then.
double FairShares::evaluate_with_crowds(LinkIndex index, bool& falls_asleep) {
  LinkState& link = links_[index];
  if (!crowds_.empty() && link.members.size() >= options_.crowd && !is_crowd(index)) gather(index);
  double left = 0;
  double level = fill(link.members, capacity_for(index), left);
  while (link.members.followed > 0 && let_slow_ones_go(index, level))
    level = fill(link.members, capacity_for(index), left);
  falls_asleep = crowds_alive_ > 0 && can_sleep(index);
  if (falls_asleep) level = kInfinite;
  if (options_.pause) level = std::min(level, held_up(link));
  return level;
}

// Tells the flows' other links, and marks those that see the change: those of flows that nothing else holds below both values.
// One that is not full stays so when what comes in becomes less, and while it has something left.
template <bool Slack>
[[gnu::always_inline]] inline void FairShares::spread(LinkIndex index, double before, double after) {
  const double lower = std::min(before, after);
  const bool more = after > before;
  const std::uint32_t simple = options_.pause ? 0 : 2;
  const LinkMembers& members = links_[index].members;
  for (const LinkMember& m : members.first(members.loose())) {
    Flow& flow = flows_[m.slot];
    touch(m.slot, flow);
    if (flow.shared > simple) {
      spread_further(flow, m, before, after);
      continue;
    }
    LinkMember& mate = *flow.at[m.hop ^ 1];  // if it is shared
    mate.limit = std::min(flow.own, after);
    const double level = links_[mate.link].level;
    if constexpr (Slack) {
      const bool seen = m.limit > lower;  // by the mate's level, and what the flow has for itself
      const double gain = seen & more ? mate.part * (mate.limit - before) : 0;
      const bool fuller = more & !(gain < slack_[mate.link]);
      mark(mate.link, seen & (fuller | (level < kInfinite)) & (flow.shared == 2));
      slack_[mate.link] -= gain;
    } else {
      mark(mate.link,
           (level > lower) & (more | (level < kInfinite)) & (flow.own > lower) & (flow.shared == 2));
    }
  }
  if (!is_crowd(index)) return;
  if (!std::exchange(crowds_[index]->moved, true)) moved_.push_back(index);
  wake_above(index, after);
}

// Together with `spread` the loop of `settle`, in one piece: a link is few instructions, and calls were a tenth of them.
template <bool Slack>
[[gnu::always_inline]] inline void FairShares::evaluate(LinkIndex index) {
  LinkState& link = links_[index];
  const std::size_t n = link.members.size();
  if (n < 2 || flags_[index].asleep) return;
  ++evaluated_;
  bool falls_asleep = false;
  double left = 0;
  const double level =
      n < plain_below_ && crowds_alive_ == 0
          ? (n == 2 ? fill_two(link.members, link.capacity, left) : fill(link.members, link.capacity, left))
          : evaluate_with_crowds(index, falls_asleep);
  if (Slack) slack_[index] = left - kNearlyFull * link.capacity;
  const double before = link.level;
  if (!same(level, before, tolerance_)) {
    link.level = level;
    spread<Slack>(index, before, level);
  }
  if (falls_asleep) sleep(index);
}

void FairShares::spread_further(const Flow& flow, const LinkMember& from, double before, double after) {
  tell_many_limits(flow);
  if ((knows_slack_ ? from.limit : flow.own) <= std::min(before, after)) return;
  for (std::uint32_t i = 0; i < flow.shared; ++i) {
    const FlowHop& hop = hops_[flow.first + i];
    const double level = links_[hop.link].level;
    if (i == from.hop || !sees(level, before, after)) continue;
    const double gain = after > before ? hop.part * (member_at(hop).limit - before) : 0;
    mark(hop.link, fills(hop.link, level, gain));
    if (knows_slack_) slack_[hop.link] -= gain;
  }
}

// With pause frames two links could hold each other down for ever; from above they cannot.
void FairShares::restart_levels() {
  for (LinkIndex l = 0; l + 1 < links_.size(); ++l) {
    links_[l].level = kInfinite;
    if (!links_[l].members.empty()) mark(l);
  }
  for (FlowSlot s = 0; s < flows_.size(); ++s) {
    if (!flows_[s].on) continue;
    tell_limits(flows_[s]);
    touch(s);
  }
}

/// Those of the flows that were touched whose rate, or whom they follow, is another than was told.
[[gnu::always_inline]] inline std::span<const FlowSlot> FairShares::take_changed() {
  std::size_t changes = 0;
  for (std::size_t i = 0; i < touches_; ++i) {
    const FlowSlot slot = touched_[i];
    Flow& flow = flows_[slot];
    flow.touched = false;
    if (!flow.on) continue;
    const LinkMember& first = *flow.at[0];
    const double rate = std::min(links_[first.link].level, first.limit);
    if (crowds_alive_ > 0) follow(slot);
    const LinkIndex at = flow.followed ? first.link : kNoLink;
    const bool changed = at != flow.told || (at == kNoLink && rate != flow.rate);
    flow.told = at;
    flow.rate = rate;
    changed_[changes] = slot;
    changes += static_cast<std::size_t>(changed);
  }
  touches_ = 0;
  return {changed_.data(), changes};
}

template <bool Slack>
void FairShares::evaluate_dirty(std::size_t& patience) {
  for (; head_ != tail_; ++head_) {
    if (head_ == patience) {
      tolerance_ *= 16;
      restless_ = true;
      patience += links_.size() + 16;
    }
    const LinkIndex link = queue_[head_ & queue_mask_];
    flags_[link].dirty = false;
    evaluate<Slack>(link);
  }
}

std::span<const FlowSlot> FairShares::settle() {
  if (options_.pause && head_ != tail_) restart_levels();
  // Rounding could make two levels chase each other; what counts as equal then grows until they stop. No case
  // is known that reaches the first growth.
  tolerance_ = kSame;
  restless_ = false;
  for (const LinkIndex link : moved_)
    if (is_crowd(link)) crowds_[link]->moved = false;
  moved_.clear();
  std::size_t patience = 64 * (links_.size() + 16);
  do {
    knows_slack_ ? evaluate_dirty<true>(patience) : evaluate_dirty<false>(patience);
    if (!fresh_.empty()) take_in_fresh();  // may wake links
  } while (head_ != tail_);
  head_ = tail_ = 0;
  return take_changed();
}

}  // namespace cox::simulate
