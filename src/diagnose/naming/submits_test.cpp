// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/submits.hpp"

#include <gtest/gtest.h>

#include "diagnose/match/synthetic_submits.hpp"
#include "diagnose/naming/lost_time.hpp"
#include "diagnose/naming/positions.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

std::size_t positions_of(const testing::SubmitJob& job) {
  const trace::Run run = testing::make_submit_job(job);
  return Positions(Matched(run)).count();
}

TEST(Submits, AreThePartsOfAStepWithOneWait) {
  testing::SubmitJob job;
  job.late = [](int rank, int, int bucket) { return rank == 2 && bucket == 1 ? Duration{3ms} : Duration{}; };
  const trace::Run run = testing::make_submit_job(job);
  const Matched matched(run);
  ASSERT_EQ(matched.steps().count, job.steps);
  const Positions p(matched);
  ASSERT_EQ(p.count(), 5U);
  EXPECT_TRUE(p.is_divided(0));
  EXPECT_EQ(p.of_rank(0), 4);
  EXPECT_EQ(p.at(2).kind, model::Collective::AllReduce);
  EXPECT_EQ(p.at(2).number, 2);
  EXPECT_EQ(p.at(2).of, 4);
  EXPECT_EQ(p.holder(2), 0);
  EXPECT_EQ(p.ops_of(2).size(), p.ops_of(0).size());
  EXPECT_EQ(p.late_before(2, 2, 7), 3ms);
  EXPECT_EQ(p.late_before(2, 1, 7), Duration::zero());
  EXPECT_EQ(p.late_before(1, 2, 7), Duration::zero());
  // Fixing what comes before that submit saves what it costs, and no more than what the wait shows.
  Suspect suspect{
      .ranks = {2}, .first_step = 0, .last_step = job.steps - 1, .rank_of_step = {}, .positions = {2}};
  const auto known = static_cast<std::int64_t>(p.ops_of(2).size());
  EXPECT_EQ(savings_without(matched, {suspect}, &p).joint, known * Duration{3ms});
  suspect.positions = {1};
  EXPECT_EQ(savings_without(matched, {suspect}, &p).joint, Duration::zero());
  suspect.positions = {1, 2, 3};
  EXPECT_EQ(savings_without(matched, {suspect}, &p).joint, known * Duration{3ms});
}

TEST(Submits, NoneWhereStepsAreNotAlikeOrOneIsSubmitted) {
  testing::SubmitJob job;
  job.buckets = [](int step) { return 2 + step % 2; };
  EXPECT_EQ(positions_of(job), 1U);
  job.buckets = [](int) { return 1; };
  EXPECT_EQ(positions_of(job), 1U);
  job.buckets = [](int step) { return step % 10 == 9 ? 1 : 3; };
  EXPECT_EQ(positions_of(job), 4U);
}

}  // namespace
}  // namespace cox::diagnose
