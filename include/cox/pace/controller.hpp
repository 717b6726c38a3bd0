// SPDX-License-Identifier: Apache-2.0
/// \file
/// The coordination controller of one rank: local observations in, a bounded delay out.
///
/// This version only observes: `decide` returns zero always. The seam is final: `observe` calls it with a
/// real clock, `simulate` will call the same object with a virtual one. Source: "When Scaling Fails",
/// sections 4.2 and 4.3.
#pragma once

#include <array>
#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::pace {

/// One passed synchronisation, as the rank saw it.
struct Observation {
  Duration work{};  ///< own time since the previous synchronisation ended
  Duration sync{};  ///< time from entering to leaving this one (wait and transfer together)
};

enum class Reason : std::uint8_t { Observing };

struct Decision {
  Duration delay{};  ///< before the next iteration; zero in this version
  Reason reason = Reason::Observing;
};

/// Rolling window over the last `kWindow` synchronisations.
///
/// Threads: one owner. Cost: O(1) per step, no allocation, no clock, no system call; 1 KiB.
/// Held by: src/pace/controller_test.cpp
class Controller {
 public:
  static constexpr std::uint32_t kWindow = 64;

  /// Takes one observation into the window.
  constexpr void observe(const Observation& o) noexcept {
    Observation& slot = window_[seen_ % kWindow];
    sync_sum_ += o.sync - slot.sync;
    work_sum_ += o.work - slot.work;
    slot = o;
    ++seen_;
  }
  /// What to do before the next iteration.
  [[nodiscard]] constexpr Decision decide() const noexcept { return {}; }

  [[nodiscard]] constexpr std::uint64_t seen() const noexcept { return seen_; }
  /// Means over the window; zero before the first observation.
  [[nodiscard]] constexpr Duration mean_sync() const noexcept { return mean(sync_sum_); }
  [[nodiscard]] constexpr Duration mean_work() const noexcept { return mean(work_sum_); }

 private:
  [[nodiscard]] constexpr Duration mean(Duration sum) const noexcept {
    const std::uint64_t n = seen_ < kWindow ? seen_ : kWindow;
    return n == 0 ? Duration::zero() : sum / static_cast<std::int64_t>(n);
  }
  std::array<Observation, kWindow> window_{};
  Duration sync_sum_{};
  Duration work_sum_{};
  std::uint64_t seen_ = 0;
};

}  // namespace cox::pace
