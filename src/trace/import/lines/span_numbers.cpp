// SPDX-License-Identifier: Apache-2.0
#include "trace/import/lines/span_numbers.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace cox::trace {

SpanNumbers::SpanNumbers(const std::vector<PlacedSpan>& spans) {
  std::set<std::tuple<std::int32_t, std::string_view, std::int64_t>> seen;
  for (const PlacedSpan& p : spans) {
    if (p.meaning.kind != SpanKind::Collective) continue;
    const ToldSpan& s = *p.told;
    numbered_ = numbered_ && s.sequence >= 0 && s.sequence <= std::numeric_limits<std::uint32_t>::max() &&
                seen.emplace(s.rank, s.group, s.sequence).second;
  }
  if (!numbered_) number_by_step(spans);
}

/// Where all collectives tell their step: the number of the first one of each step in each group, after as many as any
/// rank has in the steps before.
void SpanNumbers::number_by_step(const std::vector<PlacedSpan>& spans) {
  std::map<std::pair<std::string_view, std::int64_t>, std::map<std::int32_t, std::uint32_t>> in_step;
  for (const PlacedSpan& p : spans) {
    if (p.meaning.kind != SpanKind::Collective) continue;
    if (p.told->step < 0) return;
    ++in_step[{p.told->group, p.told->step}][p.told->rank];
  }
  std::string_view group;
  std::uint32_t next = 0;
  for (const auto& [at, ranks] : in_step) {
    if (at.first != group) next = 0;
    group = at.first;
    first_of_step_[at] = next;
    std::uint32_t most = 0;
    for (const auto& [rank, count] : ranks) most = std::max(most, count);
    next += most;
  }
}

std::uint32_t SpanNumbers::next(const ToldSpan& s, CommId comm) {
  if (numbered_) return static_cast<std::uint32_t>(s.sequence);
  if (first_of_step_.empty()) return counts_[{s.rank, comm, -1}]++;
  return first_of_step_.at({s.group, s.step}) + counts_[{s.rank, comm, s.step}]++;
}

}  // namespace cox::trace
