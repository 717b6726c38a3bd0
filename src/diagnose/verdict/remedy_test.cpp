// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/remedy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

Diagnosis with(Cause cause, double gain) {
  Diagnosis d;
  d.run_time = Duration(1s);
  d.lost = Duration(200ms);
  Finding f;
  f.ranks = {Rank(3)};
  f.cause = cause;
  f.gain_ratio = gain;
  d.findings.push_back(f);
  return d;
}

TEST(Remedies, ACauseAsksForItsLever) {
  const auto remedies = find_remedies(with(Cause::Gc, 0.1));
  ASSERT_FALSE(remedies.empty());
  EXPECT_EQ(remedies.front().lever, "garbage_collection");
  EXPECT_EQ(remedies.front().gain_ratio, 0.1);
  EXPECT_NE(remedies.front().verify.find("--against"), std::string::npos);
}

TEST(Remedies, WhatAnInputDoesNotTellIsWhatToRecordNext) {
  Diagnosis d;
  d.answer.kind = AnswerKind::CannotTell;
  d.answer.reasons = {{AnswerReason::FewSteps, "too few steps"}};
  ASSERT_FALSE(find_remedies(d).empty());
  EXPECT_EQ(find_remedies(d).front().lever, "record_more");
  d.answer.kind = AnswerKind::Nobody;
  EXPECT_TRUE(find_remedies(d).empty());
}

TEST(Remedies, WhatSavesOnlyBesideTheRestIsAdvisedWithThat) {
  Diagnosis d = with(Cause::SlowWorker, 0.03);
  d.findings.push_back(with(Cause::StageImbalance, 0.001).findings.front());
  OperationEvidence e;
  e.gain_beside = 0.15;
  d.findings.back().evidence = e;
  const auto remedies = find_remedies(d);
  ASSERT_FALSE(remedies.empty());
  EXPECT_EQ(remedies.front().lever, "balance_stages");
  EXPECT_EQ(remedies.front().gain_ratio, 0.15);
  EXPECT_NE(remedies.front().text.find("once the rest of what is named is put right"), std::string::npos);
}

TEST(Remedies, MostGainComesFirstAndWhatIsNotEstimatedLast) {
  Diagnosis d = with(Cause::Gc, 0.05);
  d.findings.push_back(with(Cause::CpuQuota, 0.15).findings.front());
  const auto remedies = find_remedies(d);
  ASSERT_GE(remedies.size(), 4U);
  EXPECT_EQ(remedies[0].lever, "raise_quota");
  EXPECT_EQ(remedies[1].lever, "garbage_collection");
  for (std::size_t i = 2; i < remedies.size(); ++i) {
    EXPECT_FALSE(remedies[i].gain_ratio.has_value());
    EXPECT_NE(remedies[i].basis.find(remedies[i].lever == "pacing" ? "--pace auto" : "simulation"),
              std::string::npos);
  }
}

TEST(Remedies, APauseAsksForWhatIsDoneTimeAndAgain) {
  Diagnosis d = with(Cause::Unknown, 0.1);
  d.findings[0].kind = FindingKind::PeriodicPause;
  LateEvidence e;
  e.pauses = PauseEvidence{.count = 12, .period_steps = 10, .phase = 7};
  d.findings[0].evidence = e;
  EXPECT_EQ(find_remedies(d).front().lever, "pauses");
  EXPECT_EQ(find_remedies(d).front().text,
            "find what rank 3 does every 10 steps (garbage collection, a checkpoint, logging): do it in the "
            "background, less often, or on all ranks in the same step");
  d.findings[0].cause = Cause::AsleepOrIo;
  EXPECT_NE(find_remedies(d).front().text.find("waits for every 10 steps (writing a checkpoint"),
            std::string::npos);
  e.pauses->phase.reset();
  d.findings[0].evidence = e;
  EXPECT_NE(find_remedies(d).front().text.find("now and then, 10 steps apart"), std::string::npos);
  d.findings[0].cause = Cause::Gc;  // says more than the kind
  EXPECT_EQ(find_remedies(d).front().lever, "garbage_collection");
}

TEST(Remedies, TurnsAskForWhatGoesRound) {
  Diagnosis d = with(Cause::Unknown, 0.1);
  d.findings[0].kind = FindingKind::RotatingStraggler;
  d.findings[0].ranks = {Rank(2), Rank(6)};
  LateEvidence e;
  e.of_turns = true;
  e.turn_steps = 5;
  d.findings[0].evidence = e;
  EXPECT_EQ(find_remedies(d).front().lever, "turns");
  EXPECT_NE(find_remedies(d).front().text.find("goes round among ranks 2, 6, 5 steps each"),
            std::string::npos);
}

/// As a Run of mode auto says of itself.
Diagnosis tested(double faster, double low, double high) {
  Diagnosis d = with(Cause::Gc, 0.1);
  PacingComparison c;
  c.within_run = c.has_interval = true;
  c.pairs = 12;
  c.baseline.period = {Seconds{1}, Seconds{1}, Seconds{1}};
  c.faster_ratio = {faster, low, high};
  d.pacing.emplace();
  d.pacing->comparison = c;
  return d;
}

TEST(Remedies, AMeasuredGainOfPacingIsQuoted) {
  const auto remedies = find_remedies(tested(0.25, 0.2, 0.3));
  ASSERT_FALSE(remedies.empty());
  EXPECT_EQ(remedies.front().lever, "pacing");
  ASSERT_TRUE(remedies.front().gain_ratio);
  EXPECT_NEAR(*remedies.front().gain_ratio, 0.2, 1e-12) << "of the unpaced time";
  EXPECT_NE(remedies.front().basis.find("12 pairs"), std::string::npos);
  EXPECT_EQ(
      std::count_if(remedies.begin(), remedies.end(), [](const Remedy& r) { return r.lever == "pacing"; }),
      1);
}

TEST(Remedies, PacingThatWasNotShownToPayIsNoRemedy) {
  for (const Remedy& r : find_remedies(tested(0.01, -0.02, 0.04))) {
    if (r.lever != "pacing") continue;
    EXPECT_EQ(r.gain_ratio, 0.0);
    EXPECT_NE(r.text.find("leave pacing out"), std::string::npos);
  }
}

TEST(Remedies, SpinningWaitersOnSharedCoresAreToldToYieldBeforeAnybodyIsPaced) {
  Diagnosis d = with(Cause::Gc, 0.1);
  d.waiting = {.ranks_on_host = 32, .cores = 2, .wait = pace::WaitMode::Spin};
  std::vector<std::string> levers;
  for (const Remedy& r : find_remedies(d)) levers.push_back(r.lever);
  const auto wait = std::find(levers.begin(), levers.end(), "wait_mode");
  ASSERT_NE(wait, levers.end());
  EXPECT_LT(wait, std::find(levers.begin(), levers.end(), "pacing"));
  d.waiting.cores = 32;
  for (const Remedy& r : find_remedies(d)) EXPECT_NE(r.lever, "wait_mode");
}

TEST(Remedies, NothingToDoWhereNothingIsLost) {
  Diagnosis d;
  d.run_time = Duration(1s);
  EXPECT_TRUE(find_remedies(d).empty());
}

TEST(Remedies, MoreRanksThanCpusComeFirst) {
  Diagnosis d = with(Cause::Gc, 0.1);
  d.waiting = {.ranks_on_host = 8, .cores = 2};
  d.hosts = 1;
  const auto remedies = find_remedies(d);
  ASSERT_FALSE(remedies.empty());
  EXPECT_EQ(remedies.front().lever, "fewer_ranks_per_host");
  EXPECT_NE(remedies.front().text.find("8 ranks share 2 CPUs"), std::string::npos) << remedies.front().text;
  d.waiting.cores = 8;
  EXPECT_NE(find_remedies(d).front().lever, "fewer_ranks_per_host");
}

TEST(Remedies, NothingIsSaidOfOtherHostsWhereThereIsOne) {
  for (const Cause cause : {Cause::Unknown, Cause::SlowCodeOrCpu, Cause::SlowWorker}) {
    Diagnosis d = with(cause, 0.1);
    d.hosts = 1;
    for (const Remedy& r : find_remedies(d)) {
      EXPECT_EQ(r.text.find("another host"), std::string::npos) << r.text;
      EXPECT_EQ(r.text.find("its host"), std::string::npos) << r.text;
    }
    d.hosts = 2;
    EXPECT_NE(find_remedies(d).front().text.find("host"), std::string::npos);
  }
}

}  // namespace
}  // namespace cox::diagnose
