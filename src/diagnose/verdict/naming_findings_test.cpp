// SPDX-License-Identifier: Apache-2.0
// What positions, turns, pauses and own work alone become in a diagnosis.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"
#include "diagnose/match/synthetic_submits.hpp"

namespace cox::diagnose {
namespace {

using testing::lognormal_work;
using namespace std::chrono_literals;

struct Calls {
  int ranks = 8;
  int steps = 120;
  int per_step = 4;
  int nodes = 1;
  std::vector<std::string> cpus{};  ///< that each rank is bound to, of 16
  std::function<Duration(int rank, int step, int call)> late = [](int, int, int) { return Duration::zero(); };
};

/// Before each call 5 ms with 10 % lognormal scatter. Of several nodes nobody waits for anybody.
Diagnosis diagnosis_of(const Calls& c) {
  trace::Run run = testing::empty_run(c.ranks, c.nodes);
  std::vector<Duration> free_at(static_cast<std::size_t>(c.ranks), 1ms);
  std::vector<Duration> entry(free_at.size());
  for (int s = 0; s < c.steps; ++s)
    for (int k = 0; k < c.per_step; ++k) {
      const auto seq = static_cast<std::uint32_t>(s * c.per_step + k);
      for (std::size_t r = 0; r < entry.size(); ++r) {
        const auto rank = static_cast<int>(r);
        if (k == 0)
          testing::add_event(run.ranks[r].events, trace::EventKind::Step, 0, free_at[r], free_at[r], s,
                             trace::kNoComm, 0);
        entry[r] = free_at[r] + lognormal_work(5, rank, static_cast<int>(seq), 5ms, 0.1) + c.late(rank, s, k);
      }
      const Duration latest = *std::max_element(entry.begin(), entry.end());
      for (std::size_t r = 0; r < entry.size(); ++r) {
        free_at[r] = (c.nodes == 1 ? latest : entry[r]) + 200us;
        testing::add_call(run.ranks[r].events, model::Collective::AllReduce, entry[r], free_at[r], 64, seq);
      }
    }
  for (std::size_t r = 0; r < c.cpus.size(); ++r)
    run.ranks[r].locality = {{"/sys/devices/system/cpu/online", "0-15"}, {"affinity", c.cpus[r]}};
  auto d = diagnose(run);
  EXPECT_TRUE(d.has_value());
  return d ? *std::move(d) : Diagnosis{};
}

const LateEvidence& late_of(const Finding& f) {
  return std::get<LateEvidence>(f.evidence);
}

TEST(NamingFindings, ARankThatIsLateAtOnePositionIsNamedThere) {
  Calls c;
  c.late = [](int r, int, int k) { return r == 5 && k == 2 ? Duration{3ms} : Duration{}; };
  const Diagnosis d = diagnosis_of(c);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  const Finding& f = d.findings[0];
  EXPECT_EQ(f.rank, Rank{5});
  ASSERT_EQ(f.positions.size(), 1U) << d.verdict;
  EXPECT_EQ(f.positions[0].number, 3);
  EXPECT_EQ(f.positions[0].of, 4);
  EXPECT_EQ(f.positions[0].comm, CommId{0});
  EXPECT_NE(d.verdict.find("rank 5 sets the pace all along before all-reduce 3 of 4 on world"),
            std::string::npos)
      << d.verdict;
}

TEST(NamingFindings, RanksThatShareACoreAreLateByItAllAlong) {
  Calls c;
  c.cpus = {"0", "1", "2", "3", "4", "2", "6", "7"};
  c.late = [](int r, int, int) { return r == 2 || r == 5 ? Duration{3ms} : Duration{}; };
  const Diagnosis d = diagnosis_of(c);
  ASSERT_FALSE(d.findings.empty()) << d.verdict;
  std::set<Rank> named;
  for (const Finding& f : d.findings) {
    EXPECT_EQ(f.cause, Cause::SharedCores) << name_of(f.cause);
    named.insert(f.ranks.begin(), f.ranks.end());
  }
  EXPECT_EQ(named, (std::set<Rank>{Rank{2}, Rank{5}}));
}

TEST(NamingFindings, WhatPausesIsNotBoundBadlyNowAndThen) {
  Calls c;
  c.cpus = {"0", "1", "2", "3", "4", "2", "6", "7"};
  c.late = [](int r, int s, int k) { return r == 2 && k == 0 && s % 10 == 9 ? Duration{40ms} : Duration{}; };
  const Diagnosis d = diagnosis_of(c);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].kind, FindingKind::PeriodicPause);
  EXPECT_EQ(d.findings[0].cause, Cause::Unknown);
}

TEST(NamingFindings, ARankThatIsLateBeforeOneSubmitIsNamedThere) {
  testing::SubmitJob job;
  job.late = [](int r, int s, int b) {
    return lognormal_work(7, r, 8 * s + b, 2ms, 0.8) + (r == 2 && b == 1 ? Duration{5ms} : Duration{});
  };
  const auto late = diagnose(testing::make_submit_job(job));
  ASSERT_TRUE(late.has_value());
  ASSERT_EQ(late->findings.size(), 1U) << late->verdict;
  EXPECT_EQ(late->findings[0].rank, Rank{2});
  EXPECT_NE(late->verdict.find("rank 2 sets the pace all along before all-reduce 2 of 4 on world"),
            std::string::npos)
      << late->verdict;
  job.steps = 120;
  job.late = [](int r, int s, int b) {
    return lognormal_work(7, r, 8 * s + b, 2ms, 0.8) +
           (r == s / 5 % 4 && b == 2 ? Duration{9ms} : Duration{});
  };
  const auto turns = diagnose(testing::make_submit_job(job));
  ASSERT_TRUE(turns.has_value());
  ASSERT_EQ(turns->findings.size(), 1U) << turns->verdict;
  EXPECT_EQ(turns->findings[0].kind, FindingKind::RotatingStraggler);
  ASSERT_EQ(turns->findings[0].positions.size(), 1U);
  EXPECT_EQ(turns->findings[0].positions[0].number, 3);
  EXPECT_EQ(turns->findings[0].positions[0].operation, "AllReduce");
}

TEST(NamingFindings, NobodyIsNamedBeforeSubmitsOfAnEvenJob) {
  for (int seed = 0; seed < 40; ++seed) {
    testing::SubmitJob job;
    job.late = [&](int r, int s, int b) {
      return lognormal_work(static_cast<std::uint64_t>(seed), r, 8 * s + b, 2ms, 0.8);
    };
    const auto d = diagnose(testing::make_submit_job(job));
    ASSERT_TRUE(d.has_value());
    EXPECT_TRUE(d->findings.empty()) << seed << ' ' << d->verdict;
  }
}

TEST(NamingFindings, LateAtAllPositionsIsLateInTheStep) {
  Calls c;
  c.late = [](int r, int, int) { return r == 5 ? Duration{2ms} : Duration{}; };
  const Diagnosis d = diagnosis_of(c);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_TRUE(d.findings[0].positions.empty());
}

TEST(NamingFindings, TwoThatAlternateAreOneFinding) {
  Calls c;
  c.late = [](int r, int s, int k) {
    return k == 1 && r == (s % 2 == 0 ? 2 : 6) ? Duration{4ms} : Duration{};
  };
  const Diagnosis d = diagnosis_of(c);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].kind, FindingKind::RotatingStraggler);
  EXPECT_EQ(d.findings[0].ranks, (std::vector<Rank>{Rank{2}, Rank{6}}));
  EXPECT_NE(d.verdict.find("ranks 2 and 6 set the pace in turn before all-reduce 2 of 4"), std::string::npos)
      << d.verdict;
}

TEST(NamingFindings, TwelveTurnsOfFiveStepsAreTurns) {
  for (const bool exact : {true, false}) {
    Calls c;
    c.per_step = 1;
    c.steps = 60;
    // Not exact: what lasts for some steps ends at any time.
    const std::vector<int> begins{0, 3, 11, 13, 19, 26, 27, 34, 36, 43, 51, 53};
    c.late = [=](int r, int s, int) {
      const auto turn =
          exact ? s / 5
                : static_cast<int>(std::upper_bound(begins.begin(), begins.end(), s) - begins.begin()) - 1;
      return r == (turn % 2 == 0 ? 2 : 6) ? Duration{20ms} : Duration{};
    };
    const Diagnosis d = diagnosis_of(c);
    ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
    EXPECT_EQ(d.findings[0].kind, FindingKind::RotatingStraggler);
    EXPECT_EQ(d.findings[0].ranks, (std::vector<Rank>{Rank{2}, Rank{6}}));
    EXPECT_NEAR(static_cast<double>(late_of(d.findings[0]).turn_steps.value_or(0)), 5, exact ? 0 : 3);
  }
}

/// It is told by who they are: that few of many ranks are late in all turns.
TEST(NamingFindings, TwoThatAlternateInBlocksOfAFewSteps) {
  for (const int block : {2, 3, 4}) {
    Calls c;
    c.per_step = 1;
    c.steps = 40;
    c.late = [=](int r, int s, int) {
      return r == (s / block % 2 == 0 ? 2 : 6) ? Duration{4ms} : Duration{};
    };
    const Diagnosis d = diagnosis_of(c);
    ASSERT_EQ(d.findings.size(), 1U) << block << d.verdict;
    EXPECT_EQ(d.findings[0].kind, FindingKind::RotatingStraggler) << d.verdict;
    EXPECT_EQ(d.findings[0].ranks, (std::vector<Rank>{Rank{2}, Rank{6}}));
  }
}

/// Where single steps of others come in between, a turn is as long as it was.
TEST(NamingFindings, IntrudersEndNoTurn) {
  Calls c;
  c.per_step = 1;
  c.steps = 120;
  c.late = [](int r, int s, int) {
    const int who = s % 10 == 4 ? 8 - (s / 10 % 2 == 0 ? 2 : 6) : (s / 10 % 2 == 0 ? 2 : 6);
    return r == who ? Duration{20ms} : Duration{};
  };
  const Diagnosis d = diagnosis_of(c);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings[0].kind, FindingKind::RotatingStraggler);
  EXPECT_NEAR(static_cast<double>(late_of(d.findings[0]).turn_steps.value_or(0)), 10, 1);
}

/// Two ranks that only scatter more than the others are culprits as often, by anything between nothing and much.
TEST(NamingFindings, TwoThatScatterMoreTakeNoTurns) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    testing::Job job;
    job.ranks = 8;
    job.steps = 60;
    job.work = [=](int r, int s) {
      return testing::lognormal_work(seed, r, s, 10ms, r == 2 || r == 6 ? 0.1 : 0.01);
    };
    for (const Finding& f : diagnose(testing::make_job(job))->findings)
      EXPECT_NE(f.kind, FindingKind::RotatingStraggler) << seed;
  }
}

TEST(NamingFindings, APauseHasItsPeriodPhaseAndCost) {
  Calls c;
  c.per_step = 1;
  c.late = [](int r, int s, int) { return r == 3 && s % 10 == 7 ? Duration{20ms} : Duration{}; };
  const Diagnosis d = diagnosis_of(c);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  const Finding& f = d.findings[0];
  EXPECT_EQ(f.kind, FindingKind::PeriodicPause);
  EXPECT_EQ(f.rank, Rank{3});
  const LateEvidence& e = late_of(f);
  ASSERT_TRUE(e.pauses.has_value());
  EXPECT_EQ(e.pauses->count, 12);
  EXPECT_EQ(e.pauses->period_steps, 10);
  EXPECT_EQ(e.pauses->phase, 7);
  EXPECT_NEAR(in_seconds(e.self_delay), 0.020, 0.001);
  EXPECT_NEAR(f.gain_ratio, 12 * 0.0195 / in_seconds(d.run_time), 0.03);
  EXPECT_NE(d.verdict.find("rank 3 pauses every 10 steps (step number modulo 10 is 7)"), std::string::npos)
      << d.verdict;
}

TEST(NamingFindings, AWholeJobThatPausesNamesNobody) {
  Calls c;
  c.per_step = 1;
  c.late = [](int, int s, int) { return s % 10 == 7 ? Duration{20ms} : Duration{}; };
  EXPECT_TRUE(diagnosis_of(c).findings.empty());
}

TEST(NamingFindings, WhereOrderIsRefusedOwnWorkIsStillNamedAndItsGainIsNot) {
  Calls c;
  c.nodes = 2;
  EXPECT_TRUE(diagnosis_of(c).findings.empty());
  c.late = [](int r, int, int k) { return r == 5 && k == 2 ? Duration{3ms} : Duration{}; };
  const Diagnosis d = diagnosis_of(c);
  EXPECT_TRUE(d.coverage.order_refused);
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  const Finding& f = d.findings[0];
  EXPECT_EQ(f.rank, Rank{5});
  EXPECT_EQ(f.gain_ratio, 0);
  ASSERT_TRUE(f.gain_at_most.has_value());
  EXPECT_GT(*f.gain_at_most, 0.1);
  EXPECT_NE(d.verdict.find("rank 5 works longer than the others"), std::string::npos) << d.verdict;
  EXPECT_NE(d.verdict.find("is not told"), std::string::npos) << d.verdict;
}

/// Others' bad moments between the pauses of one are in no order.
TEST(NamingFindings, OneOfManyThatPausesIsNoRotation) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    testing::Job job;
    job.ranks = 40;
    job.steps = 80;
    job.work = [=](int r, int s) {
      return testing::lognormal_work(seed, r, s, 10ms, 0.02) +
             (r == 7 && s % 4 == 1 ? Duration(6ms) : Duration::zero());
    };
    const Diagnosis d = *diagnose(testing::make_job(job));
    ASSERT_EQ(d.findings.size(), 1U) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().kind, FindingKind::PeriodicPause) << seed << d.verdict;
    EXPECT_EQ(d.findings.front().rank, Rank{7});
  }
}

}  // namespace
}  // namespace cox::diagnose
