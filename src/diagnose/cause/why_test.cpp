// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/why.hpp"

#include <gtest/gtest.h>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 6;
constexpr int kSlow = 2;

/// How a rank spends its own work; while it waits for others it spins.
struct Habits {
  double ready = 0;  // parts of its own work
  double asleep = 0;
  double quota = 0;
  std::int64_t khz = 3'000'000;
};

/// Rank 2 takes 14 ms a step, the others 10; samples every 50 ms, integrated exactly over the events.
trace::Run sampled_job(const std::function<Habits(int rank)>& habits) {
  testing::Job job;
  job.ranks = kRanks;
  job.steps = 200;
  job.work = [](int r, int) { return r == kSlow ? Duration{14ms} : Duration{10ms}; };
  trace::Run run = testing::make_job(job);
  for (int r = 0; r < kRanks; ++r) {
    trace::RankTrack& track = run.ranks[static_cast<std::size_t>(r)];
    const Habits h = habits(r);
    const auto& e = track.events;
    for (Duration at{}; at < e.end.back(); at += 50ms) {
      Duration inside{};
      for (std::size_t i = 0; i < e.size() && e.begin[i] < at; ++i)
        inside += std::min(at, e.end[i]) - e.begin[i];
      const double work = in_seconds(at - inside);
      trace::Sample s;
      s.at = at;
      s.main_wait = duration_from_seconds(work * h.ready);
      s.main_cpu = duration_from_seconds(work * (1 - h.ready - h.asleep)) + inside;
      s.cpu = s.main_cpu;
      s.throttled = duration_from_seconds(work * h.quota);
      s.frequency_khz = h.khz;
      track.samples.push_back(s);
    }
  }
  return run;
}

Finding only_finding(const trace::Run& run) {
  const auto d = diagnose(run);
  EXPECT_TRUE(d.has_value());
  EXPECT_EQ(d->findings.size(), 1U) << d->verdict;
  return d->findings.empty() ? Finding{} : d->findings.front();
}

TEST(Why, WithoutSamplesItIsUnknown) {
  trace::Run run = sampled_job([](int) { return Habits{}; });
  for (auto& track : run.ranks) track.samples.clear();
  EXPECT_EQ(only_finding(run).cause, Cause::Unknown);
}

TEST(Why, ReadyWithoutACpuIsContention) {
  const Finding f = only_finding(sampled_job([](int r) { return Habits{.ready = r == kSlow ? 0.33 : 0}; }));
  EXPECT_EQ(f.rank, Rank{kSlow});
  EXPECT_EQ(f.cause, Cause::CpuContention);
}

TEST(Why, AQuotaComesBeforeContention) {
  const Finding f = only_finding(
      sampled_job([](int r) { return r == kSlow ? Habits{.ready = 0.33, .quota = 0.33} : Habits{}; }));
  EXPECT_EQ(f.cause, Cause::CpuQuota);
}

TEST(Why, NeitherRunningNorReadyIsAsleep) {
  EXPECT_EQ(only_finding(sampled_job([](int r) { return Habits{.asleep = r == kSlow ? 0.33 : 0}; })).cause,
            Cause::AsleepOrIo);
  // All compute by sleeping, as test jobs do: the late rank's extra is sleep too.
  EXPECT_EQ(only_finding(sampled_job([](int) { return Habits{.asleep = 1}; })).cause, Cause::AsleepOrIo);
}

TEST(Why, OnTheCpuAllAlongIsCodeOrCpu) {
  EXPECT_EQ(only_finding(sampled_job([](int) { return Habits{}; })).cause, Cause::SlowCodeOrCpu);
}

TEST(Why, ALowerFrequencyIsNamedWhereItIsEnough) {
  const auto job = [](std::int64_t khz) {
    return sampled_job([=](int r) { return Habits{.khz = r == kSlow ? khz : 3'000'000}; });
  };
  EXPECT_EQ(only_finding(job(2'100'000)).cause, Cause::SlowCpuClock);
  EXPECT_EQ(only_finding(job(2'800'000)).cause, Cause::SlowCodeOrCpu) << "7 % of clock is not 40 % of time";
}

TEST(Why, TwoHalvesOffTheCpuAreThatMuch) {
  const Finding f = only_finding(
      sampled_job([](int r) { return r == kSlow ? Habits{.ready = 0.15, .asleep = 0.15} : Habits{}; }));
  EXPECT_EQ(f.cause, Cause::OffCpu);
  EXPECT_EQ(f.cause_class, CauseClass::Host);
  const auto has = [facts = evidence_of(f)](const char* key) {
    return std::any_of(facts.begin(), facts.end(), [&](const Evidence& e) { return e.key == key; });
  };
  EXPECT_TRUE(has("excess_ready_ratio") && has("excess_asleep_ratio"));
}

TEST(Why, AFightForCpusThatHitsEverybodyIsNoCauseOfOne) {
  // Half of everybody's own work is spent waiting for a CPU: the late rank has more to compute, not less CPU.
  const Finding f = only_finding(sampled_job([](int) { return Habits{.ready = 0.5}; }));
  EXPECT_EQ(f.cause, Cause::SlowCodeOrCpu);
}

TEST(Why, FewSamplesSayNothing) {
  trace::Run run = sampled_job([](int r) { return Habits{.ready = r == kSlow ? 0.33 : 0}; });
  run.ranks[kSlow].samples.resize(4);
  EXPECT_EQ(only_finding(run).cause, Cause::Unknown);
}

}  // namespace
}  // namespace cox::diagnose
