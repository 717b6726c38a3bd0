// SPDX-License-Identifier: Apache-2.0
/// \file
/// Some of a job's ranks, among themselves.
#pragma once

#include <utility>
#include <vector>

#include "train/transport/transport.hpp"

namespace cox::train {

/// The links of the whole job under ranks of its own: 0 is the first member. Numbers are the job's, so all its ranks, members or
/// not, have to ask for as many at the same place, and a wait is one for all that its rank has begun.
/// Threads: those of the job's transport. Held by: src/train/transport/group_test.cpp
class GroupTransport final : public Transport {
 public:
  /// `all` outlives it, and does not renew. Pre: its rank is `members[rank]`.
  GroupTransport(Transport& all, int rank, std::vector<int> members)
      : Transport(rank, static_cast<int>(members.size())), all_(all), members_(std::move(members)) {}

  [[nodiscard]] std::uint64_t numbers(std::uint64_t count) override { return all_.numbers(count); }
  [[nodiscard]] Status wait() override { return all_.wait(); }
  [[nodiscard]] Status wait_for(int peer, std::uint64_t number) override {
    return all_.wait_for(member(peer), number);
  }
  /// From any rank of the job: members and others have to use unlike numbers.
  [[nodiscard]] Result<int> receive_any(std::uint64_t number, std::span<std::byte> bytes) override {
    COX_TRY(const int from, all_.receive_any(number, bytes));
    for (int r = 0; r < ranks(); ++r)
      if (member(r) == from) return r;
    return fail(unlike(from, {all_.generation(), number}, "sender", static_cast<std::uint64_t>(from),
                       static_cast<std::uint64_t>(member(0))));
  }
  void expect_any(std::uint64_t number, std::span<std::byte> bytes) override {
    all_.expect_any(number, bytes);
  }
  void wait_longer(int times) override { all_.wait_longer(times); }
  [[nodiscard]] int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

 private:
  void begin_send(int to, Slot slot, std::span<const std::byte> bytes) override {
    all_.send(member(to), slot.number, bytes);
  }
  void begin_receive(int from, Slot slot, std::span<std::byte> bytes) override {
    all_.receive(member(from), slot.number, bytes);
  }
  void forget() override {}

  Transport& all_;
  std::vector<int> members_;
};

}  // namespace cox::train
