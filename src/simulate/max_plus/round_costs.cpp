// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/round_costs.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

using model::MessageCost;
using model::RegularRound;

/// Large chunks have the numbers [0, n mod chunks); the places that send them form a cyclic interval where a
/// place's chunk number goes up or down by one from place to place.
bool has_interval_of_large(const RegularRound& round) {
  if (round.pattern != RegularRound::Pattern::Shift || round.span != 1 || round.chunks != round.size)
    return false;
  if (round.flip != 0 || round.copies != 1 || (round.sign != 1 && round.sign != -1)) return false;
  return std::ranges::all_of(round.outer, [](const RegularRound::Cut& c) { return c.size == 1; });
}

/// What the outer cuts leave, where they are the same for all.
Bytes cut_bytes(const RegularRound& round) {
  Bytes left = round.total;
  for (const RegularRound::Cut& c : round.outer)
    left = model::chunk_bytes(left, c.chunks, c.phase % c.chunks);
  return left;
}

std::int64_t wrapped(std::int64_t i, std::int64_t n) {
  const std::int64_t r = i % n;
  return r < 0 ? r + n : r;
}

}  // namespace

RoundCosts::RoundCosts(const LinkCosts& costs, model::Protocol protocol, int ranks)
    : costs_(costs), port_(protocol == model::Protocol::EagerGap), ranks_(ranks) {
  COX_ASSERT(costs.into.empty() || costs.into.size() >= static_cast<std::size_t>(ranks), "one cost per rank");
}

template <class Value>
void RoundCosts::fill(Table& table, const RegularRound& round, Value value) const {
  table.values.resize(static_cast<std::size_t>(ranks_));
  for (int r = 0; r < ranks_; ++r) {
    const int from = round.from(r);
    table.values[static_cast<std::size_t>(r)] = value(from, costs_.of(from, r));
  }
}

CostSource RoundCosts::source(Table& table, const RegularRound& round, Bytes bytes) {
  const auto value = [this, bytes](const MessageCost& c) {
    return (port_ ? c.occupied(bytes) : c(bytes)).count();
  };
  if (const MessageCost* c = costs_.only(ranks_)) return {nullptr, value(*c)};
  // costs into a rank do not depend on who sends
  const Geometry geometry =
      costs_.into.empty() ? Geometry{round.pattern, round.size, round.stride, round.by} : Geometry{};
  if (!table.filled || table.geometry != geometry || table.bytes != bytes) {
    if (costs_.into.empty()) {
      fill(table, round, [&](int, const MessageCost& c) { return value(c); });
    } else {
      table.values.resize(static_cast<std::size_t>(ranks_));
      for (std::size_t r = 0; r < table.values.size(); ++r) table.values[r] = value(costs_.into[r]);
    }
    table.filled = true;
    table.geometry = geometry;
    table.bytes = bytes;
  }
  return {table.values.data(), 0};
}

CostSource RoundCosts::latencies(const RegularRound& round) {
  if (const MessageCost* c = costs_.only(ranks_)) return {nullptr, c->latency.count()};
  const Geometry geometry =
      costs_.into.empty() ? Geometry{round.pattern, round.size, round.stride, round.by} : Geometry{};
  if (!latency_.filled || latency_.geometry != geometry) {
    fill(latency_, round, [](int, const MessageCost& c) { return c.latency.count(); });
    latency_.filled = true;
    latency_.geometry = geometry;
  }
  return {latency_.values.data(), 0};
}

CostSource RoundCosts::by_message(const RegularRound& round) {
  fill(mixed_, round, [&](int from, const MessageCost& c) {
    const Bytes bytes = round.bytes_from(from);
    return (port_ ? c.occupied(bytes) : c(bytes)).count();
  });
  return {mixed_.values.data(), 0};
}

bool RoundCosts::keeps(const RegularRound& round) {
  return round.uniform() || has_interval_of_large(round);
}

RoundView RoundCosts::view(const RegularRound& round) {
  RoundView view;
  if (port_ || want_latency_) view.latency = latencies(round);
  if (round.uniform()) {
    view.small = source(sizes_[0], round, round.bytes_from(0));
    return view;
  }
  if (!has_interval_of_large(round)) {
    view.small = by_message(round);
    return view;
  }
  const Bytes cut = cut_bytes(round);
  const std::int64_t more = cut.count() % round.chunks;
  const Bytes bytes = cut / round.chunks;
  view.small = source(sizes_[0], round, bytes);
  view.large = source(sizes_[1], round, bytes + Bytes{1});
  view.two_sizes = true;
  // place p sends chunk (p sign + phase) mod chunks, to p + by
  const std::int64_t first = round.sign == 1 ? -round.phase : round.phase - more + 1;
  view.large_first = wrapped(first + round.by, round.size);
  view.large_count = more;
  return view;
}

RoundCosts::Arrays RoundCosts::spread(const RegularRound& round) {
  all_latency_.resize(static_cast<std::size_t>(ranks_));
  all_whole_.resize(static_cast<std::size_t>(ranks_));
  for (int r = 0; r < ranks_; ++r) {
    const int from = round.from(r);
    const MessageCost& c = costs_.of(from, r);
    all_latency_[static_cast<std::size_t>(r)] = c.latency.count();
    all_whole_[static_cast<std::size_t>(r)] = c(round.bytes_from(from)).count();
  }
  return {all_latency_, all_whole_};
}

}  // namespace cox::simulate
