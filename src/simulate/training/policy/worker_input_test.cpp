// SPDX-License-Identifier: Apache-2.0
// Input of workers that have no common step, by hand and against the barrier's.
#include "simulate/training/policy/worker_input.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::PolicyKind;

/// A worker on each device; 3 ms of computation, nothing to send.
model::Scenario job(int nodes, int devices, PolicyKind kind) {
  model::Scenario s = data_parallel(devices * nodes, 1);
  s.cluster = cluster(nodes, devices);
  work_of(s).layers[0].gradients = {};
  work_of(s).optimizer = {};
  s.inside = {};
  s.across = {};
  s.policy = {.kind = kind};
  return s;
}

double total_ms(const model::Scenario& s) {
  const auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? out->total.count() * 1e3 : 0;
}

// As under the barrier, where all ask at once.
TEST(WorkerInput, SharesCoresLinksAndStorage) {
  for (const PolicyKind kind : {PolicyKind::Asynchronous, PolicyKind::BoundedWait, PolicyKind::Backup}) {
    model::Scenario s = job(2, 4, kind);
    EXPECT_NEAR(total_ms(s), 3, 1e-9);
    model::StepInput& in = work_of(s).input;
    in = {.cores = 4, .prepare = Seconds{10e-3}};
    EXPECT_NEAR(total_ms(s), 3 + 10, 1e-9) << "a core each";
    in.cores = 2;
    EXPECT_NEAR(total_ms(s), 3 + 20, 1e-9) << "half a core each";
    in.fetch = Bytes{1'000'000};
    in.link = Bandwidth::gbyte_per_s(1);
    EXPECT_NEAR(total_ms(s), 3 + 20 + 4, 1e-9) << "4 x 1 MB over the node's link";
    in.link = {};
    in.storage = Bandwidth::gbyte_per_s(1);
    EXPECT_NEAR(total_ms(s), 3 + 20 + 8, 1e-9) << "8 x 1 MB from the job's storage";
  }
}

// One core, 10 ms of work, two workers, one of them twice as slow. Both have it half until 20. The fast one computes until 23
// and asks again; alone until 26, when the slow one asks: 7 ms are left of the one, so it has them at 40, and the other,
// which got 7 by then, its last 3 at 43. That one computes until 49.
TEST(WorkerInput, IsSharedAmongThoseWhoAreThere) {
  model::Scenario s = job(1, 2, PolicyKind::Asynchronous);
  s.job.steps = 2;
  s.noise = {slow_rank(1, 1)};
  work_of(s).input = {.cores = 1, .prepare = Seconds{10e-3}};
  EXPECT_NEAR(total_ms(s), 49, 1e-9);
  const auto log = simulate_policy(s, 1);
  ASSERT_TRUE(log);
  std::vector<double> ms;
  for (const Seconds at : log->at) ms.push_back(at.count() * 1e3);
  ASSERT_EQ(ms.size(), 4U);
  EXPECT_NEAR(ms[0], 23, 1e-9);
  EXPECT_NEAR(ms[1], 26, 1e-9);
  EXPECT_NEAR(ms[2], 43, 1e-9);
  EXPECT_NEAR(ms[3], 49, 1e-9);
}

TEST(WorkerInput, AheadOfTimeCostsWhatIsLeft) {
  for (const PolicyKind kind : {PolicyKind::Asynchronous, PolicyKind::BoundedWait, PolicyKind::Backup}) {
    model::Scenario s = job(2, 4, kind);
    s.job.steps = 5;
    model::StepInput& in = work_of(s).input;
    in = {.cores = 4, .prepare = Seconds{2e-3}, .ahead = true};
    EXPECT_NEAR(total_ms(s), 2 + 5 * 3, 1e-9) << "hidden";
    in.prepare = Seconds{5e-3};
    EXPECT_NEAR(total_ms(s), 5 * 5 + 3, 1e-9) << "the input sets the pace";
    in.ahead = false;
    EXPECT_NEAR(total_ms(s), 5 * (5 + 3), 1e-9);
  }
}

// Where nobody may be ahead and messages are free, and where nobody is left behind, steps are those of the barrier.
TEST(WorkerInput, IsThatOfTheBarrierWhereAllMeet) {
  for (const bool ahead : {false, true})
    for (const PolicyKind kind : {PolicyKind::BoundedWait, PolicyKind::Backup}) {
      model::Scenario s = job(3, 2, kind);
      s.job.steps = 12;
      s.noise = {jitter(0.3)};
      work_of(s).layers[0].gradients = Bytes{8'000'000};  // or nobody would meet
      work_of(s).input = {.cores = 1,
                          .prepare = Seconds{2e-3},
                          .fetch = Bytes{500'000},
                          .link = Bandwidth::gbyte_per_s(1),
                          .ahead = ahead};
      const auto here = simulate_training(s, {});
      s.policy = {};
      const auto barrier = simulate_training(s, {});
      ASSERT_TRUE(here && barrier);
      for (std::size_t k = 0; k < 12; ++k)
        EXPECT_NEAR(here->step_ends[k].count(), barrier->step_ends[k].count(), 1e-10) << k;
    }
}

/// Two workers of `stages` each, two devices a node: a node prepares, on its one core, for stages of both.
model::Scenario stages_ahead(int stages, PolicyKind kind) {
  model::Scenario s = pipeline(stages, 2 * stages, 4);
  s.cluster = cluster(stages, 2);
  work_of(s).layout = {.data = 2, .pipeline = stages};
  s.across = {.latency = Seconds{1e-5}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  s.policy = {.kind = kind};
  s.job.steps = 12;
  s.noise = {jitter(0.3)};
  work_of(s).input = {.cores = 1, .prepare = Seconds{10e-3}, .ahead = true};
  return s;
}

// A stage whose input has come begins the next one's, though the others of its worker still wait for theirs.
TEST(WorkerInput, OfEachStageIsMadeAheadOnItsOwn) {
  for (const PolicyKind kind : {PolicyKind::Asynchronous, PolicyKind::BoundedWait, PolicyKind::Backup})
    for (const bool storage : {false, true}) {
      model::Scenario s = stages_ahead(3, kind);
      model::StepInput& in = work_of(s).input;
      if (storage) {
        in.fetch = Bytes{3'000'000};
        in.storage = Bandwidth::gbyte_per_s(1);
      }
      for (const double ms : {10.0, 100.0}) {
        in.prepare = Seconds{ms * 1e-3};
        in.ahead = true;
        const double now = total_ms(s);
        EXPECT_GE(now, 12 * 2 * ms) << "two ranks on one core";
        in.ahead = false;
        EXPECT_LT(now, total_ms(s));
      }
    }
}

// What is waited for is waiting, and all parts add up; a Run has it as a gap.
TEST(WorkerInput, IsAPartOfTheTime) {
  model::Scenario s = job(2, 4, PolicyKind::Asynchronous);
  s.job.steps = 3;
  work_of(s).input = {.cores = 2, .prepare = Seconds{7e-3}};
  const auto out = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(out);
  EXPECT_NEAR(out->total.count(), 3 * (14e-3 + 3e-3), 1e-12);
  EXPECT_NEAR(out->groups[0].busy.count(), 3e-3, 1e-12);
  EXPECT_NEAR(out->groups[0].waiting.count(), 14e-3, 1e-12);
  ASSERT_TRUE(out->run);
  for (const trace::RankTrack& t : out->run->ranks)
    EXPECT_TRUE(std::is_sorted(t.events.begin.begin(), t.events.begin.end()));
}

// More of it never makes a job shorter, and none of it is none.
TEST(WorkerInput, MoreIsNotShorter) {
  for (const PolicyKind kind : {PolicyKind::Asynchronous, PolicyKind::BoundedWait, PolicyKind::Backup})
    for (const bool ahead : {false, true}) {
      model::Scenario s = job(2, 4, kind);
      s.across = {.latency = Seconds{1e-5}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
      work_of(s).layers[0].gradients = Bytes{1'000'000};
      s.policy.backups = kind == PolicyKind::Backup ? 1 : 0;
      s.policy.servers = 2;
      s.job.steps = 10;
      s.noise = {jitter(0.2)};
      const double without = total_ms(s);
      work_of(s).input = {.cores = 2, .prepare = Seconds{1e-12}, .ahead = ahead};
      EXPECT_NEAR(total_ms(s), without, 1e-6);
      double before = without - 1e-6;
      for (const double ms : {1.0, 3.0, 9.0}) {
        work_of(s).input.prepare = Seconds{ms * 1e-3};
        const double now = total_ms(s);
        EXPECT_GE(now, before) << ms;
        before = now;
      }
      EXPECT_GT(before, without + 10);
    }
}

TEST(WorkerInput, ThatNeverComesIsRefused) {
  model::Scenario s = job(2, 4, PolicyKind::Asynchronous);
  for (const double rate : {1e-300, 1e-320}) {
    work_of(s).input = {
        .prepare = Seconds{1e-3}, .fetch = Bytes{1'000'000'000}, .link = Bandwidth::bytes_per_s(rate)};
    EXPECT_FALSE(simulate_training(s, {})) << rate;
  }
}

}  // namespace
}  // namespace cox::simulate
