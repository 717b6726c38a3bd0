// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/simulate/max_plus.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using namespace cox::literals;
using model::PipelineSchedule;
using model::PolicyKind;

double ms(const model::Scenario& s) {
  const auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? out->total.count() * 1e3 : -1;
}

TEST(Training, BucketsOnOneStreamCostWhatTheSerialStreamSays) {
  // Chapter C.10: 96 layers of 5 ms, 256 workers, ring. Layers per bucket -> time of the backward pass.
  const std::vector<int> layers{1, 2, 4, 8, 12, 16, 24, 48, 96};
  const std::vector<double> small{522, 486, 486, 487, 489, 490, 492, 499, 513};
  const std::vector<double> large{1052, 813, 700, 659, 659, 668, 698, 808, 1043};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto job = [&](std::int64_t bytes, double gbyte_per_s) {
      model::Scenario s = data_parallel(256, 96);
      s.across = {.latency = Seconds{10e-6}, .per_byte = Bandwidth::gbyte_per_s(gbyte_per_s).time_per_byte()};
      for (model::Layer& l : work_of(s).layers)
        l = {.forward = {}, .backward = Seconds{5e-3}, .gradients = Bytes{bytes / 96}, .activations = {}};
      work_of(s).bucket = Bytes{bytes / 96 * layers[i]};
      work_of(s).optimizer = {};
      return ms(s);
    };
    EXPECT_NEAR(job(700'000'000, 50), small[i], 0.5) << layers[i];
    EXPECT_NEAR(job(7'000'000'000, 25), large[i], 0.5) << layers[i];
  }
}

TEST(Training, OverlapLiesBetweenItsBounds) {
  for (const int layers_per_bucket : {1, 3, 8, 24}) {
    model::Scenario s = data_parallel(16, 24);
    work_of(s).bucket = work_of(s).layers[0].gradients * layers_per_bucket;
    work_of(s).optimizer = {};
    const double overlapped = ms(s);
    work_of(s).overlap = false;
    const double apart = ms(s);
    work_of(s).layout.data = 1;
    s.cluster.nodes = 1;
    const double compute = ms(s);
    const double all = apart - compute;
    const double bucket = all * layers_per_bucket / 24;
    EXPECT_GE(overlapped, std::max(compute, all) - 1e-9);
    EXPECT_GE(overlapped, compute + bucket - 1e-9);
    EXPECT_LE(overlapped, apart + 1e-9);
    if (layers_per_bucket == 24) {
      EXPECT_NEAR(overlapped, apart, 1e-9);
    }
  }
}

TEST(Training, SlowdownBesideCommunicationStretchesOnlyWhatIsBesideIt) {
  model::Scenario s = data_parallel(4, 4);
  work_of(s).optimizer = {};
  for (model::Layer& l : work_of(s).layers)
    l = {.forward = Seconds{1e-3},
         .backward = Seconds{2e-3},
         .gradients = Bytes{4'000'000},
         .activations = {}};
  work_of(s).bucket = 4'000'000_B;
  s.across = {.latency = {}, .per_byte = TimePerByte::seconds_per_byte(1e-3 / 6e6)};  // 1 ms per bucket
  EXPECT_NEAR(ms(s), 4 + 8 + 1, 1e-9);
  // Each of the last three layers has 1 ms of communication beside it, in which it does 1/1.25 ms of work.
  work_of(s).overlap_slowdown = 0.25;
  EXPECT_NEAR(ms(s), 4 + 8 + 3 * 0.2 + 1, 1e-9);
}

TEST(Training, PipelinesHaveTheTextbooksBubble) {
  for (const auto schedule : {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward})
    for (const int m : {1, 2, 4, 8, 16, 32}) {
      model::Scenario s = pipeline(8, 8, m);
      work_of(s).schedule = schedule;
      EXPECT_NEAR(ms(s), 3.0 * (m + 7), 1e-9);
      const auto step = analyse_step(s, 0);
      ASSERT_TRUE(step);
      // Stages that are done early leave; over the whole step the bubble is (p - 1) / (m + p - 1).
      const Seconds work = step->parts[0] + step->parts[1];
      EXPECT_NEAR(1 - work / (step->step * 8), 7.0 / (m + 7), 1e-12);
    }
  model::Scenario s = pipeline(4, 16, 8);
  work_of(s).schedule = PipelineSchedule::Interleaved;
  work_of(s).interleave = 4;
  EXPECT_NEAR(ms(s), 12.0 * 8 + 3 * 12.0 / 4, 1e-9);
  work_of(s).schedule = PipelineSchedule::ZeroBubble;
  EXPECT_NEAR(ms(s), 12.0 * 8 + 3 * (4 + 4 - 4), 1e-9);  // stages of 4 layers: F 4 ms, B and W 4 ms each
}

TEST(Training, MessagesBetweenStagesTakeTheirTime) {
  model::Scenario s = pipeline(4, 4, 1);
  for (model::Layer& l : work_of(s).layers) l.activations = 1_MB;
  s.across = {.latency = Seconds{1e-3}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  EXPECT_NEAR(ms(s), 12 + 6 * 2, 1e-9);
  s.cluster = cluster(1, 4);
  s.inside = {.latency = Seconds{0.5e-3}, .per_byte = {}};
  EXPECT_NEAR(ms(s), 12 + 6 * 0.5, 1e-9);
}

TEST(Training, MessagesOfOneRankFollowEachOther) {
  model::Scenario s = pipeline(2, 2, 4);
  work_of(s).schedule = PipelineSchedule::GPipe;
  for (model::Layer& l : work_of(s).layers)
    l = {.forward = Seconds{1e-3}, .backward = {}, .gradients = {}, .activations = 1_MB};
  s.across = {.latency = {}, .per_byte = TimePerByte::seconds_per_byte(5e-9)};
  // Four messages of 5 ms after the first forward pass, the last pass, four messages back.
  EXPECT_NEAR(ms(s), 1 + 4 * 5 + 1 + 4 * 5, 1e-9);
}

TEST(Training, TensorParallelismAddsFourAllReducesPerLayer) {
  model::Scenario s = data_parallel(1, 12);
  s.cluster = cluster(1, 8);
  work_of(s).layout.tensor = 8;
  for (model::Layer& l : work_of(s).layers) l.activations = 8_MB;
  s.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(300).time_per_byte()};
  const double ring = 14 * (1e-6 + 1e6 / 300e9);
  const double work = 12 * (work_of(s).layers[0].forward + work_of(s).layers[0].backward).count();
  EXPECT_NEAR(ms(s), 1e3 * (work + 48 * ring + work_of(s).optimizer.count()), 1e-9);
}

TEST(Training, AGroupOfTensorRanksInLockstepIsItsRanksOneByOne) {
  // Ranks with factors of their own, layer by layer: half the layer, an all-reduce, the other half, another.
  model::Scenario s = data_parallel(1, 6);
  s.cluster = cluster(1, 4);
  work_of(s).layout.tensor = 4;
  for (model::Layer& l : work_of(s).layers) l.activations = 4_MB;
  s.inside = {.latency = Seconds{2e-6}, .per_byte = Bandwidth::gbyte_per_s(100).time_per_byte()};
  const std::vector<double> extra{0.1, 0.0, 0.45, 0.2};
  for (int r = 0; r < 4; ++r)
    if (extra[static_cast<std::size_t>(r)] > 0)
      s.noise.push_back(slow_rank(r, extra[static_cast<std::size_t>(r)]));
  const auto schedule =
      model::Schedule::make({.kind = model::Collective::AllReduce, .ranks = 4, .bytes = 4_MB});
  ASSERT_TRUE(schedule);
  std::vector<Seconds> t(4);
  const auto half = [&](Seconds whole) {
    for (std::size_t r = 0; r < 4; ++r) t[r] += whole / 2 * (1 + extra[r]);
    run_collective(*schedule, {.inside = s.inside, .across = s.inside, .ranks_per_node = 1, .into = {}},
                   {.closure = false}, t);
  };
  for (int l = 0; l < 12; ++l)
    for (int i = 0; i < 2; ++i) half(l < 6 ? work_of(s).layers[0].forward : work_of(s).layers[0].backward);
  for (std::size_t r = 0; r < 4; ++r) t[r] += work_of(s).optimizer * (1 + extra[r]);
  EXPECT_NEAR(ms(s), 1e3 * std::max_element(t.begin(), t.end())->count(), 1e-9);
}

TEST(Training, ZeroStagesMoveTheirBytes) {
  model::Scenario s = data_parallel(8, 4);
  work_of(s).overlap = false;
  work_of(s).bucket = 1_GB;
  const double n = 4.0 * static_cast<double>(work_of(s).layers[0].gradients.count());
  const double a = s.across.latency.count(), b = s.across.per_byte.in_seconds_per_byte();
  const double half = 1e3 * 7 * (a + n / 8 * b);  // reduce-scatter or all-gather of everything
  const double layers = 1e3 * 4 * 7 * (a + n / 32 * b);
  const double compute = 1e3 * 4 * (work_of(s).layers[0].forward + work_of(s).layers[0].backward).count();
  const double update = 1e3 * work_of(s).optimizer.count();
  EXPECT_NEAR(ms(s), compute + update + 2 * half, 1e-6);
  work_of(s).zero_stage = 1;
  EXPECT_NEAR(ms(s), compute + update / 8 + 2 * half, 1e-6);
  work_of(s).zero_stage = 2;
  EXPECT_NEAR(ms(s), compute + update / 8 + 2 * half, 1e-6);
  work_of(s).zero_stage = 3;
  EXPECT_NEAR(ms(s), compute + update / 8 + half + 2 * layers, 1e-6);
  // With accumulation only stages 2 and 3 communicate in every micro-batch.
  work_of(s).micro_batches = 3;
  EXPECT_NEAR(ms(s), 3 * (compute + half + 2 * layers) + update / 8, 1e-6);
  work_of(s).zero_stage = 1;
  EXPECT_NEAR(ms(s), 3 * compute + update / 8 + 2 * half, 1e-6);
  work_of(s).zero_stage = 3;
  const double apart = ms(s);
  work_of(s).overlap = true;
  EXPECT_LT(ms(s), apart);
}

TEST(Training, ExpertsExchangeTokensFourTimesPerLayer) {
  model::Scenario s = data_parallel(8, 4);
  work_of(s).overlap = false;
  const double without = ms(s);
  work_of(s).layout.expert = 4;
  work_of(s).moe_layers = 2;
  for (model::Layer& l : work_of(s).layers) l.activations = 4_MB;
  // Three other members, a quarter of the tokens for each.
  const double exchange = 3 * (s.across.latency.count() + 1e6 * s.across.per_byte.in_seconds_per_byte());
  EXPECT_NEAR(ms(s), without + 1e3 * 2 * 4 * exchange, 1e-6);
}

TEST(Training, ContextRanksPassKeysAndValuesOn) {
  model::Scenario s = data_parallel(1, 3);
  s.cluster = cluster(1, 4);
  work_of(s).layout.context = 4;
  work_of(s).optimizer = {};
  for (model::Layer& l : work_of(s).layers)
    l = {.forward = Seconds{4e-3}, .backward = Seconds{8e-3}, .gradients = {}, .activations = 2_MB};
  s.inside = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  EXPECT_NEAR(ms(s), 3 * (12 + 3 * 3), 1e-6);  // three exchanges per layer of 3 x 1 MB each
}

TEST(Training, APersistentStragglerSetsThePaceOfEverybody) {
  model::Scenario s = data_parallel(8, 4);
  s.job.steps = 5;
  work_of(s).overlap = false;
  const double even = ms(s);
  s.noise.push_back(slow_rank(3, 0.5));
  const double work = 1e3 * (4 * (work_of(s).layers[0].forward + work_of(s).layers[0].backward).count() +
                             work_of(s).optimizer.count());
  EXPECT_NEAR(ms(s), even + 5 * 0.5 * work, 1e-6);
}

TEST(Training, EveryAccountOfAStepAddsUp) {
  for (const model::Scenario& s : assorted()) {
    const auto step = analyse_step(s, 1);
    ASSERT_TRUE(step) << s.name << ": " << step.error().to_string();
    testing::expect_adds_up(*step, s.name);
    EXPECT_NEAR(std::accumulate(step->sensitivity.begin(), step->sensitivity.end(), 0.0), 1, 1e-9) << s.name;
    double shares = 0;
    for (std::size_t p = 0; p < kStepParts; ++p) {
      const double share = step->share(static_cast<StepPart>(p));
      EXPECT_GE(share, 0) << s.name;
      EXPECT_LE(share, 1) << s.name;
      shares += share;
    }
    EXPECT_NEAR(shares, 1, 1e-9);
    EXPECT_GT(step->share(StepPart::Backward), 0);
    EXPECT_GT(step->path_pieces, 0);
  }
}

TEST(Training, TheCriticalPathIsWhatTheStepIsMadeOf) {
  model::Scenario s = pipeline(4, 4, 1);
  for (model::Layer& l : work_of(s).layers) l.activations = 1_MB;
  s.across = {.latency = Seconds{1e-3}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  const auto at = [](const StepAnalysis& a, StepPart p) {
    return a.path[static_cast<std::size_t>(p)].count() * 1e3;
  };
  const auto one = analyse_step(s, 0);
  ASSERT_TRUE(one);
  EXPECT_NEAR(at(*one, StepPart::Forward), 4, 1e-9);
  EXPECT_NEAR(at(*one, StepPart::Backward), 8, 1e-9);
  EXPECT_NEAR(at(*one, StepPart::Pipeline), 12, 1e-9);
  EXPECT_NEAR(one->sensitivity[static_cast<std::size_t>(StepPart::Pipeline)], 0.5, 1e-9);
  // Three of four stages wait for the first forward pass, and so on:
  // 3 x (4 + 8) ms idle, 12 ms of them on the way.
  EXPECT_NEAR(one->parts[static_cast<std::size_t>(StepPart::Pipeline)].count() * 1e3, 12, 1e-9);

  // Buckets that take longer than the backward pass: the stream is the path.
  s = data_parallel(4, 4);
  work_of(s).bucket = Bytes{1};
  work_of(s).optimizer = {};
  s.across = {.latency = {}, .per_byte = TimePerByte::seconds_per_byte(5e-3 / 12e6)};  // 5 ms a bucket
  const auto stream = analyse_step(s, 0);
  ASSERT_TRUE(stream);
  EXPECT_NEAR(at(*stream, StepPart::Forward), 4, 1e-9);
  EXPECT_NEAR(at(*stream, StepPart::Backward), 2, 1e-9);
  EXPECT_NEAR(at(*stream, StepPart::Data), 20, 1e-9);
  // Of these 20 ms the backward pass hides the 6 that it still takes.
  EXPECT_NEAR(stream->parts[static_cast<std::size_t>(StepPart::Data)].count() * 1e3, 4 * 14, 1e-9);
}

TEST(Training, MoreWorkersNeverLowerTheStepTime) {
  double before = 0;
  for (int n = 1; n <= 40; ++n) {
    model::Scenario s = data_parallel(n, 4);
    for (model::Layer& l : work_of(s).layers)
      l.gradients = Bytes{std::int64_t{2} * 2 * 2 * 9 * 5 * 7 * 11 * 13 * 17 * 19};
    const double now = ms(s);
    EXPECT_GE(now, before * (1 - 1e-12)) << n;
    // Weak scaling: E(N) N = S(N), both from these times.
    before = now;
  }
}

TEST(Training, LocalStepsOfOneAreTheSynchronousJob) {
  for (model::Scenario s : assorted()) {
    s.policy = {.kind = PolicyKind::Synchronous};
    const auto sync = simulate_training(s, {});
    s.policy = {.kind = PolicyKind::LocalSgd, .local_steps = 1};
    const auto local = simulate_training(s, {});
    ASSERT_TRUE(sync && local) << s.name;
    EXPECT_EQ(sync->step_ends, local->step_ends) << s.name;
  }
}

TEST(Training, LocalStepsCommunicateLess) {
  model::Scenario s = data_parallel(8, 4);
  s.job.steps = 12;
  work_of(s).overlap = false;
  s.noise.push_back(jitter(0.2));
  const double sync = ms(s);
  s.policy = {.kind = PolicyKind::LocalSgd, .local_steps = 4};
  EXPECT_LT(ms(s), sync);
}

TEST(Training, TheSameSeedGivesTheSameForAnyNumberOfThreads) {
  model::Scenario s = assorted().front();
  s.replicas = 9;
  s.noise.push_back(jitter(0.1));
  const auto one = simulate_training(s, {.threads = 1});
  const auto two = simulate_training(s, {.threads = 2});
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->step_ends, two->step_ends);
  EXPECT_EQ(one->over_replicas.mean, two->over_replicas.mean);
  EXPECT_EQ(one->over_replicas.half_width_95, two->over_replicas.half_width_95);
  EXPECT_GT(one->over_replicas.half_width_95, Seconds{});
  // Any seed re-runs alone.
  s.seed += 1;
  s.replicas = 1;
  EXPECT_NE(simulate_training(s, {})->total, one->total);
}

TEST(Training, ProgressCountsAllSteps) {
  model::Scenario s = data_parallel(2, 2);
  s.job.steps = 3;
  s.replicas = 4;
  s.noise = {jitter(0.1)};  // else the others are as the first, and cost nothing (step/work_done.hpp)
  std::vector<double> done;
  ASSERT_TRUE(simulate_training(s, {.progress = [&](double k, double all) {
                                  done.push_back(k);
                                  EXPECT_EQ(all, 12);
                                }}));
  EXPECT_EQ(done, (std::vector<double>{1, 2, 3, 12}));
}

TEST(Training, ProgressIsToldWithinALongStep) {
  model::Scenario s = data_parallel(512, 4);
  s.cluster.nic = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.engine = model::EngineKind::Flow;
  work_of(s).bucket = Bytes{1};  // four collectives of 512 members
  std::vector<double> done;
  ASSERT_TRUE(simulate_training(s, {.progress = [&](double k, double all) {
                                  done.push_back(k);
                                  EXPECT_EQ(all, 1);
                                }}));
  EXPECT_EQ(done, (std::vector<double>{0.5, 1, 1})) << "after 1,024 of 2,048 departures, all, the step";
}

// Steps of the large one have more messages than are played; how many steps there are, and noise, choose nothing.
TEST(Training, ScenariosThatAreComparedAreByOneEngine) {
  const auto pipeline = [](int data) {
    model::Scenario s = data_parallel(data, 3);
    s.cluster = testing::cluster(3 * data, 1);
    s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
    s.across = {.latency = s.cluster.nic.latency, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
    work_of(s).layout.pipeline = 3;
    s.job.steps = 2;
    return s;
  };
  const model::Scenario small = pipeline(8), large = pipeline(2048);
  model::Scenario both[] = {small, large};
  take_one_engine(both);
  for (const model::Scenario& s : both) EXPECT_EQ(s.engine, model::EngineKind::MaxPlus);
  EXPECT_EQ(simulate_training(small, {})->engine, model::EngineKind::Flow);
  model::Scenario alike[] = {small, small};
  take_one_engine(alike);
  EXPECT_EQ(alike[0].engine, model::EngineKind::Auto);
  model::Scenario noisy = small;
  noisy.noise = {jitter(1e-9)};
  noisy.job.steps = 50;
  noisy.replicas = 40;
  EXPECT_EQ(simulate_training(noisy, {})->engine, model::EngineKind::Flow);
}

TEST(Training, FailuresAddTheirTime) {
  model::Scenario s = data_parallel(4, 4);
  s.job.steps = 200;
  const double without = ms(s);
  s.failures = {.node_mtbf = Seconds{8 * without / 1e3 / 20},
                .restart = Seconds{without / 1e4},
                .checkpoint = Seconds{without / 1e5},
                .checkpoint_interval = Seconds{without / 5e4}};
  const auto with = simulate_training(s, {});
  ASSERT_TRUE(with);
  EXPECT_GT(with->total.count() * 1e3, without * 1.02);
  EXPECT_TRUE(std::is_sorted(with->step_ends.begin(), with->step_ends.end()));
}

TEST(Training, ComparisonIsPaired) {
  model::Scenario a = data_parallel(16, 4);
  a.job.steps = 5;
  a.replicas = 20;
  a.noise.push_back(jitter(0.2));
  model::Scenario b = a;
  b.across.latency = Seconds{20e-6};
  const auto c = compare(a, b, {});
  ASSERT_TRUE(c);
  EXPECT_NEAR((c->b.mean - c->a.mean).count(), c->difference.mean.count(), 1e-12);
  EXPECT_GT(c->difference.mean, c->difference.half_width_95);
  // On common draws the noise cancels: the interval of the difference is far narrower than each one's own.
  EXPECT_LT(c->difference.half_width_95, 0.2 * c->a.half_width_95);
  model::Scenario collective = data_parallel(8, 1);
  collective.job.work = model::CollectiveJob{.collective = {.ranks = 8, .bytes = 8_MB}};
  collective.replicas = 3;
  model::Scenario longer = collective;
  longer.job.as<model::CollectiveJob>().collective.bytes = 16_MB;
  const auto rings = compare(collective, longer, {});
  ASSERT_TRUE(rings) << rings.error().to_string();
  EXPECT_NEAR(rings->difference.mean.count(), 14 * 1e6 / 25e9, 1e-12);
  const auto same = compare(a, a, {});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->difference.mean, Seconds{});
  EXPECT_EQ(same->difference.half_width_95, Seconds{});
}

TEST(Training, AComparisonSaysWhoseErrorItIs) {
  const model::Scenario good = data_parallel(4, 2);
  model::Scenario bad = good;
  work_of(bad).layout.data = 3;
  for (const bool second : {false, true}) {
    const auto made = compare(second ? good : bad, second ? bad : good, {}, [](Error error, bool of_second) {
      error.message = of_second ? "second" : "first";
      return error;
    });
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, second ? "second" : "first");
  }
  EXPECT_EQ(compare(good, bad, {}).error().id, "simulate-001");
}

TEST(Training, WhatDoesNotFitIsRefused) {
  const auto id = [](const model::Scenario& s) {
    const auto out = simulate_training(s, {});
    return out ? std::string{} : out.error().id;
  };
  EXPECT_EQ(id(data_parallel(4, 4)), "");
  model::Scenario s = data_parallel(4, 4);
  work_of(s).layout.data = 3;
  EXPECT_EQ(id(s), "simulate-001");
  s = data_parallel(4, 4);
  work_of(s).layout.expert = 3;
  EXPECT_EQ(id(s), "simulate-001");
  s = data_parallel(0, 4);
  EXPECT_EQ(id(s), "simulate-001");
  s = pipeline(8, 4, 2);
  EXPECT_EQ(id(s), "simulate-001");
  s = data_parallel(4, 4);
  work_of(s).layers[2].forward = Seconds{-1};
  EXPECT_EQ(id(s), "simulate-001");
  work_of(s).layers[2].forward = Seconds{std::nan("")};
  EXPECT_EQ(id(s), "simulate-001");
  s = data_parallel(4, 4);
  s.job.steps = 0;
  EXPECT_EQ(id(s), "simulate-001");
  s = data_parallel(4, 4);
  s.policy.kind = PolicyKind::Asynchronous;
  EXPECT_EQ(id(s), "");
  work_of(s).zero_stage = 3;
  EXPECT_EQ(id(s), "simulate-003");
  EXPECT_EQ(analyse_step(s, 0).error().id, "simulate-003");
}

// 80 MB of gradients at 2 bytes: 40 million parameters, 16 bytes each; ZeRO divides Adam's 12, then 2 more, then all.
// The first note of all.
TEST(Training, StatesThatDoNotFitADeviceAreNoted) {
  const auto noted = [](std::int64_t memory, int zero) {
    model::Scenario s = data_parallel(4, 10);
    s.cluster.device_memory = Bytes{memory};
    work_of(s).zero_stage = zero;
    const auto out = simulate_training(s, {});
    EXPECT_TRUE(out);
    return out && !out->notes.empty() && out->notes.front().starts_with("it does not fit: a device holds ");
  };
  EXPECT_FALSE(noted(0, 0)) << "nobody knows how much a device holds";
  const std::int64_t whole[] = {640'000'000, 160'000'000 + 480'000'000 / 4, 80'000'000 + 560'000'000 / 4,
                                640'000'000 / 4};
  for (int zero = 0; zero <= 3; ++zero) {
    EXPECT_FALSE(noted(whole[zero], zero)) << zero;
    EXPECT_TRUE(noted(whole[zero] - 1, zero)) << zero;
  }
}

}  // namespace
}  // namespace cox::simulate
