// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/timeline.hpp"

#include <gtest/gtest.h>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/matched.hpp"
#include "support/make_run.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;
using trace::EventKind;

void append(trace::EventColumns& e, EventKind kind, int op, Duration begin, Duration end,
            std::uint32_t seq = 0, int flags = 0, std::uint32_t thread = 0) {
  e.begin.push_back(begin);
  e.end.push_back(end);
  e.bytes.push_back(Bytes{1000});
  e.comm.push_back(CommId{0});
  e.seq.push_back(seq);
  e.kind.push_back(kind);
  e.op.push_back(static_cast<std::uint8_t>(op));
  e.flags.push_back(static_cast<std::uint16_t>(flags));
  e.aux.push_back(0);
  e.thread.push_back(thread);
}

constexpr int kAllReduce = static_cast<int>(model::Collective::AllReduce);
constexpr int kBroadcast = static_cast<int>(model::Collective::Broadcast);
constexpr int kGradientSync = static_cast<int>(trace::WaitKind::GradientSync);

trace::Run empty_run(int ranks) {
  trace::Run run;
  run.world_size = ranks;
  run.communicators.push_back({CommId{0}, 1, "world", ranks, {}});
  for (int r = 0; r < ranks; ++r) {
    run.ranks.emplace_back();
    run.ranks.back().rank = Rank{r};
  }
  return run;
}

std::vector<Stay> stays_of(const trace::Run& run, std::size_t rank) {
  const Matched matched(run);
  return Timeline(matched).stays(rank);
}

TEST(Timeline, WaitEndsWhenTheLastRankEnters) {
  trace::Run run = empty_run(2);
  append(run.ranks[0].events, EventKind::Collective, kAllReduce, 10ms, 21ms);
  append(run.ranks[1].events, EventKind::Collective, kAllReduce, 18ms, 21ms);
  const auto first = stays_of(run, 0);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].begin, Duration{10ms});
  EXPECT_EQ(first[0].wait_end, Duration{18ms});
  EXPECT_EQ(first[0].end, Duration{21ms});
  const auto last = stays_of(run, 1);
  EXPECT_EQ(last[0].wait_end, last[0].begin);
}

TEST(Timeline, DurationsSplitAndReturnsAlignWhereClocksDiffer) {
  trace::Run run = empty_run(2);
  for (std::uint32_t i = 0; i < 5; ++i) {  // the second clock is 7 s ahead
    const Duration at = 100ms * i;
    append(run.ranks[0].events, EventKind::Collective, kAllReduce, at + 10ms, at + 21ms, i);
    append(run.ranks[1].events, EventKind::Collective, kAllReduce, at + 7s + 18ms, at + 7s + 21ms, i);
  }
  run.ranks[1].node = NodeId{1};  // another machine, another clock
  const auto first = stays_of(run, 0);
  const auto second = stays_of(run, 1);
  ASSERT_EQ(second.size(), 5U);
  EXPECT_EQ(first[2].wait_end - first[2].begin, Duration{8ms});
  EXPECT_EQ(second[2].wait_end - second[2].begin, Duration{0});
  EXPECT_EQ(second[2].end, first[2].end);
}

TEST(Timeline, ABroadcastTellsNoWait) {
  trace::Run run = empty_run(2);
  append(run.ranks[0].events, EventKind::Collective, kBroadcast, 10ms, 12ms);
  append(run.ranks[1].events, EventKind::Collective, kBroadcast, 11ms, 13ms);
  const auto spans = stays_of(run, 0);
  EXPECT_EQ(spans[0].wait_end, spans[0].begin);
  EXPECT_NE(spans[0].what & kUnsplitMark, 0);
}

TEST(Timeline, AWaitTakesItsSplitFromOperationsBehindIt) {
  trace::Run run = empty_run(2);
  auto& a = run.ranks[0].events;
  append(a, EventKind::Collective, kAllReduce, 5ms, 22ms, 0, trace::kOffThread, 1);
  append(a, EventKind::Wait, kGradientSync, 9ms, 23ms);
  auto& b = run.ranks[1].events;
  append(b, EventKind::Collective, kAllReduce, 19ms, 22ms, 0, trace::kOffThread, 1);
  append(b, EventKind::Wait, kGradientSync, 20ms, 23ms);
  const auto spans = stays_of(run, 0);
  ASSERT_EQ(spans.size(), 1U) << "the program stood still once";
  EXPECT_EQ(spans[0].begin, Duration{9ms});
  EXPECT_EQ(spans[0].wait_end, Duration{19ms});
  EXPECT_EQ(spans[0].what, kWaitCode + kGradientSync);
  EXPECT_EQ(stays_of(run, 1)[0].wait_end, Duration{20ms});
}

TEST(Timeline, WorkerCollectivesShowWhereNothingElseIsKnown) {
  trace::Run run = empty_run(2);
  append(run.ranks[0].events, EventKind::Collective, kAllReduce, 5ms, 22ms, 0, trace::kOffThread, 1);
  append(run.ranks[1].events, EventKind::Collective, kAllReduce, 19ms, 22ms, 0, trace::kOffThread, 1);
  EXPECT_EQ(stays_of(run, 0).size(), 1U);
}

TEST(Timeline, NestedCallsBelongToTheOuterOne) {
  trace::Run run = empty_run(1);
  append(run.ranks[0].events, EventKind::Collective, kAllReduce, 10ms, 30ms, 0);
  append(run.ranks[0].events, EventKind::Collective, kAllReduce, 12ms, 20ms, 1);
  append(run.ranks[0].events, EventKind::Collective, kAllReduce, 25ms, 40ms, 2);
  const auto spans = stays_of(run, 0);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[1].begin, Duration{30ms});
  EXPECT_EQ(spans[1].end, Duration{40ms});
}

TEST(Timeline, ServedDelaysAreDrawnAsSuchAndDecisionsWithoutOneAreNot) {
  trace::Run run = empty_run(1);
  append(run.ranks[0].events, EventKind::Collective, kAllReduce, 10ms, 30ms, 0);
  append(run.ranks[0].events, EventKind::Pace, 15, 30ms, 35ms, 1);
  append(run.ranks[0].events, EventKind::Pace, 14, 36ms, 36ms, 2);
  append(run.ranks[0].events, EventKind::Pace, 15, 37ms, trace::kStillRunning, 3);
  const auto spans = stays_of(run, 0);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[1].what, kDelayCode);
  EXPECT_EQ(spans[1].begin, Duration{30ms});
  EXPECT_EQ(spans[1].end, Duration{35ms});
}

TEST(Timeline, ACallThatNeverReturnedWaitsToTheEnd) {
  trace::Run run = empty_run(2);
  append(run.ranks[0].events, EventKind::Collective, kAllReduce, 10ms, trace::kStillRunning);
  append(run.ranks[1].events, EventKind::Collective, kBroadcast, 40ms, 50ms, 7);
  const auto spans = stays_of(run, 0);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].wait_end, Duration{50ms});
  EXPECT_NE(spans[0].what & kUnfinishedMark, 0);
}

/// The picture shows operations of which a member is missing, the account does not; where nobody is missing
/// they must tell the same.
void expect_same_waits_as_diagnosis(const test::RunShape& shape, WaitMethod method) {
  const trace::Run run = test::make_run(shape);
  const Matched matched(run);
  const auto d = diagnose(matched);
  ASSERT_TRUE(d.has_value());
  ASSERT_EQ(d->wait_method, method);
  const Timeline timeline(matched);
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    Duration wait{};
    Duration transfer{};
    for (const Stay& s : timeline.stays(r)) {
      wait += s.wait_end - s.begin;
      transfer += s.end - s.wait_end;
    }
    // The first operation of a run has a wait that was carried in; the diagnosis leaves it out where clocks
    // differ.
    EXPECT_NEAR(in_seconds(wait), in_seconds(d->ranks[r].wait), 0.002 + 0.01 * in_seconds(wait)) << r;
    EXPECT_NEAR(in_seconds(transfer), in_seconds(d->ranks[r].transfer), 0.002 + 0.01 * in_seconds(transfer))
        << r;
  }
}

TEST(Timeline, TellTheSameWaitsAsTheDiagnosisByClock) {
  expect_same_waits_as_diagnosis({.ranks = 4, .steps = 80, .collectives = 3, .jitter = 500us},
                                 WaitMethod::Clock);
}

TEST(Timeline, TellTheSameWaitsAsTheDiagnosisByDuration) {
  expect_same_waits_as_diagnosis(
      {.ranks = 4, .steps = 80, .jitter = 500us, .nodes = 2, .clock_offset = {0s, 3s}}, WaitMethod::Duration);
}

TEST(Timeline, StepsAreThoseThatWereFound) {
  const trace::Run run = test::make_run({.ranks = 2, .steps = 5, .collectives = 2});
  const Matched matched(run);
  const Timeline timeline(matched);
  const auto stays = timeline.stays(1);
  ASSERT_EQ(stays.size(), 10U);
  for (std::size_t i = 0; i < stays.size(); ++i) EXPECT_EQ(stays[i].step, static_cast<std::int64_t>(i / 2));
  EXPECT_EQ(timeline.step_begins(1).size(), 5U);
  EXPECT_EQ(timeline.wait_by_step(1).size(), 5U);
}

TEST(Timeline, CellsHoldMeanAndLargestOfTheirNeighbours) {
  const std::vector<Duration> row = {1ms, 3ms, -2ms, 10ms, 7ms};
  const std::vector<Cell> cells = cells_of(row, 4, 2);
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0].mean, Duration{2ms});
  EXPECT_EQ(cells[0].largest, Duration{3ms});
  EXPECT_EQ(cells[1].mean, Duration{5ms}) << "a time below zero is none";
  EXPECT_EQ(cells[1].largest, Duration{10ms});
  EXPECT_EQ(cells[2].mean, Duration{7ms}) << "of those that are there";
  EXPECT_EQ(cells[3].mean, Duration::zero());
  const std::vector<Duration> long_steps(3, std::chrono::hours{24 * 60});
  EXPECT_NEAR(in_seconds(cells_of(long_steps, 1, 3)[0].mean), 24 * 60 * 3600.0, 1) << "the sum has no room";
}

TEST(Timeline, TheWorstStepHasTheMostWaitingOfAllRanks) {
  const trace::Run run = test::make_run(
      {.ranks = 4, .steps = 60, .extras = {{.rank = 2, .amount = 30ms, .first_step = 41, .last_step = 41}}});
  const Matched matched(run);
  const Timeline timeline(matched);
  const std::vector<Duration> times(60, 10ms);
  EXPECT_EQ(timeline.worst_step(times).step, 41);
  EXPECT_TRUE(timeline.worst_step(times).by_wait);
  EXPECT_EQ(timeline.worst_step({}).step, -1);
}

TEST(Timeline, WhereNobodyWaitsTheWorstStepIsTheLongest) {
  const trace::Run run = test::make_run({.ranks = 1, .steps = 5});
  const Matched matched(run);
  const WorstStep worst = Timeline(matched).worst_step(std::vector<Duration>{90ms, 10ms, 10ms, 12ms, 10ms});
  EXPECT_EQ(worst.step, 3) << "the first of a run is long by what comes before it";
  EXPECT_FALSE(worst.by_wait);
}

TEST(Timeline, AStepBeginsWithItsFirstRankOnOneClock) {
  trace::Run run = empty_run(2);
  for (std::uint32_t i = 0; i < 5; ++i) {  // the second clock is 7 s ahead
    const Duration at = 100ms * i;
    append(run.ranks[0].events, EventKind::Step, 0, at, at, i);
    append(run.ranks[0].events, EventKind::Collective, kAllReduce, at + 10ms, at + 21ms, i);
    append(run.ranks[1].events, EventKind::Step, 0, at + 7s - 2ms, at + 7s - 2ms, i);
    append(run.ranks[1].events, EventKind::Collective, kAllReduce, at + 7s + 18ms, at + 7s + 21ms, i);
  }
  run.ranks[1].node = NodeId{1};
  const Matched matched(run);
  const Timeline timeline(matched);
  ASSERT_TRUE(timeline.step_begin(3));
  EXPECT_EQ(*timeline.step_begin(3), Duration{298ms});
  EXPECT_FALSE(timeline.step_begin(5));
  const Extent extent = timeline.extent(1, timeline.stays(1));
  EXPECT_EQ(extent.first, Duration{-2ms});
  EXPECT_EQ(extent.last, Duration{421ms});
}

}  // namespace
}  // namespace cox::diagnose
