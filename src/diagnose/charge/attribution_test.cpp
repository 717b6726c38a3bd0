// SPDX-License-Identifier: Apache-2.0
#include "diagnose/charge/attribution.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/charge/json.hpp"
#include "diagnose/charge/roles.hpp"
#include "diagnose/charge/synthetic.hpp"
#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

using namespace literals;
using testing::Job;
using testing::Meeting;
using testing::NestedJob;

Attribution attribute(const trace::Run& run) {
  auto a = attribute_waits(run);
  EXPECT_TRUE(a.has_value());
  EXPECT_FALSE(a->refused) << refusal_of(*a).value_or("");
  EXPECT_TRUE(a->balanced);
  return *std::move(a);
}

const PairCharge* find_pair(const Attribution& a, int culprit, int waiting) {
  const auto at = std::find_if(a.pairs.begin(), a.pairs.end(), [&](const PairCharge& p) {
    return p.culprit == Rank{culprit} && p.waiting == Rank{waiting};
  });
  return at == a.pairs.end() ? nullptr : &*at;
}

TEST(Attribution, TheLateRankPaysForAllWaitsAfterTheFirst) {
  Job job{.ranks = 4, .steps = 11};
  job.work = [](int r, int) { return r == 2 ? 15ms : 10ms; };
  const Attribution a = attribute(testing::make_job(job));
  EXPECT_EQ(a.waited, 11 * 3 * 5ms);
  EXPECT_EQ(a.carried_in, 3 * 5ms);
  EXPECT_EQ(a.charged, 10 * 3 * 5ms);
  EXPECT_EQ(a.ranks[2].short_term, a.charged);
  EXPECT_EQ(a.ranks[2].long_term, 0ms);
  EXPECT_EQ(a.ranks[2].waited, 0ms);
  EXPECT_EQ(a.ranks[2].self_delay, 10 * 5ms);
  EXPECT_EQ(a.unknown, 0ms);
  EXPECT_EQ(a.communication, 0ms);
  ASSERT_NE(find_pair(a, 2, 0), nullptr);
  EXPECT_EQ(find_pair(a, 2, 0)->direct, 10 * 5ms);
  EXPECT_TRUE(a.pairs_complete);
  EXPECT_DOUBLE_EQ(a.amplification, 165.0 / 50.0);
}

TEST(Attribution, WaitsAreThoseOfTheRanksAccounts) {
  Job job{.ranks = 6, .steps = 40, .calls_per_step = 3};
  job.work = [](int r, int s) { return testing::lognormal_work(3, r, s, 10ms, 0.3); };
  const trace::Run run = testing::make_job(job);
  const Attribution a = attribute(run);
  const auto d = diagnose(run);
  for (std::size_t r = 0; r < a.ranks.size(); ++r) EXPECT_EQ(a.ranks[r].waited, d->ranks[r].wait);
}

/// Ranks 0, 1 and 2, 3 are pairs; 0, 2 and 1, 3 are columns. All meet first, so that nothing is carried in.
NestedJob two_pairs() {
  NestedJob job;
  job.groups = {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 1, 2, 3}};
  job.programs.resize(4);
  for (auto& program : job.programs) program.push_back({4, 1ms});
  return job;
}

TEST(Attribution, AWaitThatCameFromAWaitIsPassedOnToItsCause) {
  NestedJob job = two_pairs();
  // Rank 0 is late for 1; 1 is then late for 3, 3 for nobody; 2 waits for 0.
  const std::vector<Duration> work = {11ms, 1ms, 1ms, 1ms};
  for (int r = 0; r < 4; ++r) {
    auto& program = job.programs[static_cast<std::size_t>(r)];
    program.push_back({r / 2, work[static_cast<std::size_t>(r)]});
    program.push_back({2 + r % 2, 1ms});
  }
  const Attribution a = attribute(testing::play(job));
  EXPECT_EQ(a.waited, 30ms);
  EXPECT_EQ(a.carried_in, 0ms);
  EXPECT_EQ(a.ranks[0].short_term, 20ms);  // ranks 1 and 2
  EXPECT_EQ(a.ranks[0].long_term, 10ms);   // rank 3, by way of 1
  EXPECT_EQ(a.ranks[1].short_term + a.ranks[1].long_term, 0ms);
  ASSERT_NE(find_pair(a, 0, 1), nullptr);
  EXPECT_EQ(find_pair(a, 0, 1)->direct, 10ms);
  EXPECT_EQ(find_pair(a, 0, 1)->passed, 10ms);
}

TEST(Attribution, WhatIsHalfWorkAndHalfWaitIsDividedSo) {
  NestedJob job = two_pairs();
  const std::vector<Duration> work = {7ms, 1ms, 1ms, 1ms};
  for (int r = 0; r < 4; ++r) {
    auto& program = job.programs[static_cast<std::size_t>(r)];
    program.push_back({r / 2, work[static_cast<std::size_t>(r)]});
    program.push_back({2 + r % 2, r == 1 ? 4ms : 1ms});
  }
  const Attribution a = attribute(testing::play(job));
  // Rank 1: waits 6 for 0. Rank 2: 6 for 0. Rank 3: 9 for 1, of which 3 are its work and 6 are 0's doing.
  EXPECT_EQ(a.waited, 21ms);
  EXPECT_EQ(a.ranks[0].short_term, 12ms);
  EXPECT_EQ(a.ranks[0].long_term, 6ms);
  EXPECT_EQ(a.ranks[1].short_term, 3ms);
}

TEST(Attribution, ASlowTransferIsNobodysWork) {
  NestedJob job = two_pairs();
  job.transfer_of = [](int group) { return group == 0 ? 5100us : 100us; };
  for (int r = 0; r < 4; ++r) {
    auto& program = job.programs[static_cast<std::size_t>(r)];
    program.push_back({r / 2, 1ms});
    program.push_back({2 + r % 2, 1ms});
  }
  const Attribution a = attribute(testing::play(job));
  EXPECT_EQ(a.waited, 10ms);
  EXPECT_EQ(a.communication, 10ms);
  EXPECT_EQ(a.charged, 0ms);
  EXPECT_EQ(a.ranks[0].communication, 5ms);
}

TEST(Attribution, RanksThatAreLateTogetherShare) {
  Job job{.ranks = 6, .steps = 21};
  job.work = [](int r, int) { return r == 1 || r == 4 ? 14ms : 10ms; };
  const Attribution a = attribute(testing::make_job(job));
  EXPECT_EQ(a.ranks[1].short_term, a.ranks[4].short_term);
  EXPECT_EQ(a.ranks[1].short_term, 20 * 4 * 4ms / 2);
  EXPECT_EQ(a.charged + a.carried_in, a.waited);
}

TEST(Attribution, WithoutCommonClockDurationsGiveTheSame) {
  auto work = [](int r, int s, int l) {
    return testing::lognormal_work(5, r, 10 * s + l, 3ms, 0.2) + (r == 3 ? 2ms : 0ms);
  };
  NestedJob job = testing::parallel_layout(4, 12, 3, work);
  const Attribution same = attribute(testing::play(job));
  job.nodes = 2;
  job.clock_offset = [](int node) { return node * Duration{70s}; };
  const Attribution apart = attribute(testing::play(job));
  EXPECT_EQ(same.method, WaitMethod::Clock);
  EXPECT_EQ(apart.method, WaitMethod::Duration);
  EXPECT_LT(apart.validity_ratio, 0.1);
  for (std::size_t r = 0; r < same.ranks.size(); ++r) {
    EXPECT_EQ(same.ranks[r].waited, apart.ranks[r].waited);
    EXPECT_EQ(same.ranks[r].short_term, apart.ranks[r].short_term);
    EXPECT_EQ(same.ranks[r].long_term, apart.ranks[r].long_term);
  }
}

TEST(Attribution, ANestedStragglerCarriesMostOfAllCosts) {
  auto work = [](int r, int s, int l) {
    return testing::lognormal_work(6, r, 10 * s + l, 3ms, 0.02) + (r == 5 ? 2ms : 0ms);
  };
  const Attribution a = attribute(testing::play(testing::parallel_layout(8, 20, 4, work)));
  const RankCharge& late = a.ranks[5];
  EXPECT_GT(ratio(late.short_term + late.long_term, a.waited), 0.8);
  EXPECT_GT(late.long_term, 0ms);
  EXPECT_LT(ratio(a.unknown, a.waited), 0.01);
}

TEST(Attribution, RefusesWhereMembersDoNotLeaveTogether) {
  Job job{.ranks = 4, .steps = 40, .nodes = 2};
  job.work = [](int r, int s) { return testing::lognormal_work(8, r, s, 10ms, 0.05); };
  job.leave = [](int r, int s) { return testing::lognormal_work(9, r, s, 2ms, 1.0); };
  job.clock_offset = [](int node) { return node * Duration{5s}; };
  const trace::Run input = testing::make_job(job);
  const auto a = attribute_waits(input);
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->refused, ChargeRefusal::EndsApart);
  EXPECT_TRUE(a->pairs.empty());
  EXPECT_NE(describe(*a, Whom::Ranks).front().find("not told"), std::string::npos);
}

void add_peer_wait(trace::Run& run, int rank, int peer, Duration begin, Duration end) {
  testing::add_event(run.ranks[static_cast<std::size_t>(rank)].events, trace::EventKind::Wait,
                     static_cast<std::uint8_t>(trace::WaitKind::Peer), begin, end, 0, CommId{0}, 0);
  run.ranks[static_cast<std::size_t>(rank)].events.aux.set_back(static_cast<std::uint32_t>(peer));
}

TEST(Attribution, WaitsForAPeerAreChargedAndPassedOn) {
  trace::Run run = testing::empty_run(3);
  run.communicators[0].by_rank = run.communicators[0].ranks;
  const auto all = [&](Duration end, std::uint32_t seq, Duration begin) {
    for (auto& track : run.ranks)
      testing::add_call(track.events, model::Collective::Barrier, begin, end, 0, seq);
  };
  all(10ms, 0, 9ms);
  // A pipeline: 0 works until 30 ms, 1 waits for it, works 1 ms, and 2 waits for 1.
  add_peer_wait(run, 1, 0, 11ms, 30ms);
  add_peer_wait(run, 2, 1, 11ms, 31ms);
  all(41ms, 1, 40ms);
  const Attribution a = attribute(run);
  EXPECT_EQ(a.waited, 39ms);
  EXPECT_EQ(a.ranks[0].short_term, 19ms);
  EXPECT_EQ(a.ranks[0].long_term, 19ms);
  EXPECT_EQ(a.ranks[1].short_term, 1ms);
  EXPECT_EQ(a.unknown, 0ms);
  run.communicators[0].by_rank.clear();  // the same: members are then in order of rank
  EXPECT_EQ(attribute(run).ranks[0].long_term, 19ms);
}

TEST(Attribution, MessagesTellWaitFromTransfer) {
  trace::Run run = testing::empty_run(2);
  run.communicators[0].by_rank = run.communicators[0].ranks;
  for (auto& track : run.ranks) testing::add_call(track.events, model::Collective::Barrier, 9ms, 10ms, 0, 0);
  // Rank 0 sends from 30 to 35 ms; rank 1 stood in the receive since 11 ms. 19 ms of it are wait.
  add_peer_wait(run, 1, 0, 11ms, 35ms);
  add_peer_wait(run, 0, 1, 30ms, 35ms);
  trace::MessageColumns& m = run.messages;
  m.from = {Rank{0}};
  m.to = {Rank{1}};
  m.send_begin = {30ms};
  m.send_end = {35ms};
  m.receive_begin = {11ms};
  m.receive_end = {35ms};
  m.bytes = {Bytes{1}};
  m.tag = {0};
  const Attribution a = attribute(run);
  EXPECT_EQ(a.waited, 19ms);
  EXPECT_EQ(a.ranks[0].short_term, 19ms);
  EXPECT_EQ(a.ranks[0].waited, 0ms);
  for (auto& track : run.ranks) track.events.aux.set_back(trace::kAnyPeer);  // the messages name them
  EXPECT_EQ(attribute(run).ranks[0].short_term, 19ms);
}

TEST(Attribution, ServedDelayIsNoWorkOfTheRank) {
  trace::Run run = testing::empty_run(3);
  constexpr int kSteps = 11;
  Duration left = 1ms;
  for (int step = 0; step < kSteps; ++step) {
    // Rank 2 works 5 ms longer; rank 1 is held back for so long that it comes last all the same.
    const Duration entries[] = {left + 10ms, left + 8ms + 10ms, left + 15ms};
    const Duration last = left + 18ms;
    auto& held = run.ranks[1].events;
    if (step > 0)
      testing::add_event(held, trace::EventKind::Pace, 15, left, left + 8ms, 8'000'000, CommId{0},
                         static_cast<std::uint32_t>(step));
    for (std::size_t r = 0; r < 3; ++r)
      testing::add_call(run.ranks[r].events, model::Collective::Barrier, entries[r], last, 0,
                        static_cast<std::uint32_t>(step));
    left = last;
  }
  const Attribution a = attribute(run);
  EXPECT_EQ(a.ranks[0].self_delay, 0ms);
  EXPECT_EQ(a.ranks[1].self_delay, 0ms);
  EXPECT_EQ(a.ranks[2].self_delay, (kSteps - 1) * 5ms);
}

TEST(Attribution, AnUnnamedPeerIsUnknown) {
  trace::Run run = testing::empty_run(2);
  for (auto& track : run.ranks) testing::add_call(track.events, model::Collective::Barrier, 9ms, 10ms, 0, 0);
  add_peer_wait(run, 1, 0, 11ms, 30ms);
  run.ranks[1].events.aux.set_back(trace::kAnyPeer);
  const Attribution a = attribute(run);
  EXPECT_EQ(a.unknown, 19ms);
  ASSERT_EQ(a.notes.size(), 1U);
  EXPECT_EQ(a.notes[0].kind, ChargeNote::Kind::UnnamedPeers);
}

TEST(Attribution, PhasesTellWhatTheDelayWas) {
  Job job{.ranks = 4, .steps = 20};
  job.work = [](int r, int) { return r == 1 ? 14ms : 10ms; };
  trace::Run run = testing::make_job(job);
  for (auto& track : run.ranks) {
    trace::EventColumns e;
    Duration from = 5ms;
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      const Duration entry = track.events.begin[i];
      const auto phase = [&](trace::PhaseKind kind, Duration begin, Duration end) {
        testing::add_event(e, trace::EventKind::Phase, static_cast<std::uint8_t>(kind), begin, end, 0,
                           trace::kNoComm, 0);
      };
      phase(trace::PhaseKind::Forward, from, from + 6ms);
      phase(trace::PhaseKind::Data, from + 6ms, entry - 1ms);
      testing::add_call(e, model::Collective::AllReduce, entry, track.events.end[i], 1'000'000,
                        static_cast<std::uint32_t>(i));
      from = track.events.end[i];
    }
    track.events = std::move(e);
  }
  const Attribution a = attribute(run);
  ASSERT_EQ(a.by_activity.size(), 1U);
  EXPECT_EQ(a.by_activity[0].name, "data");
  EXPECT_EQ(a.by_activity[0].charged, a.charged);
  EXPECT_EQ(a.by_activity[0].self_delay, 19 * 4ms);
  EXPECT_DOUBLE_EQ(a.by_activity[0].amplification, 3);
}

TEST(Attribution, ContradictoryOrdersAreLeftOut) {
  trace::Run run = testing::empty_run(2);
  run.communicators.push_back(run.communicators[0]);
  run.communicators[1].id = CommId{1};
  for (int r = 0; r < 2; ++r) {
    auto& e = run.ranks[static_cast<std::size_t>(r)].events;
    for (int i = 0; i < 10; ++i) {
      const auto seq = static_cast<std::uint32_t>(i);
      testing::add_call(e, model::Collective::AllReduce, i * 10ms + 1ms, i * 10ms + 2ms, 8, seq, r);
      testing::add_call(e, model::Collective::AllReduce, i * 10ms + 3ms, i * 10ms + 4ms, 8, seq, 1 - r);
    }
  }
  const Attribution a = attribute(run);
  ASSERT_EQ(a.notes.size(), 1U);
  EXPECT_EQ(a.notes[0].kind, ChargeNote::Kind::Contradictory);
  EXPECT_EQ(clause_of(a.notes[0]),
            fmt::format("{} operations in another order on some of the members", a.notes[0].operations));
}

TEST(Attribution, TimesAtTheEndsOfTheRangeBalance) {
  trace::Run run = testing::empty_run(3);
  run.communicators[0].by_rank = run.communicators[0].ranks;
  const Duration first = Duration::min() + 2_ps;
  const Duration last = trace::kStillRunning - 1_ps;
  for (int r = 0; r < 3; ++r) {
    auto& e = run.ranks[static_cast<std::size_t>(r)].events;
    testing::add_call(e, model::Collective::AllReduce, r == 0 ? Duration::zero() : first, last, 8, 0);
    testing::add_call(e, model::Collective::AllReduce, last, last, 8, 1);
    testing::add_call(e, model::Collective::AllReduce, last, r == 1 ? first : last, 8, 2);
  }
  add_peer_wait(run, 1, 0, last - 1_ps, last);
  attribute(run);
  // A hundred ranks that wait a hundred days each: the sum leaves the range, the balance does not.
  run = testing::empty_run(100);
  for (int r = 0; r < 100; ++r)
    for (std::uint32_t op = 0; op < 2; ++op)
      testing::add_call(run.ranks[static_cast<std::size_t>(r)].events, model::Collective::Barrier,
                        r == 0 ? op * 1000h + 990h : op * 1000h, op * 1000h + 999h, 0, op);
  const Attribution a = attribute(run);
  EXPECT_EQ(a.waited, Duration::max());
  EXPECT_EQ(a.ranks[0].short_term, Duration::max());
}

TEST(Attribution, NobodyWaitsNobodyIsCharged) {
  const Attribution a = attribute(testing::make_job(Job{.ranks = 4, .steps = 10}));
  EXPECT_EQ(a.waited, 0ms);
  EXPECT_TRUE(a.pairs.empty());
  EXPECT_EQ(describe(a, Whom::Ranks).size(), 1U);
  const trace::Run input = trace::Run{};
  EXPECT_FALSE(attribute_waits(input).has_value());
}

TEST(Attribution, JsonHoldsWhatAddsUp) {
  Job job{.ranks = 3, .steps = 5};
  job.work = [](int r, int) { return r == 2 ? 15ms : 10ms; };
  const trace::Run run = testing::make_job(job);
  nlohmann::ordered_json j;
  write_json(attribute(run), {}, j);
  EXPECT_TRUE(j["balanced"].get<bool>());
  EXPECT_NEAR(j["waited_s"].get<double>(), j["charged_s"].get<double>() + j["carried_in_s"].get<double>(),
              1e-12);
  EXPECT_EQ(j["pairs"].size(), 2U);
}

TEST(RoleReference, RanksOfAStageAreHeldAgainstEachOther) {
  trace::Run run = testing::empty_run(4);
  for (int r = 0; r < 4; ++r) run.ranks[static_cast<std::size_t>(r)].role.pipeline = r / 2;
  const RoleClasses roles = group_by_role(run);
  EXPECT_TRUE(roles.known);
  EXPECT_EQ(roles.count, 2);
  RoleReference reference(roles);
  const std::vector<std::int32_t> members = {0, 1, 2, 3};
  reference.take(members, std::vector<Duration>{1ms, 2ms, 10ms, 13ms});
  EXPECT_EQ(reference.of(1), 1ms);
  EXPECT_EQ(reference.of(3), 10ms);
  reference.take(std::vector<std::int32_t>{0, 2}, std::vector<Duration>{1ms, 10ms});
  EXPECT_EQ(reference.of(2), 1ms);  // alone in its role: held against all
  run.ranks[0].role.pipeline = -1;
  EXPECT_FALSE(group_by_role(run).known);
}

}  // namespace
}  // namespace cox::diagnose
