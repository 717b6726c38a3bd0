// SPDX-License-Identifier: Apache-2.0
/// \file
/// Quantiles of more numbers than one keeps.
#pragma once

#include <cstdint>
#include <vector>

namespace cox {

/// Counts of values in buckets whose borders grow by one ratio: DDSketch.
///
/// Error:   a quantile is within `relative_error` of the value of that rank, for any number of values. Smallest and
///          largest are exact.
/// Merging: as if the values had been added to one; in any order, the same bits.
/// Source:  Masson, Rim, Lee 2019, sections 2.1 and 2.2, without a limit of buckets: values from a to b take
///          ln(b / a) / (2 relative_error) of 8 bytes, at most 6 MB at 0.001.
/// Threads: none; one owner. Same values, same bits on every machine.
/// Held by: src/base/quantile_sketch_test.cpp
class QuantileSketch {
 public:
  /// Pre: 0 < relative_error < 1 (asserted).
  explicit QuantileSketch(double relative_error = 0.001);
  /// `count` times `value`. Pre: finite, not negative (asserted). Below 1e-300 counts as zero.
  void add(double value, std::int64_t count = 1);
  /// Pre: of the same relative error (asserted).
  void merge(const QuantileSketch& other);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double relative_error() const { return error_; }
  [[nodiscard]] double smallest() const { return smallest_; }
  [[nodiscard]] double largest() const { return largest_; }
  /// About the value of rank floor(q (count - 1)), counted from 0; 0 where there is none.
  [[nodiscard]] double quantile(double q) const;

 private:
  [[nodiscard]] int bucket_of(double value) const;
  void count_in(int bucket, std::int64_t count);

  double error_;
  double step_;  ///< of the borders' logarithm
  std::int64_t count_ = 0;
  std::int64_t zeros_ = 0;
  double smallest_ = 0;
  double largest_ = 0;
  int first_ = 0;  ///< bucket of counts_[0]
  std::vector<std::int64_t> counts_;
  double last_value_ = -1;  ///< many values are like the one before
  int last_bucket_ = 0;
};

}  // namespace cox
