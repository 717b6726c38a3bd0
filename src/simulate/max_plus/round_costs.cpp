// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/round_costs.hpp"

#include <algorithm>
#include <optional>

#include "cox/base/assert.hpp"

namespace cox::simulate {
namespace {

using model::MessageCost;
using model::RegularRound;

/// A place sends one chunk, whose number goes up or down by one from place to place.
bool walks_chunks(const RegularRound& round) {
  return round.pattern == RegularRound::Pattern::Shift && round.span == 1 && round.chunks == round.size &&
         round.flip == 0 && (round.sign == 1 || round.sign == -1);
}

/// What the outer cuts leave, where they are the same for all.
std::optional<Bytes> even_cut(const RegularRound& round) {
  Bytes left = round.total;
  for (const RegularRound::Cut& c : round.outer) {
    if (c.size != 1 && left.count() % c.chunks != 0) return std::nullopt;
    left = model::chunk_bytes(left, c.chunks, c.phase % c.chunks);
  }
  return left;
}

/// Whether the outer cuts leave as much to all places of a group that have the same rank in their stride.
bool cuts_follow_stride(const RegularRound& round) {
  return std::ranges::all_of(round.outer, [&](const RegularRound::Cut& c) {
    return c.size == 1 || round.stride % (c.stride * c.size) == 0;
  });
}

/// What the outer cuts leave to rank `inner` of each stride.
Bytes cut_bytes(const RegularRound& round, int inner) {
  Bytes left = round.total;
  for (const RegularRound::Cut& c : round.outer)
    left = model::chunk_bytes(left, c.chunks, (inner / c.stride % c.size + c.phase) % c.chunks);
  return left;
}

std::int64_t wrapped(std::int64_t i, std::int64_t n) {
  const std::int64_t r = i % n;
  return r < 0 ? r + n : r;
}

/// Of `cut` bytes in chunks [0, cut mod chunks) are larger: the places that receive them. Place p sends chunk
/// (p sign + phase) mod chunks, to p + by.
struct LargePlaces {
  LargePlaces(const RegularRound& round, Bytes cut) : count(cut.count() % round.chunks) {
    const std::int64_t sends = round.sign == 1 ? -round.phase : round.phase - count + 1;
    first = wrapped(sends + round.by, round.size);
  }
  std::int64_t count;
  std::int64_t first;
};

}  // namespace

RoundCosts::RoundCosts(const LinkCosts& costs, model::Protocol protocol, int ranks)
    : costs_(costs), port_(protocol == model::Protocol::EagerGap), ranks_(ranks) {
  COX_ASSERT(costs.into.empty() || costs.into.size() >= static_cast<std::size_t>(ranks), "one cost per rank");
}

template <class Value>
void RoundCosts::fill(Table& table, const RegularRound& round, Value value) {
  table.values.resize(static_cast<std::size_t>(ranks_));
  priced_ += ranks_;
  for (int r = 0; r < ranks_; ++r) {
    const int from = round.from(r);
    table.values[static_cast<std::size_t>(r)] = value(from, costs_.of(from, r));
  }
}

CostSource RoundCosts::source(Table& table, const RegularRound& round, Bytes bytes) {
  const auto value = [this, bytes](const MessageCost& c) {
    return (port_ ? c.occupied(bytes) : c(bytes)).count();
  };
  if (const MessageCost* c = costs_.only(ranks_)) {
    ++priced_;
    return {nullptr, value(*c)};
  }
  // costs into a rank do not depend on who sends
  const Geometry geometry =
      costs_.into.empty() ? Geometry{round.pattern, round.size, round.stride, round.by} : Geometry{};
  if (!table.filled || table.geometry != geometry || table.bytes != bytes) {
    if (costs_.into.empty()) {
      fill(table, round, [&](int, const MessageCost& c) { return value(c); });
    } else {
      table.values.resize(static_cast<std::size_t>(ranks_));
      for (std::size_t r = 0; r < table.values.size(); ++r) table.values[r] = value(costs_.into[r]);
      priced_ += ranks_;
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

/// Cuts of cuts leave n / (product of chunks) bytes or one more: cutting q or q + 1 bytes into c gives q / c or one more.
CostSource RoundCosts::by_stride(const RegularRound& round) {
  std::int64_t pieces = round.chunks;
  for (const RegularRound::Cut& c : round.outer) pieces *= c.chunks;
  const std::int64_t least = round.total.count() / pieces;
  const CostSource small = source(sizes_[0], round, Bytes{least} * round.copies);
  const CostSource large = source(sizes_[1], round, Bytes{least + 1} * round.copies);
  if (small.each != nullptr)
    mixed_.values.assign(small.each, small.each + ranks_);
  else
    mixed_.values.assign(static_cast<std::size_t>(ranks_), small.all);
  const int length = round.size * round.stride;
  for (int inner = 0; inner < round.stride; ++inner) {
    const Bytes cut = cut_bytes(round, inner);
    LargePlaces places(round, cut);
    if (cut.count() / round.chunks > least) places.count = round.size;
    for (std::int64_t n = 0; n < places.count; ++n) {
      const std::int64_t place = (places.first + n) % round.size;
      for (std::int64_t r = place * round.stride + inner; r < ranks_; r += length)
        mixed_.values[static_cast<std::size_t>(r)] = large.at(static_cast<std::size_t>(r));
    }
  }
  return {mixed_.values.data(), 0};
}

bool RoundCosts::keeps(const RegularRound& round) {
  return round.uniform() || (walks_chunks(round) && even_cut(round));
}

RoundView RoundCosts::view(const RegularRound& round) {
  RoundView view;
  if (port_ || want_latency_) view.latency = latencies(round);
  if (round.uniform()) {
    view.small = source(sizes_[0], round, round.bytes_from(0));
    return view;
  }
  const std::optional<Bytes> cut = walks_chunks(round) ? even_cut(round) : std::nullopt;
  if (!cut) {
    const bool few = walks_chunks(round) && cuts_follow_stride(round);
    view.small = few ? by_stride(round) : by_message(round);
    return view;
  }
  const Bytes bytes = *cut / round.chunks;
  view.small = source(sizes_[0], round, bytes * round.copies);
  view.large = source(sizes_[1], round, (bytes + Bytes{1}) * round.copies);
  view.two_sizes = true;
  const LargePlaces places(round, *cut);
  view.large_first = places.first;
  view.large_count = places.count;
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
