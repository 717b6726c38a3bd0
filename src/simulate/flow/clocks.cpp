// SPDX-License-Identifier: Apache-2.0
// Rates brought up to date: of each flow, or of the clock of a link that many follow.
#include <algorithm>

#include "simulate/flow/engine.hpp"

namespace cox::simulate {

namespace {

/// Of a message with a rate of its own.
double bytes_left_at(const MessageState& m, double now) {
  return std::max(m.left - m.rate * (now - m.updated), 0.0);
}

}  // namespace

/// Of a message that shares links now.
double FlowEngine::bytes_left(const MessageState& m) const {
  if (m.clock != FairShares::kNoLink)
    return std::max((m.left - clocks_.at(m.clock).at(now_)) * m.weight, 0.0);
  return bytes_left_at(m, now_);
}

void FlowEngine::settle() {
  const std::span<const FlowSlot> changed = shares_.settle();
  outcome_.solved += changed.empty() ? 0 : 1;
  for (const Slot slot : changed) {
    if (is_background(slot)) continue;
    MessageState& m = slots_[slot];
    if (m.clock == FairShares::kNoLink) {
      m.left = bytes_left_at(m, now_);
    } else {
      const double left = bytes_left(m);
      unfollow(slot);
      m.left = left;
    }
    m.updated = now_;
    m.rate = shares_.rate(slot) * m.weight;
    if (const LinkIndex link = shares_.followed_at(slot); link != FairShares::kNoLink)
      follow(slot, link);
    else
      heap_.set(slot, now_ + m.left / m.rate);
  }
  for (const LinkIndex link : shares_.moved()) {
    const auto known = clocks_.find(link);
    if (known == clocks_.end() || known->second.ends.empty()) continue;
    LinkClock& clock = known->second;
    clock.shows = clock.at(now_);
    clock.updated = now_;
    clock.rate = shares_.level(link);
    next_end(link, clock);
  }
}

/// From now on the message ends when the link's clock says so.
void FlowEngine::follow(Slot slot, LinkIndex link) {
  MessageState& m = slots_[slot];
  LinkClock& clock = clocks_[link];
  if (clock.ends.empty()) {
    clock.shows = 0;
    clock.updated = now_;
    clock.rate = shares_.level(link);
  }
  m.left = clock.at(now_) + m.left / m.weight;
  m.clock = link;
  clock.ends.emplace(m.left, slot);
  if (heap_.holds(slot)) heap_.remove(slot);
  if (clock.ends.begin()->second == slot) next_end(link, clock);
}

void FlowEngine::unfollow(Slot slot) {
  MessageState& m = slots_[slot];
  LinkClock& clock = clocks_.at(m.clock);
  const bool first = clock.ends.begin()->second == slot;
  clock.ends.erase({m.left, slot});
  if (first) next_end(m.clock, clock);
  m.clock = FairShares::kNoLink;
}

void FlowEngine::next_end(LinkIndex link, LinkClock& clock) {
  if (clock.ends.empty()) {
    if (clock_heap_.holds(link)) clock_heap_.remove(link);
    return;
  }
  const double left = std::max(clock.ends.begin()->first - clock.shows, 0.0);
  clock_heap_.set(link, std::max(clock.updated + left / clock.rate, now_));
}

}  // namespace cox::simulate
