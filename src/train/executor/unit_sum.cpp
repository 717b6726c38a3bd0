// SPDX-License-Identifier: Apache-2.0
#include "train/executor/unit_sum.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/model/schedule.hpp"

#include "train/executor/executor.hpp"

namespace cox::train {
namespace {

/// right = left + right
void add_left(std::span<const float> left, std::span<float> right) {
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = left[i] + right[i];
}

std::int64_t size_of(const AlignedLeaves& a) {
  return std::int64_t{1} << a.level;
}

/// `right` follows `left`, and both make up one aligned stretch.
bool pair_up(const AlignedLeaves& left, const AlignedLeaves& right) {
  return left.level == right.level && left.first % (2 * size_of(left)) == 0;
}

bool neighbours(const AlignedLeaves& left, const AlignedLeaves& right) {
  return left.first + size_of(left) == right.first && pair_up(left, right);
}

AlignedLeaves together(const AlignedLeaves& left) {
  return {.first = left.first, .level = left.level + 1};
}

Bytes bytes_of_all(model::Collective kind, const Parting& parting, int rank) {
  Bytes all{};
  for (std::size_t u = 0; u < parting.units(); ++u) {
    const auto bytes = scheduled_bytes({.kind = kind,
                                        .algorithm = model::Algorithm::Direct,
                                        .ranks = parting.ranks(),
                                        .bytes = Bytes{parting.unit(u).count} * sizeof(float)});
    COX_ASSERT(bytes, "it is described for any number of ranks");
    all += (*bytes)[static_cast<std::size_t>(rank)];
  }
  return all;
}

}  // namespace

std::span<float> sum_in_tree(std::vector<PlacedSum>& sums) {
  std::vector<PlacedSum> waiting;
  for (PlacedSum next : sums) {
    while (!waiting.empty() && pair_up(waiting.back().place, next.place)) {
      add_left(waiting.back().values, next.values);
      next.place = together(waiting.back().place);
      waiting.pop_back();
    }
    waiting.push_back(next);
  }
  for (; waiting.size() > 1; waiting.erase(waiting.end() - 2))
    add_left(waiting[waiting.size() - 2].values, waiting.back().values);
  return waiting.empty() ? std::span<float>{} : waiting.front().values;
}

UnitSum::UnitSum(std::int64_t leaves, const Parting& parting, int rank, MemoryCount& memory)
    : parting_(parting),
      rank_(rank),
      memory_(memory),
      leaves_(part_of(leaves, rank, parting.ranks())),
      units_(parting.units()) {
  for (int r = 0; r < parting.ranks(); ++r) {
    of_rank_.push_back(aligned(part_of(leaves, r, parting.ranks())));
    most_ = std::max(most_, of_rank_.back().size());
  }
}

bool UnitSum::add(std::size_t unit, std::span<float> leaf) {
  const std::int64_t added = units_[unit].added;
  return add(unit, leaf, leaves_.first + (added == leaves_.count ? 0 : added));
}

bool UnitSum::add(std::size_t unit, std::span<float> leaf, std::int64_t number) {
  UnitState& state = units_[unit];
  if (state.added == leaves_.count) state = {};
  const bool last = ++state.added == leaves_.count;
  std::vector<Own>& sums = state.sums;
  Own next{.place = {.first = base_ + number, .level = 0}, .kept = {}, .values = leaf};
  auto at = std::ranges::upper_bound(sums, next.place.first, {}, [](const Own& o) { return o.place.first; });
  for (;;) {
    if (at != sums.begin() && neighbours(std::prev(at)->place, next.place)) {
      at = std::prev(at);
      add_left(at->values, next.values);
      next.place = together(at->place);
    } else if (at != sums.end() && neighbours(next.place, at->place)) {
      add_left(next.values, at->values);
      at->place = together(next.place);
      next = std::move(*at);
    } else {
      break;
    }
    at = sums.erase(at);
  }
  if (!last && next.values.data() == leaf.data()) {
    next.kept = CountedFloats(memory_, Use::Sums, leaf.size());
    std::ranges::copy(leaf, next.kept.all().begin());
    next.values = next.kept.all();
  }
  sums.insert(at, std::move(next));
  return last;
}

std::span<float> UnitSum::slice(std::span<float> unit, std::size_t u, int rank) const {
  const Stretch part = part_of(parting_.unit(u).count, rank, parting_.ranks());
  return unit.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
}

void UnitSum::begin(Transport& transport, std::size_t unit) {
  UnitState& state = units_[unit];
  COX_ASSERT(state.added == leaves_.count, "all own leaves were added");
  const auto count = static_cast<std::size_t>(parting_.part(unit, rank_).count);
  std::size_t others = 0;
  for (int r = 0; r < parting_.ranks(); ++r)
    if (r != rank_) others += of_rank_[static_cast<std::size_t>(r)].size();
  state.received = CountedFloats(memory_, Use::Received, others * count);
  const std::uint64_t base = transport.numbers(most_);  // between two ranks, one message per number
  std::size_t at = 0;
  for (int r = 0; r < parting_.ranks(); ++r) {
    if (r == rank_) continue;
    for (std::size_t i = 0; i < of_rank_[static_cast<std::size_t>(r)].size(); ++i, at += count)
      transport.receive(r, base + i, std::as_writable_bytes(state.received.all().subspan(at, count)));
  }
  for (int r = (rank_ + 1) % parting_.ranks(); r != rank_; r = (r + 1) % parting_.ranks())
    for (std::size_t i = 0; i < state.sums.size(); ++i)
      transport.send(r, base + i, std::as_bytes(slice(state.sums[i].values, unit, r)));
}

std::span<float> UnitSum::finish(std::size_t unit) {
  UnitState& state = units_[unit];
  const auto count = static_cast<std::size_t>(parting_.part(unit, rank_).count);
  std::vector<PlacedSum> sums;
  std::size_t at = 0;
  for (int r = 0; r < parting_.ranks(); ++r)
    for (std::size_t i = 0; i < of_rank_[static_cast<std::size_t>(r)].size(); ++i) {
      const AlignedLeaves& place = of_rank_[static_cast<std::size_t>(r)][i];
      if (r == rank_) {
        sums.push_back({.place = place, .values = slice(state.sums[i].values, unit, rank_)});
      } else {
        sums.push_back({.place = place, .values = state.received.all().subspan(at, count)});
        at += count;
      }
    }
  return sum_in_tree(sums);
}

std::span<float> UnitSum::own(std::size_t unit) {
  std::vector<PlacedSum> sums;
  for (const Own& own : units_[unit].sums) sums.push_back({.place = own.place, .values = own.values});
  return sum_in_tree(sums);
}

void begin_gather(Transport& transport, const Parting& parting, std::size_t unit, std::span<const float> own,
                  std::span<float> values) {
  const std::uint64_t number = transport.numbers(1);
  for (int r = 0; r < parting.ranks(); ++r) {
    const Stretch part = parting.part(unit, r);
    const std::span<float> place =
        values.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
    if (r == transport.rank()) {
      if (place.data() != own.data()) std::ranges::copy(own, place.begin());
      continue;
    }
    transport.receive(r, number, std::as_writable_bytes(place));
  }
  const int rank = transport.rank();
  for (int r = (rank + 1) % parting.ranks(); r != rank; r = (r + 1) % parting.ranks())
    transport.send(r, number, std::as_bytes(own));
}

Bytes reduce_bytes(std::int64_t leaves, const Parting& parting, int rank) {
  const auto stretches = static_cast<std::int64_t>(aligned(part_of(leaves, rank, parting.ranks())).size());
  return bytes_of_all(model::Collective::ReduceScatter, parting, rank) * stretches;
}

Bytes gather_bytes(const Parting& parting, int rank) {
  return bytes_of_all(model::Collective::AllGather, parting, rank);
}

}  // namespace cox::train
