// SPDX-License-Identifier: Apache-2.0
#include "cox/replay/tracks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace cox::replay {
namespace {

std::vector<Duration> ticks(std::initializer_list<std::int64_t> list) {
  std::vector<Duration> out;
  for (const auto t : list) out.emplace_back(t);
  return out;
}

/// Tracks 0 and 1 meet, then 1 and 2, then all: by hand, leaves at 6, 11, 16.
Tracks three() {
  Tracks t(3);
  const std::array<Track, 2> left{0, 1};
  const std::array<Track, 2> right{1, 2};
  const std::array<Track, 3> all{0, 1, 2};
  const auto a = t.add_group(left);
  const auto b = t.add_group(right);
  const auto c = t.add_group(all);
  t.meet(a, ticks({5, 3}), Duration(1), 0);
  t.meet(b, ticks({4, 2}), Duration(1), 0);
  t.meet(c, ticks({1, 2, 3}), Duration(2), 1);
  return t;
}

TEST(Tracks, AllGoOnAfterTheLastOneCame) {
  const Tracks t = three();
  const OtherDurations as_built;
  const auto answer = replay(t, std::span(&as_built, 1));
  EXPECT_EQ(answer[0].block_end, ticks({11, 16}));
  EXPECT_EQ(answer[0].makespan, Duration(16));
}

TEST(Tracks, StartsAndTailsAreTrackTime) {
  Tracks t = three();
  t.set_start(2, Duration(20));
  t.set_tail(0, Duration(7));
  const OtherDurations as_built;
  // 6; 20 + 2 + 1 = 23; 23 + 3 + 2 = 28; tail 35
  const auto answer = replay(t, std::span(&as_built, 1));
  EXPECT_EQ(answer[0].block_end, ticks({23, 35}));
}

TEST(Tracks, EachScenarioHasItsOwnAnswer) {
  const Tracks t = three();
  const auto quick = ticks({0, 0});
  const auto slow = ticks({50, 1});
  const auto no_transfer = ticks({0, 0, 0});
  std::vector<OtherDurations> s(3);
  s[0].instead.emplace_back(0, quick);  // 3+1=4; 4+4+1=9; 9+3+2=14
  s[1].instead.emplace_back(2, slow);   // 6; 51; 51+2+2=55
  s[2].transfer = no_transfer;          // 5; 9; 12
  const auto answer = replay(t, s);
  EXPECT_EQ(answer[0].block_end, ticks({9, 14}));
  EXPECT_EQ(answer[1].block_end, ticks({51, 55}));
  EXPECT_EQ(answer[2].block_end, ticks({9, 12}));
}

TEST(Tracks, TellsWhoCameLastAndWhoWaited) {
  const MeetingTimes times = times_of(three());
  EXPECT_EQ(times.last_arrival, ticks({5, 10, 14}));
  EXPECT_EQ(times.last, (std::vector<std::uint32_t>{0, 0, 2}));
  EXPECT_EQ(times.ahead, ticks({2, 8, 1}));
  EXPECT_EQ(times.waited, ticks({7, 3, 8}));
  EXPECT_EQ(times.makespan, Duration(16));
}

TEST(Tracks, CountsThoseWhoComeFromElsewhere) {
  EXPECT_EQ(separate_arrivals(three()), 2U + 2U + 2U);
}

TEST(Tracks, NegativeIsZeroAndTimesStopAtTheRange) {
  Tracks t(2);
  const std::array<Track, 2> both{0, 1};
  const auto g = t.add_group(both);
  t.meet(g, ticks({-3, -7}), Duration(-1));
  const auto negative = ticks({-1, -2});
  const std::vector<Duration> longest(1, Duration::max());
  std::vector<OtherDurations> s(2);
  s[0].work = negative;
  s[0].transfer = std::span(negative).first(1);
  s[1].instead.emplace_back(1, longest);
  t.set_tail(0, Duration::max());
  for (const BlockTimes& answer : replay(t, s)) EXPECT_EQ(answer.makespan, Duration::max());
  t.set_tail(0, Duration::zero());
  const auto answer = replay(t, s);
  EXPECT_EQ(answer[0].makespan, Duration::zero());
  EXPECT_EQ(answer[1].makespan, Duration::max());
}

TEST(Tracks, KnowingWhoWorksLongestChangesNoAnswer) {
  constexpr Track kTracks = 40;
  constexpr std::size_t kMeetings = 30;
  std::mt19937_64 draw(7);
  const auto some = [&] { return Duration(static_cast<std::int64_t>(draw() % 50)); };  // with equal ones
  std::vector<Track> all(kTracks);
  std::iota(all.begin(), all.end(), 0U);
  Tracks t(kTracks);
  const auto everybody = t.add_group(all);
  const auto few = t.add_group(std::span(all).first(3));
  std::size_t met_by_all = 0;
  for (std::size_t c = 0; c < kMeetings; ++c) {
    const bool apart = c % 7 == 3;  // then all do not come from one place
    met_by_all += apart ? 0 : 1;
    std::vector<Duration> work(apart ? 3 : kTracks);
    std::ranges::generate(work, some);
    t.meet(apart ? few : everybody, work, some(), static_cast<std::uint32_t>(c));
  }
  std::vector<Duration> other(t.work().size());
  std::ranges::generate(other, some);
  other[5] = Duration(-3);
  // Those who work longest are replaced too, by up to as many as may be.
  std::vector<std::vector<Duration>> instead(kTracks, std::vector<Duration>(kMeetings));
  for (auto& row : instead) std::ranges::generate(row, some);
  for (const auto& column : {std::vector<Duration>{}, other}) {
    const Longest longest(t, column, 2);
    std::vector<OtherDurations> asked;
    for (std::size_t many = 0; many < Longest::kKept + 2; ++many) {
      OtherDurations& q = asked.emplace_back();
      q.work = column;
      for (std::size_t i = 0; i < many; ++i)
        q.instead.emplace_back(static_cast<Track>((many * 7 + i * 3) % kTracks), instead[i]);
    }
    for (const std::size_t count : {Longest::kKept, asked.size()}) {  // looked up, or too many for that
      const auto questions = std::span(asked).first(count);
      const std::vector<BlockTimes> before = replay(t, questions);
      std::vector<OtherDurations> known(questions.begin(), questions.end());
      for (OtherDurations& q : known) q.longest = &longest;
      const std::vector<BlockTimes> after = replay(t, known);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(before[i].block_end, after[i].block_end) << i;
        EXPECT_EQ(before[i].makespan, after[i].makespan) << i;
      }
    }
  }
  EXPECT_GT(met_by_all, 20U);
}

TEST(Tracks, WithoutMeetingsOnlyStartsAndTailsCount) {
  Tracks t(2);
  t.set_start(1, Duration(4));
  t.set_tail(1, Duration(3));
  const OtherDurations as_built;
  const auto answer = replay(t, std::span(&as_built, 1));
  EXPECT_EQ(answer[0].makespan, Duration(7));
  EXPECT_TRUE(answer[0].block_end.empty());
  EXPECT_EQ(times_of(t).final_track, 1U);
}

}  // namespace
}  // namespace cox::replay
