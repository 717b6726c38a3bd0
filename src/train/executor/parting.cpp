// SPDX-License-Identifier: Apache-2.0
#include "train/executor/parting.hpp"

#include "cox/model/schedule.hpp"

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

Stretch Parting::part(std::size_t u, int rank) const {
  if (!owners_.empty()) return {.first = units_[u].first, .count = owners_[u] == rank ? units_[u].count : 0};
  const Stretch inside = part_of(units_[u].count, rank, ranks_);
  return {.first = units_[u].first + inside.first, .count = inside.count};
}

std::int64_t Parting::kept(int rank) const {
  return place(units_.size(), rank);
}

std::int64_t Parting::place(std::size_t u, int rank) const {
  std::int64_t before = 0;
  for (std::size_t v = 0; v < u; ++v) before += part(v, rank).count;
  return before;
}

}  // namespace cox::train
