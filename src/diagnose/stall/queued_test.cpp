// SPDX-License-Identifier: Apache-2.0
// Calls that a device runs: the host puts them on its queue, one behind the other.
#include <gtest/gtest.h>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/stall/hang.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

TEST(Queued, WhatIsBehindACallDoesNotEndIt) {
  constexpr std::uint32_t kSteps = 30;
  testing::Job job;
  job.ranks = 4;
  job.steps = static_cast<int>(kSteps);
  trace::Run run = testing::make_job(job);
  const Duration end = run.ranks[0].events.end.back();
  for (std::size_t r = 0; r < 4; ++r) {
    run.ranks[r].state = trace::WriterState::Open;
    run.communicators[0].by_rank.emplace_back(static_cast<int>(r));
    for (std::uint32_t k = 0; k < 2 && r != 2; ++k)
      testing::add_call(run.ranks[r].events, model::Collective::AllReduce, end + 5ms + k * 30s,
                        trace::kStillRunning, 4096, kSteps + k, 0, trace::kTagged, 0);
  }
  const auto d = diagnose(run);
  ASSERT_TRUE(d.has_value());
  ASSERT_FALSE(d->trouble.stalls.empty());
  const Stall& first = d->trouble.stalls[0];
  EXPECT_TRUE(first.hung);
  EXPECT_EQ(first.ranks, std::vector{Rank{2}});
  EXPECT_EQ(first.calls[0].call.seq, kSteps);
}

}  // namespace
}  // namespace cox::diagnose
