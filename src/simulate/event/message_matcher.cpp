// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/message_matcher.hpp"

#include <utility>

namespace cox::simulate {

MessageMatcher::MessageMatcher(Wildcards wildcards, std::uint32_t ranks)
    : in_use_{true, wildcards.source, wildcards.tag, wildcards.both}, lists_(64) {
  for (std::size_t way = 0; way < 4; ++way) {
    link_of_way_[way] = ways_;
    if (in_use_[way]) ++ways_;
  }
  if (ways_ == 1) fronts_.assign(ranks, Front{});
}

std::size_t MessageMatcher::slot_of(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) const {
  std::uint64_t h = (std::uint64_t{rank} << 32 | source) * 0x9e3779b97f4a7c15U;
  h = ((h ^ (h >> 32)) + tag) * 0xd6e8feb86659fd93U;
  return static_cast<std::size_t>(h ^ (h >> 32)) & (lists_.size() - 1);
}

/// The key's place, or the free one where it belongs.
std::size_t MessageMatcher::find(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) const {
  std::size_t at = slot_of(rank, source, tag);
  while (lists_[at].head != kNone &&
         (lists_[at].rank != rank || lists_[at].source != source || lists_[at].tag != tag))
    at = (at + 1) & (lists_.size() - 1);
  return at;
}

std::uint32_t MessageMatcher::make_item(const Item& item) {
  if (free_ != kNone) {
    const std::uint32_t i = free_;
    free_ = items_[i].source;
    items_[i] = item;
    return i;
  }
  items_.push_back(item);
  links_.resize(links_.size() + ways_);
  return static_cast<std::uint32_t>(items_.size() - 1);
}

void MessageMatcher::release(std::uint32_t item) {
  items_[item].source = std::exchange(free_, item);
}

void MessageMatcher::append_exact(std::size_t at, std::uint32_t rank, const Item& item, bool message) {
  ++waiting_;
  List& list = lists_[at];
  if (list.head == kNone) {
    list = List{rank, item.source, item.tag, kAlone, item.operation, message};
    if (++keys_ * 2 > lists_.size()) grow();
    return;
  }
  if (list.head == kAlone) {
    list.head = make_item(Item{item.source, list.tail, item.tag, 0});
    list.tail = list.head;
    links_[list.head] = Link{kNone, kNone};
  }
  append(at, rank, item.source, item.tag, make_item(item), message);
}

MessageMatcher::Met MessageMatcher::take_exact(std::size_t at) {
  --waiting_;
  const List& list = lists_[at];
  const std::uint32_t first = list.head;
  const Met out{list.source, first == kAlone ? list.tail : items_[first].operation};
  if (first == kAlone) {
    erase(at);
  } else {
    unlink(at, first);
    release(first);
  }
  return out;
}

void MessageMatcher::append(std::size_t at, std::uint32_t rank, std::uint32_t source, std::uint32_t tag,
                            std::uint32_t item, bool message) {
  List& list = lists_[at];
  const std::size_t way = way_of(source, tag);
  links_[link_at(item, way)] = Link{kNone, list.head == kNone ? kNone : list.tail};
  if (list.head != kNone) {
    links_[link_at(list.tail, way)].next = item;
    list.tail = item;
    return;
  }
  list = List{rank, source, tag, item, item, message};
  if (++keys_ * 2 > lists_.size()) grow();
}

void MessageMatcher::unlink(std::size_t at, std::uint32_t item) {
  List& list = lists_[at];
  const std::size_t way = way_of(list.source, list.tag);
  const Link link = links_[link_at(item, way)];
  if (link.before != kNone) links_[link_at(link.before, way)].next = link.next;
  if (link.next != kNone) links_[link_at(link.next, way)].before = link.before;
  if (list.tail == item) list.tail = link.before;
  if (list.head == item) list.head = link.next;
  if (list.head == kNone) erase(at);
}

/// Closes the gap, so that no place is lost: each entry behind it moves up unless it would pass its own slot.
void MessageMatcher::erase(std::size_t at) {
  --keys_;
  const std::size_t mask = lists_.size() - 1;
  std::size_t gap = at;
  for (std::size_t i = (at + 1) & mask; lists_[i].head != kNone; i = (i + 1) & mask) {
    const std::size_t home = slot_of(lists_[i].rank, lists_[i].source, lists_[i].tag);
    if (((i - home) & mask) < ((i - gap) & mask)) continue;
    lists_[gap] = lists_[i];
    gap = i;
  }
  lists_[gap].head = kNone;
}

void MessageMatcher::grow() {
  std::vector<List> old(lists_.size() * 2);
  old.swap(lists_);
  for (const List& list : old)
    if (list.head != kNone) lists_[find(list.rank, list.source, list.tag)] = list;
}

MessageMatcher::Met MessageMatcher::meet_behind(std::uint32_t rank, std::uint32_t source, std::uint32_t tag,
                                                std::uint32_t operation, bool message) {
  const std::size_t at = find(rank, source, tag);
  const List& list = lists_[at];
  if (list.head != kNone && list.messages != message) {
    --fronts_[rank].behind;
    return take_exact(at);
  }
  ++fronts_[rank].behind;
  append_exact(at, rank, Item{source, operation, tag, 0}, message);
  return Met{kNone, kNone};
}

MessageMatcher::Met MessageMatcher::arrive_any(std::uint32_t rank, std::uint32_t source, std::uint32_t tag,
                                               std::uint32_t operation) {
  std::uint32_t first = kNone;
  std::size_t first_at = 0;
  std::size_t exact = 0;
  for (std::size_t way = 0; way < 4; ++way) {
    if (!in_use_[way]) continue;
    const std::uint32_t s = (way & 1) != 0 ? kNone : source;
    const std::uint32_t t = (way & 2) != 0 ? kNone : tag;
    const std::size_t at = find(rank, s, t);
    if (way == 0) exact = at;
    const List& list = lists_[at];
    if (list.head == kNone || list.messages) continue;
    if (first != kNone && items_[first].serial < items_[list.head].serial) continue;
    first = list.head;
    first_at = at;
  }
  if (first != kNone) {
    const Item item = items_[first];
    unlink(first_at, first);
    release(first);
    --waiting_;
    return Met{item.source, item.operation};
  }
  ++waiting_;
  const std::uint32_t item = make_item(Item{source, operation, tag, 0});
  append(exact, rank, source, tag, item, true);
  for (std::size_t way = 1; way < 4; ++way) {
    if (!in_use_[way]) continue;
    const std::uint32_t s = (way & 1) != 0 ? kNone : source;
    const std::uint32_t t = (way & 2) != 0 ? kNone : tag;
    append(find(rank, s, t), rank, s, t, item, true);
  }
  return Met{kNone, kNone};
}

MessageMatcher::Met MessageMatcher::post_any(std::uint32_t rank, std::uint32_t source, std::uint32_t tag,
                                             std::uint32_t operation) {
  const std::size_t at = find(rank, source, tag);
  const List& list = lists_[at];
  const bool waits = list.head == kNone || !list.messages;
  if (waits) {
    ++waiting_;
    append(at, rank, source, tag, make_item(Item{source, operation, tag, serial_++}), false);
    return Met{kNone, kNone};
  }
  const std::uint32_t first = list.head;
  const Item item = items_[first];
  for (std::size_t way = 0; way < 4; ++way)
    if (in_use_[way])
      unlink(find(rank, (way & 1) != 0 ? kNone : item.source, (way & 2) != 0 ? kNone : item.tag), first);
  release(first);
  --waiting_;
  return Met{item.source, item.operation};
}

}  // namespace cox::simulate
