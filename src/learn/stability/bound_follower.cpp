// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/bound_follower.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "learn/stability/delay.hpp"

namespace cox::learn {

void BoundFollower::probe(double rate, double curvature, double momentum) {
  constexpr std::size_t kMost = 256;
  std::vector<std::int64_t> ages = ages_.by_age();
  if (ages.size() > kMost) {
    ages[kMost - 1] = std::accumulate(ages.begin() + kMost - 1, ages.end(), std::int64_t{0});
    ages.resize(kMost);
  }
  ages_ = {};
  const StalenessAlarm alarm = staleness_alarm(ages, rate, std::abs(curvature), momentum);
  if (probes_++ == 0) first_ = curvature;
  last_ = curvature;
  if (alarm.raised) {
    ++raised_;
    bound_ /= 2;
  } else if (alarm.limit > 0 && alarm.ratio < 0.25) {
    bound_ = std::min(bound_ + 1, most_);
  }
  least_ = std::min(least_, bound_);
}

}  // namespace cox::learn
