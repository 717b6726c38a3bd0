// SPDX-License-Identifier: Apache-2.0
#include "cox/replay/tracks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"

#include "replay/clamped.hpp"

namespace cox::replay {

using detail::Ticks;

std::uint32_t Tracks::add_group(std::span<const Track> members) {
  COX_ASSERT(!members.empty() && members.back() < size(), "a group has members, all of them tracks");
  for (std::size_t k = 1; k < members.size(); ++k) COX_ASSERT(members[k - 1] < members[k], "members ascend");
  members_.insert(members_.end(), members.begin(), members.end());
  first_member_.push_back(members_.size());
  return static_cast<std::uint32_t>(groups() - 1);
}

std::size_t Tracks::meet(std::uint32_t group, std::span<const Duration> work, Duration transfer,
                         std::uint32_t block) {
  COX_ASSERT(group < groups() && work.size() == members(group).size(), "one duration per member");
  COX_ASSERT(meetings_.empty() || meetings_.back().block <= block, "blocks never decrease");
  meetings_.push_back({work_.size(), group, block, std::max(transfer, Duration::zero())});
  for (const Duration d : work) work_.push_back(std::max(d, Duration::zero()));
  return meetings_.size() - 1;
}

void Tracks::reserve(std::size_t meetings, std::size_t cells) {
  meetings_.reserve(meetings);
  work_.reserve(cells);
}

Longest::Longest(const Tracks& tracks, std::span<const Duration> work, int threads) {
  constexpr std::size_t kBlock = 64;
  const auto meetings = tracks.meetings();
  const Duration* column = work.empty() ? tracks.work().data() : work.data();
  std::uint32_t count = 0;
  for (const Tracks::Meeting& m : meetings)
    first_.push_back(tracks.members(m.group).size() >= kLeastMembers ? count++ : kNone);
  kept_.resize(std::size_t{count} * kKept);
  const auto keep = [&](std::size_t c) {
    const auto members = tracks.members(meetings[c].group);
    const Duration* all = column + meetings[c].first_cell;
    const auto kept = std::span(kept_).subspan(std::size_t{first_[c]} * kKept, kKept);
    std::ranges::fill(kept, Member{Duration{-1}, 0});
    for (std::size_t k = 0; k < members.size(); ++k) {
      const Duration work_k = std::max(all[k], Duration::zero());
      if (work_k <= kept.back().work) continue;
      std::size_t at = kKept - 1;
      for (; at > 0 && kept[at - 1].work < work_k; --at) kept[at] = kept[at - 1];
      kept[at] = {work_k, members[k]};
    }
  };
  parallel_for((meetings.size() + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
    for (std::size_t c = block * kBlock; c < std::min(meetings.size(), (block + 1) * kBlock); ++c)
      if (first_[c] != kNone) keep(c);
  });
}

MeetingTimes times_of(const Tracks& tracks) {
  MeetingTimes out;
  const std::size_t count = tracks.meetings().size();
  out.last_arrival.resize(count);
  out.last.resize(count);
  out.ahead.resize(count);
  std::vector<Ticks> free_at;
  for (const Duration d : tracks.starts()) free_at.push_back(d.count());
  std::vector<Ticks> waited(tracks.size(), 0);
  const Duration* work = tracks.work().data();
  for (std::size_t c = 0; c < count; ++c) {
    const Tracks::Meeting& m = tracks.meetings()[c];
    const auto members = tracks.members(m.group);
    Ticks latest = -1;
    Ticks second = -1;
    std::uint32_t last = 0;
    for (std::size_t k = 0; k < members.size(); ++k) {
      Ticks& at = free_at[members[k]];
      at = detail::plus_positive(at, work[m.first_cell + k].count());
      if (at > latest) {
        second = latest;
        latest = at;
        last = static_cast<std::uint32_t>(k);
      } else {
        second = std::max(second, at);
      }
    }
    const Ticks leave = detail::plus_positive(latest, m.transfer.count());
    for (const Track t : members) {
      waited[t] = detail::plus_positive(waited[t], latest - free_at[t]);
      free_at[t] = leave;
    }
    out.last_arrival[c] = Duration{latest};
    out.last[c] = last;
    out.ahead[c] = Duration{latest - (members.size() > 1 ? second : latest)};
  }
  for (const Ticks t : waited) out.waited.emplace_back(t);
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    const Duration end{detail::plus_positive(free_at[t], tracks.tails()[t].count())};
    if (end > out.makespan) {
      out.makespan = end;
      out.final_track = static_cast<Track>(t);
    }
  }
  return out;
}

std::size_t separate_arrivals(const Tracks& tracks) {
  constexpr std::size_t kStart = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> from(tracks.size(), kStart);
  std::size_t count = 0;
  for (std::size_t c = 0; c < tracks.meetings().size(); ++c) {
    const auto members = tracks.members(tracks.meetings()[c].group);
    std::size_t before = kStart;
    for (const Track t : members) {
      if (from[t] == kStart || from[t] != before) ++count;
      before = std::exchange(from[t], c);
    }
  }
  return count;
}

}  // namespace cox::replay
