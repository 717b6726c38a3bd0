// SPDX-License-Identifier: Apache-2.0
#include "study/runs/batch_split.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "cox/base/assert.hpp"

namespace cox::study {

std::vector<int> split_equally(int batch, int workers) {
  COX_ASSERT(workers >= 1, "somebody takes the batch");
  std::vector<int> sizes(static_cast<std::size_t>(workers), batch / workers);
  std::fill_n(sizes.begin(), batch % workers, batch / workers + 1);
  return sizes;
}

std::vector<int> split_by_speed(int batch, std::span<const double> speeds) {
  COX_ASSERT(!speeds.empty(), "somebody takes the batch");
  for (const double s : speeds) COX_ASSERT(s > 0, "every worker moves");
  const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<int> sizes;
  int given = 0;
  for (const double s : speeds) {
    sizes.push_back(std::min(batch - given, static_cast<int>(batch * (s / total))));
    given += sizes.back();
  }
  for (; given < batch; ++given) {
    std::size_t first = 0;
    for (std::size_t i = 1; i < sizes.size(); ++i)
      if ((sizes[i] + 1) / speeds[i] < (sizes[first] + 1) / speeds[first]) first = i;
    ++sizes[first];
  }
  return sizes;
}

std::optional<std::vector<int>> split_within(int batch, std::span<const double> speeds, ShareBounds bounds) {
  COX_ASSERT(!speeds.empty() && bounds.least >= 0, "somebody takes the batch");
  std::vector<int> sizes(speeds.size(), bounds.least);
  int left = batch - bounds.least * static_cast<int>(speeds.size());
  if (left < 0) return std::nullopt;
  for (; left > 0; --left) {
    std::size_t first = sizes.size();
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] < bounds.most &&
          (first == sizes.size() || (sizes[i] + 1) / speeds[i] < (sizes[first] + 1) / speeds[first]))
        first = i;
    if (first == sizes.size()) return std::nullopt;
    ++sizes[first];
  }
  return sizes;
}

std::optional<std::vector<int>> split_by_ratio(int batch, std::span<const double> speeds, double ratio) {
  std::optional<std::vector<int>> best;
  const int workers = static_cast<int>(speeds.size());
  for (int least = 1; least <= batch / workers; ++least) {
    const double most = std::floor(ratio * least + 1e-9);
    if (most * workers < batch) continue;
    const auto sizes = split_within(
        batch, speeds, {.least = least, .most = static_cast<int>(std::min<double>(most, batch))});
    if (sizes && (!best || slowest(*sizes, speeds) < slowest(*best, speeds))) best = sizes;
  }
  return best;
}

double slowest(std::span<const int> sizes, std::span<const double> speeds) {
  COX_ASSERT(sizes.size() == speeds.size(), "one speed per worker");
  double longest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) longest = std::max(longest, sizes[i] / speeds[i]);
  return longest;
}

}  // namespace cox::study
