// SPDX-License-Identifier: Apache-2.0
/// \file
/// When a guest costs its host too much: calls counted against a share of one CPU.
#pragma once

#include <cstdint>

namespace cox::guest {

/// Watches how much time the hooks themselves take, over windows of half a second
/// or more. Ask as often as you like.
///
/// Formula: share = calls in the window x cost of one call / length of the window. Exceeded where three
///          windows in a row lie above the limit: a burst (start-up, a checkpoint) is no reason to stop.
/// Threads: one. Held by: src/guest/writer/budget_test.cpp
class OverheadBudget {
 public:
  static constexpr double kDefaultLimit = 0.05;
  static constexpr int kWindows = 3;
  static constexpr std::uint64_t kWindowNs = 500'000'000;

  explicit OverheadBudget(double limit) noexcept : limit_(limit) {}

  /// Takes the counts so far; true once the budget is exceeded for good.
  bool exceeded(std::uint64_t calls, double ns_per_call, std::uint64_t now_ns) noexcept {
    if (at_ns_ != 0 && now_ns - at_ns_ < kWindowNs) return false;
    const auto made = static_cast<double>(calls - calls_);
    const auto window = static_cast<double>(now_ns - at_ns_);
    const bool first = at_ns_ == 0;
    calls_ = calls;
    at_ns_ = now_ns;
    if (first) return false;
    share_ = made * ns_per_call / window;
    calls_per_s_ = made / window * 1e9;
    strikes_ = share_ > limit_ ? strikes_ + 1 : 0;
    return strikes_ >= kWindows;
  }
  [[nodiscard]] double share() const noexcept { return share_; }
  [[nodiscard]] double calls_per_second() const noexcept { return calls_per_s_; }

 private:
  double limit_;
  double share_ = 0;
  double calls_per_s_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t at_ns_ = 0;
  int strikes_ = 0;
};

}  // namespace cox::guest
