// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bootstraps: what a statistic would have been in other samples like this one. The draws are the same on
/// every machine and for any number of threads; which of the ways fits is said with each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/hash.hpp"
#include "cox/base/random.hpp"

namespace cox {

struct Interval {
  double low = 0;
  double high = 0;
};

/// The interval that holds 95 % of the replicates: quantiles 0.025 and 0.975. Reorders them; {0, 0} of none.
/// Source: Efron 1979 (percentile method). Held by: src/base/resample_test.cpp, all
[[nodiscard]] Interval middle_95(std::span<double> replicates);

/// Units that do not depend on each other, drawn one by one: a pair, a block that was laid out as one.
/// Draw: Philox(seed, stream, replicate, place), so a replicate is found again without those before it.
class UnitDraws {
 public:
  /// Pre: at least one unit (asserted).
  UnitDraws(std::size_t units, std::uint64_t seed, std::uint32_t stream);
  /// The unit in this place of this replicate.
  [[nodiscard]] std::size_t pick(std::size_t replicate, std::size_t place) const;

 private:
  std::size_t units_;
  RandomStream random_;
};

/// A series in which neighbours resemble each other: blocks of `length` neighbours, until there are as many
/// values as before. A series shorter than a block is taken as it is. `out` is cleared first.
/// Source: Künsch 1989 (moving blocks).
void draw_blocks(std::span<const double> series, std::size_t length, SplitMix& random,
                 std::vector<double>& out);

/// The same with blocks that go on at the beginning where the series ends, and all draws made once, so that
/// sums of several series over the same steps can be compared. Source: Politis, Romano 1992.
/// Cost: a replicate's sum O(steps / length). Threads: const methods may be used by many.
class CircularBlocks {
 public:
  /// Pre: steps > 0, 0 < length <= steps (asserted).
  CircularBlocks(std::size_t steps, std::size_t length, std::size_t replicates, std::uint64_t seed);
  /// Sums up to each place of a series that is `steps` long, twice around: sums of any block at once.
  [[nodiscard]] static std::vector<double> prefix_sums(std::span<const double> series);
  /// Sum over the blocks of one replicate. They hold up to `length` - 1 values more than the series.
  [[nodiscard]] double sum(std::span<const double> prefix_sums, std::size_t replicate) const;

 private:
  std::size_t length_;
  std::size_t blocks_;
  std::vector<std::uint32_t> starts_;
};

}  // namespace cox
