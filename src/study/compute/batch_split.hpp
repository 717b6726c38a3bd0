// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a global batch of whole samples is dealt to workers of different speed.
#pragma once

#include <span>
#include <vector>

namespace cox::study {

/// Sizes that differ by at most one; the first workers get the larger ones. `workers` >= 1 (asserted).
[[nodiscard]] std::vector<int> split_equally(int batch, int workers);

/// Sizes that minimise max(size / speed): the floors of the proportional shares, then one sample at a time to
/// who would finish it first (lowest index of equals). Optimal for identical samples: every share that the
/// floors give is finished before the fractional optimum. Speeds > 0 (asserted). Cost: O(workers^2). Held by:
/// src/study/compute/batch_split_test.cpp (against brute force)
[[nodiscard]] std::vector<int> split_by_speed(int batch, std::span<const double> speeds);

/// max(size / speed): the time of the step where a worker of speed 1 takes 1 per sample.
[[nodiscard]] double slowest(std::span<const int> sizes, std::span<const double> speeds);

}  // namespace cox::study
