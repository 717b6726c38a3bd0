// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stall/hang.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;
using testing::add_call;
using testing::add_event;

constexpr int kRanks = 4;
constexpr std::uint32_t kSteps = 30;

/// A job of four ranks that did `kSteps` all-reduces, 10 ms each, and is then open.
trace::Run running_job() {
  testing::Job job;
  job.ranks = kRanks;
  job.steps = static_cast<int>(kSteps);
  trace::Run run = testing::make_job(job);
  for (int r = 0; r < kRanks; ++r) {
    trace::RankTrack& track = run.ranks[static_cast<std::size_t>(r)];
    track.state = trace::WriterState::Open;
    track.pid = 100 + r;
    run.communicators[0].by_rank.emplace_back(r);
  }
  run.origin_realtime_ns = 1'700'000'000'000'000'000;
  return run;
}

/// A second communicator of the given ranks.
void add_comm(trace::Run& run, const std::vector<int>& ranks) {
  trace::Communicator c;
  c.id = CommId{static_cast<std::int32_t>(run.communicators.size())};
  c.name = "group" + std::to_string(c.id.value());
  c.size = static_cast<int>(ranks.size());
  for (const int r : ranks) {
    c.ranks.emplace_back(r);
    c.by_rank.emplace_back(r);
  }
  run.communicators.push_back(std::move(c));
}

Duration job_end(const trace::Run& run) {
  return run.ranks[0].events.end.back();
}

void enter(trace::Run& run, int rank, std::uint32_t seq, int comm = 0, Duration late = 5ms,
           model::Collective op = model::Collective::AllReduce, std::uint16_t flags = 0,
           std::uint32_t thread = 0) {
  add_call(run.ranks[static_cast<std::size_t>(rank)].events, op, job_end(run) + late, trace::kStillRunning,
           4096, seq, comm, flags, thread);
}

/// job_end must not move while ranks enter: rank 0 enters last.
void enter_all_but(trace::Run& run, int missing, std::uint32_t seq) {
  for (int r = kRanks - 1; r >= 0; --r)
    if (r != missing) enter(run, r, seq);
}

void sample(trace::Run& run, int rank, Duration at, char state) {
  trace::Sample s;
  s.at = at;
  s.state = state;
  run.ranks[static_cast<std::size_t>(rank)].samples.push_back(s);
}

/// The run's machine in memory: `late` after the job's last finished call, all ranks running.
void put_on_machine(trace::Run& run, ListedProcesses& machine, Duration late) {
  machine.boot = "boot";
  run.nodes[0].boot_id = "boot";
  run.nodes[0].monotonic_origin_ns = 1'000'000'000;
  machine.now_ns =
      1'000'000'000 +
      (testing::make_job({.ranks = kRanks, .steps = static_cast<int>(kSteps)}).ranks[0].events.end.back() +
       late)
              .count() /
          1000;
  for (trace::RankTrack& track : run.ranks) {
    track.start_time = 7;
    machine.processes[track.pid] = {.state = 'R', .start_ticks = 7, .started_ns = 0};
  }
}

Diagnosis look(const trace::Run& run, const ListedProcesses* machine = nullptr) {
  DiagnoseOptions options;
  options.processes = machine;
  if (machine != nullptr) options.asked_monotonic_ns = machine->now_ns;
  auto d = diagnose(run, options);
  EXPECT_TRUE(d.has_value());
  return *d;
}

TEST(Hang, AJobThatEndedInOrderHasNone) {
  testing::Job job;
  const Diagnosis d = look(testing::make_job(job));
  EXPECT_TRUE(d.trouble.stalls.empty());
  EXPECT_TRUE(d.trouble.mismatches.empty());
  EXPECT_TRUE(d.trouble.headline.empty());
  trace::Run run = running_job();
  enter_all_but(run, 2, kSteps);
  for (trace::RankTrack& track : run.ranks) track.state = trace::WriterState::Closed;
  EXPECT_TRUE(look(run).trouble.stalls.empty())
      << "an open call of a process that ended in order hangs nobody";
}

// Rank 2 threw; Open MPI ended the others out of a call when the job was killed.
TEST(Hang, InAJobThatFailedAnOpenCallOfWhoEndedInOrderCounts) {
  trace::Run run = running_job();
  sample(run, 0, job_end(run) + 30s, 'S');
  enter_all_but(run, 2, kSteps);
  for (trace::RankTrack& track : run.ranks) track.state = trace::WriterState::Closed;
  run.info.exit_status = 1;
  const Diagnosis d = look(run);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  EXPECT_TRUE(d.trouble.stalls[0].hung);
  EXPECT_EQ(d.remedies.at(0).ranks, std::vector{Rank{2}});
}

// MPI_Abort: who called it is missing, and nobody waited.
TEST(Hang, HowAFailedJobEndedIsNoHang) {
  trace::Run run = running_job();
  enter_all_but(run, 2, kSteps);
  run.ranks[2].state = trace::WriterState::Closed;
  run.info.exit_status = 7;
  const Diagnosis d = look(run);
  EXPECT_EQ(d.answer.kind, AnswerKind::JobFailed) << d.trouble.headline;
}

TEST(Hang, NamesTheRankThatNeverEnteredAndWhoWaits) {
  trace::Run run = running_job();
  enter_all_but(run, 2, kSteps);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  machine.processes[102].state = 'S';
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  const Stall& s = d.trouble.stalls[0];
  EXPECT_EQ(s.kind, StallKind::MissingRank);
  EXPECT_TRUE(s.hung);
  EXPECT_TRUE(has_trouble(d));
  EXPECT_EQ(s.ranks, std::vector{Rank{2}});
  EXPECT_EQ(s.calls[0].waiting, (std::vector{Rank{0}, Rank{1}, Rank{3}}));
  EXPECT_EQ(s.calls[0].call.seq, kSteps);
  EXPECT_EQ(s.calls[0].call.bytes, Bytes{4096});
  EXPECT_TRUE(d.trouble.present.live);
  EXPECT_NEAR(in_seconds(s.waited), 2.995, 1e-3);
  EXPECT_EQ(s.bar, Duration{1s});
  ASSERT_EQ(s.last_seen.size(), 1U);
  EXPECT_EQ(s.last_seen[0].process, ProcessState::Sleeping);
  EXPECT_EQ(s.last_seen[0].source, StateSource::Machine);
  EXPECT_EQ(s.last_seen[0].last_call->seq, kSteps - 1);
  EXPECT_NEAR(in_seconds(s.last_seen[0].idle), 3.0, 1e-3);
  EXPECT_EQ(s.since_utc.substr(0, 16), "2023-11-14T22:13");
  EXPECT_NE(d.verdict.find("Rank 2 is missing in AllReduce 30"), std::string::npos) << d.verdict;
}

TEST(Hang, ACallThatHasJustBegunIsNoHang) {
  trace::Run run = running_job();
  enter_all_but(run, 2, kSteps);
  ListedProcesses machine;
  put_on_machine(run, machine, 20ms);
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  EXPECT_FALSE(d.trouble.stalls[0].hung);
  EXPECT_TRUE(d.trouble.headline.empty());
}

TEST(Hang, TheBarGrowsWithWhatIsUsual) {
  trace::Run run =
      testing::make_job({.ranks = kRanks, .steps = 5, .work = [](int, int) { return Duration{4s}; }});
  for (trace::RankTrack& track : run.ranks) track.state = trace::WriterState::Open;
  enter_all_but(run, 2, 5);
  sample(run, 2, job_end(run), 'R');
  for (trace::RankTrack& track : run.ranks) {
    track.samples = {trace::Sample{}};
    track.samples[0].at = run.ranks[3].events.begin.back() + 9s;
  }
  const Diagnosis d = look(run);
  EXPECT_FALSE(d.trouble.stalls[0].hung);
  EXPECT_EQ(d.trouble.stalls[0].bar, Duration{12s});
}

TEST(Hang, StoppedOrGoneIsCertainAtOnce) {
  for (const char state : {'T', 'Z', '-'}) {
    trace::Run run = running_job();
    enter_all_but(run, 1, kSteps);
    ListedProcesses machine;
    put_on_machine(run, machine, 20ms);
    if (state == '-')
      machine.processes.erase(101);
    else
      machine.processes[101].state = state;
    const Diagnosis d = look(run, &machine);
    EXPECT_TRUE(d.trouble.stalls[0].hung) << state;
    EXPECT_EQ(d.trouble.stalls[0].last_seen[0].process,
              state == 'T' ? ProcessState::Stopped : ProcessState::Gone);
  }
}

TEST(Hang, AnotherProcessUnderTheSameNumberIsNotTheRank) {
  trace::Run run = running_job();
  enter_all_but(run, 1, kSteps);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  machine.processes[101].start_ticks = 8;
  EXPECT_EQ(look(run, &machine).trouble.stalls[0].last_seen[0].process, ProcessState::Gone);
  // Without a start time the first record decides: what began after it cannot have written it.
  run.ranks[1].start_time = 0;
  machine.processes[101].started_ns = machine.now_ns;
  EXPECT_EQ(look(run, &machine).trouble.stalls[0].last_seen[0].process, ProcessState::Gone);
  machine.processes[101].started_ns = 0;
  EXPECT_EQ(look(run, &machine).trouble.stalls[0].last_seen[0].process, ProcessState::Running);
}

TEST(Hang, WhoIsNotSeenAndYetRecordsIsNotGone) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  enter_all_but(run, 1, kSteps);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  machine.processes.erase(101);
  EXPECT_EQ(look(run, &machine).trouble.stalls[0].last_seen[0].process, ProcessState::Gone);
  sample(run, 1, end + 2900ms, 'R');  // it runs, in a PID namespace that is not ours
  EXPECT_EQ(look(run, &machine).trouble.stalls[0].last_seen[0].process, ProcessState::Unknown);
}

TEST(Hang, OnAnotherMachineNothingIsClaimed) {
  trace::Run run = running_job();
  enter_all_but(run, 1, kSteps);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  run.nodes[0].boot_id = "another";
  const Diagnosis d = look(run, &machine);
  EXPECT_FALSE(d.trouble.present.live);
  EXPECT_EQ(d.trouble.stalls[0].last_seen[0].process, ProcessState::Unknown);
  EXPECT_FALSE(d.trouble.stalls[0].hung)
      << "the records end when the last rank entered: nobody is known to have waited";
  EXPECT_EQ(d.trouble.stalls[0].ranks, std::vector{Rank{1}});
}

TEST(Hang, AfterTheEndSamplesTellHowLongAndWhoFellSilent) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  enter_all_but(run, 1, kSteps);
  for (int r = 0; r < kRanks; ++r)
    for (Duration at = end; at < end + (r == 1 ? Duration{100ms} : Duration{5s}); at += 100ms)
      sample(run, r, at, 'R');
  const Diagnosis d = look(run);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  EXPECT_TRUE(d.trouble.stalls[0].hung);
  EXPECT_FALSE(d.trouble.present.live);
  EXPECT_NEAR(in_seconds(d.trouble.stalls[0].waited), 4.895, 0.01);
  EXPECT_EQ(d.trouble.stalls[0].last_seen[0].process, ProcessState::Silent);
  EXPECT_EQ(d.trouble.stalls[0].last_seen[0].source, StateSource::Samples);
}

TEST(Hang, AllEnteredBlamesNobody) {
  trace::Run run = running_job();
  enter_all_but(run, -1, kSteps);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  EXPECT_EQ(d.trouble.stalls[0].kind, StallKind::AllEntered);
  EXPECT_TRUE(d.trouble.stalls[0].hung);
  EXPECT_TRUE(d.trouble.stalls[0].ranks.empty());
  EXPECT_NE(d.trouble.stalls[0].text.find("all entered and none left"), std::string::npos);
  machine.processes[103].state = 'T';
  const Diagnosis stopped = look(run, &machine);
  EXPECT_EQ(stopped.trouble.stalls[0].kind, StallKind::StuckInside);
  EXPECT_EQ(stopped.trouble.stalls[0].ranks, std::vector{Rank{3}});
  EXPECT_EQ(stopped.trouble.stalls[0].last_seen[0].inside->seq, kSteps);
}

TEST(Hang, WhoStoppedInsideHoldsUpTheNextCallToo) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  for (int r = 0; r < kRanks; ++r) {
    const bool stuck = r == 2;
    add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::Broadcast, end + 5ms,
             stuck ? trace::kStillRunning : end + 6ms, 64, kSteps);
    if (!stuck)
      add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::AllReduce, end + 7ms,
               trace::kStillRunning, 4096, kSteps + 1);
  }
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  machine.processes[102].state = 'T';
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 2U);
  EXPECT_EQ(d.trouble.stalls[0].kind, StallKind::StuckInside);
  EXPECT_EQ(d.trouble.stalls[0].ranks, std::vector{Rank{2}});
  EXPECT_EQ(d.trouble.stalls[0].calls[0].left.size(), 3U);
  EXPECT_TRUE(d.trouble.stalls[1].consequence);
}

TEST(Hang, FollowsAChainToItsEnd) {
  // 0 and 1 wait in a group for 2, who waits in another one for 3, who computes.
  trace::Run run = running_job();
  add_comm(run, {0, 1, 2});
  add_comm(run, {2, 3});
  const Duration end = job_end(run);
  for (const int r : {0, 1, 2})
    add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::AllGather, end + 5ms,
             trace::kStillRunning, 8, 0, r == 2 ? 2 : 1);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 2U);
  EXPECT_EQ(d.trouble.stalls[0].ranks, std::vector{Rank{3}});
  EXPECT_FALSE(d.trouble.stalls[0].consequence);
  EXPECT_EQ(d.trouble.stalls[1].ranks, std::vector{Rank{2}});
  EXPECT_TRUE(d.trouble.stalls[1].consequence);
  ASSERT_EQ(d.trouble.stalls[1].last_seen.size(), 1U);
  EXPECT_EQ(d.trouble.stalls[1].last_seen[0].inside->comm, CommId{2});
}

TEST(Hang, TwoCommunicatorsInDifferentOrderAreACycle) {
  trace::Run run = running_job();
  add_comm(run, {0, 1, 2, 3});
  const Duration end = job_end(run);
  for (int r = 0; r < kRanks; ++r)
    add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::AllReduce, end + 5ms,
             trace::kStillRunning, 8, r == 3 ? 0 : kSteps, r == 3 ? 1 : 0);
  ListedProcesses machine;
  put_on_machine(run, machine, 20ms);
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  EXPECT_EQ(d.trouble.stalls[0].kind, StallKind::OrderMismatch);
  EXPECT_TRUE(d.trouble.stalls[0].hung) << "a cycle does not end by waiting";
  EXPECT_EQ(d.trouble.stalls[0].ranks, std::vector{Rank{3}});
  EXPECT_EQ(d.trouble.stalls[0].calls.size(), 2U);
}

TEST(Hang, APointToPointCallIsFollowedToThePeer) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  add_event(run.ranks[1].events, trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::Peer),
            end + 5ms, trace::kStillRunning, 0, CommId{0}, 0);
  run.ranks[1].events.aux.set_back(3);
  for (const int r : {0, 2})
    add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::AllReduce, end + 6ms,
             trace::kStillRunning, 8, kSteps);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 2U);
  EXPECT_EQ(d.trouble.stalls[0].kind, StallKind::PeerWait);
  EXPECT_EQ(d.trouble.stalls[0].ranks, std::vector{Rank{3}});
  // 1 is missing in the all-reduce too, but waits itself: 3 is the one.
  EXPECT_EQ(d.trouble.stalls[1].kind, StallKind::MissingRank);
  EXPECT_EQ(d.trouble.stalls[1].ranks, std::vector{Rank{3}});
  EXPECT_EQ(d.trouble.stalls[1].calls[0].missing, (std::vector{Rank{1}, Rank{3}}));
}

TEST(Hang, AWaitForSeveralPeersIsFollowedToThoseThatDoNotWaitThemselves) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  trace::EventColumns& waiting = run.ranks[1].events;
  for (const std::uint32_t peer : {2U, 3U}) {
    add_event(waiting, trace::EventKind::Awaited, 0, end + 4ms, end + 4ms, 0, CommId{0}, 0);
    waiting.aux.set_back(peer);
  }
  add_event(waiting, trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::Peer), end + 5ms,
            trace::kStillRunning, 0, CommId{0}, 2);
  waiting.aux.set_back(trace::kAnyPeer);
  for (const int r : {0, 2})
    add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::AllReduce, end + 6ms,
             trace::kStillRunning, 8, kSteps);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  ASSERT_FALSE(d.trouble.stalls.empty());
  for (const Stall& stall : d.trouble.stalls) EXPECT_EQ(stall.ranks, std::vector{Rank{3}});
  EXPECT_EQ(d.trouble.stalls[0].kind, StallKind::PeerWait);
  EXPECT_EQ(d.trouble.stalls[0].calls[0].missing, std::vector{Rank{3}});
}

/// A wait for what comes from one rank and goes to another, as MPI_Sendrecv leaves it.
void add_exchange(trace::Run& run, int rank, Duration at, int from, int to, std::uint32_t number) {
  trace::EventColumns& e = run.ranks[static_cast<std::size_t>(rank)].events;
  const auto awaited = [&](int peer, std::uint32_t received, std::uint32_t sent) {
    const trace::MessageNumbers numbers{.sent = sent};
    e.push_back({.kind = trace::EventKind::Awaited,
                 .flags = trace::kNumbered,
                 .begin = at,
                 .end = at,
                 .bytes = Bytes{static_cast<std::int64_t>(numbers.bytes())},
                 .comm = CommId{0},
                 .seq = received,
                 .aux = static_cast<std::uint32_t>(peer)});
  };
  awaited(from, number, 0);
  awaited(to, 0, number);
  e.push_back({.kind = trace::EventKind::Wait,
               .op = static_cast<std::uint8_t>(trace::WaitKind::Peer),
               .begin = at,
               .end = trace::kStillRunning,
               .comm = CommId{0},
               .seq = 2,
               .aux = trace::kAnyPeer});
}

TEST(Hang, ARingOfSendrecvIsFollowedToWhoNeverSentAndIsNoCycle) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  // Rank 2 never came. 3 waits for what comes from it; 1, one call further, too; 0 is in the next step already.
  add_exchange(run, 3, end + 5ms, 2, 0, 7);
  add_exchange(run, 1, end + 5ms, 2, 0, 7);
  add_exchange(run, 0, end + 6ms, 3, 1, 8);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 3U);
  for (const Stall& stall : d.trouble.stalls) {
    EXPECT_EQ(stall.kind, StallKind::PeerWait) << stall.text;
    EXPECT_EQ(stall.consequence, stall.calls[0].waiting == std::vector{Rank{0}}) << stall.text;
    if (!stall.consequence) {
      EXPECT_EQ(stall.ranks, std::vector{Rank{2}}) << stall.text;
    }
  }
}

TEST(Hang, AMessageThatItsSenderShowsAsSentIsNotAwaited) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  add_exchange(run, 1, end + 5ms, 0, 3, 7);  // rank 0 has sent number 7, and waits for rank 2
  add_exchange(run, 0, end + 5ms, 2, 1, 7);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  ASSERT_FALSE(d.trouble.stalls.empty());
  for (const Stall& stall : d.trouble.stalls) {
    EXPECT_EQ(std::count(stall.ranks.begin(), stall.ranks.end(), Rank{0}), 0) << stall.text;
    EXPECT_NE(stall.kind, StallKind::WaitCycle) << stall.text;
  }
}

/// One that waits for a message from anybody.
void receive_from_anybody(trace::Run& run, int rank, Duration at) {
  auto& e = run.ranks[static_cast<std::size_t>(rank)].events;
  add_event(e, trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::Peer), at,
            trace::kStillRunning, 0, CommId{0}, 0);
  e.aux.set_back(trace::kAnyPeer);
}

TEST(Hang, WhoAloneDoesNotStandStillIsWhomReceiversFromAnybodyLack) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  for (const int r : {0, 1, 3}) receive_from_anybody(run, r, end + 5ms);
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 3U);
  for (const Stall& stall : d.trouble.stalls) {
    EXPECT_EQ(stall.kind, StallKind::PeerWait) << stall.text;
    EXPECT_EQ(stall.ranks, std::vector{Rank{2}}) << stall.text;
  }
}

TEST(Hang, AWaitThatNothingNamesIsNotWhoACollectiveLacks) {
  // Ranks 1 and 3 wait for messages of nobody knows whom, on nobody knows which communicator; 2 works on.
  trace::Run run = running_job();
  const Duration end = job_end(run);
  enter(run, 0, kSteps);
  for (const int r : {1, 3}) {
    receive_from_anybody(run, r, end + 5ms);
    run.ranks[static_cast<std::size_t>(r)].events.comm.set_back(trace::kNoComm);
  }
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  EXPECT_EQ(d.trouble.stalls.size(), 3U);
  for (const Stall& stall : d.trouble.stalls) EXPECT_EQ(stall.ranks, std::vector{Rank{2}}) << stall.text;
}

TEST(Hang, NobodyIsMissingForAReceiverFromAnybodyWhereTwoGoOn) {
  const auto nobody_with = [](const std::function<void(trace::Run&)>& change) {
    trace::Run run = running_job();
    const Duration end = job_end(run);
    for (const int r : {0, 3}) receive_from_anybody(run, r, end + 5ms);
    change(run);
    ListedProcesses machine;
    put_on_machine(run, machine, 3s);
    const Diagnosis d = look(run, &machine);
    EXPECT_FALSE(d.trouble.stalls.empty());
    for (const Stall& stall : d.trouble.stalls) EXPECT_TRUE(stall.ranks.empty()) << stall.text;
  };
  nobody_with([](trace::Run&) {});  // 1 and 2
  nobody_with([](trace::Run& run) {
    receive_from_anybody(run, 1, run.ranks[1].events.end.back() + 5ms);
    run.ranks[1].dropped_records = 1;  // what it did last is not known
  });
  nobody_with([](trace::Run& run) { run.ranks.erase(run.ranks.begin() + 1); });
}

TEST(Hang, TwoThatReceiveFromEachOtherAreACycle) {
  trace::Run run = running_job();
  const Duration end = job_end(run);
  for (const int r : {1, 3}) {
    add_event(run.ranks[static_cast<std::size_t>(r)].events, trace::EventKind::Wait,
              static_cast<std::uint8_t>(trace::WaitKind::Peer), end + 5ms, trace::kStillRunning, 0, CommId{0},
              0);
    run.ranks[static_cast<std::size_t>(r)].events.aux.set_back(r == 1 ? 3 : 1);
  }
  ListedProcesses machine;
  put_on_machine(run, machine, 3s);
  const Diagnosis d = look(run, &machine);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  EXPECT_EQ(d.trouble.stalls[0].kind, StallKind::WaitCycle);
  EXPECT_TRUE(d.trouble.stalls[0].hung);
  EXPECT_EQ(d.trouble.stalls[0].last_seen.size(), 2U);
}

TEST(Hang, WhatIsNotRecordedIsNotBlamed) {
  const auto kind_with = [](const std::function<void(trace::Run&)>& change) {
    trace::Run run = running_job();
    enter_all_but(run, 2, kSteps);
    change(run);
    const Diagnosis d = look(run);
    EXPECT_EQ(d.trouble.stalls.size(), 1U);
    if (d.trouble.stalls[0].kind == StallKind::NotRecorded) {
      EXPECT_TRUE(d.trouble.stalls[0].ranks.empty());
      EXPECT_EQ(d.trouble.stalls[0].calls[0].not_recorded, std::vector{Rank{2}});
    }
    return d.trouble.stalls[0].kind;
  };
  EXPECT_EQ(kind_with([](trace::Run&) {}), StallKind::MissingRank);
  EXPECT_EQ(kind_with([](trace::Run& r) { r.ranks.erase(r.ranks.begin() + 2); }), StallKind::NotRecorded);
  EXPECT_EQ(kind_with([](trace::Run& r) { r.ranks[2].dropped_records = 1; }), StallKind::NotRecorded);
  EXPECT_EQ(kind_with([](trace::Run& r) { r.ranks[2].state = trace::WriterState::Disabled; }),
            StallKind::NotRecorded);
  EXPECT_EQ(kind_with([](trace::Run& r) { r.ranks[2].recycled_records = 1; }), StallKind::NotRecorded)
      << "no hole before its last call: what was overwritten may lie behind it";
  EXPECT_EQ(kind_with([](trace::Run& r) {
              r.ranks[2].recycled_records = 5;
              for (std::size_t i = 10; i < 15; ++i) r.ranks[2].events.kind[i] = trace::EventKind::Phase;
            }),
            StallKind::MissingRank)
      << "the hole is before its last call, so nothing after that is lost";
  EXPECT_EQ(kind_with([](trace::Run& r) { r.ranks[2].events = {}; }), StallKind::NotRecorded);
}

TEST(Hang, WorkersOfALibraryDoNotMakeTheProgramStandStill) {
  // The worker of rank 2 is inside a background operation for which 3 is missing, its program computes: in
  // the next operation of the program 2 is missing by itself.
  trace::Run run = testing::empty_run(kRanks);
  for (int r = 0; r < kRanks; ++r) {
    auto& e = run.ranks[static_cast<std::size_t>(r)].events;
    run.ranks[static_cast<std::size_t>(r)].state = trace::WriterState::Open;
    for (std::uint32_t s = 0; s < 20; ++s)
      testing::add_ddp_step(e, s, s * Duration{10ms} + 5ms, s * Duration{10ms} + 5ms,
                            s * Duration{10ms} + 6ms);
    if (r != 3)
      add_call(e, model::Collective::AllReduce, 300ms, trace::kStillRunning, 8, 40, 0, trace::kOffThread, 1);
    if (r < 2)
      add_event(e, trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::GradientSync), 310ms,
                trace::kStillRunning, 0, CommId{0}, 0);
    sample(run, r, 10s, 'R');
  }
  const Diagnosis d = look(run);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  EXPECT_EQ(d.trouble.stalls[0].ranks, std::vector{Rank{3}});
  EXPECT_EQ(d.trouble.stalls[0].calls[0].waiting.size(), 3U);
}

TEST(Hang, ACallThatAnExceptionLeftIsNotOpen) {
  trace::Run run = running_job();
  run.ranks[1].events.end[5] = trace::kStillRunning;  // the thread has done more since
  EXPECT_TRUE(look(run).trouble.stalls.empty());
}

TEST(Hang, AJobWithoutCollectivesIsToldToo) {
  trace::Run run = testing::empty_run(2);
  for (int r = 0; r < 2; ++r) {
    run.communicators[0].by_rank.emplace_back(r);
    run.ranks[static_cast<std::size_t>(r)].state = trace::WriterState::Open;
    add_event(run.ranks[static_cast<std::size_t>(r)].events, trace::EventKind::Phase, 1, 0s, 1s, 0,
              trace::kNoComm, 0);
    sample(run, r, 60s, 'S');
  }
  add_event(run.ranks[0].events, trace::EventKind::Wait, static_cast<std::uint8_t>(trace::WaitKind::Peer), 2s,
            trace::kStillRunning, 0, CommId{0}, 0);
  run.ranks[0].events.aux.set_back(1);
  const Diagnosis d = look(run);
  ASSERT_EQ(d.trouble.stalls.size(), 1U);
  EXPECT_EQ(d.trouble.stalls[0].kind, StallKind::PeerWait);
  EXPECT_TRUE(d.trouble.stalls[0].hung);
}

}  // namespace
}  // namespace cox::diagnose
