// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stall/mismatch.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;
using testing::add_call;

/// Twenty steps of four ranks: a broadcast from 0 (even numbers), an all-reduce of floats (odd ones).
trace::Run two_calls(int ranks = 4) {
  trace::Run run = testing::empty_run(ranks);
  for (trace::RankTrack& track : run.ranks)
    for (std::uint32_t s = 0; s < 20; ++s) {
      const Duration at = s * Duration{10ms};
      add_call(track.events, model::Collective::Broadcast, at, at + 1ms, 64, 2 * s, 0, trace::kRooted);
      add_call(track.events, model::Collective::AllReduce, at + 2ms, at + 3ms, 4096, 2 * s + 1, 0,
               trace::kElement);
      track.events.aux.set_back(4);
    }
  return run;
}

std::vector<Mismatch> look(const trace::Run& run) {
  const auto d = diagnose(run);
  EXPECT_TRUE(d.has_value());
  return d->trouble.mismatches;
}

TEST(Mismatch, WhereAllAgreeThereIsNone) {
  EXPECT_TRUE(look(two_calls()).empty());
}

TEST(Mismatch, NamesTheRankWithAnotherRoot) {
  trace::Run run = two_calls();
  run.ranks[2].events.aux.set(10, 1);
  const auto found = look(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, MismatchKind::Root);
  EXPECT_EQ(found[0].ranks, std::vector{Rank{2}});
  EXPECT_EQ(found[0].first_seq, 10U);
  EXPECT_EQ(found[0].sides[0].root, 0U);
  EXPECT_EQ(found[0].sides[1].root, 1U);
}

TEST(Mismatch, NamesTheRankWithAnotherCountAllAlong) {
  trace::Run run = two_calls();
  for (std::size_t i = 1; i < 40; i += 2) run.ranks[0].events.bytes.set(i, Bytes{2048});
  const auto found = look(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, MismatchKind::Count);
  EXPECT_EQ(found[0].ranks, std::vector{Rank{0}});
  EXPECT_EQ(found[0].count, 20);
  EXPECT_EQ(found[0].last_seq, 39U);
  EXPECT_NE(found[0].text.find("512 elements of 4"), std::string::npos) << found[0].text;
}

TEST(Mismatch, SizesMayDifferInVariableForms) {
  trace::Run run = two_calls();
  for (trace::RankTrack& track : run.ranks) track.events.flags[1] = trace::kVariable;
  run.ranks[3].events.bytes.set(1, Bytes{1});
  EXPECT_TRUE(look(run).empty());
}

TEST(Mismatch, NamesTheRankWithAnotherElement) {
  trace::Run run = two_calls();
  run.ranks[3].events.aux.set(7, 8);
  const auto found = look(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, MismatchKind::TypeSize);
  EXPECT_EQ(found[0].ranks, std::vector{Rank{3}});
}

TEST(Mismatch, NamesTheRankWithAnotherOperation) {
  trace::Run run = two_calls();
  run.ranks[1].events.op[9] = static_cast<std::uint8_t>(model::Collective::Barrier);
  const auto found = look(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, MismatchKind::Operation);
  EXPECT_EQ(found[0].ranks, std::vector{Rank{1}});
}

TEST(Mismatch, TwoNeighboursTheOtherWayRoundAreAnOrder) {
  trace::Run run = two_calls();
  auto& e = run.ranks[1].events;
  std::vector<std::uint32_t> order(e.size());
  std::iota(order.begin(), order.end(), 0U);
  std::swap(order[8], order[9]);
  e.bytes.reorder(order);
  e.aux.reorder(order);
  std::swap(e.op[8], e.op[9]);
  std::swap(e.flags[8], e.flags[9]);
  const auto found = look(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, MismatchKind::Order);
  EXPECT_EQ(found[0].ranks, std::vector{Rank{1}});
  EXPECT_EQ(found[0].first_seq, 8U);
  EXPECT_EQ(found[0].last_seq, 9U);
}

TEST(Mismatch, OfTwoNobodyIsInTheMajority) {
  trace::Run run = two_calls(2);
  run.ranks[1].events.aux.set(10, 1);
  const auto found = look(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].ranks.empty());
  EXPECT_EQ(found[0].sides.size(), 2U);
}

TEST(Mismatch, AnOpenCallCountsToo) {
  trace::Run run = two_calls();
  for (trace::RankTrack& track : run.ranks) {
    track.state = trace::WriterState::Open;
    const bool odd = track.rank == Rank{3};
    add_call(track.events, odd ? model::Collective::Barrier : model::Collective::AllReduce, 300ms,
             trace::kStillRunning, odd ? 0 : 8, 40);
    trace::Sample late;
    late.at = 60s;
    track.samples.push_back(late);
  }
  const auto d = diagnose(run);
  ASSERT_TRUE(d.has_value());
  ASSERT_EQ(d->trouble.mismatches.size(), 1U);
  EXPECT_EQ(d->trouble.mismatches[0].ranks, std::vector{Rank{3}});
  ASSERT_EQ(d->trouble.stalls.size(), 1U);
  EXPECT_EQ(d->trouble.stalls[0].kind, StallKind::Mismatch);
  EXPECT_EQ(d->trouble.stalls[0].ranks, std::vector{Rank{3}});
}

}  // namespace
}  // namespace cox::diagnose
