// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/gain.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "cox/diagnose/brief.hpp"
#include "cox/diagnose/comparison.hpp"

#include "diagnose/verdict/analyses.hpp"
#include "support/make_run.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

/// One rank named by arrival times, and what the replay has to say of it.
Diagnosis with(double by_arrival, double by_replay, double off, const pace::Facts& waiting = {}) {
  Diagnosis d;
  d.waiting = waiting;
  d.run_time = Duration(1s);
  Finding f;
  f.ranks = {Rank{2}};
  f.rank = Rank{2};
  f.gain_ratio = by_arrival;
  LateEvidence late;
  late.self_delay = 1ms;
  late.late_steps = 9;
  late.steps = 10;
  f.evidence = late;
  d.findings = {f};
  auto analyses = std::make_shared<Analyses>();
  WhatIf& w = analyses->what_if.emplace();
  w.measured = Duration(1s);
  w.fidelity_ratio = off;
  w.fidelity = std::abs(off) <= 0.02  ? Fidelity::Good
               : std::abs(off) <= 0.1 ? Fidelity::Doubtful
                                      : Fidelity::Refused;
  RankWhatIf r;
  r.rank = Rank{2};
  r.evaluated = true;
  r.fixed.speedup_ratio = 1 / (1 - by_replay);
  w.ranks = {r};
  d.analyses = analyses;
  settle_gains(d);
  return d;
}

TEST(Gain, TheReplaysStandsWhereBothAgree) {
  const Diagnosis d = with(0.205, 0.207, 0.001);
  EXPECT_NEAR(d.findings[0].gain_ratio, 0.207, 1e-9);
  EXPECT_EQ(gain_words(d.findings[0]), "21 %");
}

TEST(Gain, TwoFiguresThatDisagreeAreBothDoubted) {
  const Diagnosis d = with(0.33, 0.023, 0.001);
  EXPECT_EQ(gain_words(d.findings[0]),
            "doubtful: arrival times promise 33 % of the run, the replay of the recorded operations 2.3 %");
  const auto remedies = find_remedies(d);
  ASSERT_FALSE(remedies.empty());
  EXPECT_FALSE(remedies.front().gain_ratio) << "nothing is promised";
  EXPECT_EQ(remedies.front().verify.find("should fall by about"), std::string::npos);
}

// Groups that synchronise side by side: the run is as long as before where the other group ends later.
TEST(Gain, OfSeveralEachAloneIsHeldAgainstTheReplay) {
  Diagnosis d = with(0.2, 0.0, 0.001);
  Finding other = d.findings[0];
  other.ranks = {Rank{3}};
  other.rank = Rank{3};
  for (const double alone : {0.25, 0.01}) {
    d.findings[0].gain_doubt.reset();
    d.findings.resize(1);
    d.findings.push_back(other);
    std::get<LateEvidence>(d.findings[0].evidence).gain_alone = alone;
    settle_gains(d);
    EXPECT_EQ(!d.findings[0].gain_doubt, alone < 0.02) << alone;
    EXPECT_FALSE(d.findings[1].gain_doubt) << "the replay was not asked about rank 3";
  }
  EXPECT_EQ(gain_alone(d.findings[0]), 0);
}

TEST(Gain, AReplayThatIsOffIsSaidToBe) {
  EXPECT_EQ(gain_words(with(0.2, 0.2, 0.07).findings[0]), "doubtful: the replay is off by 7.0 %");
  EXPECT_EQ(gain_words(with(0.2, 0.2, -0.3).findings[0]), "doubtful: the replay is off by 30.0 %");
}

TEST(Gain, WhereWaitersTakeTheCoresItIsDoubted) {
  const pace::Facts spins{.ranks_on_host = 4, .cores = 2, .wait = pace::WaitMode::Spin};
  EXPECT_EQ(gain_words(with(0.2, 0.2, 0.001, spins).findings[0]),
            "doubtful: 4 ranks share 2 cores and poll while they wait");
  pace::Facts enough = spins;
  enough.cores = 4;
  EXPECT_EQ(gain_words(with(0.2, 0.2, 0.001, enough).findings[0]), "20 %");
  pace::Facts blocks = spins;
  blocks.wait = pace::WaitMode::Block;
  EXPECT_EQ(gain_words(with(0.2, 0.2, 0.001, blocks).findings[0]), "20 %");
}

TEST(Gain, IsTheSameWhereverItIsSaid) {
  const trace::Run run = test::make_run({.ranks = 4, .steps = 40, .extras = {{.rank = 2, .amount = 3ms}}});
  const auto d = diagnose(run);
  ASSERT_TRUE(d && d->findings.size() == 1);
  const std::string gain = gain_words(d->findings[0]);
  EXPECT_NE(d->verdict.find(gain + " shorter"), std::string::npos) << d->verdict;
  EXPECT_NE(brief_of(*d).gain.find(gain), std::string::npos);
  EXPECT_NE(d->remedies.front().verify.find("about " + gain), std::string::npos)
      << d->remedies.front().verify;
  bool in_what_if = false;
  for (const Section& s : d->sections)
    for (const std::string& line : s.lines) in_what_if |= line.find("rank 2 as its peers: " + gain) == 0;
  EXPECT_TRUE(in_what_if);
  // And it is what the run without the delay brings.
  const auto after = diagnose(test::make_run({.ranks = 4, .steps = 40}));
  ASSERT_TRUE(after);
  EXPECT_NEAR(1 - compare(*d, *after).step_ratio.value, d->findings[0].gain_ratio, 0.02);
}

TEST(Gain, TheReasonOfADoubtIsHeldAsNumbers) {
  const auto by_replay = with(0.33, 0.023, 0.001).findings[0].gain_doubt;
  ASSERT_TRUE(by_replay && std::holds_alternative<GainDoubt::EstimatesDisagree>(by_replay->reason));
  EXPECT_NEAR(std::get<GainDoubt::EstimatesDisagree>(by_replay->reason).by_arrival, 0.33, 1e-9);
  EXPECT_NEAR(std::get<GainDoubt::EstimatesDisagree>(by_replay->reason).by_replay, 0.023, 1e-9);
  const auto off = with(0.2, 0.2, -0.3).findings[0].gain_doubt;
  ASSERT_TRUE(off && std::holds_alternative<GainDoubt::ReplayMisses>(off->reason));
  EXPECT_NEAR(std::get<GainDoubt::ReplayMisses>(off->reason).error, 0.3, 1e-9);
}

// The rule is the finding's: words, JSON and remedies only ask it.
TEST(Gain, IsNotToldOfOwnWorkAloneNorBesideAbsentMembers) {
  Finding f;
  f.gain_ratio = 0.2;
  EXPECT_TRUE(is_gain_told(f));
  EXPECT_EQ(gain_alone(f), 0.2);
  LateEvidence late;
  late.gain_alone = 0.1;
  late.over.emplace();
  f.evidence = late;
  EXPECT_TRUE(is_gain_told(f));
  EXPECT_EQ(gain_alone(f), 0.1);
  std::get<LateEvidence>(f.evidence).over->often_incomplete = true;
  EXPECT_FALSE(is_gain_told(f));
  EXPECT_EQ(gain_words(f), "not told");
  f.evidence = {};
  f.gain_at_most = 0.3;
  EXPECT_FALSE(is_gain_told(f));
  EXPECT_EQ(gain_words(f), "at most 30 %");
}

}  // namespace
}  // namespace cox::diagnose
