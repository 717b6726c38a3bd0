// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flows on a link, beside the link while they are few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cox::simulate {

/// A flow on a link.
struct LinkMember {
  std::uint32_t slot = 0;
  std::uint32_t hop = 0;  ///< of the flow's hops, this link
  double part = 1;
  double limit = 0;  ///< what the rest of the flow's way allows; on links that have other flows, too
  std::uint32_t link = 0;
};

/// A list that holds a few members in place: most links of a network have one flow, nearly all that have more have two
/// or three, and looking for them elsewhere is a miss of the cache for each start and stop.
/// Held by: src/simulate/flow/fair_shares_test.cpp
class LinkMembers {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Those that are not followed come first.
  [[nodiscard]] std::size_t loose() const { return size_ - followed; }
  [[nodiscard]] LinkMember* begin() { return size_ > kFew ? many_->data() : few_; }
  [[nodiscard]] const LinkMember* begin() const { return size_ > kFew ? many_->data() : few_; }
  [[nodiscard]] LinkMember* end() { return begin() + size_; }
  [[nodiscard]] const LinkMember* end() const { return begin() + size_; }
  [[nodiscard]] LinkMember& operator[](std::size_t i) { return begin()[i]; }
  [[nodiscard]] const LinkMember& operator[](std::size_t i) const { return begin()[i]; }
  [[nodiscard]] const LinkMember& front() const { return *begin(); }
  [[nodiscard]] const LinkMember& back() const { return end()[-1]; }
  [[nodiscard]] std::span<const LinkMember> first(std::size_t n) const { return {begin(), n}; }

  /// Whether those that were there lie elsewhere now.
  bool push_back(const LinkMember& member) {
    if (size_ < kFew) {
      few_[size_++] = member;
      return false;
    }
    return push_behind(member);
  }
  /// The same.
  bool pop_back() { return --size_ >= kFew && pop_behind(); }

 private:
  static constexpr std::uint32_t kFew = 3;
  bool push_behind(const LinkMember& member) {
    if (!many_) many_ = std::make_unique<std::vector<LinkMember>>();
    if (size_ == kFew) many_->assign(few_, few_ + kFew);
    const LinkMember* const before = size_ == kFew ? few_ : many_->data();
    many_->push_back(member);
    ++size_;
    return many_->data() != before;
  }
  bool pop_behind() {
    many_->pop_back();
    if (size_ > kFew) return false;
    std::copy_n(many_->data(), kFew, few_);
    return true;
  }

  std::uint32_t size_ = 0;

 public:
  std::uint32_t followed = 0;  ///< by the link's clock: so many of them, the last ones

 private:
  std::unique_ptr<std::vector<LinkMember>> many_;  ///< all of them, where there are more than a few
  LinkMember few_[kFew];
};

}  // namespace cox::simulate
