// SPDX-License-Identifier: Apache-2.0
#include "diagnose/few_operations.hpp"

#include <gtest/gtest.h>

#include "diagnose/synthetic_job.hpp"

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
  const auto lines = describe_few(one_call({1ms, 2ms, 9ms, 3ms}, 10ms, 4), true);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("rank 2 came last"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("the host was late"), std::string::npos) << lines[0];
}

TEST(FewOperations, ALateStartLongAfterTheLaunchDoesNotBlameTheHost) {
  trace::Run run = one_call({1ms, 9ms}, 10ms, 2);
  run.ranks[1].launches.front() = {0, 1ms, 2ms};
  const auto lines = describe_few(run, true);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("host"), std::string::npos) << lines[0];
}

TEST(FewOperations, OfHalfAGroupNobodyIsLast) {
  const auto lines = describe_few(one_call({1ms, 9ms}, 10ms, 4), true);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("came last"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("2 of 4"), std::string::npos) << lines[0];
}

TEST(FewOperations, ManyOperationsAreNotListed) {
  testing::Job job;
  job.steps = 20;
  EXPECT_TRUE(describe_few(testing::make_job(job), true).empty());
}

}  // namespace
}  // namespace cox::diagnose
