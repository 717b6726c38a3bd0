// SPDX-License-Identifier: Apache-2.0
#include "train/executor/ordered_sum.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"
#include "cox/model/schedule.hpp"

#include "train/executor/executor.hpp"

namespace cox::train {

Stretch part_of(std::int64_t all, int rank, int ranks) {
  return {.first = model::chunks_before(Bytes{all}, ranks, rank).count(),
          .count = model::chunk_bytes(Bytes{all}, ranks, rank).count()};
}

std::vector<AlignedLeaves> aligned(const Stretch& leaves) {
  std::vector<AlignedLeaves> found;
  for (std::int64_t at = leaves.first; at < leaves.end();) {
    std::size_t level = 0;
    for (std::int64_t twice = 2; at % twice == 0 && at + twice <= leaves.end(); twice *= 2) ++level;
    found.push_back({.first = at, .level = level});
    at += std::int64_t{1} << level;
  }
  return found;
}

OrderedSum::OrderedSum(std::int64_t leaves, std::int64_t elements, int rank, int ranks)
    : elements_(elements),
      rank_(rank),
      ranks_(ranks),
      leaves_(part_of(leaves, rank, ranks)),
      part_(part_of(elements, rank, ranks)),
      stretch_(static_cast<std::size_t>(elements)),
      total_(static_cast<std::size_t>(part_.count)) {
  std::size_t others = 0;
  for (int r = 0; r < ranks; ++r) {
    of_rank_.push_back(aligned(part_of(leaves, r, ranks)));
    if (r != rank) others += of_rank_.back().size();
  }
  for (const AlignedLeaves& a : of_rank_[static_cast<std::size_t>(rank)])
    own_.push_back({.place = a, .sum = {}});
  came_.resize(others * static_cast<std::size_t>(part_.count));
}

void OrderedSum::add(std::span<const float> leaf) {
  COX_ASSERT(filled_ < own_.size(), "a leaf more than the rank has");
  stretch_.add(leaf);
  Own& own = own_[filled_];
  if (stretch_.leaves() < std::int64_t{1} << own.place.level) return;
  const std::span<const float> sum = stretch_.take();
  own.sum.assign(sum.begin(), sum.end());
  ++filled_;
}

std::span<const float> OrderedSum::slice(const Own& own, const Stretch& part) const {
  return std::span(own.sum).subspan(static_cast<std::size_t>(part.first),
                                    static_cast<std::size_t>(part.count));
}

Result<std::span<float>> OrderedSum::reduce(Transport& transport) {
  COX_ASSERT(filled_ == own_.size(), "all own leaves were added");
  filled_ = 0;
  const auto count = static_cast<std::size_t>(part_.count);
  std::size_t most = 0;
  for (const auto& list : of_rank_) most = std::max(most, list.size());
  const std::uint64_t base = transport.numbers(most);  // between two ranks, one message per number
  std::size_t at = 0;
  for (int r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    for (std::size_t i = 0; i < own_.size(); ++i)
      transport.send(r, base + i, std::as_bytes(slice(own_[i], part_of(elements_, r, ranks_))));
    for (std::size_t i = 0; i < of_rank_[static_cast<std::size_t>(r)].size(); ++i, at += count)
      transport.receive(r, base + i, std::as_writable_bytes(std::span(came_).subspan(at, count)));
  }
  COX_CHECK(transport.wait());
  at = 0;
  for (int r = 0; r < ranks_; ++r)
    for (std::size_t i = 0; i < of_rank_[static_cast<std::size_t>(r)].size(); ++i) {
      const AlignedLeaves& place = of_rank_[static_cast<std::size_t>(r)][i];
      if (r == rank_) {
        total_.add(slice(own_[i], part_), place.level);
      } else {
        total_.add(std::span(came_).subspan(at, count), place.level);
        at += count;
      }
    }
  return total_.take();
}

Status OrderedSum::gather(Transport& transport, std::span<float> values) const {
  COX_ASSERT(static_cast<std::int64_t>(values.size()) == elements_, "all elements");
  const std::uint64_t number = transport.numbers(1);
  const auto inside = [&](const Stretch& part) {
    return values.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
  };
  for (int r = 0; r < ranks_; ++r) {
    if (r == rank_) continue;
    transport.send(r, number, std::as_bytes(inside(part_)));
    transport.receive(r, number, std::as_writable_bytes(inside(part_of(elements_, r, ranks_))));
  }
  return transport.wait();
}

Bytes ordered_bytes(std::int64_t leaves, std::int64_t elements, int rank, int ranks) {
  model::CollectiveSpec spec{.kind = model::Collective::ReduceScatter,
                             .algorithm = model::Algorithm::Direct,
                             .ranks = ranks,
                             .bytes = Bytes{elements} * sizeof(float)};
  const auto scatter = scheduled_bytes(spec);
  spec.kind = model::Collective::AllGather;
  const auto gather = scheduled_bytes(spec);
  COX_ASSERT(scatter && gather, "both are described for any number of ranks");
  const auto r = static_cast<std::size_t>(rank);
  const auto stretches = static_cast<std::int64_t>(aligned(part_of(leaves, rank, ranks)).size());
  return (*scatter)[r] * stretches + (*gather)[r];
}

}  // namespace cox::train
