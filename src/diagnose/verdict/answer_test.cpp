// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict/answer.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "diagnose/match/synthetic_job.hpp"
#include "support/make_run.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

Diagnosis of(const trace::Run& run) {
  auto d = diagnose(run);
  EXPECT_TRUE(d);
  return d ? *std::move(d) : Diagnosis{};
}

test::RunShape even() {
  return {.ranks = 4, .steps = 40, .jitter = 100us};
}

bool has(const Answer& a, AnswerReason wanted) {
  for (const ReasonClause& r : a.reasons)
    if (r.reason == wanted) return !r.text.empty();
  return false;
}

TEST(Answer, NobodySaysWhatWouldHaveBeenNamed) {
  const Diagnosis d = of(test::make_run(even()));
  EXPECT_EQ(d.answer.kind, AnswerKind::Nobody);
  ASSERT_TRUE(d.answer.least_effect_ratio);
  EXPECT_GT(*d.answer.least_effect_ratio, 0.03);
  EXPECT_LT(*d.answer.least_effect_ratio, 0.08);
  EXPECT_NE(d.verdict.find("would have been named"), std::string::npos) << d.verdict;
}

TEST(Answer, WhatIsSaidToBeSeenIsSeen) {
  // Above the effect that is promised a rank is named; well below nobody is.
  for (const auto& jitter : {50us, 300us, 1000us}) {
    test::RunShape shape = even();
    shape.steps = 100;
    shape.jitter = jitter;
    const Diagnosis quiet = of(test::make_run(shape));
    ASSERT_EQ(quiet.answer.kind, AnswerKind::Nobody);
    const double least = *quiet.answer.least_effect_ratio;
    const Duration step = quiet.step_time.median;
    shape.extras = {{.rank = 2, .amount = duration_from_seconds(1.5 * least * in_seconds(step))}};
    EXPECT_EQ(of(test::make_run(shape)).answer.kind, AnswerKind::Named) << least;
    EXPECT_LT(least, 0.08 + 3 * ratio(jitter, step)) << "what is promised is not far above the noise";
    shape.extras[0].amount = duration_from_seconds(0.02 * in_seconds(step));
    EXPECT_EQ(of(test::make_run(shape)).answer.kind, AnswerKind::Nobody) << least;
  }
}

TEST(Answer, StepTimesThatContainTheWaitingAreNoTest) {
  for (const bool contain : {true, false}) {
    testing::Job job;
    job.ranks = 4;
    job.work = [=](int r, int s) { return testing::lognormal_work(3, contain ? 0 : r, s, 10ms, 0.03); };
    trace::Run run = testing::make_job(job);
    run.times = trace::TimesKind::Steps;
    const Diagnosis d = of(run);
    EXPECT_EQ(d.answer.kind, contain ? AnswerKind::CannotTell : AnswerKind::Nobody) << d.verdict;
    EXPECT_EQ(has(d.answer, AnswerReason::OrderRefused), contain);
    EXPECT_EQ(d.verdict.find("they contain the waiting") != std::string::npos, contain) << d.verdict;
  }
}

TEST(Answer, StepTimesThatContainTheWaitingAreNoTestThoughClocksDiffer) {
  for (const double jitter : {0.001, 0.01, 0.03}) {
    testing::Job job;
    job.ranks = 8;
    job.work = [=](int r, int s) {
      const Duration shared = testing::lognormal_work(3, 99, s, 10ms, 0.04);
      const Duration own = testing::lognormal_work(5, r, s, 1ms, jitter * 10);
      return shared + own;
    };
    trace::Run run = testing::make_job(job);
    run.times = trace::TimesKind::Steps;
    const Diagnosis d = of(run);
    EXPECT_EQ(d.ranks_move_together, jitter < 0.02) << jitter;
    EXPECT_EQ(d.answer.kind, jitter < 0.02 ? AnswerKind::CannotTell : AnswerKind::Nobody) << d.verdict;
  }
}

// The steadier the job, the less its steps differ; what they share still is nearly all of it.
TEST(Answer, StepTimesOfASteadyJobContainTheWaitingToo) {
  for (const double varies : {0.002, 0.005}) {
    testing::Job job;
    job.ranks = 8;
    job.steps = 100;
    job.work = [=](int r, int s) {
      const Duration jitter = testing::lognormal_work(5, r, s, 100us, 0.5);
      return testing::lognormal_work(3, 99, s, 300ms, varies) + jitter;
    };
    trace::Run run = testing::make_job(job);
    run.times = trace::TimesKind::Steps;
    EXPECT_EQ(of(run).answer.kind, AnswerKind::CannotTell) << varies;
    job.work = [=](int r, int s) { return testing::lognormal_work(3, r, s, 300ms, varies); };
    run = testing::make_job(job);
    run.times = trace::TimesKind::Steps;
    EXPECT_EQ(of(run).answer.kind, AnswerKind::Nobody) << varies << " of each rank's own";
  }
}

// A fast rank is late by far more work only; of the others less is enough.
TEST(Answer, AFastRankDoesNotRaiseWhatIsPromised) {
  test::RunShape shape = even();
  shape.steps = 100;
  shape.jitter = 100us;
  const double usual = *of(test::make_run(shape)).answer.least_effect_ratio;
  shape.extras = {};
  for (int r = 0; r < shape.ranks; ++r)
    if (r != 1) shape.extras.push_back({.rank = r, .amount = 4ms});
  const Diagnosis d = of(test::make_run(shape));
  ASSERT_EQ(d.answer.kind, AnswerKind::Nobody) << d.verdict;
  EXPECT_LT(*d.answer.least_effect_ratio, 2 * usual);
}

// A table in whole milliseconds in which no number changes: 20.4 and 20.6 are 20 and 21 all along.
TEST(Answer, WhoIsRoundedUpIsNotNamed) {
  const auto of_rank_3 = [](Duration more, Duration resolution) {
    testing::Job job;
    job.ranks = 8;
    job.work = [=](int r, int) { return 20ms + (r == 3 ? more : 0ms); };
    trace::Run run = testing::make_job(job);
    run.times = trace::TimesKind::Steps;
    run.resolution = resolution;
    return of(run).answer.kind;
  };
  EXPECT_EQ(of_rank_3(1ms, 0ms), AnswerKind::Named) << "times that are exact";
  EXPECT_EQ(of_rank_3(1ms, 1ms), AnswerKind::Nobody);
  EXPECT_EQ(of_rank_3(3ms, 1ms), AnswerKind::Named);
}

TEST(Answer, ALateRankIsNamed) {
  test::RunShape shape = even();
  shape.extras = {{.rank = 2, .amount = 3ms}};
  const Diagnosis d = of(test::make_run(shape));
  EXPECT_EQ(d.answer.kind, AnswerKind::Named);
  EXPECT_TRUE(d.answer.reasons.empty());
}

TEST(Answer, AKilledJobIsNeverNobody) {
  trace::Run run = test::make_run(even());
  run.info.exit_status = 137;
  run.info.signal = 9;
  run.info.ends = {{.rank = 2, .exit_status = 137, .signal = 9}};
  const Diagnosis d = of(run);
  EXPECT_EQ(d.answer.kind, AnswerKind::JobFailed);
  EXPECT_TRUE(has(d.answer, AnswerReason::ExitStatus));
  EXPECT_NE(d.verdict.find("rank 2 ended first"), std::string::npos) << d.verdict;
  EXPECT_EQ(d.verdict.find("nobody"), std::string::npos) << d.verdict;
}

TEST(Answer, AFailedJobKeepsItsFindings) {
  test::RunShape shape = even();
  shape.extras = {{.rank = 2, .amount = 3ms}};
  trace::Run run = test::make_run(shape);
  run.info.exit_status = 1;
  const Diagnosis d = of(run);
  EXPECT_EQ(d.answer.kind, AnswerKind::JobFailed);
  EXPECT_EQ(d.findings.size(), 1U);
}

TEST(Answer, AMissingRankIsNeverNobody) {
  trace::Run run = test::make_run(even());
  run.world_size = 4;
  run.ranks.erase(run.ranks.begin() + 1);
  const Diagnosis d = of(run);
  EXPECT_EQ(d.answer.kind, AnswerKind::CannotTell);
  EXPECT_TRUE(has(d.answer, AnswerReason::RanksMissing));
}

TEST(Answer, ARecordThatIsCutIsSaidToBeAndNobodysTransfersAreJudged) {
  trace::Run run = test::make_run(even());
  trace::EventColumns& events = run.ranks[2].events;
  std::vector<std::uint32_t> first(events.size() / 5);
  std::iota(first.begin(), first.end(), 0);
  events.reorder(first);
  const Diagnosis d = of(run);
  EXPECT_TRUE(has(d.answer, AnswerReason::CallsMissing));
  EXPECT_EQ(d.coverage.short_ranks, std::vector<Rank>{Rank{2}});
  EXPECT_NE(d.answer.reasons.front().text.find("; rank 2 lacks many"), std::string::npos)
      << d.answer.reasons.front().text;
  for (const Remedy& r : d.remedies) EXPECT_NE(r.lever, "transfer");
}

TEST(Answer, FewStepsAreTooFew) {
  test::RunShape shape = even();
  shape.steps = 6;
  const Diagnosis d = of(test::make_run(shape));
  EXPECT_EQ(d.answer.kind, AnswerKind::CannotTell);
  EXPECT_TRUE(has(d.answer, AnswerReason::FewSteps));
  EXPECT_EQ(d.verdict.rfind("cannot tell: ", 0), 0U) << d.verdict;
}

TEST(Answer, OneRankHasNobodyToWaitFor) {
  test::RunShape shape = even();
  shape.ranks = 1;
  const Diagnosis d = of(test::make_run(shape));
  EXPECT_EQ(d.answer.kind, AnswerKind::CannotTell);
  EXPECT_TRUE(has(d.answer, AnswerReason::OneRank));
}

TEST(Answer, ScatterBeyondAStepIsTooMuch) {
  testing::Job job;
  job.steps = 40;
  job.work = [](int r, int s) { return testing::lognormal_work(7, r, s, 10ms, 3.0); };
  const Diagnosis d = of(testing::make_job(job));
  ASSERT_TRUE(d.findings.empty());
  if (d.answer.kind == AnswerKind::Nobody) {
    EXPECT_LE(*d.answer.least_effect_ratio, 1);
  } else {
    EXPECT_TRUE(has(d.answer, AnswerReason::TooNoisy) || has(d.answer, AnswerReason::ReplayOff) ||
                has(d.answer, AnswerReason::Unexplained));
  }
}

}  // namespace
}  // namespace cox::diagnose
