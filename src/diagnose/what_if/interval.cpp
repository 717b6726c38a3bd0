// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/interval.hpp"

#include <algorithm>
#include <cmath>

namespace cox::diagnose {
namespace {

constexpr double kShortest = 1e-12;  ///< nothing takes less than a picosecond: quotients stay finite
constexpr std::uint64_t kSeed = 0x5eed;

}  // namespace

BlockBootstrap::BlockBootstrap(std::size_t steps) {
  if (steps < kLeastSteps) return;
  blocks_.emplace(steps, static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(steps)))), kDraws,
                  kSeed);
}

BlockBootstrap::Sums BlockBootstrap::prepare(std::span<const Duration> ends) const {
  if (!possible()) return {};
  std::vector<double> lengths;
  lengths.reserve(ends.size());
  Duration before{};
  for (const Duration end : ends) {
    lengths.push_back(in_seconds(end - before));
    before = end;
  }
  return CircularBlocks::prefix_sums(lengths);
}

Interval BlockBootstrap::quotient(const Sums& above, const Sums& below) const {
  std::vector<double> sample(kDraws);
  for (std::size_t d = 0; d < kDraws; ++d)
    sample[d] = blocks_->sum(above, d) / std::max(kShortest, blocks_->sum(below, d));
  return middle_95(sample);
}

Interval BlockBootstrap::difference(const Sums& from, const Sums& to, const Sums& whole) const {
  std::vector<double> sample(kDraws);
  for (std::size_t d = 0; d < kDraws; ++d)
    sample[d] = (blocks_->sum(from, d) - blocks_->sum(to, d)) / std::max(kShortest, blocks_->sum(whole, d));
  return middle_95(sample);
}

}  // namespace cox::diagnose
