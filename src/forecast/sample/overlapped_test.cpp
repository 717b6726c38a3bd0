// SPDX-License-Identifier: Apache-2.0
#include "forecast/sample/overlapped.hpp"

#include <gtest/gtest.h>

#include "forecast/sample/read.hpp"
#include "support/make_run.hpp"

namespace cox::forecast {
namespace {

using namespace std::chrono_literals;

/// What is done to the wait of an operation of a millisecond.
using Change = void (*)(trace::Event& wait);

/// A worker's all-reduce, of which the program stands in the last quarter.
RunRecord record(int collectives, Change change = nullptr) {
  trace::Run run =
      test::make_run({.ranks = 4, .steps = 20, .collectives = collectives, .transfer = 1ms, .nodes = 2});
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
      trace::Event wait{.kind = trace::EventKind::Wait,
                        .op = static_cast<std::uint8_t>(trace::WaitKind::GradientSync),
                        .begin = e.end - Duration{250us},
                        .end = e.end};
      if (change != nullptr) change(wait);
      events.push_back(wait);
    }
    t.events = events;
  }
  const auto sample = forecast::sample_of(run, 1);
  EXPECT_TRUE(sample) << sample.error().to_string();
  return sample ? sample->record : RunRecord{};
}

TEST(Overlapped, StepsAreKeptAsTheyWere) {
  const RunRecord r = record(1);
  ASSERT_EQ(r.overlapped.size(), 18U) << "neither the first one nor the last";
  EXPECT_EQ(r.overlapped_among, 4);
  EXPECT_FALSE(r.overlapped_in_node);
  for (const OverlappedStep& s : r.overlapped) {
    ASSERT_EQ(s.operations.size(), 1U);
    const BesideOperation& o = s.operations.front();
    EXPECT_EQ(o.kind, model::Collective::AllReduce);
    EXPECT_EQ(o.bytes, Bytes{25'000'000});
    EXPECT_NEAR((o.departure - o.arrival).count(), 1e-3, 1e-9);
    EXPECT_NEAR((o.departure - s.work).count(), 250e-6, 1e-9);
    EXPECT_GT(s.work, Seconds{9e-3});
  }
}

TEST(Overlapped, WhatBeginsBehindAWaitIsNotPlayed) {
  const RunRecord r = record(2);
  EXPECT_FALSE(r.background.empty());
  EXPECT_TRUE(r.overlapped.empty());
}

TEST(Overlapped, WhatEndsBehindTheWaitsIsNotPlayed) {
  EXPECT_TRUE(record(1, [](trace::Event& wait) { wait.end -= Duration{100us}; }).overlapped.empty());
}

}  // namespace
}  // namespace cox::forecast
