// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/peers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using testing::Job;
using namespace std::chrono_literals;

Recording recording_of(const trace::Run& run) {
  return record(run, 1'000'000, MessageTime::Follows);
}

/// Lower median of the works of those not in `out`, by sorting all of them.
Duration median_of_rest(const Job& job, int step, const std::vector<std::size_t>& out) {
  std::vector<Duration> rest;
  for (int r = 0; r < job.ranks; ++r)
    if (std::find(out.begin(), out.end(), static_cast<std::size_t>(r)) == out.end())
      rest.push_back(job.work(r, step));
  std::sort(rest.begin(), rest.end());
  return rest[(rest.size() - 1) / 2];
}

TEST(WhatIfPeers, LeavesOutExactlyThoseWhoAreFixed) {
  std::minstd_rand random(3);
  for (const int ranks : {2, 3, 8, 9, 10, 17, 30}) {
    for (const int kinds : {3, 1000}) {  // with many equal ones, and with none
      Job job;
      job.ranks = ranks;
      job.steps = 12;
      job.work = [&](int r, int s) {
        return Duration{10ms} + Duration{(r * 7919 + s * 104729 + r * s * 31) % kinds * 1'000'000};
      };
      const trace::Run run = testing::make_job(job);
      const Recording recording = recording_of(run);
      const Peers peers(run, recording);
      for (int trial = 0; trial < 30; ++trial) {
        std::vector<std::size_t> set;
        const std::size_t most = std::min<std::size_t>(kMostFixed, static_cast<std::size_t>(ranks) - 1);
        const std::size_t size = 1 + random() % most;
        while (set.size() < size) {
          const std::size_t r = random() % static_cast<std::size_t>(ranks);
          if (std::find(set.begin(), set.end(), r) == set.end()) set.push_back(r);
        }
        const auto fixed = peers.fixed(set);
        ASSERT_EQ(fixed.size(), set.size());
        for (std::size_t i = 0; i < set.size(); ++i)
          for (int s = 1; s < job.steps; ++s)
            ASSERT_EQ(fixed[i][static_cast<std::size_t>(s) - 1], median_of_rest(job, s, set))
                << ranks << " ranks, set of " << size << ", step " << s;
      }
    }
  }
}

TEST(WhatIfPeers, WithoutAPeerWorkStays) {
  Job job;
  job.ranks = 2;
  job.work = [](int r, int) { return r == 0 ? Duration{10ms} : Duration{14ms}; };
  const trace::Run run = testing::make_job(job);
  const Recording recording = recording_of(run);
  const Peers peers(run, recording);
  const std::vector<std::size_t> both{0, 1};
  const auto fixed = peers.fixed(both);
  EXPECT_EQ(fixed[0], peers.recorded(0));
  EXPECT_EQ(fixed[1], peers.recorded(1));
  EXPECT_EQ(peers.self_delay()[0], 0ms);
  EXPECT_EQ(peers.self_delay()[1], 99 * 4ms);
}

TEST(WhatIfPeers, StagesOfAPipelineAreNotPeers) {
  Job job;
  job.ranks = 4;
  job.work = [](int r, int) { return r < 2 ? Duration{10ms} : Duration{14ms}; };
  trace::Run run = testing::make_job(job);
  EXPECT_GT(Peers(run, recording_of(run)).self_delay()[3], 0ms);
  for (std::size_t r = 0; r < 4; ++r) run.ranks[r].role.pipeline = static_cast<int>(r / 2);
  EXPECT_EQ(Peers(run, recording_of(run)).self_delay()[3], 0ms);
}

}  // namespace
}  // namespace cox::diagnose
