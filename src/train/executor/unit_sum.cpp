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

/// Adds up, in place, sums over aligned leaves that follow each other: the tree of learn::TreeSum. Returns where the sum is; zeros
/// of nobody where there is none.
template <class Value>
std::span<Value> sum_in_tree(const std::vector<PlacedSum<Value>>& sums,
                             typename UnitSumOf<Value>::Adds adds) {
  std::vector<PlacedSum<Value>> waiting;
  for (PlacedSum<Value> next : sums) {
    while (!waiting.empty() && pair_up(waiting.back().place, next.place)) {
      adds(waiting.back().values, next.values);
      next.place = together(waiting.back().place);
      waiting.pop_back();
    }
    waiting.push_back(next);
  }
  for (; waiting.size() > 1; waiting.erase(waiting.end() - 2))
    adds(waiting[waiting.size() - 2].values, waiting.back().values);
  return waiting.empty() ? std::span<Value>{} : waiting.front().values;
}

template <learn::NumberFormat format>
void add_rounded(std::span<const std::uint16_t> left, std::span<std::uint16_t> right) {
  learn::add_codes(format, left, right);
}

}  // namespace

template <class Value>
UnitSumOf<Value>::UnitSumOf(std::int64_t leaves, const Parting& parting, int rank, MemoryCount& memory,
                            Adds adds)
    : parting_(parting),
      rank_(rank),
      memory_(memory),
      adds_(adds),
      leaves_(part_of(leaves, rank, parting.ranks())),
      units_(parting.units()) {
  for (int r = 0; r < parting.ranks(); ++r) {
    of_rank_.push_back(aligned(part_of(leaves, r, parting.ranks())));
    most_ = std::max(most_, of_rank_.back().size());
  }
}

template <class Value>
bool UnitSumOf<Value>::add(std::size_t unit, std::span<Value> leaf) {
  const std::int64_t added = units_[unit].added;
  return add(unit, leaf, leaves_.first + (added == leaves_.count ? 0 : added));
}

template <class Value>
bool UnitSumOf<Value>::add(std::size_t unit, std::span<Value> leaf, std::int64_t number) {
  UnitState& state = units_[unit];
  if (state.added == leaves_.count) state = {};
  const bool last = ++state.added == leaves_.count;
  std::vector<Own>& sums = state.sums;
  Own next{.place = {.first = base_ + number, .level = 0}, .kept = {}, .values = leaf};
  auto at = std::ranges::upper_bound(sums, next.place.first, {}, [](const Own& o) { return o.place.first; });
  for (;;) {
    if (at != sums.begin() && neighbours(std::prev(at)->place, next.place)) {
      at = std::prev(at);
      adds_(at->values, next.values);
      next.place = together(at->place);
    } else if (at != sums.end() && neighbours(next.place, at->place)) {
      adds_(next.values, at->values);
      at->place = together(next.place);
      next = std::move(*at);
    } else {
      break;
    }
    at = sums.erase(at);
  }
  if (!last && next.values.data() == leaf.data()) {
    next.kept = Counted<Value>(memory_, Use::Sums, leaf.size());
    std::ranges::copy(leaf, next.kept.all().begin());
    next.values = next.kept.all();
  }
  sums.insert(at, std::move(next));
  return last;
}

template <class Value>
std::span<Value> UnitSumOf<Value>::slice(std::span<Value> unit, std::size_t u, int rank) const {
  const Stretch part = part_of(parting_.unit(u).count, rank, parting_.ranks());
  return unit.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
}

template <class Value>
void UnitSumOf<Value>::begin(Transport& transport, std::size_t unit) {
  UnitState& state = units_[unit];
  COX_ASSERT(state.added == leaves_.count, "all own leaves were added");
  const auto count = static_cast<std::size_t>(parting_.part(unit, rank_).count);
  std::size_t others = 0;
  for (int r = 0; r < parting_.ranks(); ++r)
    if (r != rank_) others += of_rank_[static_cast<std::size_t>(r)].size();
  state.received = Counted<Value>(memory_, Use::Received, others * count);
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

template <class Value>
std::span<Value> UnitSumOf<Value>::finish(std::size_t unit) {
  UnitState& state = units_[unit];
  const auto count = static_cast<std::size_t>(parting_.part(unit, rank_).count);
  std::vector<PlacedSum<Value>> sums;
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
  return sum_in_tree(sums, adds_);
}

template <class Value>
std::span<Value> UnitSumOf<Value>::own(std::size_t unit) {
  std::vector<PlacedSum<Value>> sums;
  for (const Own& own : units_[unit].sums) sums.push_back({.place = own.place, .values = own.values});
  return sum_in_tree(sums, adds_);
}

template class UnitSumOf<float>;
template class UnitSumOf<std::uint16_t>;

UnitSum::UnitSum(std::int64_t leaves, const Parting& parting, int rank, MemoryCount& memory)
    : UnitSumOf(leaves, parting, rank, memory, add_left) {}

CodeSum::CodeSum(std::int64_t leaves, const Parting& parting, int rank, MemoryCount& memory,
                 learn::NumberFormat format)
    : UnitSumOf(leaves, parting, rank, memory,
                format == learn::NumberFormat::Fp16 ? add_rounded<learn::NumberFormat::Fp16>
                                                    : add_rounded<learn::NumberFormat::Bf16>) {}

template <class Value>
void gather_unit(Transport& transport, const Parting& parting, std::size_t unit, std::span<const Value> own,
                 std::span<Value> values) {
  const std::uint64_t number = transport.numbers(1);
  for (int r = 0; r < parting.ranks(); ++r) {
    const Stretch part = parting.part(unit, r);
    const std::span<Value> place =
        values.subspan(static_cast<std::size_t>(part.first - parting.unit(unit).first),
                       static_cast<std::size_t>(part.count));
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
template void gather_unit<float>(Transport&, const Parting&, std::size_t, std::span<const float>,
                                 std::span<float>);
template void gather_unit<std::uint16_t>(Transport&, const Parting&, std::size_t,
                                         std::span<const std::uint16_t>, std::span<std::uint16_t>);

void begin_gather(Transport& transport, const Parting& parting, std::size_t unit, std::span<const float> own,
                  std::span<float> values) {
  const Stretch all = parting.unit(unit);
  gather_unit<float>(
      transport, parting, unit, own,
      values.subspan(static_cast<std::size_t>(all.first), static_cast<std::size_t>(all.count)));
}

Bytes reduce_bytes(std::int64_t leaves, const Parting& parting, int rank) {
  const auto stretches = static_cast<std::int64_t>(aligned(part_of(leaves, rank, parting.ranks())).size());
  return bytes_of_all(model::Collective::ReduceScatter, parting, rank) * stretches;
}

Bytes gather_bytes(const Parting& parting, int rank) {
  return bytes_of_all(model::Collective::AllGather, parting, rank);
}

}  // namespace cox::train
