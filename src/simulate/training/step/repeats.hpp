// SPDX-License-Identifier: Apache-2.0
/// \file
/// What has been computed once is not computed again: steps, and collectives within them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::simulate::training {

/// The last few of something, the oldest given up first.
template <class Entry>
class LastFew {
 public:
  template <class Matches>
  [[nodiscard]] const Entry* find(Matches&& matches) const {
    const auto at = std::find_if(entries_.begin(), entries_.end(), matches);
    return at == entries_.end() ? nullptr : &*at;
  }
  void keep(Entry entry) {
    constexpr std::size_t kMost = 4;
    if (entries_.size() < kMost) {
      entries_.push_back(std::move(entry));
    } else {
      entries_[oldest_] = std::move(entry);
      oldest_ = (oldest_ + 1) % kMost;
    }
  }

 private:
  std::vector<Entry> entries_;
  std::size_t oldest_ = 0;
};

/// Times at which something begins, and those at which it ends, after the first of the former.
///
/// They stand for begins that differ by at most `tolerance`. Where the ends are sums and maxima of the begins (all
/// collectives by max-plus; a step of them), none moves by more than the begin that moves most, so the error is at most
/// 1e-10 of the whole. Chunks that differ by a byte move a step's pattern by
/// less than that, and go on to for hundreds of steps. Anything else must begin exactly alike: tolerance zero.
struct KnownTimes {
  std::vector<Seconds> begins;
  std::vector<Seconds> ends;
  Seconds tolerance{};

  [[nodiscard]] bool stand_for(std::span<const Seconds> others) const {
    return std::equal(begins.begin(), begins.end(), others.begin(), others.end(),
                      [&](Seconds a, Seconds b) { return a - b <= tolerance && b - a <= tolerance; });
  }
};
inline constexpr double kToleratedPart = 1e-10;
[[nodiscard]] inline Seconds tolerated(std::span<const Seconds> ends) {
  return kToleratedPart * *std::max_element(ends.begin(), ends.end());
}

}  // namespace cox::simulate::training
