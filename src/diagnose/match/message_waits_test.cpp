// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/message_waits.hpp"

#include <gtest/gtest.h>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/charge/attribution.hpp"
#include "diagnose/match/account.hpp"
#include "diagnose/match/matched.hpp"
#include "diagnose/match/synthetic_stencil.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;
using testing::make_stencil;
using testing::Stencil;
using testing::time_of;

Stencil late(int rank, Duration extra, int sum_every = 0) {
  Stencil s;
  s.sum_every = sum_every;
  s.work = [=](int r, int step) {
    return 1ms + (r == rank ? extra : Duration::zero()) + Duration{(r * 7 + step * 3) % 11 * 1'000'000};
  };
  return s;
}

TEST(MessageWaits, WhoseMessageCameLastAndWhen) {
  const trace::Run run = make_stencil(late(2, 500us));
  const Matched matched(run);
  const auto waits = matched.message_waits().of(1);
  ASSERT_EQ(waits.size(), 60U);
  EXPECT_EQ(waits[0].last, 2) << "rank 2 sends later than rank 0";
  EXPECT_EQ(waits[0].end - waits[0].until, Duration{10us}) << "the rest is transfer";
  EXPECT_EQ(matched.message_waits().of(2)[0].until, matched.message_waits().of(2)[0].begin)
      << "the late one waits for nobody";
}

TEST(MessageWaits, WithoutNumbersNobodyIsSaidToBeLast) {
  trace::Run run = make_stencil(late(2, 500us));
  for (trace::RankTrack& track : run.ranks)
    std::fill(track.events.flags.begin(), track.events.flags.end(), 0);
  const Matched matched(run);
  EXPECT_EQ(matched.message_waits().of(1)[0].last, -1);
  EXPECT_TRUE(matched.scan(1).exchanges.empty());
}

TEST(MessageWaits, WhatIsKnownToBeSentIsNotAwaited) {
  const trace::Run run = make_stencil(late(2, 500us));
  const Matched matched(run);
  EXPECT_TRUE(matched.message_waits().surely_sent(2, 1, 0, 60));
  EXPECT_FALSE(matched.message_waits().surely_sent(2, 1, 0, 61));
  EXPECT_FALSE(matched.message_waits().surely_sent(2, 4, 0, 1)) << "no neighbours";
  EXPECT_TRUE(matched.message_waits().surely_posted(1, 2, 0, 60));
}

TEST(MessageWaits, RunTimeIsWorkWaitsAndTransfers) {
  for (const int every : {1, 2, 10}) {
    const trace::Run run = make_stencil(late(2, 500us, every));
    const Matched matched(run);
    const TimeAccount account = account_for(matched, matched.by_step(InStep::Delay));
    for (std::size_t r = 0; r < account.ranks.size(); ++r) {
      const RankAccount& a = account.ranks[r];
      const Duration sum = a.work + a.wait + a.message_wait + a.transfer + account.outside[r];
      EXPECT_NEAR(in_seconds(sum), in_seconds(account.run_time), 0.01 * in_seconds(account.run_time))
          << "rank " << a.rank.value() << ", a sum every " << every;
    }
    EXPECT_LT(account.ranks[2].message_wait, 1ms);
    EXPECT_GT(account.ranks[1].message_wait + account.ranks[1].wait, 25ms);
  }
}

TEST(MessageWaits, TheLateRankIsNamedAndItsGainIsWhatFixingItBrings) {
  for (const int every : {0, 1, 2, 10}) {
    const trace::Run run = make_stencil(late(3, 500us, every));
    const auto d = diagnose(run);
    ASSERT_TRUE(d);
    ASSERT_EQ(d->findings.size(), 1U) << d->verdict;
    EXPECT_EQ(d->findings[0].rank, Rank{3});
    const double measured =
        1 - in_seconds(time_of(make_stencil(late(-1, 0us, every)))) / in_seconds(time_of(run));
    EXPECT_NEAR(d->findings[0].gain_ratio, measured, measured / 3) << "a sum every " << every;
  }
}

TEST(MessageWaits, NobodyIsNamedWhereAllWorkAlike) {
  int named = 0;
  for (int seed = 0; seed < 100; ++seed) {
    Stencil s;
    s.ranks = 4 + seed % 5;
    s.sum_every = seed % 2 == 0 ? 0 : 10;
    s.work = [=](int r, int step) {
      return testing::lognormal_work(static_cast<std::uint64_t>(seed), r, step, 1ms, 0.1);
    };
    const auto d = diagnose(make_stencil(s));
    ASSERT_TRUE(d);
    named += d->findings.empty() ? 0 : 1;
  }
  EXPECT_LE(named, 1);
}

TEST(MessageWaits, AWaveIsChargedToWhomItCameFrom) {
  for (const int every : {0, 2, 10}) {
    const trace::Run run = make_stencil(late(3, 500us, every));
    const Matched matched(run);
    const auto a = attribute_waits(matched);
    ASSERT_TRUE(a);
    EXPECT_TRUE(a->balanced);
    Duration others{};
    for (const RankCharge& r : a->ranks)
      if (r.rank != Rank{3}) others += r.cost();
    const Duration own = a->ranks[3].cost();
    EXPECT_GT(own, 9 * others) << "a sum every " << every;
    EXPECT_GT(own, a->waited * 3 / 4);
    EXPECT_GT(a->ranks[3].long_term, 10ms) << "ranks further off wait by way of its neighbours";
  }
}

}  // namespace
}  // namespace cox::diagnose
