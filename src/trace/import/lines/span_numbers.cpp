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
  std::map<GroupStep, std::map<std::int32_t, std::uint32_t>> in_step;
  for (const PlacedSpan& p : spans) {
    if (p.meaning.kind != SpanKind::Collective) continue;
    if (p.told->step < 0) return;
    ++in_step[{p.told->group, p.told->step}][p.told->rank];
  }
  // As many as most steps of the group have.
  std::map<std::string_view, std::map<std::uint32_t, std::int64_t>> steps_with;
  for (const auto& [at, ranks] : in_step)
    for (const auto& [rank, count] : ranks) ++steps_with[at.first][count];
  const auto is_uneven = [&](const GroupStep& at, const std::map<std::int32_t, std::uint32_t>& ranks) {
    const auto& counts = steps_with.at(at.first);
    const auto usual = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first;
    return std::any_of(ranks.begin(), ranks.end(), [&](const auto& r) { return r.second != usual; });
  };
  std::map<GroupStep, std::vector<Call>> uneven;
  for (const auto& [at, ranks] : in_step)
    if (is_uneven(at, ranks)) uneven[at];
  for (const PlacedSpan& p : spans)
    if (p.meaning.kind == SpanKind::Collective && p.told->begin)
      if (const auto at = uneven.find({p.told->group, p.told->step}); at != uneven.end())
        at->second.push_back({p.end, p.told->rank, p.meaning.collective});
  std::string_view group;
  std::uint32_t next = 0;
  for (const auto& [at, ranks] : in_step) {
    if (at.first != group) next = 0;
    group = at.first;
    first_of_step_[at] = next;
    std::uint32_t most = 0;
    for (const auto& [rank, count] : ranks) most = std::max(most, count);
    const auto calls = uneven.find(at);
    next += calls == uneven.end() ? most : number_by_ends(at, std::move(calls->second), most);
  }
}

/// How many operations there are. Calls end together within a quarter of what usually lies between two ends of one rank.
std::uint32_t SpanNumbers::number_by_ends(const GroupStep& at, std::vector<Call> calls, std::uint32_t most) {
  std::map<std::int32_t, Duration> last;
  std::vector<Duration> gaps;
  for (const Call& call : calls) {  // of a rank in the order of its begins
    const auto [before, first] = last.try_emplace(call.rank, call.end);
    if (first) continue;
    if (call.end < before->second) return most;  // calls beside each other: ends say nothing of their order
    gaps.push_back(call.end - before->second);
    before->second = call.end;
  }
  if (gaps.empty()) return most;
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2), gaps.end());
  const Duration together = gaps[gaps.size() / 2] / 4;
  std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.end < b.end; });
  std::map<std::int32_t, std::vector<std::uint32_t>> places;
  std::set<std::int32_t> members;
  std::uint32_t operations = 0;
  const Call* first = nullptr;
  for (const Call& call : calls) {
    const bool joins = first != nullptr && call.end - first->end <= together && call.kind == first->kind &&
                       !members.contains(call.rank);
    if (!joins) {
      ++operations;
      members.clear();
      first = &call;
    }
    members.insert(call.rank);
    places[call.rank].push_back(operations - 1);
  }
  if (2 * operations > 3 * most + 1) return most;
  for (auto& [rank, of] : places) places_[{at, rank}] = std::move(of);
  return std::max(most, operations);
}

std::uint32_t SpanNumbers::next(const ToldSpan& s, CommId comm) {
  if (numbered_) return static_cast<std::uint32_t>(s.sequence);
  if (first_of_step_.empty()) return counts_[{s.rank, comm, -1}]++;
  const std::uint32_t k = counts_[{s.rank, comm, s.step}]++;
  const GroupStep at{s.group, s.step};
  const auto places = places_.find({at, s.rank});
  return first_of_step_.at(at) +
         (places != places_.end() && k < places->second.size() ? places->second[k] : k);
}

}  // namespace cox::trace
