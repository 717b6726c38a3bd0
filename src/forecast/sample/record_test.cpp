// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "forecast/sample/read.hpp"
#include "forecast/sample/run_record.hpp"
#include "support/make_run.hpp"

namespace cox::forecast {
namespace {

using namespace std::chrono_literals;

trace::Run job(int collectives = 1) {
  return test::make_run({.ranks = 4, .steps = 20, .collectives = collectives, .transfer = 1ms, .nodes = 2});
}

RunRecord record(const trace::Run& run) {
  const auto sample = sample_of(run, 1);
  EXPECT_TRUE(sample) << sample.error().to_string();
  return sample ? sample->record : RunRecord{};
}

TEST(RunRecord, MessagesAreTimedFromTheLastArrivalOn) {
  trace::Run run = job(2);
  // Every other one is small: a communicator's calls are numbered in its own order.
  for (trace::RankTrack& t : run.ranks) {
    trace::EventColumns events;
    for (std::size_t i = 0; i < t.events.size(); ++i) {
      trace::Event e = t.events[i];
      if (e.kind == trace::EventKind::Collective && e.seq % 2 == 1) e.bytes = Bytes{8};
      events.push_back(e);
    }
    t.events = events;
  }
  const RunRecord r = record(run);
  ASSERT_EQ(r.messages.size(), 2U);
  EXPECT_EQ(r.messages[0].bytes, Bytes{8});
  EXPECT_EQ(r.messages[1].bytes, Bytes{25'000'000});
  for (const MessageTimes& m : r.messages) {
    EXPECT_EQ(m.kind, model::Collective::AllReduce);
    EXPECT_EQ(m.ranks, 4);
    EXPECT_FALSE(m.one_node);
    EXPECT_EQ(m.times.size(), 19U) << "the first step starts the job up";
    for (const Seconds t : m.times) EXPECT_NEAR(t.count(), 1e-3, 1e-9);
  }
}

TEST(RunRecord, OperationsWithoutAMemberAreLeftOut) {
  trace::Run run = job();
  run.ranks[1].events.end.back() = trace::kStillRunning;
  EXPECT_EQ(record(run).messages[0].times.size(), 18U);
}

// A worker's all-reduce of a millisecond, of which the program stands in the last quarter.
TEST(RunRecord, WhatTheProgramDoesNotWaitForIsHidden) {
  trace::Run run = job();
  for (trace::RankTrack& t : run.ranks) {
    trace::EventColumns events;
    for (std::size_t i = 0; i < t.events.size(); ++i) {
      trace::Event e = t.events[i];
      if (e.kind == trace::EventKind::Collective) {
        e.begin = e.end - Duration{1ms};
        e.flags |= trace::kOffThread;
        e.thread = 1;
      }
      events.push_back(e);
      if (e.kind != trace::EventKind::Collective) continue;
      events.push_back({.kind = trace::EventKind::Wait,
                        .op = static_cast<std::uint8_t>(trace::WaitKind::GradientSync),
                        .begin = e.end - Duration{250us},
                        .end = e.end});
    }
    t.events = events;
  }
  const RunRecord r = record(run);
  ASSERT_EQ(r.background.size(), 4U);
  EXPECT_FALSE(r.until_waits);
  for (const BackgroundTime& b : r.background) {
    EXPECT_EQ(b.operations, 19);
    EXPECT_NEAR(b.in_flight.count(), 19e-3, 1e-9);
    EXPECT_NEAR(b.hidden / b.in_flight, 0.75, 1e-9);
  }
  EXPECT_TRUE(record(job()).background.empty()) << "nobody waits elsewhere";
}

// Started 600 us before its end, waited for in the last 150: the call of 50 us and the wait are not hidden.
TEST(RunRecord, RequestsAreUnderWayUntilTheirWaitReturns) {
  trace::Run run = job();
  for (trace::RankTrack& t : run.ranks) {
    trace::EventColumns events;
    for (std::size_t i = 0; i < t.events.size(); ++i) {
      trace::Event e = t.events[i];
      const Duration end = e.end;
      if (e.kind == trace::EventKind::Collective) {
        e.begin = end - Duration{600us};
        e.end = e.begin + Duration{50us};
        e.flags |= trace::kNonBlocking;
      }
      events.push_back(e);
      if (e.kind != trace::EventKind::Collective) continue;
      events.push_back({.kind = trace::EventKind::Wait,
                        .op = static_cast<std::uint8_t>(trace::WaitKind::Request),
                        .begin = end - Duration{150us},
                        .end = end,
                        .comm = e.comm,
                        .seq = e.seq});
    }
    t.events = events;
  }
  const RunRecord r = record(run);
  ASSERT_EQ(r.background.size(), 4U);
  EXPECT_TRUE(r.until_waits);
  EXPECT_TRUE(r.messages.empty()) << "when they were done is not recorded";
  for (const BackgroundTime& b : r.background) {
    EXPECT_NEAR(b.in_flight.count(), 19 * 600e-6, 1e-9);
    EXPECT_NEAR(b.hidden / b.in_flight, 400.0 / 600, 1e-9);
  }
}

TEST(RunRecord, StartUpCountsFromTheFirstProcess) {
  trace::Run run = job();
  run.info.provenance = trace::Provenance::Observed;
  EXPECT_FALSE(record(run).startup) << "it is not known when the processes began";
  for (trace::Node& n : run.nodes) n.monotonic_origin_ns = 100'000'000'000;
  for (trace::RankTrack& t : run.ranks) t.start_time = 9'800 + static_cast<std::uint64_t>(t.rank.value());
  ASSERT_TRUE(record(run).startup);
  EXPECT_NEAR(record(run).startup->count(), 2, 0.1);
  for (trace::RankTrack& t : run.ranks) t.start_time = 20'000;
  EXPECT_FALSE(record(run).startup) << "a clock that was set, or another machine's";
}

TEST(RunRecord, EndsAndAttemptsAreCounted) {
  trace::Run run = job();
  EXPECT_EQ(record(run).ended, 0);
  EXPECT_EQ(record(run).observed, Seconds{}) << "simulated";
  run.info.provenance = trace::Provenance::Observed;
  run.info.ends = {{.rank = 2, .exit_status = 137, .signal = 9}};
  run.ranks[1].attempt = 2;
  const RunRecord r = record(run);
  EXPECT_EQ(r.ended, 1);
  EXPECT_EQ(r.attempts, 2);
  EXPECT_GT(r.observed, Seconds{0.2});
}

}  // namespace
}  // namespace cox::forecast
