// SPDX-License-Identifier: Apache-2.0
#include "diagnose/efficiency/ideal_network.hpp"

#include <gtest/gtest.h>

#include <random>

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace testing;
using trace::EventKind;
using trace::WaitKind;

struct Answer {
  std::optional<IdealNetwork> ideal;
  std::string why_not;
};

Answer replay_ideal(const trace::Run& run) {
  const Matched matched(run);
  const auto useful = find_useful_time(matched);
  Answer a;
  if (!useful)
    a.why_not = "nothing was timed";
  else
    a.ideal = replay_ideal_network(matched, *useful, a.why_not);
  return a;
}

Duration runtime_of(const trace::Run& run) {
  const Answer a = replay_ideal(run);
  EXPECT_TRUE(a.ideal) << a.why_not;
  return a.ideal ? a.ideal->runtime : Duration::min();
}

trace::EventColumns& events_of(trace::Run& run, int rank) {
  return run.ranks[static_cast<std::size_t>(rank)].events;
}

void add_wait(trace::EventColumns& e, WaitKind kind, Duration begin, Duration end, std::uint16_t flags = 0,
              CommId comm = trace::kNoComm, std::uint32_t seq = 0) {
  add_event(e, EventKind::Wait, static_cast<std::uint8_t>(kind), begin, end, 0, comm, seq, flags);
}

/// All begin at the same time, and a step mark says so.
void mark_start(trace::Run& run) {
  for (trace::RankTrack& track : run.ranks)
    add_event(track.events, EventKind::Step, 0, Duration{}, Duration{}, 0, trace::kNoComm, 0);
}

void add_message(trace::Run& run, int from, int to, Duration send, Duration post, Duration done,
                 Bytes bytes) {
  trace::MessageColumns& m = run.messages;
  m.from.emplace_back(from);
  m.to.emplace_back(to);
  m.send_begin.push_back(send);
  m.send_end.push_back(send);
  m.receive_begin.push_back(post);
  m.receive_end.push_back(done);
  m.bytes.push_back(bytes);
  m.tag.push_back(0);
}

/// Rank 0 sends at 1 ms for 5 ms; rank 1 receives at 4 ms for 3 ms; both work until 10 ms.
trace::Run one_message(Bytes bytes, std::uint16_t send_flags = 0) {
  trace::Run run = empty_run(2);
  mark_start(run);
  add_wait(events_of(run, 0), WaitKind::Peer, 1ms, 6ms, send_flags);
  add_wait(events_of(run, 1), WaitKind::Peer, 4ms, 7ms);
  add_message(run, 0, 1, 1ms, 4ms, 7ms, bytes);
  for (int r = 0; r < 2; ++r)
    add_event(events_of(run, r), EventKind::Phase, 0, 10ms, 10ms, 0, trace::kNoComm, 0);
  return run;
}

TEST(IdealNetwork, EveryCollectiveHoldsTheLastOne) {
  Job job{.ranks = 4, .steps = 10, .transfer = 3ms, .marks = true};
  job.work = [](int rank, int step) { return Duration{10ms} + (rank == step % 4 ? 5ms : 0ms); };
  const Answer a = replay_ideal(make_job(job));
  ASSERT_TRUE(a.ideal) << a.why_not;
  EXPECT_EQ(a.ideal->runtime, Duration{150ms});
  EXPECT_EQ(a.ideal->useful_maximum, Duration{115ms});
}

TEST(IdealNetwork, WaitsBehindAWorkerThreadMeetByTheirOrder) {
  Job job{.ranks = 3, .steps = 6, .transfer = 3ms, .marks = true, .ddp = true};
  job.work = [](int rank, int step) { return Duration{10ms} + (rank == step % 3 ? 6ms : 0ms); };
  EXPECT_EQ(runtime_of(make_job(job)), Duration{96ms});
}

TEST(IdealNetwork, ASmallSendDoesNotWaitALargeOneDoes) {
  // Work of rank 0: 1 + 4 ms; of rank 1: 4 + 3 ms. The message is there before the receive.
  EXPECT_EQ(runtime_of(one_message(Bytes{32 << 10})), Duration{7ms});
  EXPECT_EQ(runtime_of(one_message(Bytes{(32 << 10) + 1})), Duration{8ms});
  EXPECT_EQ(runtime_of(one_message(Bytes{1 << 20}, trace::kNonBlocking)), Duration{7ms});
}

TEST(IdealNetwork, AReceiveWaitsForItsSend) {
  trace::Run run = empty_run(2);
  mark_start(run);
  add_wait(events_of(run, 0), WaitKind::Peer, 9ms, 10ms);
  add_wait(events_of(run, 1), WaitKind::Peer, 1ms, 12ms);
  add_message(run, 0, 1, 9ms, 1ms, 12ms, Bytes{8});
  add_event(events_of(run, 1), EventKind::Phase, 0, 15ms, 15ms, 0, trace::kNoComm, 0);
  EXPECT_EQ(runtime_of(run), Duration{12ms});
}

TEST(IdealNetwork, SendsThatCrossWereBuffered) {
  trace::Run run = empty_run(2);
  mark_start(run);
  for (int r = 0; r < 2; ++r) {
    add_wait(events_of(run, r), WaitKind::Peer, 1ms, 2ms);
    add_wait(events_of(run, r), WaitKind::Peer, 3ms, 4ms);
    add_message(run, r, 1 - r, 1ms, 3ms, 4ms, Bytes{1 << 20});
  }
  EXPECT_EQ(runtime_of(run), Duration{2ms});
}

TEST(IdealNetwork, AnExchangePostsItsReceiveBeforeItSends) {
  trace::Run run = empty_run(2);
  mark_start(run);
  add_wait(events_of(run, 0), WaitKind::Peer, 1ms, 9ms);
  add_wait(events_of(run, 1), WaitKind::Peer, 8ms, 9ms);
  add_message(run, 0, 1, 1ms, 8ms, 9ms, Bytes{1 << 20});
  add_message(run, 1, 0, 8ms, 1ms, 9ms, Bytes{1 << 20});
  EXPECT_EQ(runtime_of(run), Duration{8ms});
}

TEST(IdealNetwork, APostingThatIsNoEventIsPlacedByItsTime) {
  // Rank 0 sends at 9 ms without a recorded call; both wait in calls that name no collective.
  trace::Run run = empty_run(2);
  mark_start(run);
  add_wait(events_of(run, 0), WaitKind::Request, 11ms, 14ms);
  add_wait(events_of(run, 1), WaitKind::Request, 1ms, 12ms);
  add_message(run, 0, 1, 9ms, Duration{500us}, 12ms, Bytes{1 << 20});
  add_event(events_of(run, 1), EventKind::Phase, 0, 15ms, 15ms, 0, trace::kNoComm, 0);
  EXPECT_EQ(runtime_of(run), Duration{12ms});
}

TEST(IdealNetwork, WhereTheInputTellsAllOutsideMpiOtherTimeIsInside) {
  trace::Run run = make_job({.ranks = 2, .steps = 3, .transfer = 1ms, .marks = true});
  run.sources.emplace_back();
  run.sources.back().format = "otf2";
  for (trace::RankTrack& t : run.ranks) {
    // Of the 10 ms before each of the three calls (ends at 16, 27, 38 ms) 4 are in calls that are no events.
    t.useful.begin = {5ms, 16ms, 27ms};
    t.useful.end = {11ms, 22ms, 33ms};
  }
  const Answer a = replay_ideal(run);
  ASSERT_TRUE(a.ideal) << a.why_not;
  EXPECT_EQ(a.ideal->runtime, Duration{18ms});
  EXPECT_EQ(a.ideal->useful_maximum, Duration{18ms});
}

TEST(IdealNetwork, APostedCollectiveHoldsWhereItIsWaitedFor) {
  trace::Run run = empty_run(2);
  mark_start(run);
  for (int r = 0; r < 2; ++r) {
    const Duration late = r * Duration{6ms};
    trace::EventColumns& e = events_of(run, r);
    add_call(e, model::Collective::AllReduce, 1ms + late, 2ms + late, 8, 0, 0, trace::kNonBlocking);
    add_wait(e, WaitKind::Request, 5ms + late, 20ms, 0, CommId{0}, 0);
  }
  // Rank 1 posts after 7 ms, rank 0 comes to wait for it after 4 ms; rank 1 waits after 10 ms.
  EXPECT_EQ(runtime_of(run), Duration{10ms});
  for (Duration& t : events_of(run, 1).begin) t = std::min(t, Duration{8ms});
  EXPECT_EQ(runtime_of(run), Duration{7ms});
}

TEST(IdealNetwork, TheStartIsAMeeting) {
  trace::Run run = empty_run(2);
  for (int r = 0; r < 2; ++r) {
    trace::EventColumns& e = events_of(run, r);
    trace::UsefulColumns& u = run.ranks[static_cast<std::size_t>(r)].useful;
    u.begin = {r * Duration{4ms}, 10ms};
    u.end = {r * Duration{4ms} + Duration{1ms}, 12ms};
    add_wait(e, WaitKind::Other, u.end[0], 10ms, trace::kTagged, CommId{0}, 0);
  }
  EXPECT_EQ(runtime_of(run), Duration{7ms});
  events_of(run, 0).flags[0] = 0;
  EXPECT_EQ(runtime_of(run), Duration{7ms});
  EXPECT_EQ(replay_ideal(run).ideal->useful_maximum, Duration{3ms});
}

TEST(IdealNetwork, ACallThatNeverReturnsEndsItsRank) {
  Job job{.ranks = 2, .steps = 3, .transfer = 1ms, .marks = true};
  trace::Run run = make_job(job);
  events_of(run, 0).end.back() = trace::kStillRunning;
  EXPECT_EQ(runtime_of(run), Duration{30ms});
}

TEST(IdealNetwork, SaysWhyItIsNotTold) {
  const Job job{.ranks = 4, .steps = 3, .marks = true};
  trace::Run part = make_job(job);
  part.ranks.pop_back();
  EXPECT_EQ(replay_ideal(part).why_not, "3 of 4 ranks are present");

  trace::Run peers = one_message(Bytes{8});
  peers.messages = {};
  EXPECT_NE(replay_ideal(peers).why_not.find("not recorded"), std::string::npos);

  trace::Run astray = one_message(Bytes{8});
  astray.messages.receive_end[0] = 9ms;
  EXPECT_EQ(replay_ideal(astray).why_not, "1 of 1 messages arrive in no recorded call");

  trace::Run circle = make_job({.ranks = 2, .steps = 2, .marks = true});
  for (const std::size_t i : {1U, 3U}) events_of(circle, 0).seq[i] = 1 - events_of(circle, 0).seq[i];
  EXPECT_NE(replay_ideal(circle).why_not.find("circle"), std::string::npos);

  trace::Run sparse = make_job({.ranks = 2, .steps = 2, .marks = true});
  for (int r = 0; r < 2; ++r) events_of(sparse, r).seq.back() = 4'000'000'000;
  EXPECT_EQ(replay_ideal(sparse).why_not, "sequence numbers of collectives are no sequence");
}

TEST(IdealNetwork, AnyEventsEndInAnAnswer) {
  std::minstd_rand bits(7);
  const auto draw = [&](std::uint32_t below) { return static_cast<std::uint32_t>(bits() / 7) % below; };
  int told = 0;
  for (int round = 0; round < 400; ++round) {
    trace::Run run = empty_run(3);
    for (int r = 0; r < 3; ++r) {
      Duration at{};
      for (std::uint32_t i = 0, n = draw(8); i < n; ++i) {
        at += draw(3) * Duration{1ms};
        const Duration end = draw(12) == 0 ? trace::kStillRunning : at + draw(4) * Duration{1ms};
        const auto kind = static_cast<EventKind>(1 + draw(6));
        add_event(events_of(run, r), kind, static_cast<std::uint8_t>(draw(4)), at, end, 8,
                  CommId{static_cast<std::int32_t>(draw(3)) - 1}, draw(3),
                  static_cast<std::uint16_t>(draw(8) * draw(3)), draw(2));
      }
    }
    for (std::uint32_t i = 0, n = draw(4); i < n; ++i)
      add_message(run, static_cast<int>(draw(4)), static_cast<int>(draw(3)), draw(9) * Duration{1ms},
                  draw(9) * Duration{1ms}, draw(9) * Duration{1ms}, Bytes{draw(2) << 20});
    const Answer a = replay_ideal(run);
    EXPECT_NE(a.ideal.has_value(), !a.why_not.empty());
    if (!a.ideal) continue;
    ++told;
    EXPECT_GE(a.ideal->runtime, a.ideal->useful_maximum);
    EXPECT_GE(a.ideal->useful_maximum, Duration::zero());
  }
  EXPECT_GT(told, 40);
}

}  // namespace
}  // namespace cox::diagnose
