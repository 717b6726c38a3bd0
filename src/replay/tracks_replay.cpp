// SPDX-License-Identifier: Apache-2.0
// Many questions in one pass over the tracks.
//
// After a meeting all its members are in the same place in every question. So times are kept per meeting that
// somebody still comes from (a place: one time per question), and a track knows its place only. Members of a
// meeting that come from one place need the maximum of their work once, for all questions; what a question
// replaces is compared beside it.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"
#include "cox/replay/tracks.hpp"

#include "replay/clamped.hpp"

namespace cox::replay {
namespace {

using detail::Ticks;
/// Scenarios per pass. Few questions need not pay for many.
constexpr std::size_t kMany = 32;
constexpr std::size_t kFew = 4;
constexpr Ticks kNobody = -1;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Longest work, zero where all of it is negative; kNobody where there is none.
Ticks longest(const Duration* work, std::size_t count) {
  const Ticks least = count == 0 ? kNobody : 0;
  std::array<Ticks, 4> most{least, least, least, least};
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) most[lane] = std::max(most[lane], work[k + lane].count());
  for (; k < count; ++k) most[0] = std::max(most[0], work[k].count());
  return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
}

/// One pass: up to kLanes questions that share their column of work.
template <std::size_t kLanes>
class Pass {
  using Lanes = std::array<Ticks, kLanes>;

 public:
  Pass(const Tracks& tracks, std::span<const OtherDurations> questions, std::span<BlockTimes> out)
      : tracks_(tracks), questions_(questions), out_(out), lanes_(questions.size()) {
    const auto work = questions.front().work;
    work_ = work.empty() ? tracks.work().data() : work.data();
    longest_ = can_look_up(questions) ? questions.front().longest : nullptr;
    place_of_.resize(tracks.size());
    places_.resize(tracks.size() + 1);
    for (Track t = 0; t < tracks.size(); ++t) {
      place_of_[t] = t;
      places_[t].here = 1;
      places_[t].at.fill(tracks.starts()[t].count());
    }
    free_.push_back(static_cast<std::uint32_t>(tracks.size()));
    take_replacements();
    for (BlockTimes& times : out_) times.block_end.assign(tracks.blocks(), Duration::zero());
  }

  void run() {
    const auto meetings = tracks_.meetings();
    for (std::size_t c = 0; c < meetings.size(); ++c) meet(c, meetings[c]);
    finish();
  }

 private:
  struct Place {
    Lanes at{};
    std::uint32_t here = 0;       ///< tracks whose place this is
    std::uint32_t group = kNone;  ///< that met here last
  };
  /// A track of which some question replaces the work.
  struct Replaced {
    Track track = 0;
    std::size_t met = 0;
    std::vector<std::pair<std::size_t, std::span<const Duration>>> lanes;  ///< (lane, instead)
  };

  /// Whether no question replaces so many tracks that none of those which work longest may be left.
  static bool can_look_up(std::span<const OtherDurations> questions) {
    return std::ranges::all_of(questions,
                               [](const OtherDurations& q) { return q.instead.size() < Longest::kKept; });
  }

  void take_replacements() {
    std::vector<std::uint32_t> slot(tracks_.size(), kNone);
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      for (const auto& [track, instead] : questions_[lane].instead) {
        COX_ASSERT(track < tracks_.size(), "a track");
        if (slot[track] == kNone) {
          slot[track] = static_cast<std::uint32_t>(replaced_.size());
          replaced_.push_back({track, 0, {}});
        }
        replaced_[slot[track]].lanes.emplace_back(lane, instead);
      }
    // Where in each group they stand, so that all others can be run over without a look at who they are.
    first_stop_.push_back(0);
    for (std::uint32_t g = 0; g < tracks_.groups(); ++g) {
      const auto members = tracks_.members(g);
      for (std::size_t k = 0; k < members.size() && !replaced_.empty(); ++k)
        if (slot[members[k]] != kNone) stops_.emplace_back(static_cast<std::uint32_t>(k), slot[members[k]]);
      first_stop_.push_back(stops_.size());
    }
  }

  [[nodiscard]] std::span<const std::pair<std::uint32_t, std::uint32_t>> stops(std::uint32_t group) const {
    return std::span(stops_).subspan(first_stop_[group], first_stop_[group + 1] - first_stop_[group]);
  }

  void arrive(const Place& from, Ticks work) {
    if (work == kNobody) return;
    for (std::size_t k = 0; k < kLanes; ++k)
      last_[k] = std::max(last_[k], detail::plus_positive(from.at[k], work));
  }

  void arrive_replaced(const Place& from, Ticks work, Replaced& r) {
    Lanes own;
    own.fill(std::max(Ticks{0}, work));
    for (const auto& [lane, instead] : r.lanes) {
      COX_ASSERT(r.met < instead.size(), "one replacement per meeting of the track");
      own[lane] = std::max(Ticks{0}, instead[r.met].count());
    }
    ++r.met;
    for (std::size_t k = 0; k < kLanes; ++k)
      last_[k] = std::max(last_[k], detail::plus_positive(from.at[k], own[k]));
  }

  /// Members [from, to), none of them replaced, from wherever each comes.
  void arrive_apart(std::span<const Track> members, const Duration* work, std::size_t from, std::size_t to) {
    while (from < to) {
      const std::uint32_t place = place_of_[members[from]];
      Ticks most = std::max(Ticks{0}, work[from].count());
      std::size_t next = from + 1;
      for (; next < to && place_of_[members[next]] == place; ++next)
        most = std::max(most, work[next].count());
      arrive(places_[place], most);
      from = next;
    }
  }

  void meet(std::size_t c, const Tracks::Meeting& m) {
    const auto members = tracks_.members(m.group);
    const Duration* work = work_ + m.first_cell;
    last_.fill(0);
    const std::uint32_t first_place = place_of_[members[0]];
    Place& common = places_[first_place];
    // The same group as here last, and nobody left since: all come from this place.
    const bool together = common.group == m.group && common.here == members.size();
    const auto kept = together && longest_ != nullptr ? longest_->of(c) : std::span<const Longest::Member>{};
    if (!kept.empty()) {
      arrive_from(common, kept, m.group);
      return leave(c, m, common);
    }
    std::size_t from = 0;
    for (const auto& [stop, slot] : stops(m.group)) {
      together ? arrive(common, longest(work + from, stop - from)) : arrive_apart(members, work, from, stop);
      arrive_replaced(places_[place_of_[members[stop]]], work[stop].count(), replaced_[slot]);
      from = stop + 1;
    }
    together ? arrive(common, longest(work + from, members.size() - from))
             : arrive_apart(members, work, from, members.size());
    Place& here = together ? common : gather(members, m.group);
    leave(c, m, here);
  }

  /// All members of a group, from one place. In each question the first that it does not replace is the longest of
  /// those that it leaves as they are.
  void arrive_from(const Place& common, std::span<const Longest::Member> kept, std::uint32_t group) {
    Lanes most;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      const auto& instead = questions_[lane].instead;
      const auto is_left = [&](const Longest::Member& m) {
        return std::ranges::none_of(instead, [&](const auto& i) { return i.first == m.track; });
      };
      most[lane] = std::ranges::find_if(kept, is_left)->work.count();
    }
    for (const auto& [stop, slot] : stops(group)) {
      Replaced& r = replaced_[slot];
      for (const auto& [lane, instead] : r.lanes) {
        COX_ASSERT(r.met < instead.size(), "one replacement per meeting of the track");
        most[lane] = std::max(most[lane], instead[r.met].count());
      }
      ++r.met;
    }
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      last_[lane] = detail::plus_positive(common.at[lane], most[lane]);
  }

  /// A new place for all of `members`.
  Place& gather(std::span<const Track> members, std::uint32_t group) {
    const std::uint32_t place = free_.back();
    free_.pop_back();
    for (const Track t : members) {
      const std::uint32_t left = std::exchange(place_of_[t], place);
      if (--places_[left].here == 0) {
        places_[left].group = kNone;
        free_.push_back(left);
      }
    }
    places_[place].here = static_cast<std::uint32_t>(members.size());
    places_[place].group = group;
    return places_[place];
  }

  void leave(std::size_t c, const Tracks::Meeting& m, Place& here) {
    for (std::size_t k = 0; k < lanes_; ++k) {
      const auto transfer = questions_[k].transfer;
      const Duration d = transfer.empty() ? m.transfer : std::max(Duration::zero(), transfer[c]);
      here.at[k] = detail::plus_positive(last_[k], d.count());
      Duration& end = out_[k].block_end[m.block];
      end = std::max(end, Duration{here.at[k]});
    }
  }

  void finish() {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      BlockTimes& times = out_[lane];
      Duration latest{};
      for (Duration& end : times.block_end) latest = end = std::max(latest, end);
      for (Track t = 0; t < tracks_.size(); ++t)
        latest = std::max(latest, Duration{detail::plus_positive(places_[place_of_[t]].at[lane],
                                                                 tracks_.tails()[t].count())});
      times.makespan = latest;
      if (!times.block_end.empty()) times.block_end.back() = latest;
    }
  }

  const Tracks& tracks_;
  std::span<const OtherDurations> questions_;
  std::span<BlockTimes> out_;
  std::size_t lanes_;
  const Duration* work_ = nullptr;
  const Longest* longest_ = nullptr;
  Lanes last_{};
  std::vector<std::uint32_t> place_of_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
  std::vector<Replaced> replaced_;
  std::vector<std::size_t> first_stop_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stops_;  ///< (place in the group, index of replaced_)
};

void check_columns(const Tracks& tracks, const OtherDurations& s) {
  COX_ASSERT(s.work.empty() || s.work.size() == tracks.work().size(), "one duration per cell, or none");
  COX_ASSERT(s.transfer.empty() || s.transfer.size() == tracks.meetings().size(),
             "one transfer per meeting, or none");
}

}  // namespace

std::vector<BlockTimes> replay(const Tracks& tracks, std::span<const OtherDurations> questions, int threads) {
  std::vector<std::pair<std::size_t, std::size_t>> passes;  // [from, to)
  for (std::size_t i = 0; i < questions.size(); ++i) {
    check_columns(tracks, questions[i]);
    const bool joins = !passes.empty() && i - passes.back().first < kMany &&
                       questions[i].work.data() == questions[passes.back().first].work.data();
    if (joins)
      passes.back().second = i + 1;
    else
      passes.emplace_back(i, i + 1);
  }
  std::vector<BlockTimes> out(questions.size());
  parallel_for(passes.size(), threads, [&](std::size_t p) {
    const auto [from, to] = passes[p];
    const auto asked = questions.subspan(from, to - from);
    const auto answers = std::span(out).subspan(from, to - from);
    asked.size() <= kFew ? Pass<kFew>(tracks, asked, answers).run()
                         : Pass<kMany>(tracks, asked, answers).run();
  });
  return out;
}

}  // namespace cox::replay
