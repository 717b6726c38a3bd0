// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which receive takes which message: MPI's rule, first posted with first come, for any number waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cox/base/prefetch.hpp"

namespace cox::simulate {

/// Receives that wait for messages and messages that wait for receives, of all ranks.
///
/// Rule:   a message goes to the receive that was posted first among those that name its source (or any)
///         and its tag (or any); a receive takes the message that came first among those that it fits.
/// Where there are no wildcards, a rank's first four that wait lie in a line of its own and are compared one by one; those that
/// come while it is full, and until all of them are gone, are looked for by their key.
/// Memory: 64 bytes per rank; 48 to 96 bytes per key with entries. One that waits alone for its key is in there, where there are no wildcards;
///         else 24 to 48 per entry (48 where all kinds of wildcards are in use). Cost: O(1) per operation, at most 4 keys are looked at.
/// Held by: src/simulate/event/message_matcher_test.cpp (against a list that is searched from its front).
class MessageMatcher {
 public:
  struct Wildcards {
    bool source = false;  ///< some receive names a tag and any source
    bool tag = false;
    bool both = false;
  };
  /// What waits: the rank and operation of the other side.
  struct Waiting {
    std::uint32_t source;     ///< message: its sender; receive: as posted
    std::uint32_t operation;  ///< of the sender; of the receiver
    std::uint32_t tag;
  };

  /// The other side: its rank and operation there; kNone where there is none. Not an optional, so that it stays in a register.
  struct Met {
    std::uint32_t source;
    std::uint32_t operation;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  MessageMatcher(Wildcards wildcards, std::uint32_t ranks);

  /// A message for `rank` has come: the receive that it goes to, or it waits.
  Met arrive(std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint32_t operation) {
    return ways_ == 1 ? meet(rank, source, tag, operation, true) : arrive_any(rank, source, tag, operation);
  }
  /// `rank` is ready to receive: the message that it takes, or it waits.
  Met post(std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint32_t operation) {
    return ways_ == 1 ? meet(rank, source, tag, operation, false) : post_any(rank, source, tag, operation);
  }

  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  /// Calls `visit(rank, is_message, Waiting)` for each entry; in no order that means anything.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t rank = 0; rank < fronts_.size(); ++rank)
      for (std::uint32_t i = 0; i < fronts_[rank].count; ++i)
        visit(rank, fronts_[rank].is_message(i), fronts_[rank].entries[i]);
    for (const List& list : lists_) {
      if (list.head == kNone) continue;
      const std::size_t way = way_of(list.source, list.tag);
      if (list.messages && way != 0) continue;  // it is in the list of its own source and tag too
      if (list.head == kAlone) {
        visit(list.rank, list.messages, Waiting{list.source, list.tail, list.tag});
        continue;
      }
      for (std::uint32_t i = list.head; i != kNone; i = links_[link_at(i, way)].next)
        visit(list.rank, list.messages, Waiting{items_[i].source, items_[i].operation, items_[i].tag});
    }
  }
  /// Brings the line of the rank's first entries into the cache.
  void prefetch(std::uint32_t rank) const {
    if (!fronts_.empty()) cox::prefetch(&fronts_[rank]);
  }
  /// The same of the place where such a message or receive is looked for behind them, if there are any.
  void prefetch(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) const {
    if (fronts_.empty() || fronts_[rank].behind != 0) cox::prefetch(&lists_[slot_of(rank, source, tag)]);
  }
  /// The receive that such a message would get now, if it is among the rank's first entries.
  [[nodiscard]] std::uint32_t peek_receive(std::uint32_t rank, std::uint32_t source,
                                           std::uint32_t tag) const {
    if (fronts_.empty()) return kNone;
    const Front& front = fronts_[rank];
    const std::uint32_t i = front.find(source, tag, false);
    return i == front.count ? kNone : front.entries[i].operation;
  }

 private:
  static constexpr std::uint32_t kAlone = 0xfffffffe;
  /// Entries of one key: all receives, or all messages.
  struct List {
    std::uint32_t rank = 0;
    std::uint32_t source = 0;
    std::uint32_t tag = 0;
    std::uint32_t head = kNone;  ///< kNone: the place is free; kAlone: one entry, which is no item
    std::uint32_t tail = kNone;  ///< kAlone: the operation of that one
    bool messages = false;
  };
  struct Item {
    std::uint32_t source;
    std::uint32_t operation;
    std::uint32_t tag;
    std::uint32_t serial;  ///< of receives: the order in which they were posted
  };
  struct Link {
    std::uint32_t next;
    std::uint32_t before;
  };

  /// What waits at one rank, in the order in which it came.
  struct alignas(64) Front {
    static constexpr std::uint32_t kPlaces = 4;
    Waiting entries[kPlaces];
    std::uint32_t count;
    std::uint32_t messages;  ///< bit per entry
    std::uint32_t behind;    ///< entries in `lists_`, all of which came later

    [[nodiscard]] bool is_message(std::uint32_t i) const { return (messages >> i & 1) != 0; }
    /// `count` where there is none.
    [[nodiscard]] std::uint32_t find(std::uint32_t source, std::uint32_t tag, bool message) const {
      std::uint32_t i = 0;
      while (i < count && (entries[i].source != source || entries[i].tag != tag || is_message(i) != message))
        ++i;
      return i;
    }
    void erase(std::uint32_t i) {
      const std::uint32_t before = (std::uint32_t{1} << i) - 1;
      messages = (messages & before) | (messages >> 1 & ~before);
      for (--count; i < count; ++i) entries[i] = entries[i + 1];
    }
  };
  /// Without wildcards: takes the other side out, or lets this one wait.
  Met meet(std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint32_t operation,
           bool message) {
    Front& front = fronts_[rank];
    if (const std::uint32_t i = front.find(source, tag, !message); i != front.count) {
      const std::uint32_t other = front.entries[i].operation;
      --waiting_;
      front.erase(i);
      return Met{source, other};
    }
    if (front.behind != 0 || front.count == Front::kPlaces)
      return meet_behind(rank, source, tag, operation, message);
    ++waiting_;
    Waiting& entry = front.entries[front.count];
    entry.source = source;
    entry.operation = operation;
    entry.tag = tag;
    front.messages |= std::uint32_t{message} << front.count++;
    return Met{kNone, kNone};
  }
  Met meet_behind(std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint32_t operation,
                  bool message);
  Met arrive_any(std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint32_t operation);
  Met post_any(std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint32_t operation);

  static std::size_t way_of(std::uint32_t source, std::uint32_t tag) {
    return (source == kNone ? 1U : 0U) | (tag == kNone ? 2U : 0U);
  }
  [[nodiscard]] std::size_t link_at(std::uint32_t item, std::size_t way) const {
    return std::size_t{item} * ways_ + link_of_way_[way];
  }
  [[nodiscard]] std::size_t slot_of(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) const;
  [[nodiscard]] std::size_t find(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) const;
  std::uint32_t make_item(const Item& item);
  /// The only way in and out of a list where messages have one way to be named.
  void append_exact(std::size_t at, std::uint32_t rank, const Item& item, bool message);
  Met take_exact(std::size_t at);
  void release(std::uint32_t item);
  void append(std::size_t at, std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint32_t item,
              bool message);
  void unlink(std::size_t at, std::uint32_t item);
  void erase(std::size_t at);
  void grow();

  bool in_use_[4];        ///< ways to name a message: 0 exact, 1 any source, 2 any tag, 3 both
  std::size_t ways_ = 0;  ///< in use
  std::size_t link_of_way_[4];
  std::vector<Front> fronts_;  ///< per rank; none with wildcards
  std::vector<List> lists_;    ///< open addressing, a power of two
  std::size_t keys_ = 0;
  std::vector<Item> items_;
  std::vector<Link> links_;  ///< `ways_` per item
  std::uint32_t free_ = kNone;
  std::uint32_t serial_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace cox::simulate
