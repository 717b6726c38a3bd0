// SPDX-License-Identifier: Apache-2.0
#include "study/compute/batch_split.hpp"

#include <algorithm>
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

double slowest(std::span<const int> sizes, std::span<const double> speeds) {
  COX_ASSERT(sizes.size() == speeds.size(), "one speed per worker");
  double longest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) longest = std::max(longest, sizes[i] / speeds[i]);
  return longest;
}

}  // namespace cox::study
