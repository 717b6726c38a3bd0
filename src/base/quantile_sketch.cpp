// SPDX-License-Identifier: Apache-2.0
#include "cox/base/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

namespace cox {
namespace {

constexpr double kZero = 1e-300;

}  // namespace

QuantileSketch::QuantileSketch(double relative_error)
    : error_(relative_error), step_(logarithm((1 + relative_error) / (1 - relative_error))) {
  COX_ASSERT(relative_error > 0 && relative_error < 1, "an error is a part");
}

/// Bucket i holds (ratio^(i-1), ratio^i].
int QuantileSketch::bucket_of(double value) const {
  return static_cast<int>(std::ceil(logarithm(value) / step_));
}

void QuantileSketch::count_in(int bucket, std::int64_t count) {
  if (counts_.empty()) first_ = bucket;
  if (bucket < first_) {
    counts_.insert(counts_.begin(), static_cast<std::size_t>(first_ - bucket), 0);
    first_ = bucket;
  }
  const auto at = static_cast<std::size_t>(bucket - first_);
  if (at >= counts_.size()) counts_.resize(at + 1);
  counts_[at] += count;
}

void QuantileSketch::add(double value, std::int64_t count) {
  COX_ASSERT(std::isfinite(value) && value >= 0 && count >= 0, "a finite number that is not negative");
  if (count == 0) return;
  smallest_ = count_ == 0 ? value : std::min(smallest_, value);
  largest_ = count_ == 0 ? value : std::max(largest_, value);
  count_ += count;
  if (value < kZero) {
    zeros_ += count;
    return;
  }
  if (value != last_value_) {
    last_value_ = value;
    last_bucket_ = bucket_of(value);
  }
  count_in(last_bucket_, count);
}

void QuantileSketch::merge(const QuantileSketch& other) {
  COX_ASSERT(error_ == other.error_, "sketches of one error");
  if (other.count_ == 0) return;
  smallest_ = count_ == 0 ? other.smallest_ : std::min(smallest_, other.smallest_);
  largest_ = count_ == 0 ? other.largest_ : std::max(largest_, other.largest_);
  count_ += other.count_;
  zeros_ += other.zeros_;
  for (std::size_t i = 0; i < other.counts_.size(); ++i)
    if (other.counts_[i] > 0) count_in(other.first_ + static_cast<int>(i), other.counts_[i]);
}

double QuantileSketch::quantile(double q) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<std::int64_t>(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_ - 1));
  if (rank == 0) return smallest_;
  if (rank == count_ - 1) return largest_;
  std::int64_t before = zeros_;
  if (rank < before) return 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    before += counts_[i];
    if (rank >= before) continue;
    // As far from both borders in ratio: 2 ratio^i / (ratio + 1).
    const double border = exponential(step_ * (first_ + static_cast<int>(i)));
    return std::clamp(border * (1 - error_), smallest_, largest_);
  }
  return largest_;
}

}  // namespace cox
