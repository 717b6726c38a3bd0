// SPDX-License-Identifier: Apache-2.0
/// \file
/// The requests that a completing call was given, as what is known of them: read before the call, since a library
/// overwrites the list and may give handles out again in it.
#pragma once

#include <cstdlib>

#include "guest/mpi/state.hpp"

namespace cox::guest::mpi {

/// Messages of one peer that a call waits for: the last one of each direction.
struct AwaitedPeer {
  std::uint64_t peer = 0;     ///< communicator and rank, as MessageTable::key
  std::uint64_t sent = 0;     ///< number; 64 bits wide, as it was written
  std::uint64_t sent_at = 0;  ///< clock ticks
  std::uint64_t received = 0;

  [[nodiscard]] std::uint32_t comm() const noexcept { return static_cast<std::uint32_t>(peer >> 32); }
  [[nodiscard]] std::uint32_t rank() const noexcept { return static_cast<std::uint32_t>(peer); }
  void add(const MessageTable::Message& m) noexcept {
    if ((m.number & 1) == 0) {
      received = m.number >> 1;
    } else {
      sent = m.number >> 1;
      sent_at = m.started;
    }
  }
};

/// Distinct peers of the messages that a call waits for.
class Awaited {
 public:
  Awaited() noexcept {}
  void add(const MessageTable::Message& m) noexcept {
    if (static_cast<std::uint32_t>(m.peer) == trace::kAnyPeer) return add_unnamed();
    for (std::size_t i = count_; i-- > 0;)
      if (peers_[i].peer == m.peer) return peers_[i].add(m);
    if (count_ == kMost) {
      ++more_;
      return;
    }
    const bool sends = (m.number & 1) != 0;
    const std::uint64_t number = m.number >> 1;
    AwaitedPeer& one = peers_[count_++];
    one.peer = m.peer;
    one.sent = sends ? number : 0;
    one.sent_at = m.started;
    one.received = sends ? 0 : number;
  }
  void add_unnamed() noexcept { ++more_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t more() const noexcept { return more_; }
  [[nodiscard]] const AwaitedPeer& operator[](std::size_t i) const noexcept { return peers_[i]; }
  [[nodiscard]] bool is_one() const noexcept { return count_ == 1 && more_ == 0; }

  static constexpr std::size_t kMost = 16;

 private:
  union {
    AwaitedPeer peers_[kMost];  // not initialised: few are used
  };
  std::size_t count_ = 0;
  std::size_t more_ = 0;  ///< messages of peers that are not known, or for which there is no room
};

/// Whether all of a list completes with the call, so that it may be forgotten before.
enum class Lists : std::uint8_t { Whole, Part };

/// Which requests a call may complete: collectives are claimed until it is known, messages tell their peers.
/// Nothing is looked at while neither is under way.
class Keys {
 public:
  template <class Key>
  Keys(int count, Key key_at, Lists lists) noexcept {
    const bool collectives = !requests.empty();
    const bool named = messages.in_use();
    if (count <= 0 || (!collectives && !named)) return;
    const auto n = static_cast<std::size_t>(count);
    if (!make_room(n, collectives)) return;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uintptr_t key = key_at(i);
      if (keeps_keys_) keys_[i] = key;
      if (collectives && add_collective(key, static_cast<std::uint32_t>(i))) continue;
      MessageTable::Message message;
      if (!named || !messages.find(key, message)) {
        if (!is_nothing(key)) awaited_.add_unnamed();
        continue;
      }
      if (lists == Lists::Whole) messages.erase(key);
      awaited_.add(message);
    }
  }
  ~Keys() {
    for (std::size_t k = 0; k < found_; ++k)
      if (claims_[k].slot != nullptr) RequestTable::put_back(claims_[k]);
    if (claims_ != reinterpret_cast<Claim*>(few_claims_)) free(claims_);
    if (keys_ != few_keys_) free(keys_);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  /// A collective among them: the last one, by which the wait is known.
  [[nodiscard]] const RequestFacts* collective() const noexcept {
    return found_ == 0 ? nullptr : &claims_[found_ - 1].facts;
  }
  [[nodiscard]] const RequestFacts* collective(std::size_t i) const noexcept {
    const Claim* claim = claim_of(i);
    return claim == nullptr ? nullptr : &claim->facts;
  }
  /// Of `found` that completed, `position(i)` of the i-th: the last collective, null where there is none.
  template <class Position>
  [[nodiscard]] const RequestFacts* last_completed(int found, Position position) const noexcept {
    for (int i = found; found_ != 0 && i-- > 0;)
      if (const RequestFacts* r = collective(static_cast<std::size_t>(position(i)))) return r;
    return nullptr;
  }
  /// A message that completed.
  [[nodiscard]] bool message_of(std::size_t i, MessageTable::Message& message) const noexcept {
    if (i >= kept()) return false;
    const Request* r = has_persistent_ ? requests.find(keys_[i]) : nullptr;
    if (!is_under_way(r)) return messages.find(keys_[i], message);
    message = message_of(*r);
    return true;
  }
  [[nodiscard]] const Awaited& awaited() const noexcept { return awaited_; }

  void completed(std::size_t i) noexcept {
    if (Claim* claim = claim_of(i))
      forget(*claim);
    else if (i < kept())
      forget_message(keys_[i]);
  }
  /// The call failed, and what the list holds now tells which of them completed all the same: requests that are none any
  /// more. `key_at(i)` reads the list again.
  template <class Key>
  [[gnu::noinline, gnu::cold]] void some_completed(Key key_at) noexcept {
    for (std::size_t i = 0; i < kept(); ++i)
      if (!is_nothing(keys_[i]) && is_nothing(key_at(i))) completed(i);
  }
  void all_completed() noexcept {
    for (std::size_t k = 0; k < found_; ++k)               // none is found where there was no memory for it
      if (claims_[k].slot != nullptr) forget(claims_[k]);  // NOLINT(clang-analyzer-core.NullDereference)
    if (!messages.in_use() && !has_persistent_) return;
    for (std::size_t i = 0; i < kept(); ++i) forget_message(keys_[i]);
  }

 private:
  static constexpr std::size_t kOnStack = 64;

  /// Lists that are long and hold messages only are not kept.
  bool make_room(std::size_t n, bool collectives) noexcept {
    keeps_keys_ = n <= kOnStack || collectives;
    if (n > kOnStack && collectives) {
      claims_ = static_cast<Claim*>(malloc(n * sizeof *claims_));
      keys_ = static_cast<std::uintptr_t*>(malloc(n * sizeof *keys_));
      if (claims_ == nullptr || keys_ == nullptr) return false;
    }
    count_ = n;
    return true;
  }
  bool add_collective(std::uintptr_t key, std::uint32_t position) noexcept {
    Claim& claim = claims_[found_];
    if (requests.claim(key, claim)) {
      claim.position = position;
      ++found_;
      return true;
    }
    const Request* r = requests.find(key);
    if (is_under_way(r)) {
      has_persistent_ = true;
      awaited_.add(message_of(*r));
    }
    return r != nullptr;
  }
  /// A persistent message that was started.
  [[nodiscard]] static bool is_under_way(const Request* r) noexcept {
    return r != nullptr && r->message && r->active;
  }
  [[nodiscard]] static MessageTable::Message message_of(const RequestFacts& r) noexcept {
    return {MessageTable::key(r.comm, r.aux),
            MessageTable::number(r.seq, static_cast<trace::PeerKind>(r.op) == trace::PeerKind::Send),
            r.started};
  }
  void forget_message(std::uintptr_t key) const noexcept {
    if (has_persistent_) requests.rest(key);
    if (messages.in_use()) messages.erase(key);
  }
  [[nodiscard]] std::size_t kept() const noexcept { return keeps_keys_ ? count_ : 0; }
  /// Claims lie in the order of their positions.
  [[nodiscard]] Claim* claim_of(std::size_t position) const noexcept {
    std::size_t low = 0;
    std::size_t high = found_;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (claims_[middle].position < position)
        low = middle + 1;
      else
        high = middle;
    }
    return low < found_ && claims_[low].position == position && claims_[low].slot != nullptr ? &claims_[low]
                                                                                             : nullptr;
  }
  static void forget(Claim& claim) noexcept {
    if (claim.facts.persistent)
      RequestTable::put_back_complete(claim);
    else
      requests.drop(claim);
    claim.slot = nullptr;
  }

  alignas(Claim) std::byte few_claims_[kOnStack * sizeof(Claim)];  // not initialised: few are used
  std::uintptr_t few_keys_[kOnStack];
  Claim* claims_ = reinterpret_cast<Claim*>(few_claims_);
  std::uintptr_t* keys_ = few_keys_;
  std::size_t count_ = 0;
  std::size_t found_ = 0;
  bool keeps_keys_ = false;
  bool has_persistent_ = false;  ///< messages that were started and will be started again are among them
  Awaited awaited_;
};

}  // namespace cox::guest::mpi
