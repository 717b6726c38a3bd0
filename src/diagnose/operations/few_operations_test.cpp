// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/few_operations.hpp"

#include <gtest/gtest.h>

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

trace::Run one_call(const std::vector<Duration>& begins, Duration end, int declared) {
  trace::Run run = testing::empty_run(static_cast<int>(begins.size()));
  run.communicators.front().size = declared;
  for (std::size_t r = 0; r < begins.size(); ++r) {
    testing::add_call(run.ranks[r].events, model::Collective::AllReduce, begins[r], end, 1024, 0);
    run.ranks[r].launches.push_back({0, begins[r] - 20us, begins[r] - 5us});
  }
  return run;
}

TEST(FewOperations, TheLastOneIsNamedWithItsLaunch) {
  const trace::Run input = one_call({1ms, 2ms, 9ms, 3ms}, 10ms, 4);
  const auto lines = describe_few(input);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("rank 2 came last"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("the host was late"), std::string::npos) << lines[0];
}

TEST(FewOperations, ALateStartLongAfterTheLaunchDoesNotBlameTheHost) {
  trace::Run run = one_call({1ms, 9ms}, 10ms, 2);
  run.ranks[1].launches.front() = {0, 1ms, 2ms};
  const auto lines = describe_few(run);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("host"), std::string::npos) << lines[0];
}

TEST(FewOperations, OfHalfAGroupNobodyIsLast) {
  const trace::Run input = one_call({1ms, 9ms}, 10ms, 4);
  const auto lines = describe_few(input);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("came last"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("2 of 4"), std::string::npos) << lines[0];
}

TEST(FewOperations, ManyOperationsAreNotListed) {
  testing::Job job;
  job.steps = 20;
  const trace::Run input = testing::make_job(job);
  EXPECT_TRUE(describe_few(input).empty());
}

TEST(PresentDelays, OwnWorkBeyondTheMedianOfThosePresent) {
  trace::Run run = testing::empty_run(4);
  run.communicators.front().size = 8;
  // Rank r comes r * 10 us late to the first call (carried in); rank 2 works 500 us longer before the second.
  for (int r = 0; r < 4; ++r) {
    auto& e = run.ranks[static_cast<std::size_t>(r)].events;
    testing::add_call(e, model::Collective::AllReduce, r * Duration(10us), 1ms, 1024, 0);
    testing::add_call(e, model::Collective::AllReduce, 2ms + (r == 2 ? Duration(500us) : Duration(r * 2us)),
                      3ms, 1024, 1);
  }
  const auto delays = delays_of_those_present(run);
  ASSERT_EQ(delays.size(), 4U);
  EXPECT_NEAR(in_seconds(delays[2].self_delay), 496e-6, 1e-9);  // the median of 0, 2, 500, 6 us is 4
  EXPECT_NEAR(in_seconds(delays[3].self_delay), 2e-6, 1e-9);
  EXPECT_EQ(delays[0].self_delay, Duration::zero());
  EXPECT_EQ(delays[2].at, 1U);
}

}  // namespace
}  // namespace cox::diagnose
