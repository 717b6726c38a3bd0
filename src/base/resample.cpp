// SPDX-License-Identifier: Apache-2.0
#include "cox/base/resample.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"
#include "cox/base/stats.hpp"

namespace cox {

Interval middle_95(std::span<double> replicates) {
  const double low = quantile_in_place(replicates, 0.025);
  return {low, quantile_in_place(replicates, 0.975)};
}

UnitDraws::UnitDraws(std::size_t units, std::uint64_t seed, std::uint32_t stream)
    : units_(units), random_(seed, stream) {
  COX_ASSERT(units > 0, "nothing to resample");
}

std::size_t UnitDraws::pick(std::size_t replicate, std::size_t place) const {
  const double u = random_.uniform(replicate, place);
  return std::min(units_ - 1, static_cast<std::size_t>(u * static_cast<double>(units_)));
}

void draw_blocks(std::span<const double> series, std::size_t length, SplitMix& random,
                 std::vector<double>& out) {
  out.clear();
  while (out.size() < series.size()) {
    const std::size_t at = random.below(series.size() - std::min(length, series.size()) + 1);
    for (std::size_t k = 0; k < length && out.size() < series.size(); ++k) out.push_back(series[at + k]);
  }
}

CircularBlocks::CircularBlocks(std::size_t steps, std::size_t length, std::size_t replicates,
                               std::uint64_t seed)
    : length_(length), blocks_((steps + length - 1) / length) {
  COX_ASSERT(length > 0 && length <= steps, "a block is part of the series");
  SplitMix random(seed);
  starts_.reserve(replicates * blocks_);
  for (std::size_t i = 0; i < replicates * blocks_; ++i)
    starts_.push_back(static_cast<std::uint32_t>(random.below(steps)));
}

std::vector<double> CircularBlocks::prefix_sums(std::span<const double> series) {
  std::vector<double> sums;
  sums.reserve(2 * series.size() + 1);
  sums.push_back(0);
  for (int turn = 0; turn < 2; ++turn)
    for (const double value : series) sums.push_back(sums.back() + value);
  return sums;
}

double CircularBlocks::sum(std::span<const double> prefix_sums, std::size_t replicate) const {
  double total = 0;
  for (std::size_t k = 0; k < blocks_; ++k) {
    const std::size_t from = starts_[replicate * blocks_ + k];
    total += prefix_sums[from + length_] - prefix_sums[from];
  }
  return total;
}

}  // namespace cox
