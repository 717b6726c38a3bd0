// SPDX-License-Identifier: Apache-2.0
#include "trace/import/part/align_sequences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "trace/import/bytes/saturating_time.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/place_by_durations.hpp"

namespace cox::trace {
namespace {

using namespace std::chrono_literals;
using model::Collective;

/// A rank that saw calls `first` to `last` of an endless job: every fifth is an AllGather.
trace::Run seen_from(int rank, int first, int last, bool clocked = true, Duration jitter = 0ms) {
  PartBuilder b("rank" + std::to_string(rank), "test");
  const std::size_t r = b.add_rank(Rank(rank));
  const CommId world = b.communicator("world", {Rank(0), Rank(1)}, 2);
  for (int k = first; k <= last; ++k) {
    const Duration at = (k - first) * Duration(10ms) + (k % 2 == 0 ? jitter : Duration::zero());
    b.add_event(r,
                {.op = static_cast<std::uint8_t>(k % 5 == 0 ? Collective::AllGather : Collective::AllReduce),
                 .begin = at,
                 .end = at + Duration(2ms),
                 .bytes = Bytes(1024),
                 .comm = world,
                 .seq = static_cast<std::uint32_t>(k - first)});
  }
  if (clocked) b.run().origin_realtime_ns = 1'700'000'000'000'000'000 + std::int64_t{first} * 10'000'000;
  return std::move(b).finish();
}

std::uint32_t first_seq(const trace::Run& part) {
  return part.ranks.front().events.seq.front();
}

TEST(AlignSequences, EqualStartsStayAsTheyAre) {
  std::vector<trace::Run> parts{seen_from(0, 0, 40), seen_from(1, 0, 40)};
  align_sequences(parts);
  EXPECT_EQ(first_seq(parts[0]), first_seq(parts[1]));
  EXPECT_TRUE(parts[0].notes.empty() && parts[1].notes.empty());
}

TEST(AlignSequences, ARankThatBeganOneLaterIsMoved) {
  std::vector<trace::Run> parts{seen_from(0, 0, 40), seen_from(1, 1, 40)};
  align_sequences(parts);
  EXPECT_EQ(first_seq(parts[0]) + 1, first_seq(parts[1]));
  ASSERT_EQ(parts[1].notes.size(), 1U);
}

TEST(AlignSequences, ARankThatBeganEarlierIsMovedTheOtherWay) {
  std::vector<trace::Run> parts{seen_from(0, 3, 43), seen_from(1, 1, 40)};
  align_sequences(parts);
  EXPECT_EQ(first_seq(parts[0]), first_seq(parts[1]) + 2);
}

TEST(AlignSequences, KindsAloneTellTheShiftWithoutClocks) {
  std::vector<trace::Run> parts{seen_from(0, 0, 40, false), seen_from(1, 2, 40, false)};
  align_sequences(parts);
  EXPECT_EQ(first_seq(parts[0]) + 2, first_seq(parts[1]));
}

TEST(AlignSequences, AClockThatIsSecondsOffDoesNotMatter) {
  std::vector<trace::Run> parts{seen_from(0, 0, 40), seen_from(1, 1, 40)};
  parts[1].origin_realtime_ns += 7'000'000'000;
  align_sequences(parts);
  EXPECT_EQ(first_seq(parts[0]) + 1, first_seq(parts[1]));
}

TEST(AlignSequences, WhatFitsNowhereIsNotMatched) {
  trace::Run other = seen_from(1, 0, 40);
  EventColumns& e = other.ranks.front().events;
  Duration at{};
  for (std::size_t i = 0; i < e.size(); ++i) {
    at += Duration(1ms) * static_cast<std::int64_t>((i * i * 7) % 23 + 1);
    e.begin[i] = at;
    e.end[i] = at + Duration(1ms);
    e.op[i] = static_cast<std::uint8_t>(Collective::Barrier);
  }
  std::vector<trace::Run> parts{seen_from(0, 0, 40), std::move(other)};
  align_sequences(parts);
  for (const CommId c : parts[1].ranks.front().events.comm) EXPECT_EQ(c, kNoComm);
  EXPECT_EQ(parts[1].notes.size(), 1U);
}

TEST(PlaceByDurations, TheShortestCallIsTheLatestArrival) {
  PartBuilder b("f", "test");
  const CommId world = b.communicator("world", {Rank(0), Rank(1)}, 2);
  for (const int r : {0, 1}) {
    const std::size_t track = b.add_rank(Rank(r));
    for (std::uint32_t k = 0; k < 3; ++k)
      b.add_event(track, {.op = static_cast<std::uint8_t>(Collective::AllReduce),
                          .begin = Duration(100 * k),
                          .end = Duration(100 * k + (r == 0 ? 50 : 10)),
                          .comm = world,
                          .seq = k});
  }
  trace::Run run = std::move(b).finish();
  place_by_durations(run);
  const EventColumns& x = run.ranks[0].events;
  const EventColumns& y = run.ranks[1].events;
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(x.end[k], y.end[k]);
    EXPECT_EQ(y.begin[k] - x.begin[k], Duration(40));
    EXPECT_EQ(x.end[k] - x.begin[k], Duration(50));
  }
  EXPECT_EQ(x.begin[1], x.end[0]);
}

TEST(PlaceByDurations, AGapDoesNotStopTheOthers) {
  PartBuilder b("f", "test");
  const CommId a = b.communicator("a", {Rank(0), Rank(1)}, 2);
  const CommId c = b.communicator("c", {Rank(0), Rank(1)}, 2);
  const std::size_t r0 = b.add_rank(Rank(0));
  const std::size_t r1 = b.add_rank(Rank(1));
  // Opposite orders: nobody could ever meet.
  for (const auto& [track, first, second] : {std::tuple{r0, a, c}, std::tuple{r1, c, a}})
    for (const CommId comm : {first, second})
      b.add_event(track, {.op = static_cast<std::uint8_t>(Collective::AllReduce),
                          .begin = Duration(comm == first ? 0 : 20),
                          .end = Duration(comm == first ? 10 : 30),
                          .comm = comm});
  trace::Run run = std::move(b).finish();
  place_by_durations(run);
  for (const RankTrack& t : run.ranks) EXPECT_LE(t.events.end[0], t.events.begin[1]);
}

/// A hostile file: the sum of what all ranks did is more than a Duration holds.
TEST(PlaceByDurations, LongerThanTimesCanBeStaysInOrder) {
  PartBuilder b("f", "test");
  const CommId world = b.communicator("world", {Rank(0)}, 1);
  const std::size_t track = b.add_rank(Rank(0));
  for (std::uint32_t k = 0; k < 4; ++k)
    b.add_event(track, {.op = static_cast<std::uint8_t>(Collective::AllReduce),
                        .begin = Duration(k),
                        .end = Duration(k) + std::chrono::hours(24 * (40 + 10 * k)),
                        .comm = world,
                        .seq = k});
  trace::Run run = std::move(b).finish();
  place_by_durations(run);
  const EventColumns& e = run.ranks.front().events;
  EXPECT_TRUE(std::is_sorted(e.begin.begin(), e.begin.end()));
  for (std::size_t k = 0; k < e.size(); ++k) EXPECT_GE(e.end[k], e.begin[k]);
}

TEST(AlignSequences, TimesMonthsApartAreOnlyFar) {
  std::vector<trace::Run> parts;
  for (const int r : {0, 1}) {
    PartBuilder b("f", "test");
    const CommId world = b.communicator("world", {Rank(0), Rank(1)}, 2);
    const std::size_t track = b.add_rank(Rank(r));
    for (int k = 0; k < 6; ++k) {
      const Duration at = std::chrono::hours(24 * 20 * (r == 0 ? k - 5 : k));
      b.add_event(track, {.op = static_cast<std::uint8_t>(Collective::AllReduce),
                          .begin = at,
                          .end = at + std::chrono::hours(1),
                          .comm = world,
                          .seq = static_cast<std::uint32_t>(k)});
    }
    parts.push_back(std::move(b).finish());
    parts.back().origin_realtime_ns = r == 0 ? 1 : INT64_MAX;
  }
  align_sequences(parts);
  // Equal kinds, and ends too far apart to be compared: nothing speaks against the numbers as they stand.
  EXPECT_EQ(first_seq(parts[0]), 0U);
  EXPECT_EQ(first_seq(parts[1]), 0U);
  EXPECT_TRUE(parts[1].notes.empty());
}

TEST(SaturatingTime, StaysInRange) {
  EXPECT_EQ(saturating_sum(Duration(3), Duration(-4)), Duration(-1));
  EXPECT_EQ(saturating_sum(Duration::max(), Duration(1)), Duration::max());
  EXPECT_EQ(saturating_sum(Duration(-1), Duration::min()), Duration::min());
  EXPECT_EQ(saturating_difference(Duration(3), Duration(-4)), Duration(7));
  EXPECT_EQ(saturating_difference(Duration::zero(), Duration::min()), Duration::max());
  EXPECT_EQ(saturating_difference(Duration(-2), Duration::max()), Duration::min());
}

}  // namespace
}  // namespace cox::trace
