// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a global batch of whole samples is dealt to workers of different speed.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace cox::study {

/// Sizes that differ by at most one; the first workers get the larger ones. `workers` >= 1 (asserted).
[[nodiscard]] std::vector<int> split_equally(int batch, int workers);

/// Sizes that minimise max(size / speed): the floors of the proportional shares, then one sample at a time to
/// who would finish it first (lowest index of equals). Optimal for identical samples: every share that the
/// floors give is finished before the fractional optimum. Speeds > 0 (asserted). Cost: O(workers^2). Held by:
/// src/study/runs/batch_split_test.cpp (against brute force)
[[nodiscard]] std::vector<int> split_by_speed(int batch, std::span<const double> speeds);

/// How many samples a worker takes, at least and at most.
struct ShareBounds {
  int least = 0;
  int most = std::numeric_limits<int>::max();
};

/// Sizes within `bounds` that minimise max(size / speed): the least for each, then one sample at a time to who would
/// finish it first and may take it (lowest index of equals). Nothing where the batch is not dealt that way. Cost:
/// O(batch x workers). Held by: src/study/runs/batch_split_test.cpp (against brute force)
[[nodiscard]] std::optional<std::vector<int>> split_within(int batch, std::span<const double> speeds,
                                                           ShareBounds bounds);

/// Sizes of which the largest is at most `ratio` times the smallest, that minimise max(size / speed): the best of
/// `split_within` over the smallest. Nothing where there are none. Held by: src/study/runs/batch_split_test.cpp
[[nodiscard]] std::optional<std::vector<int>> split_by_ratio(int batch, std::span<const double> speeds,
                                                             double ratio);

/// max(size / speed): the time of the step where a worker of speed 1 takes 1 per sample.
[[nodiscard]] double slowest(std::span<const int> sizes, std::span<const double> speeds);

}  // namespace cox::study
