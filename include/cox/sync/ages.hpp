// SPDX-License-Identifier: Apache-2.0
/// \file
/// How old updates were when they were applied: of a job, and of each of its workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/sync/stream.hpp"

namespace cox::sync {

/// Counts of ages, in versions. Exact below 256; above, 128 buckets for each doubling, so that a percentile is at most
/// 1/128 below the age of its rank. Largest, count and mean are exact.
/// Memory: 8 bytes a bucket up to the largest age, at most 60 KB. Cost: O(1) per age. Threads: one owner.
/// Held by: src/sync/ages_test.cpp
class AgeCounts {
 public:
  /// Pre: `age` is not negative (asserted).
  void add(std::int64_t age, std::int64_t count = 1);
  /// As if the ages of `other` had been added.
  void merge(const AgeCounts& other);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double mean() const {
    return count_ > 0 ? static_cast<double>(sum_) / static_cast<double>(count_) : 0;
  }
  /// The least age that a part `q` of all does not exceed (rank ceil(q count)); 0 where there is none. Pre: 0 < q <= 1.
  [[nodiscard]] std::int64_t quantile(double q) const;
  [[nodiscard]] std::int64_t largest() const { return largest_; }

  /// Ages from `from` to `to`, both among them.
  struct Range {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t count = 0;
  };
  /// A histogram whose ranges double: 0, 1, 2 to 3, 4 to 7, ... up to the one with the largest age. Exact.
  [[nodiscard]] std::vector<Range> by_doubling() const;
  /// How many had age 0, 1, 2, ..., each bucket's ages counted as its least one.
  [[nodiscard]] std::vector<std::int64_t> by_age() const;

 private:
  std::vector<std::int64_t> buckets_;
  std::int64_t count_ = 0;
  std::int64_t sum_ = 0;
  std::int64_t largest_ = 0;
};

/// Ages of the applied updates of a stream, by worker.
/// Memory: as AgeCounts, for each worker. Threads: one owner. Held by: src/sync/ages_test.cpp
class StreamAges {
 public:
  explicit StreamAges(int workers) : of_(static_cast<std::size_t>(workers)) {}
  void take(const StreamEvent& event);
  [[nodiscard]] std::span<const AgeCounts> workers() const { return of_; }
  /// Of all workers together.
  [[nodiscard]] AgeCounts all() const;

 private:
  std::vector<AgeCounts> of_;
};

}  // namespace cox::sync
