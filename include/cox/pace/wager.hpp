// SPDX-License-Identifier: Apache-2.0
/// \file
/// The test of benefit of mode `auto`: a wager that is lost where pacing changes nothing. Guest code: libc only.
#pragma once

#include <cstdint>

namespace cox::pace {

/// Bets, pair after pair, that paced blocks are the shorter ones, with wealth that begins with 1.
///
/// Which block of a pair is paced is a coin's choice (`Pattern`). Where pacing changes nothing the difference d
/// of a pair is therefore as likely as -d, however noise goes on from pair to pair, whatever its law and period.
/// Formula: wealth *= 1 + f, f = 0.9 z / sqrt(1 + z^2), z = d / scale; f is odd and the scale does not change
///          where the blocks are exchanged, so wealth does not grow on average, and reaches w with a
///          probability of at most 1 / w, however often one looks (Ville 1939). Nothing is staked on a delay
///          that has lost so far.
/// Power: wealth grows at most 1.9 fold per pair, so w = 40 takes 6 pairs.
/// Cost: O(1). Held by: src/pace/wager_test.cpp
class Wager {
 public:
  static constexpr std::uint32_t kDelays = 2;
  /// `difference` of pair's blocks, unpaced - paced; `variance` = what its own steps say of its variance, the
  /// same for both orders. `delay` < kDelays: which of the delays was tried.
  void add(std::uint32_t delay, double difference, double variance) noexcept;
  void clear() noexcept { *this = Wager{}; }
  [[nodiscard]] double wealth() const noexcept { return wealth_; }

  /// What wealth has to reach in a trial that begins in the `epoch`-th stretch of steps in which one may, so
  /// that over all of them the error stays below `alpha`: (epoch + 1) (epoch + 2) / alpha. The sum of the
  /// reciprocals is alpha.
  [[nodiscard]] static double needed(std::uint64_t epoch, double alpha) noexcept {
    const auto e = static_cast<double>(epoch);
    return (e + 1) * (e + 2) / alpha;
  }

 private:
  struct Seen {
    double mean = 0;
    double squares = 0;  // of the deviations from the mean
    std::uint32_t count = 0;
  };
  Seen seen_[kDelays];
  double known_ = 0;  // mean of `variance`
  double wealth_ = 1;
  std::uint32_t count_ = 0;
};

}  // namespace cox::pace
