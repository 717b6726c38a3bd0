// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/step_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "cox/trace/time_unit.hpp"

#include "trace/import/part/part_builder.hpp"

namespace cox::trace {
namespace {

/// All steps together must fit a Duration.
constexpr double kLongestRunSeconds = 9e6;
/// The smallest unit that an unknown one is taken as.
constexpr double kLeastUnit = 1e-9;
/// Nominal time from the last arrival to the common departure.
constexpr Duration kDeparture = std::chrono::nanoseconds(1);

}  // namespace

std::optional<std::uint32_t> StepTimes::series_of(std::int32_t rank) {
  if (const auto at = series_numbers_.find(rank); at != series_numbers_.end()) return at->second;
  if (rank < 0 || rank > kHighestRank || ranks_.size() >= kMostRanks) return std::nullopt;
  const auto series = static_cast<std::uint32_t>(ranks_.size());
  series_numbers_.emplace(rank, series);
  ranks_.push_back(rank);
  return series;
}

bool StepTimes::add(std::uint32_t series, std::int64_t step, Seconds own) {
  const double most = kLongestRunSeconds / (unit_ == Unit::Seconds ? 1 : kLeastUnit);
  if (!(own.count() >= 0 && own.count() <= most)) return false;
  times_.push_back({.step = step, .series = series, .own = own});
  return true;
}

Duration StepTimes::own_of(const Time& t) const {
  return duration_from_seconds(t.own.count() * scale_);
}

std::size_t StepTimes::end_of_step(std::size_t first) const {
  std::size_t last = first;
  while (last < times_.size() && times_[last].step == times_[first].step) ++last;
  return last;
}

/// By step and rank; the first of what repeats stays.
void StepTimes::sort() {
  if (std::exchange(sorted_, true)) return;
  const auto key = [](const Time& t) { return std::tuple(t.step, t.series); };
  std::stable_sort(times_.begin(), times_.end(),
                   [&](const Time& a, const Time& b) { return key(a) < key(b); });
  const auto end = std::unique(times_.begin(), times_.end(),
                               [&](const Time& a, const Time& b) { return key(a) == key(b); });
  repeated_ = times_.end() - end;
  times_.erase(end, times_.end());
}

bool StepTimes::repeats_most() {
  sort();
  return repeated_ > static_cast<std::int64_t>(times_.size()) / 2;
}

Seconds StepTimes::largest_unit() {
  if (unit_ == Unit::Seconds) return Seconds(1);
  sort();
  double total = 0;
  for (std::size_t first = 0; first < times_.size();) {
    const std::size_t last = end_of_step(first);
    double longest = 0;
    for (; first < last; ++first) longest = std::max(longest, times_[first].own.count());
    total += longest;
  }
  double unit = 1;
  while (total * unit > kLongestRunSeconds && unit > 1.5 * kLeastUnit) unit /= 1000;
  return Seconds(unit);
}

Seconds StepTimes::usual() const {
  constexpr std::size_t kMost = 100'000;
  std::vector<Seconds> some;
  const std::size_t stride = times_.size() / kMost + 1;
  some.reserve(times_.size() / stride + 1);
  for (std::size_t i = 0; i < times_.size(); i += stride) some.push_back(times_[i].own);
  if (some.empty()) return {};
  const auto middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
  std::nth_element(some.begin(), middle, some.end());
  return *middle;
}

/// Only ranks that have a value: an empty column of a wide table is nobody.
void StepTimes::add_ranks(PartBuilder& part) {
  std::vector<bool> present(ranks_.size());
  for (const Time& t : times_) present[t.series] = true;
  track_of_.assign(ranks_.size(), 0);
  std::string timing = "collective=implied by the length of steps";
  if (unit_ == Unit::Unknown) timing = timing_in_unknown_unit(timing, Seconds(scale_));
  std::vector<Rank> members;
  for (std::size_t s = 0; s < ranks_.size(); ++s) {
    if (!present[s]) continue;
    members.emplace_back(ranks_[s]);
    track_of_[s] = part.add_rank(Rank(ranks_[s]));
    part.rank(track_of_[s]).timing = timing;
  }
  count_of_ranks_ = members.size();
  part.run().times = TimesKind::Steps;
  part.run().world_size = static_cast<int>(members.size());
  const bool from_one = !members.empty() && members.front() == Rank(1) &&
                        members.back() == Rank(static_cast<Rank::rep>(members.size()));
  if (from_one)
    part.note(
        fmt::format("ranks are taken as counted from 1, so that none of {} is missing", members.size()));
  implied_ = part.communicator("implied", std::move(members), static_cast<int>(count_of_ranks_));
}

void StepTimes::place(PartBuilder& part, std::int64_t cells) {
  Duration begin{};
  std::int64_t used = 0;
  for (std::size_t first = 0; first < times_.size();) {
    const std::size_t last = end_of_step(first);
    Duration longest{};
    for (std::size_t i = first; i < last; ++i) longest = std::max(longest, own_of(times_[i]));
    if (last - first < count_of_ranks_) {
      ++incomplete_;
    } else if (in_seconds(begin) + in_seconds(longest) > kLongestRunSeconds) {
      ++too_late_;
    } else {
      add_step(part, first, last, begin, longest);
      begin += longest + kDeparture;
      used += static_cast<std::int64_t>(last - first);
    }
    first = last;
  }
  part.count(cells, used);
}

void StepTimes::add_step(PartBuilder& part, std::size_t first, std::size_t last, Duration begin,
                         Duration longest) {
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t track = track_of_[times_[i].series];
    Event mark;
    mark.kind = EventKind::Step;
    mark.begin = mark.end = begin;
    mark.bytes = Bytes(times_[i].step);
    part.add_event(track, mark);
    Event meeting;
    meeting.op = static_cast<std::uint8_t>(model::Collective::Barrier);
    meeting.flags = kTagged;
    meeting.begin = begin + own_of(times_[i]);
    meeting.end = begin + longest + kDeparture;
    meeting.comm = implied_;
    meeting.seq = steps_;
    part.add_event(track, meeting);
  }
  ++steps_;
}

void StepTimes::finish(PartBuilder& part, std::int64_t cells, Seconds unit) && {
  scale_ = unit_ == Unit::Seconds ? 1 : unit.count();
  sort();
  add_ranks(part);
  place(part, cells);
  part.note("only the length of steps is known: one synchronisation at the end of each step is assumed");
  part.note_count(incomplete_, "step misses a rank and is left out", "steps miss a rank and are left out");
  part.note_count(too_late_, "step lies beyond 104 days and is left out",
                  "steps lie beyond 104 days and are left out");
  part.note_count(repeated_, "value repeats a rank and step: the first is used",
                  "values repeat a rank and step: the first of each is used");
}

}  // namespace cox::trace
