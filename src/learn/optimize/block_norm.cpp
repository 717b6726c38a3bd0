// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/block_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace cox::learn {

double block_sum(std::span<const float> block) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto v = static_cast<double>(block[i]);
    lanes[i % kLanes] += v * v;
  }
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

double norm_of_blocks(std::vector<double> sums) {
  while (sums.size() > 1) {
    for (std::size_t i = 0; i < sums.size(); i += 2)
      sums[i / 2] = i + 1 < sums.size() ? sums[i] + sums[i + 1] : sums[i];
    sums.resize((sums.size() + 1) / 2);
  }
  return sums.empty() ? 0 : std::sqrt(sums.front());
}

double block_norm(std::span<const float> values) {
  std::vector<double> sums;
  sums.reserve(values.size() / kNormBlock + 1);
  for (std::size_t at = 0; at < values.size(); at += kNormBlock)
    sums.push_back(block_sum(values.subspan(at, std::min(kNormBlock, values.size() - at))));
  return norm_of_blocks(std::move(sums));
}

}  // namespace cox::learn
