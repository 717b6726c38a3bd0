// SPDX-License-Identifier: Apache-2.0
#include "cox/model/measured_times.hpp"

#include <algorithm>
#include <iterator>

#include "cox/base/elementary.hpp"

namespace cox::model {
namespace {

double log_of(Bytes bytes) {
  return logarithm(static_cast<double>(bytes.count()));
}

/// On the line from (a, at_a) to (b, at_b) in logarithms; where an end is zero, in plain numbers.
Seconds between(Bytes a, Seconds at_a, Bytes b, Seconds at_b, Bytes bytes) {
  if (at_a == at_b) return at_a;
  if (!(at_a.count() > 0) || !(at_b.count() > 0)) {
    const double part = static_cast<double>((bytes - a).count()) / static_cast<double>((b - a).count());
    return at_a + part * (at_b - at_a);
  }
  const double part = (log_of(bytes) - log_of(a)) / (log_of(b) - log_of(a));
  return at_a * power(at_b / at_a, part);
}

}  // namespace

std::optional<LookedUp> MeasuredTimes::at(Collective kind, int ranks, Bytes bytes) const {
  const MeasuredCurve* curve = nullptr;
  for (const MeasuredCurve& c : curves)
    if (c.kind == kind && (c.ranks == ranks || (c.ranks == 0 && curve == nullptr))) curve = &c;
  if (curve == nullptr || curve->rows.empty()) return std::nullopt;
  bytes = std::max(bytes, Bytes{1});
  const auto& rows = curve->rows;
  const auto above = std::ranges::upper_bound(rows, bytes, {}, &MeasuredTime::bytes);
  if (above == rows.begin()) {
    const MeasuredTime& least = rows.front();
    return LookedUp{
        .time = least.time, .slow = least.slow, .probability = least.probability, .in = InTable::Below};
  }
  const MeasuredTime& low = *std::prev(above);
  if (low.bytes == bytes) return LookedUp{.time = low.time, .slow = low.slow, .probability = low.probability};
  if (above == rows.end()) {
    const double more = static_cast<double>(bytes.count()) / static_cast<double>(low.bytes.count());
    return LookedUp{.time = low.time * more,
                    .slow = low.slow * more,
                    .probability = low.probability,
                    .in = InTable::Above};
  }
  // A dip of one row reaches to the next one that has none, becoming rarer.
  const auto slow = [](const MeasuredTime& row) { return row.probability > 0 ? row.slow : row.time; };
  const double part = (log_of(bytes) - log_of(low.bytes)) / (log_of(above->bytes) - log_of(low.bytes));
  return LookedUp{.time = between(low.bytes, low.time, above->bytes, above->time, bytes),
                  .slow = between(low.bytes, slow(low), above->bytes, slow(*above), bytes),
                  .probability = low.probability + part * (above->probability - low.probability)};
}

bool MeasuredTimes::dips() const {
  return std::ranges::any_of(curves, [](const MeasuredCurve& c) {
    return std::ranges::any_of(c.rows, [](const MeasuredTime& row) { return row.probability > 0; });
  });
}

std::string MeasuredTimes::what() const {
  constexpr std::size_t kMostNamed = 8;
  std::string all;
  for (std::size_t i = 0; i < std::min(curves.size(), kMostNamed); ++i) {
    if (i > 0) all += ", ";
    all += name_of(curves[i].kind);
    all += curves[i].ranks == 0 ? " of any number" : " of " + std::to_string(curves[i].ranks);
  }
  if (curves.size() > kMostNamed) all += ", ...";
  return all;
}

}  // namespace cox::model
