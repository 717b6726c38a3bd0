// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/of_operations.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

/// Four marked steps of 60 calls; rank 3 works a fifth longer.
testing::Job few_steps() {
  testing::Job job;
  job.steps = 4;
  job.calls_per_step = 60;
  job.marks = true;
  job.work = [](int r, int step) {
    return testing::lognormal_work(1, r, step, r == 3 ? Duration{72ms} : Duration{60ms}, 0.01);
  };
  return job;
}

/// Takes away the calls of a rank that `drop` says, by sequence number.
void drop_calls(trace::Run& run, const std::function<bool(int rank, std::uint32_t seq)>& drop) {
  for (trace::RankTrack& t : run.ranks) {
    trace::EventColumns kept;
    for (std::size_t i = 0; i < t.events.size(); ++i) {
      const bool call = t.events.kind[i] == trace::EventKind::Collective;
      if (!call || !drop(t.rank.value(), t.events.seq[i])) kept.push_back(t.events[i]);
    }
    t.events = std::move(kept);
  }
}

TEST(OfOperations, FewStepsOfManyOperationsNameARank) {
  const auto d = diagnose(testing::make_job(few_steps())).value();
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings.front().rank, Rank{3});
  EXPECT_GT(d.findings.front().gain_ratio, 0.08);
  const auto& e = std::get<LateEvidence>(d.findings.front().evidence);
  ASSERT_TRUE(e.over.has_value());
  EXPECT_GT(e.over->operations, 200);
  EXPECT_NE(d.verdict.find("rank 3 sets the pace"), std::string::npos) << d.verdict;
}

TEST(OfOperations, TwoRanksOfFewStepsThatHideEachOtherAreASet) {
  testing::Job job = few_steps();
  job.work = [](int r, int step) {
    return testing::lognormal_work(1, r, step, r == 1 || r == 3 ? Duration{72ms} : Duration{60ms}, 0.01);
  };
  const auto d = diagnose(testing::make_job(job)).value();
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  const Finding& f = d.findings.front();
  EXPECT_EQ(f.kind, FindingKind::SlowGroup);
  EXPECT_EQ(f.ranks, (std::vector{Rank{1}, Rank{3}}));
  EXPECT_GT(f.gain_ratio, 0.08) << "of both, not of one";
  const auto& e = std::get<LateEvidence>(f.evidence);
  ASSERT_EQ(e.each_alone.size(), 2U);
  EXPECT_LT(e.each_alone[0], 0.02);
  EXPECT_LT(e.each_alone[1], 0.02);
  EXPECT_NE(d.verdict.find("They hide each other"), std::string::npos) << d.verdict;
}

TEST(OfOperations, EvenRanksOfFewStepsNameNobody) {
  testing::Job job = few_steps();
  job.work = [](int r, int step) { return testing::lognormal_work(2, r, step, 60ms, 0.05); };
  EXPECT_TRUE(diagnose(testing::make_job(job)).value().findings.empty());
}

TEST(OfOperations, TenStepsThatNoSignTestCouldTellAreAskedOperationByOperation) {
  testing::Job job = few_steps();
  job.steps = 10;
  const auto late = diagnose(testing::make_job(job)).value();
  ASSERT_EQ(late.findings.size(), 1U) << late.verdict;
  EXPECT_EQ(late.findings.front().rank, Rank{3});
  EXPECT_TRUE(std::get<LateEvidence>(late.findings.front().evidence).over.has_value());
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    job.work = [seed](int r, int step) { return testing::lognormal_work(seed, r, step, 60ms, 0.05); };
    const auto even = diagnose(testing::make_job(job)).value();
    EXPECT_TRUE(even.findings.empty()) << seed << ": " << even.verdict;
  }
}

TEST(OfOperations, OfThoseWhoWereNotOverwrittenTheLateOneIsNamedAndNothingIsPromised) {
  testing::Job job = few_steps();
  job.steps = 20;
  trace::Run run = testing::make_job(job);
  // Each rank holds its latest records only.
  drop_calls(run, [](int rank, std::uint32_t seq) { return seq < 120U * static_cast<unsigned>(rank); });
  const auto d = diagnose(run).value();
  ASSERT_EQ(d.findings.size(), 1U) << d.verdict;
  EXPECT_EQ(d.findings.front().rank, Rank{3});
  EXPECT_EQ(d.findings.front().gain_ratio, 0);
  EXPECT_NE(d.verdict.find("of those present rank 3 is late"), std::string::npos) << d.verdict;
  EXPECT_NE(d.verdict.find("lack a member"), std::string::npos) << d.verdict;
}

TEST(OfOperations, ACallThatWasNotRecordedIsNoOwnWork) {
  // Rank 5 loses every third call: what lies between the others holds that call and its wait.
  testing::Job job = few_steps();
  job.steps = 20;
  job.work = [](int r, int step) { return testing::lognormal_work(3, r, step, 60ms, 0.01); };
  trace::Run run = testing::make_job(job);
  drop_calls(run, [](int rank, std::uint32_t seq) { return rank == 5 && seq % 3 == 0; });
  EXPECT_TRUE(diagnose(run).value().findings.empty());
}

}  // namespace
}  // namespace cox::diagnose
