// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs a collective's schedule on floats.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/schedule.hpp"

#include "train/transport/transport.hpp"

namespace cox::train {

/// What one participant does in a `model::Schedule`, worked out once. Its lanes go through their rounds side by side: round k
/// of all of them is begun, then waited for. What a round sends was there before it; what it receives with `Combine::Add` lies
/// in a buffer of its own until all of the round is here, and is added in the schedule's order; what replaces is received in its place, which no message of
/// the round is sent from.
/// The schedule is cut between floats: chunks of c are floor(n / c) of the n floats, and one more for the first n mod c.
/// Memory: the largest round's added messages. Cost of `make`: all messages of the schedule.
/// Held by: src/train/executor/executor_test.cpp (sums and counted bytes of every algorithm)
class Executor {
 public:
  /// `spec.bytes` are those of the floats. Errors: those of `Schedule::make`; train-002 where the description does not say what the
  /// data are: all-to-all in two levels, and what is received beside what is there (all-to-all, barrier). Pre: whole floats; rank < participants.
  [[nodiscard]] static Result<Executor> make(const model::CollectiveSpec& spec, int rank);

  /// On all participants with the same spec. `values` are the participant's; servers and switches begin with zeros.
  /// Errors: those of `Transport::wait`. Pre: as many floats as the spec has.
  [[nodiscard]] Status run(Transport& transport, std::span<float> values);
  [[nodiscard]] int participants() const { return participants_; }
  /// That a run takes numbers for, of all participants.
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  /// That it keeps for messages that are added.
  [[nodiscard]] Bytes room() const { return Bytes{static_cast<std::int64_t>(apart_.size() * sizeof(float))}; }

 private:
  struct Message {
    int peer = 0;
    std::uint64_t number = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    [[nodiscard]] bool adds() const { return combine == model::Combine::Add; }
    model::Combine combine = model::Combine::Copy;
  };
  struct Round {
    std::vector<Message> sends, receives;
  };
  void add_round(const model::Schedule& schedule, std::int64_t k, int rank);

  std::size_t floats_ = 0;
  int participants_ = 0;
  std::uint64_t messages_ = 0;  ///< of all participants
  std::vector<Round> rounds_;   ///< those in which this one has a message
  std::vector<float> apart_;
};

/// Bytes that each participant sends in the schedule that an executor runs. Cost: O(messages).
[[nodiscard]] Result<std::vector<Bytes>> scheduled_bytes(const model::CollectiveSpec& spec);

}  // namespace cox::train
