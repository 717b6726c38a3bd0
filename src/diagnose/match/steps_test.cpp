// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/steps.hpp"

#include <gtest/gtest.h>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

std::vector<std::uint64_t> tokens(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(FindPeriod, SmallestPeriodOfACleanSequence) {
  EXPECT_EQ(find_period(tokens(repeat("abcab", 10))).length, 5U);
  EXPECT_EQ(find_period(tokens(repeat("a", 10))).length, 1U);
  EXPECT_EQ(find_period(tokens(repeat("aab", 3))).length, 3U);
}

TEST(FindPeriod, StartUpAndTearDownMayDiffer) {
  const Period p = find_period(tokens("xyzxy" + repeat("aabc", 20) + "qw"));
  EXPECT_EQ(p.length, 4U);
  EXPECT_EQ(p.first, 5U);
  EXPECT_EQ(p.end, 85U);
}

TEST(FindPeriod, NoneWhereNothingRepeatsOrTooLittleDoes) {
  EXPECT_EQ(find_period(tokens("abcdefghijklmnop")).length, 0U);
  EXPECT_EQ(find_period(tokens("abab")).length, 0U);  // two repeats only
  EXPECT_EQ(find_period(tokens("qwertzuiop" + repeat("ab", 10) + "asdfghjkl")).length, 0U);  // covers half
  EXPECT_EQ(find_period({}).length, 0U);
}

TEST(FindPeriod, HostileSequenceEndsSoon) {
  // Every distance looks like a period until its very end.
  std::vector<std::uint64_t> t(200'000, 1);
  for (std::size_t i = 0; i < t.size(); i += 4000) t[i] = i;
  EXPECT_EQ(find_period(t).length, 0U);
}

TEST(FindInnerPeriod, WhatRepeatsInsideAPeriod) {
  const Period p = find_inner_period(tokens(repeat("aab", 10) + "xyz"));
  EXPECT_EQ(p.length, 3U);
  EXPECT_EQ(p.first, 0U);
  EXPECT_EQ(p.end, 30U);
  const Period wrapped = find_inner_period(tokens(repeat("ab", 4) + "x" + repeat("ab", 4)));
  EXPECT_EQ(wrapped.length, 2U);
  EXPECT_EQ(wrapped.first, 9U);
  EXPECT_EQ(wrapped.end, 25U);
}

TEST(FindInnerPeriod, NoneWhereTooLittleOrAllRepeats) {
  EXPECT_EQ(find_inner_period(tokens("abcdefgh")).length, 0U);
  EXPECT_EQ(find_inner_period(tokens(repeat("ab", 4) + "vwxyz")).length, 0U);  // 8 of 13
  EXPECT_EQ(find_inner_period(tokens("ababx")).length, 0U);                    // twice
  EXPECT_EQ(find_inner_period(tokens("aaaa")).length, 0U);
  EXPECT_EQ(find_inner_period({}).length, 0U);
}

Diagnosis must(const trace::Run& run) {
  auto d = diagnose(run);
  EXPECT_TRUE(d.has_value());
  return d ? *std::move(d) : Diagnosis{};
}

TEST(Steps, MarksCountAndTearDownIsNotAStep) {
  testing::Job job;
  job.ranks = 4;
  job.steps = 30;
  job.calls_per_step = 2;
  job.marks = true;
  trace::Run run = testing::make_job(job);
  for (auto& t : run.ranks) {  // an evaluation of 5 s before the job ends
    const Duration end = t.events.end.back();
    testing::add_call(t.events, model::Collective::Barrier, end + 5s, end + 6s, 0, 60);
  }
  const Diagnosis d = must(run);
  EXPECT_EQ(d.step_source, StepSource::Marks);
  EXPECT_EQ(d.steps, 30);
  EXPECT_EQ(d.ranks[0].steps, 30);
  EXPECT_LT(d.step_times.back(), 20ms);
  EXPECT_EQ(d.coverage.ratio, 1.0);
}

TEST(Steps, ARankOfWhichNextToNothingIsRecordedTakesNoSteps) {
  for (const bool marks : {true, false}) {
    testing::Job job;
    job.ranks = 4;
    job.steps = 40;
    job.marks = marks;
    trace::Run run = testing::make_job(job);
    const std::uint32_t first[] = {0, 1, 2};
    run.ranks[3].events.reorder(first);  // its file was cut
    const Diagnosis cut = must(run);
    run.ranks.pop_back();
    const Diagnosis deleted = must(run);
    EXPECT_GE(deleted.steps, 38);
    EXPECT_EQ(cut.steps, deleted.steps) << marks;
    EXPECT_EQ(cut.step_source, deleted.step_source);
    EXPECT_LT(cut.step_time.p95, 20ms);
  }
}

TEST(Steps, PeriodIsFoundWithoutMarks) {
  testing::Job job;
  job.ranks = 4;
  job.steps = 30;
  job.calls_per_step = 3;
  const Diagnosis d = must(testing::make_job(job));
  EXPECT_EQ(d.step_source, StepSource::Period);
  EXPECT_EQ(d.steps, 30);
  EXPECT_EQ(d.calls_per_step, 3);
  EXPECT_EQ(d.step_time.median, Duration{3 * 500us} + Duration{10ms} / 3 * 3);
}

/// Two buckets per step, and statistics after every tenth: on the same communicator, or on one of two of the ranks.
trace::Run with_statistics(int steps, int comm) {
  trace::Run run = testing::empty_run(3);
  run.communicators.push_back(run.communicators.front());
  run.communicators.back().id = CommId{1};
  run.communicators.back().size = 2;
  run.communicators.back().ranks.pop_back();
  for (auto& t : run.ranks) {
    std::uint32_t call = 0;
    std::vector<std::uint32_t> number{0, 0};
    const auto next = [&](model::Collective kind, std::int64_t bytes, int on) {
      testing::add_call(t.events, kind, call * 10ms, call * 10ms + 1ms, bytes,
                        number[static_cast<std::size_t>(on)]++, on);
      ++call;
    };
    for (int s = 0; s < steps; ++s) {
      next(model::Collective::AllReduce, 4096, 0);
      next(model::Collective::AllReduce, 1024, 0);
      if (s % 10 != 9) continue;
      if (comm == 0 || t.rank != Rank{2})
        next(model::Collective::AllGather, 12, comm);
      else
        ++call;  // takes as long elsewhere
    }
  }
  return run;
}

TEST(Steps, ALongPeriodThatRepeatsTooSeldomIsLookedInto) {
  const Diagnosis few = must(with_statistics(100, 1));
  EXPECT_EQ(few.step_source, StepSource::Period);
  EXPECT_EQ(few.steps, 100);
  EXPECT_EQ(few.calls_per_step, 2);
  EXPECT_EQ(few.step_times[9], 20ms);
  EXPECT_EQ(few.step_times[10], 30ms);                     // the statistics belong to the step behind them
  const Diagnosis layers = must(with_statistics(100, 0));  // a call of the same ranks ends what may be layers
  EXPECT_EQ(layers.steps, 10);
  const Diagnosis many = must(with_statistics(400, 1));  // what repeats inside may be layers
  EXPECT_EQ(many.steps, 40);
  EXPECT_EQ(many.calls_per_step, 21);
}

TEST(Steps, WhatAStepDoesIsCountedWhereMarksTellIt) {
  testing::Job job;
  job.ranks = 4;
  job.steps = 30;
  job.calls_per_step = 2;
  job.marks = true;
  const Diagnosis blocking = must(testing::make_job(job));
  EXPECT_EQ(blocking.calls_per_step, 2);
  EXPECT_EQ(blocking.collectives_per_step, 2);

  job.calls_per_step = 1;
  job.ddp = true;  // two buckets per step, one wait
  const Diagnosis background = must(testing::make_job(job));
  EXPECT_EQ(background.step_source, StepSource::Marks);
  EXPECT_EQ(background.calls_per_step, 1);
  EXPECT_EQ(background.collectives_per_step, 2);
}

TEST(Steps, MarksThatOneRankLacksAreLeftOut) {
  testing::Job job;
  job.ranks = 4;
  job.steps = 30;
  job.marks = true;
  trace::Run run = testing::make_job(job);
  auto& e = run.ranks[2].events;
  for (std::size_t i = 0; i < e.size(); ++i)
    if (e.kind[i] == trace::EventKind::Step && e.step_number(i) < 10) e.kind[i] = trace::EventKind::None;
  const Diagnosis d = must(run);
  EXPECT_EQ(d.steps, 20);
  EXPECT_EQ(d.step_numbers.front(), StepId{10});
  EXPECT_EQ(d.ranks[0].steps, 30);
  EXPECT_EQ(d.ranks[2].steps, 20);
}

TEST(Steps, OrderWithoutPeriodIsEachCall) {
  trace::Run run = testing::empty_run(2);
  for (auto& t : run.ranks)
    for (std::uint32_t i = 0; i < 20; ++i)
      testing::add_call(t.events, model::Collective::AllReduce, i * 10ms, i * 10ms + 1ms, 100 + i * i, i);
  const Diagnosis d = must(run);
  EXPECT_EQ(d.step_source, StepSource::EachSync);
  EXPECT_EQ(d.steps, 20);
}

}  // namespace
}  // namespace cox::diagnose
