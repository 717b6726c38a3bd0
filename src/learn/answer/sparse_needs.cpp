// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/sparse_needs.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "learn/answer/refusal.hpp"
#include "learn/run/shard_copies.hpp"

namespace cox::learn {
namespace {

/// Without those that come twice, in order.
void make_single(std::vector<ParameterUnit>& ranges) {
  const auto key = [](const ParameterUnit& r) { return std::tuple(r.first, r.count); };
  std::ranges::sort(ranges, {}, key);
  const auto rest = std::ranges::unique(ranges, {}, key);
  ranges.erase(rest.begin(), rest.end());
}

/// Ranges in order, none over another, of so many parameters in as many shards as `parts`.
void add_parts(const std::vector<ParameterUnit>& ranges, std::int64_t parameters,
               std::vector<double>& parts) {
  std::ranges::fill(parts, 0.0);
  const auto first = [&](std::size_t shard) {
    return static_cast<std::int64_t>(
        ShardCopies::first_of(static_cast<std::size_t>(parameters), parts.size(), shard));
  };
  std::size_t shard = 0;
  for (ParameterUnit range : ranges)
    while (range.count > 0) {
      while (first(shard + 1) <= range.first) ++shard;
      const std::int64_t size = first(shard + 1) - first(shard);
      const std::int64_t here = std::min(range.count, first(shard + 1) - range.first);
      const std::int64_t key = here < size ? 1 : 0;
      parts[shard] += static_cast<double>(here + key) / static_cast<double>(size);
      range = {.first = range.first + here, .count = range.count - here};
    }
  // With so many rows the whole shard is shorter than they are with their keys.
  for (double& part : parts) part = std::min(part, 1.0);
}

}  // namespace

Result<StepNeeds> needs_of(const Problem& problem, const StepShare& share, int workers, int shards) {
  std::vector<ParameterUnit> ranges;
  problem.touched({}, ranges);
  if (ranges.size() == 1 && ranges.front().count == problem.parameters())
    return refuse("pull=sparse has no effect: every step of this problem needs all parameters",
                  "learn embedding, or leave it out");
  return StepNeeds([&problem, share, workers, shards, ranges](int worker, std::int64_t step,
                                                              std::vector<double>& parts) mutable {
    ranges.clear();
    for (std::int64_t leaf = 0; leaf < share.leaves; ++leaf)
      problem.touched(share.shard(workers, worker, step, leaf), ranges);
    make_single(ranges);
    parts.resize(static_cast<std::size_t>(shards));
    add_parts(ranges, problem.parameters(), parts);
  });
}

}  // namespace cox::learn
