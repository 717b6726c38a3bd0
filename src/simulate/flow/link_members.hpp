// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flows on a link, beside the link while it is one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace cox::simulate {

/// A flow on a link.
struct LinkMember {
  std::uint32_t slot = 0;
  std::uint32_t hop = 0;  ///< of the flow's hops, this link
  double part = 1;
};

/// A list that holds one member in place: most links of a network have one flow, and looking for it elsewhere is a miss
/// of the cache for each start and stop. Held by: src/simulate/flow/fair_shares_test.cpp
class LinkMembers {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] LinkMember* begin() { return size_ > 1 ? more_.get() : &only_; }
  [[nodiscard]] const LinkMember* begin() const { return size_ > 1 ? more_.get() : &only_; }
  [[nodiscard]] LinkMember* end() { return begin() + size_; }
  [[nodiscard]] const LinkMember* end() const { return begin() + size_; }
  [[nodiscard]] LinkMember& operator[](std::size_t i) { return begin()[i]; }
  [[nodiscard]] const LinkMember& operator[](std::size_t i) const { return begin()[i]; }
  [[nodiscard]] const LinkMember& front() const { return *begin(); }
  [[nodiscard]] const LinkMember& back() const { return end()[-1]; }
  [[nodiscard]] std::span<const LinkMember> first(std::size_t n) const { return {begin(), n}; }

  void push_back(const LinkMember& member) {
    if (size_ == 0) {
      only_ = member;
    } else {
      if (size_ == room_ || room_ == 0) grow();
      if (size_ == 1) more_[0] = only_;
      more_[size_] = member;
    }
    ++size_;
  }
  void pop_back() {
    if (--size_ == 1) only_ = more_[0];
  }

 private:
  void grow() {
    const std::uint32_t room = std::max(4U, 2 * room_);
    auto wider = std::make_unique<LinkMember[]>(room);
    if (size_ > 1) std::copy_n(more_.get(), size_, wider.get());
    more_ = std::move(wider);
    room_ = room;
  }
  LinkMember only_;
  std::unique_ptr<LinkMember[]> more_;  ///< all of them, where there are two
  std::uint32_t size_ = 0;
  std::uint32_t room_ = 0;
};

}  // namespace cox::simulate
