// SPDX-License-Identifier: Apache-2.0
#include "cox/model/program.hpp"

#include <utility>

#include "cox/base/assert.hpp"

namespace cox::model {

Dependencies::Dependencies(std::vector<std::uint64_t> first, std::vector<OperationIndex> before)
    : first_(std::move(first)), before_(std::move(before)) {
  COX_ASSERT(!first_.empty() && first_.front() == 0 && first_.back() == before_.size(), "columns fit");
  for (std::size_t i = 0; i + 1 < first_.size(); ++i) {
    COX_ASSERT(first_[i] <= first_[i + 1], "columns fit");
    for (std::uint64_t e = first_[i]; e < first_[i + 1]; ++e) is_ordered_ = is_ordered_ && before_[e] < i;
  }
}

OperationIndex Dependencies::add(std::span<const OperationIndex> before) {
  const auto i = static_cast<OperationIndex>(size());
  COX_ASSERT(i != kNoOperation, "a program holds fewer than 2^32 - 1 operations");
  for (const OperationIndex p : before) is_ordered_ = is_ordered_ && p < i;
  before_.insert(before_.end(), before.begin(), before.end());
  if (!lags_.empty()) lags_.resize(before_.size(), Duration::zero());
  first_.push_back(before_.size());
  return i;
}

OperationIndex Dependencies::add(OperationIndex before) {
  return before == kNoOperation ? add(std::span<const OperationIndex>()) : add(std::span(&before, 1));
}

OperationIndex Dependencies::add(std::span<const OperationIndex> before, std::span<const Duration> lags) {
  COX_ASSERT(before.size() == lags.size(), "one lag per predecessor");
  const std::size_t had = before_.size();
  const OperationIndex i = add(before);
  lags_.resize(had, Duration::zero());
  lags_.insert(lags_.end(), lags.begin(), lags.end());
  return i;
}

void Dependencies::reserve(std::size_t operations, std::size_t edges) {
  first_.reserve(operations + 1);
  before_.reserve(edges);
}

}  // namespace cox::model
