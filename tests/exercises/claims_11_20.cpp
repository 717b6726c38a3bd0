// SPDX-License-Identifier: Apache-2.0
// A.11 to A.20: claims, true or false.
#include <algorithm>

#include "cox/learn/number_format.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/stability.hpp"

#include "exercises/cut_layers.hpp"
#include "exercises/jobs.hpp"
#include "learn/stability/measured.hpp"
#include "simulate/training/plan/pipeline_orders.hpp"

namespace cox::exercises {
namespace {

using learn::OptimizerKind;
using simulate::testing::data_parallel;
using simulate::testing::run_orders;
using simulate::testing::work_of;

// True: servers move n d each way, whatever their number; a ring moves 2 (n - 1) d in all.
TEST(ExerciseA, A11ServersMoveAllGradientsTwice) {
  const Bytes d{48'000'000};
  for (const int n : {2, 8, 32}) {
    for (const int servers : {1, 4, 16}) {
      const auto sent = model::bytes_sent(schedule_of(
          {.algorithm = model::Algorithm::ParameterServer, .ranks = n, .bytes = d, .servers = servers}));
      Bytes workers{}, of_servers{};
      for (std::size_t i = 0; i < sent.size(); ++i)
        (i < static_cast<std::size_t>(n) ? workers : of_servers) += sent[i];
      EXPECT_EQ(workers, d * n) << n << ' ' << servers;
      EXPECT_EQ(of_servers, d * n) << n << ' ' << servers;
      EXPECT_EQ(sent.back(), d * n / servers) << n << ' ' << servers;
    }
    EXPECT_EQ(all_bytes(schedule_of({.ranks = n, .bytes = d})), d * 2 * (n - 1)) << n;
  }
}

// True: a rate at which momentum converges when synchronous diverges when it is stale.
TEST(ExerciseA, A12StaleMomentumDivergesWhereSynchronousConverges) {
  const learn::OptimizerSpec momentum{.kind = OptimizerKind::Momentum, .rate = 0.5, .momentum = 0.9};
  for (const int workers : {3, 6, 11}) {
    const learn::DelayedGradient stale{.delay = workers - 1, .momentum = 0.9};
    EXPECT_LT(learn::stable_edge(stale), 0.5);
    EXPECT_GT(learn::stable_edge({.momentum = 0.9}), 0.5);
    EXPECT_GT(learn::stable_edge({.momentum = 0.9}), 3.79);  // 2 (1 + b)
    const auto problem = problem_of({.dimension = 4, .condition = 1});
    EXPECT_LT(learn_for(*problem, momentum, way_of("synchronous"), {.workers = workers}, 300).loss, 1e-3);
    EXPECT_GT(learn_for(*problem, momentum, way_of("asynchronous"), {.workers = workers}, 300).loss, 1e3);
  }
}

// True: what a layer sends grows with its width and not with the ways that it is cut, but for (k - 1) / k; and the cut pair of
// layers is the whole one.
TEST(ExerciseA, A13TensorParallelBytesGrowWithTheWidth) {
  for (const int k : {1, 2, 4, 8}) {
    const CutPair pair = cut_pair({.batch = 3, .width = 16, .hidden = 32, .ways = k});
    EXPECT_EQ(pair.whole, pair.summed) << k;
    EXPECT_EQ(pair.reduced_elements, 3 * 16) << k;  // batch x width, forward; as many backward
  }
  const auto sent = [](int k, std::int64_t width) {
    const Bytes elements{std::int64_t{4} * 64 * width};
    return model::bytes_sent(schedule_of({.ranks = k, .bytes = elements})).front();
  };
  EXPECT_EQ(sent(4, 8192), sent(4, 4096) * 2);
  EXPECT_EQ(sent(2, 4096) * 3, sent(4, 4096) * 2);                       // (1 / 2) / (3 / 4)
  EXPECT_LT(sent(1024, 4096).count(), 2 * std::int64_t{4} * 64 * 4096);  // never twice the layer's output
}

// False against GPipe, true against 1F1B: interleaving makes the bubble v times as short and keeps more micro-batches
// alive than 1F1B, by (p - 1) / (p v); never v times as many.
TEST(ExerciseA, A14InterleavingKeepsMoreThanOneForwardOneBackwardOnly) {
  const int p = 4, m = 32;
  for (const int v : {2, 4}) {
    simulate::testing::PipelineShape shape{
        .stages = p, .micro_batches = m, .forward = 4, .input = 4, .weight = 4};
    const auto all = run_orders(shape);
    shape.schedule = model::PipelineSchedule::OneForwardOneBackward;
    const auto few = run_orders(shape);
    shape.schedule = model::PipelineSchedule::Interleaved;
    shape.chunks = v;
    const auto cut = run_orders(shape);
    ASSERT_TRUE(all && few && cut);
    EXPECT_EQ((few->makespan - 12 * m) / (cut->makespan - 12 * m), v);
    const double live = static_cast<double>(cut->live[0]) / v;  // of whole stages
    EXPECT_NEAR(live, p * (1 + (p - 1.0) / (p * v)), 1e-12) << v;
    EXPECT_GT(live, few->live[0]);
    EXPECT_LT(live, std::min(v * few->live[0], all->live[0]));
  }
}

// True for a ring in random order, hardly for one that knows its nodes: bytes between nodes are g times fewer, or
// M (N - 1) / (N (M - 1)) times.
TEST(ExerciseA, A15HierarchySavesWhatARingInRandomOrderWastes) {
  const int m = 32, g = 8, n = m * g;
  const Bytes d{256 * 8 * 1000};
  const auto across = [&](const model::CollectiveSpec& spec, auto&& node_of) {
    const auto schedule = schedule_of(spec);
    double bytes = 0;
    std::vector<model::Transfer> round;
    for (std::int64_t k = 0; k < schedule.rounds(); ++k) {
      schedule.transfers(k, round);
      for (const model::Transfer& t : round)
        if (node_of(t.from) != node_of(t.to)) bytes += static_cast<double>(t.bytes.count());
    }
    return bytes;
  };
  const auto in_order = [&](int rank) { return rank / g; };
  const double levels =
      across({.algorithm = model::Algorithm::Hierarchical2, .ranks = n, .bytes = d, .group = g}, in_order);
  EXPECT_DOUBLE_EQ(levels, 2.0 * static_cast<double>(d.count()) * (m - 1));
  EXPECT_DOUBLE_EQ(across({.ranks = n, .bytes = d}, in_order) / levels, m * (n - 1.0) / (n * (m - 1.0)));
  const auto scattered = [&](int rank) { return rank * 101 % n / g; };  // 101 and 256 have no common divisor
  EXPECT_NEAR(across({.ranks = n, .bytes = d}, scattered) / levels, g, 0.15 * g);
}

// True as a rule to keep, false as a limit: rate x age x curvature below 1 suffices from an age of 1 on, at 1 exactly; more
// is stable up to pi / 2; without age it says nothing. The curvature can be followed while a job runs.
TEST(ExerciseA, A16RateTimesAgeTimesCurvature) {
  EXPECT_NEAR(learn::stable_edge({.delay = 1}), 1, 1e-12);
  for (const std::int64_t tau : {2, 5, 10, 50, 1000}) {
    EXPECT_GT(learn::stable_edge({.delay = tau}) * static_cast<double>(tau), 1.2) << tau;
    EXPECT_LT(learn::stable_edge({.delay = tau}) * static_cast<double>(tau), 1.5708) << tau;
  }
  EXPECT_NEAR(learn::stable_edge({}), 2, 1e-12);
  const auto problem = problem_of({.dimension = 30, .condition = 10, .curvature = 7});
  std::vector<float> x(30);
  problem->initial(x);
  EXPECT_NEAR(learn::measured_curvature(*problem, x, {}).value, 7, 0.01);
}

// True: one rank that overflows spoils the sum of all. Clipping before is not enough in FP16; a flag, or a lower scale, is.
TEST(ExerciseA, A17OneOverflowPoisonsAllRanks) {
  const auto fp16 = [](float x) {
    return learn::decode(learn::NumberFormat::Fp16, learn::encode(learn::NumberFormat::Fp16, x));
  };
  const auto sum = [&](const std::vector<float>& ranks) {
    float all = 0;
    for (const float r : ranks) all = fp16(all + fp16(r));
    return all;
  };
  std::vector<float> gradients(64, 0.25F);
  gradients[17] = 3;
  const auto scaled = [&](float scale) {
    std::vector<float> s;
    for (const float g : gradients) s.push_back(fp16(g * scale));
    return s;
  };
  EXPECT_TRUE(std::isinf(sum(scaled(32768))));
  const auto flags = scaled(32768);
  EXPECT_EQ(std::ranges::count_if(flags, [](float g) { return !std::isfinite(g); }), 1);
  EXPECT_EQ(std::ranges::find_if(flags, [](float g) { return !std::isfinite(g); }) - flags.begin(), 17);
  EXPECT_EQ(sum(scaled(1024)) / 1024, 63 * 0.25F + 3);
  EXPECT_TRUE(std::isinf(sum(std::vector<float>(64, 1e4F))));  // each was clipped to 10,000
  EXPECT_TRUE(std::isfinite(sum(std::vector<float>(64, 65504.0F / 64))));
}

// False: bandwidth alone does not keep strong scaling; latency takes over. K local steps put it off by K.
TEST(ExerciseA, A18StrongScalingEndsAtLatency) {
  const auto step = [](int n, int local) {
    model::Scenario s = data_parallel(n, 1);
    work_of(s).layers[0] = {.forward = Seconds{0.1 / n},
                            .backward = Seconds{0.2 / n},
                            .gradients = Bytes{1024},
                            .activations = {}};
    work_of(s).optimizer = {};
    s.across.per_byte = {};
    s.job.steps = local;
    if (local > 1) s.policy = {.kind = model::PolicyKind::LocalSgd, .local_steps = local};
    return step_of(s).count();
  };
  const auto efficiency = [&](int n, int local) { return 0.3 / (n * step(n, local)); };
  EXPECT_GT(efficiency(8, 1), 0.95);
  EXPECT_LT(efficiency(1024, 1), 0.02);
  for (const int k : {1, 10, 100})  // Tc / n + 2 (n - 1) a / K
    EXPECT_NEAR(step(256, k), 0.3 / 256 + 2 * 255 * 10e-6 / k, 1e-9) << k;
  EXPECT_GT(efficiency(256, 100), 0.9);
}

// False: at a fixed global batch the update does not depend on the workers. A mean of means of unequal shards does.
TEST(ExerciseA, A19UpdateOfAFixedBatchIsTheSameForAnyWorkers) {
  const learn::ProblemSpec spec{
      .kind = learn::ProblemKind::Mlp, .dimension = 8, .hidden = 16, .held_out = 100};
  std::vector<float> one;
  for (const int n : {1, 4, 16}) {
    const auto problem = problem_of(spec);
    const auto learned = learn_for(*problem, sgd(0.5), way_of("synchronous"), {.workers = n}, 10,
                                   {.leaves = 16 / n, .samples = 2});
    if (n == 1) one = learned.parameters;
    EXPECT_EQ(learned.parameters, one) << n;
  }
  const auto problem = problem_of({.dimension = 1, .noise = 1});
  const std::vector<float> x{0};
  const auto mean = [&](std::int64_t first, std::int64_t count) {
    std::vector<float> g(1);
    problem->gradient(x, {.first = first, .count = count}, g);
    return static_cast<double>(g[0]);
  };
  EXPECT_NEAR((mean(0, 1) + 3 * mean(1, 3)) / 4, mean(0, 4), 1e-6);
  EXPECT_GT(std::abs((mean(0, 1) + mean(1, 3)) / 2 - mean(0, 4)), 0.01);
}

// True with caveats: K micro-batches are one batch of K times the size, for momentum and Adam too, with one meeting. Clipped one by
// one they are not.
TEST(ExerciseA, A20AccumulationIsTheLargerBatch) {
  for (const OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam}) {
    const auto run = [&](learn::StepShare share) {
      const auto problem = problem_of({.dimension = 20, .condition = 5, .noise = 1});
      return learn_for(*problem, {.kind = kind, .rate = 0.05}, way_of("synchronous"), {.workers = 2}, 25,
                       share)
          .parameters;
    };
    const auto accumulated = run({.leaves = 8, .samples = 4});
    const auto whole = run({.leaves = 1, .samples = 32});
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_NEAR(accumulated[i], whole[i], 2e-5) << name_of(kind);
  }
  const std::vector<learn::Tensor> tensors{{.name = "x"}};
  const auto clipped = [&](const std::vector<float>& gradients) {  // the sum of clipped ones, rate 1
    learn::Optimizer step({.kind = OptimizerKind::Sgd, .rate = 1, .clip = 1}, tensors);
    std::vector<float> x{0};
    for (const float g : gradients) step.step(x, {&g, 1});
    return -x[0] / static_cast<float>(gradients.size());
  };
  EXPECT_FLOAT_EQ(clipped({3, -1}), 0);
  EXPECT_FLOAT_EQ(clipped({1}), 1);  // the mean of both
}

}  // namespace
}  // namespace cox::exercises
