// SPDX-License-Identifier: Apache-2.0
// B.11 to B.20: statements to prove.
#include <algorithm>
#include <cmath>
#include <set>

#include "cox/base/random.hpp"
#include "cox/forecast/checkpoints.hpp"
#include "cox/learn/stability.hpp"
#include "cox/model/closed_form.hpp"

#include "exercises/jobs.hpp"
#include "learn/compress/compressor.hpp"
#include "learn/stability/delay.hpp"
#include "simulate/training/plan/pipeline_orders.hpp"

namespace cox::exercises {
namespace {

using simulate::testing::data_parallel;
using simulate::testing::run_orders;
using simulate::testing::work_of;

// An unbiased quantiser with variance omega needs a rate below 2 / (L (1 + omega)), not 2 / L.
TEST(ExerciseB, B11UnbiasedQuantisersNeedALowerRate) {
  const auto run = [](double rate) {
    const auto problem = problem_of({.dimension = 400, .condition = 1});
    return learn_for(*problem, sgd(rate), way_of("synchronous+random-k,keep=0.25,feedback=none"), {}, 800)
        .loss;
  };
  EXPECT_LT(run(0.45), 1e-3);  // omega = 3: 2 / 4
  EXPECT_GT(run(0.55), 1e3);
  // Stochastic rounding to 8 bits has no bias: the mean of many comes to the vector.
  const auto spec = learn::read_compressor("qsgd,levels=127,feedback=none");
  ASSERT_TRUE(spec);
  const std::vector<learn::Tensor> tensors{{.name = "x", .rows = 512}};
  learn::Compressor by(*spec, tensors, 7);
  std::vector<float> x(512), out(512);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.7));
  std::vector<double> mean(512);
  const int draws = 4000;
  double variance = 0, size = 0;
  for (int k = 0; k < draws; ++k) {
    by.compress(x, k, 0, out);
    for (std::size_t i = 0; i < x.size(); ++i) {
      mean[i] += static_cast<double>(out[i]) / draws;
      variance += std::pow(static_cast<double>(out[i] - x[i]), 2) / draws;
    }
  }
  for (const float v : x) size += static_cast<double>(v) * static_cast<double>(v);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(mean[i], x[i], 0.02) << i;
  EXPECT_GT(variance / size, 0.001);
  EXPECT_LT(variance / size, 512 / (127.0 * 127.0));  // the bound of QSGD
}

// Two levels have fewer latencies as well: they win for small messages too, and for large ones where each device has a
// card.
TEST(ExerciseB, B12TwoLevelsHaveFewerLatencies) {
  const int g = 8, m = 32;
  const model::MessageCost inside{.latency = Seconds{2e-6},
                                  .per_byte = Bandwidth::gbyte_per_s(600).time_per_byte()};
  const model::MessageCost across{.latency = Seconds{10e-6},
                                  .per_byte = Bandwidth::gbyte_per_s(25).time_per_byte()};
  model::MessageCost shared = across;
  shared.per_byte = Bandwidth::gbyte_per_s(25.0 / g).time_per_byte();
  const auto levels = [&](Bytes d, const model::MessageCost& between) {
    const model::MessageCost both[] = {inside, between};
    return model::closed_form(
               {.algorithm = model::Algorithm::Hierarchical2, .ranks = g * m, .bytes = d, .group = g}, both)
        ->count();
  };
  const auto flat = [&](Bytes d) {
    return model::closed_form({.ranks = g * m, .bytes = d}, across)->count();
  };
  EXPECT_NEAR(flat(Bytes{65'536}), 5.1e-3, 0.05e-3);
  EXPECT_NEAR(levels(Bytes{65'536}, shared), 0.65e-3, 0.05e-3);
  EXPECT_NEAR(flat(Bytes{1'000'000'000}), 84.8e-3, 0.2e-3);
  EXPECT_NEAR(levels(Bytes{1'000'000'000}, shared), 81.1e-3, 0.5e-3);
  EXPECT_NEAR(levels(Bytes{1'000'000'000}, across), 13.3e-3, 0.5e-3);
}

// Interleaving by v makes the bubble (p - 1) / (v m + p - 1) of the step, (p - 1) / v slots; not what is printed.
TEST(ExerciseB, B13InterleavingDividesTheBubble) {
  for (const int p : {4, 8})
    for (const int v : {1, 2, 4})
      for (const int m : {8, 32}) {
        const auto ran = run_orders({.schedule = model::PipelineSchedule::Interleaved,
                                     .stages = p,
                                     .micro_batches = m,
                                     .chunks = v,
                                     .forward = 4,
                                     .input = 4,
                                     .weight = 4});
        ASSERT_TRUE(ran);
        EXPECT_EQ(ran->makespan, 12 * m + 12 * (p - 1) / v) << p << ' ' << v << ' ' << m;
        const double bubble = 1 - 12.0 * m / ran->makespan;
        EXPECT_NEAR(bubble, (p - 1.0) / (v * m + p - 1), 1e-12);
        if (v > 1) {
          EXPECT_GT(std::abs(bubble - (p * 1.0 / v - 1) / (m + p * 1.0 / v - 1)), 0.005);
        }
      }
}

// Two curvatures under delay: the larger one gives way first, and only it.
TEST(ExerciseB, B14LargestCurvatureDivergesFirst) {
  const int workers = 6;
  const double rate = 1.05 * learn::stable_edge({.delay = workers - 1}) / 10;
  const auto problem = problem_of({.dimension = 2, .condition = 10, .curvature = 10});
  const auto run = learn_for(*problem, sgd(rate), way_of("asynchronous"), {.workers = workers}, 2000);
  EXPECT_GT(std::abs(run.parameters[0]), 1e3F);
  EXPECT_LT(std::abs(run.parameters[1]), 1e-3F);
}

// The best interval between checkpoints is sqrt(2 C M) to first order; the exact one is a little longer for this waste.
TEST(ExerciseB, B15BestCheckpointIntervalIsYoungsNearly) {
  struct {
    double checkpoint, between, best, waste;  // minutes, hours, hours, part
  } cases[] = {{1.5, 21.4, 1.034, 0.0486}, {10, 22.8, 2.757, 0.1279}};
  for (const auto& c : cases) {
    const Seconds checkpoint{60 * c.checkpoint}, between{3600 * c.between};
    EXPECT_NEAR(forecast::young_interval(checkpoint, between).count(),
                std::sqrt(2 * checkpoint.count() * between.count()), 1e-6);
    double least = 1e9, at = 0;
    for (double hours = 0.1; hours < 8; hours += 0.001)
      if (const double w = forecast::wall_over_work(Seconds{3600 * hours}, checkpoint, {}, between) - 1;
          w < least) {
        least = w;
        at = hours;
      }
    EXPECT_NEAR(at, forecast::best_interval(checkpoint, between).count() / 3600, 0.002);
    EXPECT_LT(at, forecast::young_interval(checkpoint, between).count() / 3600);
  }
}

// With a fixed global batch of 1024 the variance of the update is that of 1024 samples, on 1 to 16 workers.
TEST(ExerciseB, B16VarianceOfAFixedGlobalBatch) {
  const auto problem = problem_of({.dimension = 500, .noise = 1});
  for (const int n : {1, 2, 4, 8, 16})
    EXPECT_NEAR(noise_of_mean(*problem, 20, n, 1024 / n) * 1024, 1, 0.06) << n;
}

// "Never below c / sqrt(n)" is false: where communication does not grow, speedup is n / 2 at n* = Tc / D; where it grows
// with n, it is best at sqrt(Tc / c).
TEST(ExerciseB, B17SpeedupIsLinearUpToWhereBothAreEqual) {
  const auto step = [](int n, model::Algorithm algorithm) {
    model::Scenario s = data_parallel(n, 1);
    work_of(s).overlap = false;
    work_of(s).optimizer = {};
    work_of(s).layers[0] = {.forward = Seconds{0.256 / n},
                            .backward = Seconds{0.256 / n},
                            .gradients = Bytes{12'500'000},
                            .activations = {}};
    work_of(s).collective.algorithm = algorithm;
    s.across.latency = algorithm == model::Algorithm::Ring ? Seconds{} : Seconds{50e-6};
    return step_of(s).count();
  };
  // A ring without latency: D = 1 ms, n* = 512.
  double last = 1;
  for (const int n : {2, 8, 32, 128, 512}) {
    EXPECT_LT(step(n, model::Algorithm::Ring), last) << n;
    last = step(n, model::Algorithm::Ring);
  }
  EXPECT_NEAR(0.512 / step(512, model::Algorithm::Ring), 256, 1);
  EXPECT_GT(0.512 / step(512, model::Algorithm::Ring), 10 * std::sqrt(512));
  // A ring of latencies, 2 (n - 1) a: best near sqrt(Tc / 2 a).
  const auto slow = [](int n) {
    model::Scenario s = data_parallel(n, 1);
    work_of(s).optimizer = {};
    work_of(s).layers[0] = {.forward = Seconds{0.256 / n},
                            .backward = Seconds{0.256 / n},
                            .gradients = Bytes{1024},
                            .activations = {}};
    s.across = {.latency = Seconds{250e-6}};
    return step_of(s).count();
  };
  EXPECT_LT(slow(32), slow(16));
  EXPECT_LT(slow(32), slow(64));
  EXPECT_NEAR(slow(32), 2 * std::sqrt(0.512 * 500e-6), 1e-3);
}

// Momentum under delay: the exact radius, and a printed threshold that is up to 2.3 times too low.
TEST(ExerciseB, B18MomentumUnderDelayHasAnExactEdge) {
  EXPECT_NEAR(learn::growth({.delay = 1, .momentum = 0.9}, 0.1), 1.0, 1e-6);
  EXPECT_NEAR(learn::growth({.delay = 2, .momentum = 0.9}, 0.1), 1.041, 0.001);
  const std::pair<std::int64_t, double> edges[] = {{1, 0.1},      {2, 0.05125},  {5, 0.0215},
                                                   {10, 0.01139}, {15, 0.00793}, {20, 0.00615}};
  for (const auto& [tau, edge] : edges) {
    const double exact = learn::stable_edge({.delay = tau, .momentum = 0.9});
    EXPECT_NEAR(exact, edge, 0.003 * edge) << tau;
    const double printed = 0.1 / (1.9 * static_cast<double>(tau));
    EXPECT_GT(exact / printed, 1.5) << tau;
    EXPECT_LT(exact / printed, 2.4) << tau;
  }
}

// An exchange of tokens: each of n workers with d tokens and k experts each sends k d (n - 1) / n, not n d.
TEST(ExerciseB, B19TokensSentDoNotGrowWithTheWorkers) {
  const int d = 512, k = 2;
  const RandomStream random(3, 4);
  for (const int n : {8, 32, 128}) {
    double sent = 0;
    const int draws = 40;
    for (int draw = 0; draw < draws; ++draw)
      for (int token = 0; token < d; ++token) {
        std::set<int> experts;  // one on each worker; this is worker 0
        for (std::uint64_t i = 0; experts.size() < k; ++i)
          experts.insert(
              static_cast<int>(random.uniform(static_cast<std::uint64_t>(draw * d + token), i) * n));
        sent += static_cast<double>(experts.size() - experts.count(0)) / draws;
      }
    const double expected = static_cast<double>(k) * d * (n - 1) / n;
    EXPECT_NEAR(sent, expected, 0.01 * expected) << n;
    const auto exchange = schedule_of({.kind = model::Collective::AllToAll,
                                       .algorithm = model::Algorithm::Direct,
                                       .ranks = n,
                                       .bytes = Bytes{k * d * 128}});
    EXPECT_EQ(model::bytes_sent(exchange).front(), Bytes{k * d * 128 / n * (n - 1)});
    EXPECT_EQ(exchange.rounds(), n - 1);  // what does grow: messages
  }
}

// "K times fewer meetings cost iterations" is false for workers that are alike, and true for those that differ.
TEST(ExerciseB, B20LocalStepsCostIterationsOnlyWhereWorkersDiffer) {
  const auto steps = [](int k, double spread) {
    const auto problem = problem_of({.dimension = 20,
                                     .condition = 10,
                                     .spread = spread,
                                     .hessian_spread = spread > 0 ? 0.9 : 0,
                                     .workers = 4});
    learn::Way way = way_of("local-sgd");
    way.policy.local_steps = k;
    const std::int64_t most = 40'000;
    return versions_to(*problem, 1e-4, sgd(0.1), way, {.workers = 4}, most / k) * k;
  };
  const auto one = steps(1, 0);
  ASSERT_LT(one, 40'000);
  for (const int k : {2, 4, 8, 16})
    EXPECT_NEAR(static_cast<double>(steps(k, 0)), static_cast<double>(one), k);
  EXPECT_LT(steps(1, 1), 40'000);
  EXPECT_GE(steps(8, 1), 39'000);  // a floor of its own: never
}

}  // namespace
}  // namespace cox::exercises
