// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/ages.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::sync {
namespace {

constexpr std::int64_t kExact = 256;
constexpr int kBits = 7;  ///< of an age above, that its bucket keeps behind the first one

std::size_t bucket_of(std::int64_t age) {
  if (age < kExact) return static_cast<std::size_t>(age);
  const auto value = static_cast<std::uint64_t>(age);
  const int dropped = static_cast<int>(std::bit_width(value)) - (kBits + 1);
  return static_cast<std::size_t>(dropped + 1) * (kExact / 2) +
         static_cast<std::size_t>((value >> dropped) - (kExact / 2));
}

/// The least age of a bucket.
std::int64_t age_of(std::size_t bucket) {
  if (bucket < kExact) return static_cast<std::int64_t>(bucket);
  const std::size_t dropped = bucket / (kExact / 2) - 1;
  return static_cast<std::int64_t>(bucket % (kExact / 2) + kExact / 2) << dropped;
}

}  // namespace

void AgeCounts::add(std::int64_t age, std::int64_t count) {
  COX_ASSERT(age >= 0, "an update is not older than the version that it met");
  const std::size_t bucket = bucket_of(age);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  buckets_[bucket] += count;
  count_ += count;
  sum_ += age * count;
  largest_ = std::max(largest_, age);
}

void AgeCounts::merge(const AgeCounts& other) {
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size());
  for (std::size_t b = 0; b < other.buckets_.size(); ++b) buckets_[b] += other.buckets_[b];
  count_ += other.count_;
  sum_ += other.sum_;
  largest_ = std::max(largest_, other.largest_);
}

std::int64_t AgeCounts::quantile(double q) const {
  COX_ASSERT(q > 0 && q <= 1, "a part of the updates");
  if (count_ == 0) return 0;
  const auto rank =
      std::max(std::int64_t{1}, static_cast<std::int64_t>(std::ceil(q * static_cast<double>(count_))));
  std::int64_t below = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if ((below += buckets_[b]) >= rank) return age_of(b);
  return largest_;
}

std::vector<AgeCounts::Range> AgeCounts::by_doubling() const {
  std::vector<Range> out;
  if (count_ == 0) return out;
  for (std::int64_t from = 0; from <= largest_; from = from == 0 ? 1 : 2 * from)
    out.push_back({.from = from, .to = from == 0 ? 0 : 2 * from - 1});
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    out[std::min(static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(age_of(b)))),
                 out.size() - 1)]
        .count += buckets_[b];
  return out;
}

std::vector<std::int64_t> AgeCounts::by_age() const {
  std::vector<std::int64_t> out(count_ > 0 ? static_cast<std::size_t>(largest_) + 1 : 0);
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if (buckets_[b] > 0) out[static_cast<std::size_t>(age_of(b))] += buckets_[b];
  return out;
}

void StreamAges::take(const StreamEvent& event) {
  if (event.update.worker == kServer) return;
  const auto worker = static_cast<std::size_t>(event.update.worker);
  if (event.kind == StreamEvent::Kind::Joined && worker >= of_.size()) of_.resize(worker + 1);
  if (event.kind == StreamEvent::Kind::Delivered && event.update.applied) of_[worker].add(event.update.age());
}

AgeCounts StreamAges::all() const {
  AgeCounts out;
  for (const AgeCounts& one : of_) out.merge(one);
  return out;
}

}  // namespace cox::sync
