// SPDX-License-Identifier: Apache-2.0
// Laws of training steps: accounts add up, nothing beats its bounds, and a simulated Run
// is diagnosed like a recorded one.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "cox/diagnose/diagnosis.hpp"
#include "cox/simulate/training.hpp"
#include "cox/trace/compact.hpp"
#include "cox/trace/read.hpp"

#include "simulate/training/scenarios.hpp"
#include "support/make_run.hpp"

namespace cox::simulate {
namespace {

using model::PipelineSchedule;
using testing::data_parallel;
using testing::jitter;
using testing::slow_rank;
using testing::work_of;

model::Scenario any_scenario() {
  const int data = *rc::gen::inRange(1, 5);
  const int tensor = *rc::gen::element(1, 2, 4);
  const int stages = *rc::gen::inRange(1, 4);
  const int context = *rc::gen::element(1, 1, 2);
  model::Scenario s = data_parallel(1, *rc::gen::inRange(6, 13));
  s.cluster = testing::cluster(data * tensor * stages * context, 1);
  if (*rc::gen::arbitrary<bool>()) std::swap(s.cluster.nodes, s.cluster.devices_per_node);
  work_of(s).layout = {.data = data,
                       .tensor = tensor,
                       .pipeline = stages,
                       .expert = data % 2 == 0 ? 2 : 1,
                       .context = context};
  for (model::Layer& l : work_of(s).layers) {
    l.forward = Seconds{1e-6 * *rc::gen::inRange(0, 2000)};
    l.backward = Seconds{1e-6 * *rc::gen::inRange(1, 4000)};
    l.gradients = Bytes{*rc::gen::inRange(0, 20'000'000)};
    l.activations = Bytes{*rc::gen::inRange(0, 2'000'000)};
  }
  s.job.steps = *rc::gen::inRange(1, 4);
  work_of(s).micro_batches = *rc::gen::inRange(1, 9);
  work_of(s).schedule = *rc::gen::element(PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward,
                                          PipelineSchedule::Interleaved, PipelineSchedule::ZeroBubble);
  work_of(s).interleave = 2;
  work_of(s).zero_stage = *rc::gen::inRange(0, 4);
  work_of(s).overlap = *rc::gen::arbitrary<bool>();
  work_of(s).overlap_slowdown = *rc::gen::element(0.0, 0.0, 0.3);
  work_of(s).moe_layers = *rc::gen::inRange(0, 3);
  work_of(s).bucket = Bytes{*rc::gen::inRange(1, 60'000'000)};
  s.seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  if (*rc::gen::arbitrary<bool>()) s.noise.push_back(jitter(0.1));
  return s;
}

RC_GTEST_PROP(TrainingLaws, AccountsOfAnyStepAddUpAndNothingBeatsTheBusiestRank, ()) {
  const model::Scenario s = any_scenario();
  const auto step = analyse_step(s, s.job.steps - 1);
  RC_ASSERT(step.has_value());
  const auto sum = [](const auto& v) { return std::accumulate(v.begin(), v.end(), Seconds{}).count(); };
  RC_ASSERT(std::abs(sum(step->parts) - step->rank_time.count()) <= 1e-9 * step->rank_time.count() + 1e-12);
  RC_ASSERT(std::abs(sum(step->path) - step->path_time.count()) <= 1e-9 * step->path_time.count() + 1e-12);
  for (const Seconds part : step->parts) RC_ASSERT(part.count() >= -1e-12);
  RC_ASSERT(step->rank_time.count() <=
            step->step.count() * static_cast<double>(s.cluster.ranks()) * (1 + 1e-12));
  // Without noise every rank of the busiest stage computes at least its share.
  if (!s.noise.empty()) return;
  Seconds work = work_of(s).optimizer /
                 (work_of(s).zero_stage > 0 ? work_of(s).layout.data * work_of(s).layout.context : 1);
  for (const model::Layer& l : work_of(s).layers)
    work += (l.forward + l.backward) * work_of(s).micro_batches / work_of(s).layout.pipeline;
  RC_ASSERT(step->step.count() * (1 + 1e-9) >= work.count() - work_of(s).optimizer.count());
}

RC_GTEST_PROP(TrainingLaws, APersistentStragglerIsNamedFromTheRunAlone, ()) {
  model::Scenario s = data_parallel(1, 6);
  const int data = *rc::gen::inRange(4, 9);
  s.cluster = testing::cluster(data, 1);
  work_of(s).layout = {.data = data};
  s.job.steps = 30;
  work_of(s).overlap = *rc::gen::arbitrary<bool>();
  work_of(s).zero_stage = *rc::gen::inRange(0, 3);
  s.seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const int slow = *rc::gen::inRange(0, data);
  s.noise = {jitter(0.02), slow_rank(slow, 0.3)};
  const auto out = simulate_training(s, {.want_run = true});
  RC_ASSERT(out.has_value());
  const auto d = diagnose::diagnose(*out->run);
  RC_ASSERT(d.has_value());
  RC_ASSERT(d->steps >= 29);
  RC_ASSERT(d->findings.size() == 1U);
  RC_ASSERT(d->findings[0].kind == diagnose::FindingKind::SlowRank);
  RC_ASSERT(d->findings[0].rank == Rank{slow});
  RC_ASSERT(d->coverage.ratio == 1.0);
}

TEST(TrainingLaws, WithoutAStragglerNobodyIsNamed) {
  model::Scenario s = data_parallel(8, 6);
  s.job.steps = 30;
  s.noise = {jitter(0.05)};
  const auto out = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(out);
  const auto d = diagnose::diagnose(*out->run);
  ASSERT_TRUE(d);
  EXPECT_TRUE(d->findings.empty());
}

TEST(TrainingLaws, ATensorRankIsNamedInsideItsGroup) {
  model::Scenario s = data_parallel(1, 6);
  s.cluster = testing::cluster(4, 4);
  work_of(s).layout = {.data = 4, .tensor = 4};
  for (model::Layer& l : work_of(s).layers) l.activations = Bytes{1'000'000};
  s.job.steps = 30;
  s.noise = {jitter(0.02), slow_rank(6, 0.4)};
  const auto out = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(out);
  const auto d = diagnose::diagnose(*out->run);
  ASSERT_TRUE(d);
  ASSERT_EQ(d->findings.size(), 1U);
  EXPECT_EQ(d->findings[0].rank, Rank{6});
}

TEST(TrainingLaws, AWrittenRunReadsBackAndNamesTheSameRank) {
  model::Scenario s = data_parallel(6, 6);
  s.name = "straggler";
  s.job.steps = 25;
  s.noise = {jitter(0.02), slow_rank(4, 0.3)};
  const auto out = simulate_training(s, {.want_run = true});
  ASSERT_TRUE(out);
  const test::ScratchDir scratch;
  const auto dir = scratch.path() / "run";
  const auto written = trace::write_run(*out->run, dir);
  ASSERT_TRUE(written) << written.error().to_string();
  const auto read = trace::open_run(dir);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->info.provenance, trace::Provenance::Simulated);
  EXPECT_EQ(test::difference(*out->run, *read), "");
  const auto d = diagnose::diagnose(*read);
  ASSERT_TRUE(d);
  ASSERT_EQ(d->findings.size(), 1U);
  EXPECT_EQ(d->findings[0].rank, Rank{4});
}

}  // namespace
}  // namespace cox::simulate
