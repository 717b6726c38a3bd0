// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages between the ranks of a job, whatever carries them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::train {

/// Which message: of which life of the job's links, and its number there. Both sides count alike.
struct Slot {
  std::uint32_t generation = 0;  ///< one more after every time-out
  std::uint64_t number = 0;
  auto operator<=>(const Slot&) const = default;
};

/// One rank's end of the links. A message that was begun owns nothing: its buffer is the caller's, untouched until `wait`
/// has returned. Messages meet by rank and slot, never by order; a message of another generation meets nothing.
/// `send` may wait for its `receive` (rendezvous): whoever begins all messages of a round before it waits cannot hang.
/// Threads: one owner per rank.
class Transport {
 public:
  Transport(int rank, int ranks) : rank_(rank), sent_(static_cast<std::size_t>(ranks)) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(sent_.size()); }
  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  /// Bytes of messages begun to each rank so far, without what a transport adds.
  [[nodiscard]] const std::vector<Bytes>& sent() const { return sent_; }
  /// The first of `count` numbers that are used once in this generation. Ranks call it in the same order.
  [[nodiscard]] virtual std::uint64_t numbers(std::uint64_t count) {
    next_ += count;
    return next_ - count;
  }

  /// Pre: `to` is another rank. A message of no bytes is one.
  void send(int to, std::uint64_t number, std::span<const std::byte> bytes) {
    sent_[static_cast<std::size_t>(to)] += Bytes{static_cast<std::int64_t>(bytes.size())};
    begin_send(to, {generation_, number}, bytes);
  }
  /// The message must have as many bytes.
  void receive(int from, std::uint64_t number, std::span<std::byte> bytes) {
    begin_receive(from, {generation_, number}, bytes);
  }
  /// Until all that was begun is done.
  /// Errors: train-003 (Errc::Timeout; who waited for whom, or has lost whom, and for which message): what was begun is given up then, and its
  /// buffers are free; train-004 (a message of another length or generation).
  [[nodiscard]] virtual Status wait() = 0;
  /// Until what was begun to and from `peer` under this number is done; what else was begun goes on. Returns at once where there is nothing.
  /// Errors: as `wait`.
  [[nodiscard]] virtual Status wait_for(int peer, std::uint64_t number) = 0;
  /// The next message of this number from any rank that sends one; each may send many, one after the other. What else was begun goes on, but what was
  /// sent to that rank is done: it has to have taken it before. Returns who sent it. Errors: as `wait`.
  [[nodiscard]] virtual Result<int> receive_any(std::uint64_t number, std::span<std::byte> bytes) = 0;
  /// There is room for what the next `receive_any` waits for, which is told the same number and bytes: whoever sends it need not wait until then,
  /// nor behind what is sent meanwhile. Somebody will send it. Without effect where senders do not wait for a word.
  virtual void expect_any(std::uint64_t /*number*/, std::span<std::byte> /*bytes*/) {}
  /// Waits take so many times as long from here on before they are in vain.
  virtual void wait_longer(int times) = 0;
  /// After a time-out: numbers begin again, and nothing of earlier generations arrives any more. All ranks do it.
  void renew() {
    ++generation_;
    next_ = 0;
    forget();
  }

 protected:
  virtual void begin_send(int to, Slot slot, std::span<const std::byte> bytes) = 0;
  virtual void begin_receive(int from, Slot slot, std::span<std::byte> bytes) = 0;
  virtual void forget() = 0;
  /// The errors of `wait`.
  [[nodiscard]] Error late(bool receiving, int peer, Slot slot, Seconds patience) const;
  [[nodiscard]] Error nobody(Slot slot, Seconds patience) const;  ///< of `receive_any`
  [[nodiscard]] Error lost_one(Slot slot) const;                  ///< nobody knows whom
  [[nodiscard]] Error lost(bool receiving, int peer, Slot slot) const;
  [[nodiscard]] Error unlike(int peer, Slot slot, const char* what, std::uint64_t got,
                             std::uint64_t expected) const;

 private:
  int rank_;
  std::uint32_t generation_ = 0;
  std::uint64_t next_ = 0;
  std::vector<Bytes> sent_;
};

}  // namespace cox::train
