// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which receive takes which message: MPI's rule, first posted with first come, for any number waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cox/base/prefetch.hpp"

namespace cox::simulate {

/// Receives that wait for messages and messages that wait for receives, of all ranks.
///
/// Rule:   a message goes to the receive that was posted first among those that name its source (or any)
///         and its tag (or any); a receive takes the message that came first among those that it fits.
/// Memory: 48 to 96 bytes per key with entries. One that waits alone for its key is in there, where there are no wildcards;
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

  explicit MessageMatcher(Wildcards wildcards);

  /// A message for `rank` has come: the receive that it goes to, or it waits.
  std::optional<Waiting> arrive(std::uint32_t rank, std::uint32_t source, std::uint32_t tag,
                                std::uint32_t operation);
  /// `rank` is ready to receive: the message that it takes, or it waits.
  std::optional<Waiting> post(std::uint32_t rank, std::uint32_t source, std::uint32_t tag,
                              std::uint32_t operation);

  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  /// Calls `visit(rank, is_message, Waiting)` for each entry; in no order that means anything.
  template <class Visit>
  void for_each(Visit visit) const {
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
  /// Brings the place where such a message or receive is looked for into the cache.
  void prefetch(std::uint32_t rank, std::uint32_t source, std::uint32_t tag) const {
    cox::prefetch(&lists_[slot_of(rank, source, tag)]);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
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
  Waiting take_exact(std::size_t at);
  void release(std::uint32_t item);
  void append(std::size_t at, std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint32_t item,
              bool message);
  void unlink(std::size_t at, std::uint32_t item);
  void erase(std::size_t at);
  void grow();

  bool in_use_[4];        ///< ways to name a message: 0 exact, 1 any source, 2 any tag, 3 both
  std::size_t ways_ = 0;  ///< in use
  std::size_t link_of_way_[4];
  std::vector<List> lists_;  ///< open addressing, a power of two
  std::size_t keys_ = 0;
  std::vector<Item> items_;
  std::vector<Link> links_;  ///< `ways_` per item
  std::uint32_t free_ = kNone;
  std::uint32_t serial_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace cox::simulate
