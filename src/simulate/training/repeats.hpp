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

/// A collective of a kind and size, by when its members came after the first of them.
///
/// Its departures stand for arrivals that differ by at most 1e-13 of what it took: no departure moves by more
/// than the arrival that moves most, since max-plus maps never stretch a difference.
struct KnownCollective {
  std::vector<Seconds> arrivals;
  std::vector<Seconds> departures;  ///< after the first arrival
  Seconds tolerance{};

  KnownCollective(std::vector<Seconds> came, std::vector<Seconds> left)
      : arrivals(std::move(came)),
        departures(std::move(left)),
        tolerance(1e-13 * *std::max_element(departures.begin(), departures.end())) {}
  [[nodiscard]] bool stands_for(std::span<const Seconds> others) const {
    return std::equal(arrivals.begin(), arrivals.end(), others.begin(), others.end(),
                      [&](Seconds a, Seconds b) { return a - b <= tolerance && b - a <= tolerance; });
  }
};

}  // namespace cox::simulate::training
