// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/interval.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/stats.hpp"

namespace cox::diagnose {
namespace {

constexpr double kShortest = 1e-12;  ///< nothing takes less than a picosecond: quotients stay finite

Interval middle(std::vector<double>& sample) {
  return {quantile_in_place(sample, 0.025), quantile_in_place(sample, 0.975)};
}

}  // namespace

BlockBootstrap::BlockBootstrap(std::size_t steps) : steps_(steps) {
  if (!possible()) return;
  length_ = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(steps))));
  blocks_ = (steps + length_ - 1) / length_;
  std::uint64_t state = 0x5eed;
  starts_.reserve(kDraws * blocks_);
  for (std::size_t i = 0; i < kDraws * blocks_; ++i) {
    std::uint64_t x = (state += 0x9e3779b97f4a7c15ULL);  // splitmix64, Steele, Lea, Flood 2014
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    starts_.push_back(static_cast<std::uint32_t>((x ^ (x >> 31)) % steps));
  }
}

BlockBootstrap::Sums BlockBootstrap::prepare(std::span<const Duration> ends) const {
  Sums sums;
  if (!possible()) return sums;
  // Twice around, so that a block that begins near the end goes on at the begin.
  sums.reserve(2 * ends.size() + 1);
  sums.push_back(0);
  for (int turn = 0; turn < 2; ++turn) {
    Duration before{};
    for (const Duration end : ends) {
      sums.push_back(sums.back() + in_seconds(end - before));
      before = end;
    }
  }
  return sums;
}

double BlockBootstrap::sum(const Sums& sums, std::size_t draw) const {
  double total = 0;
  for (std::size_t k = 0; k < blocks_; ++k) {
    const std::size_t from = starts_[draw * blocks_ + k];
    total += sums[from + length_] - sums[from];
  }
  return total;
}

Interval BlockBootstrap::quotient(const Sums& above, const Sums& below) const {
  std::vector<double> sample(kDraws);
  for (std::size_t d = 0; d < kDraws; ++d) sample[d] = sum(above, d) / std::max(kShortest, sum(below, d));
  return middle(sample);
}

Interval BlockBootstrap::difference(const Sums& from, const Sums& to, const Sums& whole) const {
  std::vector<double> sample(kDraws);
  for (std::size_t d = 0; d < kDraws; ++d)
    sample[d] = (sum(from, d) - sum(to, d)) / std::max(kShortest, sum(whole, d));
  return middle(sample);
}

}  // namespace cox::diagnose
