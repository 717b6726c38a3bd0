// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/device_why.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;
using trace::ActivityKind;

constexpr int kRanks = 6;
constexpr int kSlow = 2;

void add_activity(trace::RankTrack& t, ActivityKind kind, Duration begin, Duration end) {
  t.activities.begin.push_back(begin);
  t.activities.end.push_back(end);
  t.activities.kind.push_back(kind);
  t.activities.lane.push_back(kind == ActivityKind::Kernel ? 7 : 1);
  t.activities.name.push_back(0);
  t.activities.launched.push_back(trace::kNoActivity);
}

/// Fills the own work before one collective: `from` to `to`.
using Fill = std::function<void(trace::RankTrack&, Duration from, Duration to)>;

void ten_kernels(trace::RankTrack& t, Duration from, Duration to) {
  for (int k = 0; k < 10; ++k)
    add_activity(t, ActivityKind::Kernel, from + (to - from) * k / 10, from + (to - from) * (k + 1) / 10);
}

/// Rank 2 takes 14 ms a step, the others 10 ms of kernels; what rank 2 does is told by `slow`.
Finding finding_of(const Fill& slow, Duration queue = 5us, const Fill& usual = ten_kernels) {
  testing::Job job;
  job.ranks = kRanks;
  job.steps = 60;
  job.work = [](int r, int) { return r == kSlow ? Duration{14ms} : Duration{10ms}; };
  trace::Run run = testing::make_job(job);
  run.names = {"any"};
  for (trace::RankTrack& t : run.ranks) {
    Duration from = 0ms;
    for (std::size_t i = 0; i < t.events.size(); ++i) {
      const Duration begin = t.events.begin[i];
      (t.rank.value() == kSlow ? slow : usual)(t, from, begin);
      t.launches.push_back({static_cast<std::uint32_t>(i), begin - queue - 3us, begin - queue});
      from = t.events.end[i];
    }
  }
  const auto d = diagnose(run);
  EXPECT_TRUE(d.has_value());
  EXPECT_EQ(d->findings.size(), 1U) << d->verdict;
  return d->findings.empty() ? Finding{} : d->findings.front();
}

void late_by_4ms(trace::RankTrack& t, Duration from, Duration to) {
  ten_kernels(t, std::min(from + 4ms, to), to);
}

TEST(DeviceWhy, LongerKernelsAreSlowKernels) {
  const Finding f = finding_of(ten_kernels);
  EXPECT_EQ(f.cause, Cause::SlowKernels);
  EXPECT_EQ(f.cause_class, CauseClass::Compute);
}

TEST(DeviceWhy, MoreKernelsAreUnevenWork) {
  const Finding f = finding_of([](trace::RankTrack& t, Duration from, Duration to) {
    for (int k = 0; k < 14; ++k)
      add_activity(t, ActivityKind::Kernel, from + (to - from) * k / 14, from + (to - from) * (k + 1) / 14);
  });
  EXPECT_EQ(f.cause, Cause::UnevenWork);
}

TEST(DeviceWhy, ADeviceWithoutWorkIsALateHost) {
  const Finding f = finding_of(late_by_4ms);
  EXPECT_EQ(f.cause, Cause::LateLaunch);
  EXPECT_EQ(f.cause_class, CauseClass::Host);
}

TEST(DeviceWhy, TheHostsWaitForInputIsNamed) {
  const Finding f = finding_of([](trace::RankTrack& t, Duration from, Duration to) {
    add_activity(t, ActivityKind::DataLoad, from, std::min(from + 4ms, to));
    late_by_4ms(t, from, to);
  });
  EXPECT_EQ(f.cause, Cause::DataLoading);
}

TEST(DeviceWhy, CollectivesThatQueueSpeakAgainstALateHost) {
  const Finding f = finding_of(late_by_4ms, 4ms);
  EXPECT_EQ(f.cause, Cause::Unknown);
}

TEST(DeviceWhy, CopiesAreNamed) {
  const Finding f = finding_of([](trace::RankTrack& t, Duration from, Duration to) {
    add_activity(t, ActivityKind::Copy, from, std::min(from + 4ms, to));
    late_by_4ms(t, from, to);
  });
  EXPECT_EQ(f.cause, Cause::Copies);
  EXPECT_EQ(f.cause_class, CauseClass::Locality);
}

TEST(DeviceWhy, WithoutADeviceNothingIsSaidOfOne) {
  const Fill host = [](trace::RankTrack& t, Duration from, Duration to) {
    add_activity(t, ActivityKind::DataLoad, from, from + (to - from) / 100);
  };
  const Finding f = finding_of(host, 5us, host);
  EXPECT_EQ(f.cause, Cause::Unknown);
  for (const CauseTest& t : f.tests) {
    if (t.rule == Cause::LateLaunch) {
      EXPECT_EQ(t.state, CauseTestState::NoData);
    }
  }
  for (const Evidence& e : evidence_of(f)) EXPECT_EQ(e.text.find("device"), std::string::npos) << e.text;
}

TEST(DeviceWhy, WithoutADeviceTheHostsWaitForInputIsStillNamed) {
  const Fill usual = [](trace::RankTrack& t, Duration from, Duration /*to*/) {
    add_activity(t, ActivityKind::DataLoad, from, from + 1ms);
  };
  const Fill slow = [](trace::RankTrack& t, Duration from, Duration /*to*/) {
    add_activity(t, ActivityKind::DataLoad, from, from + 5ms);
  };
  EXPECT_EQ(finding_of(slow, 5us, usual).cause, Cause::DataLoading);
}

TEST(DeviceWhy, RulesWithoutDataSaySo) {
  const Finding f = finding_of(ten_kernels);
  const auto state = [&](Cause rule) {
    for (const CauseTest& t : f.tests)
      if (t.rule == rule) return t.state;
    ADD_FAILURE() << name_of(rule);
    return CauseTestState::NoData;
  };
  EXPECT_EQ(state(Cause::CpuQuota), CauseTestState::NoData);
  EXPECT_EQ(state(Cause::SlowKernels), CauseTestState::Fired);
  EXPECT_EQ(state(Cause::LateLaunch), CauseTestState::NotFired);
}

}  // namespace
}  // namespace cox::diagnose
