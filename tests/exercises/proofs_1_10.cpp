// SPDX-License-Identifier: Apache-2.0
// B.1 to B.10: statements to prove.
#include <algorithm>

#include "cox/base/random.hpp"
#include "cox/learn/stability.hpp"
#include "cox/model/closed_form.hpp"

#include "exercises/cut_layers.hpp"
#include "exercises/jobs.hpp"
#include "learn/stability/delay.hpp"
#include "simulate/training/plan/pipeline_orders.hpp"

namespace cox::exercises {
namespace {

using simulate::testing::run_orders;

// Synchronous data parallelism is the centralised run, bit for bit where its shards are summed in the same tree.
TEST(ExerciseB, B01SynchronousIsCentralised) {
  const learn::ProblemSpec spec{.kind = learn::ProblemKind::Logistic, .dimension = 10, .held_out = 100};
  std::vector<float> central;
  for (const int n : {1, 2, 8, 32}) {
    const auto problem = problem_of(spec);
    const auto run = learn_for(*problem, sgd(0.5), way_of("synchronous"),
                               {.workers = n, .law = learn::StepLaw::Exponential}, 200, {.leaves = 32 / n});
    if (n == 1) central = run.parameters;
    EXPECT_EQ(run.parameters, central) << n;
  }
}

// A bound with (1 + age)^2 is one, and no prediction: at an age of 20 it says 441 times the floor, and 1.2 to 3.5 are there.
TEST(ExerciseB, B02BoundsOfStaleNoiseAreNoPrediction) {
  const auto floor = [](std::int64_t tau, double a) {  // over rate x variance
    return a * learn::stationary_variance({.delay = tau}, a);
  };
  EXPECT_NEAR(floor(0, 0.01), 0.503, 0.001);
  EXPECT_NEAR(floor(20, 0.01), 0.615, 0.001);
  EXPECT_NEAR(floor(0, 0.05), 0.513, 0.001);
  EXPECT_NEAR(floor(20, 0.05), 1.79, 0.005);
  // The same from runs: 21 workers in turn, 400 coordinates.
  const auto problem = problem_of({.dimension = 400, .condition = 1, .noise = 1});
  double squares = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto run = learn_for(*problem, sgd(0.05), way_of("asynchronous"), {.workers = 21, .seed = seed},
                               1500 + 400 * static_cast<std::int64_t>(seed));
    for (const float x : run.parameters) squares += static_cast<double>(x) * static_cast<double>(x);
  }
  EXPECT_NEAR(squares / 1200 / 0.05, 1.79, 0.25);
}

// No all-reduce among the ranks sends less than 2 (n - 1) d in all; a ring sends that.
TEST(ExerciseB, B03ExactAveragingSendsAtLeastTwiceTheGradient) {
  using enum model::Algorithm;
  for (const auto algorithm : {Ring, BidirectionalRing, BinomialTree, BinaryTree, DoubleBinaryTree,
                               RecursiveDoubling, HalvingDoubling})
    for (const int n : {2, 3, 8, 13}) {
      const Bytes d{n * 24'000};
      const Bytes all = all_bytes(schedule_of({.algorithm = algorithm, .ranks = n, .bytes = d}));
      EXPECT_GE(all, d * 2 * (n - 1)) << name_of(algorithm) << ' ' << n;
      if (algorithm == Ring) {
        EXPECT_EQ(all, d * 2 * (n - 1));
      }
    }
}

// A ring: after n - 1 rounds each rank holds one whole chunk, another one each; after 2 (n - 1) all.
TEST(ExerciseB, B04RingReducesAChunkOnEachRankThenGathers) {
  for (const int n : {2, 4, 7}) {
    const auto schedule = schedule_of({.ranks = n, .bytes = Bytes{n * 10}});
    const auto size = static_cast<std::size_t>(n);
    // Whose gradients are in chunk c of rank r, a bit each.
    std::vector<std::vector<unsigned>> held(size, std::vector<unsigned>(size));
    for (std::size_t r = 0; r < size; ++r) held[r].assign(size, 1U << r);
    const unsigned whole = (1U << n) - 1;
    std::vector<model::Transfer> round;
    for (std::int64_t k = 0; k < schedule.rounds(); ++k) {
      if (k == n - 1) {
        std::vector<unsigned> owners(size);
        for (const auto& chunks : held) {
          EXPECT_EQ(std::ranges::count(chunks, whole), 1);
          ++owners[static_cast<std::size_t>(std::ranges::find(chunks, whole) - chunks.begin())];
        }
        EXPECT_EQ(owners, std::vector<unsigned>(size, 1));
      }
      const auto before = held;
      schedule.transfers(k, round);
      for (const model::Transfer& t : round) {
        const auto chunk = static_cast<std::size_t>(t.offset.count() / 10);
        unsigned& into = held[static_cast<std::size_t>(t.to)][chunk];
        const unsigned from = before[static_cast<std::size_t>(t.from)][chunk];
        EXPECT_TRUE(t.combine == model::Combine::Copy || (into & from) == 0U) << "a gradient added twice";
        into = t.combine == model::Combine::Add ? into | from : from;
      }
    }
    for (const auto& chunks : held) EXPECT_EQ(chunks, std::vector<unsigned>(size, whole));
  }
}

// With a rate of c / (L age) the error shrinks as 1 - c / (condition x age); with c / (mu (1 + age)), as printed, it grows.
TEST(ExerciseB, B05StaleRateFallsWithTheAgeAndTheLargestCurvature) {
  const double condition = 100, c = 0.5;
  for (const std::int64_t tau : {5, 10, 20, 50}) {
    const double t = static_cast<double>(tau);
    const double left = 1 - learn::growth({.delay = tau}, c / t / condition);  // of the flattest direction
    EXPECT_NEAR(left * condition * t / c, 1, 0.02) << tau;
    EXPECT_LT(learn::growth({.delay = tau}, c / t), 1) << tau;
  }
  const auto run = [&](double rate) {
    const auto problem = problem_of({.dimension = 10, .condition = condition});
    return learn_for(*problem, sgd(rate), way_of("synchronous"), {}, 200).loss;
  };
  EXPECT_GT(run(0.05 * condition), 1e6);  // c = 0.05, mu = 1 / condition, no age
  EXPECT_LT(run(0.05), 1);
}

// A pipeline's stages are busy for m of m + p - 1 slots.
TEST(ExerciseB, B06PipelineIsBusyForMOfMPlusPMinusOne) {
  for (const auto schedule : {model::PipelineSchedule::GPipe, model::PipelineSchedule::OneForwardOneBackward})
    for (const int p : {4, 8, 16})
      for (const int m : {1, 2, 8, 32}) {
        const auto ran = run_orders({.schedule = schedule, .stages = p, .micro_batches = m});
        ASSERT_TRUE(ran);
        EXPECT_EQ(ran->makespan, 6 * (m + p - 1));
      }
}

// Local SGD is a bounded staleness of (K - 1)(n - 1), not K (n - 1): with K = 1 it converges where an age of n - 1 diverges.
TEST(ExerciseB, B07LocalStepsOfOneAreNotStale) {
  const auto run = [](const char* word) {
    const auto problem = problem_of({.dimension = 4, .condition = 1});
    return learn_for(*problem, sgd(1.5), way_of(word), {.workers = 8}, 400).loss;
  };
  EXPECT_LT(run("local-sgd,local-steps=1"), 1e-6);
  EXPECT_GT(run("asynchronous"), 1e6);
}

/// Least squares of `m` samples with `d` normal features and labels that carry noise of 1: how far the loss of new samples is
/// above that of these ones, by the normal equations.
double generalisation_gap(int d, int m, std::uint64_t draw) {
  const RandomStream random(5, 9);
  std::uint64_t next = 0;
  const auto size = static_cast<std::size_t>(d);
  std::vector<std::vector<double>> a(size, std::vector<double>(size + 1));  // X'X | X'y, the truth is 0
  std::vector<double> x(size);
  for (int i = 0; i < m; ++i) {
    for (double& v : x) v = random.normal(draw, next++);
    const double y = random.normal(draw, next++);
    for (std::size_t r = 0; r < size; ++r) {
      for (std::size_t c = 0; c < size; ++c) a[r][c] += x[r] * x[c];
      a[r][size] += x[r] * y;
    }
  }
  const auto moments = a;
  for (std::size_t p = 0; p < size; ++p)
    for (std::size_t r = 0; r < size; ++r) {
      if (r == p) continue;
      const double factor = a[r][p] / a[p][p];
      for (std::size_t c = p; c <= size; ++c) a[r][c] -= factor * a[p][c];
    }
  double error = 0;
  double explained = 0;
  for (std::size_t p = 0; p < size; ++p) {
    const double w = a[p][size] / a[p][p];
    error += w * w;
    explained += w * moments[p][size];
  }
  return error + explained / m;  // and 1 - labels^2 / m, which is 0 in the mean
}

// The gap falls as 1 / samples, all of them, not as 1 / sqrt(batch): whoever minimises the same loss ends at the same place.
TEST(ExerciseB, B08GapFallsWithTheSamplesSeen) {
  const int d = 6;
  for (const int m : {30, 120, 480}) {
    double mean = 0;
    const int draws = 300;
    for (int i = 0; i < draws; ++i) mean += generalisation_gap(d, m, static_cast<std::uint64_t>(i)) / draws;
    const double exact = static_cast<double>(d) / (m - d - 1) + static_cast<double>(d) / m;
    EXPECT_NEAR(mean, exact, 0.1 * exact) << m;
  }
}

// Synchronous steps wait for the slowest; updates without meeting come at the sum of the speeds, a harmonic mean.
TEST(ExerciseB, B09SlowestSetsThePaceUnlessNobodyWaits) {
  std::vector<double> speeds(8, 1);
  speeds[7] = 0.1;
  const learn::DrawnSteps steps{.workers = 8, .speeds = speeds, .steps = 0};
  const auto rate = [&](const char* word) {  // time per update
    std::int64_t updates = 0;
    Seconds last{};
    learn::stream_drawn(way_of(word).policy, steps, [&](const sync::StreamEvent& e, Seconds at) {
      if (e.kind == sync::StreamEvent::Kind::Delivered) ++updates;
      last = at;
      return at < Seconds{2000};
    });
    return last.count() / static_cast<double>(updates);
  };
  EXPECT_NEAR(rate("synchronous"), 10.0 / 8, 0.01);
  EXPECT_NEAR(rate("asynchronous"), 1 / 7.1, 0.001);
  // The arithmetic mean of the times over the workers, as printed, is not it.
  EXPECT_GT((7 * 1.0 + 10) / 8 / 8, 1.8 * rate("asynchronous"));
}

// Tensor parallelism: bytes over operations go as the ways over the width; whether that fits a link is arithmetic.
TEST(ExerciseB, B10TensorParallelShareGrowsWithTheWays) {
  const auto per_operation = [](int k, int width) {
    const CutPair pair = cut_pair({.batch = 2, .width = width, .hidden = 4 * width, .ways = k});
    const Bytes d{4 * pair.reduced_elements};
    const Bytes sent = model::bytes_sent(schedule_of({.ranks = k, .bytes = d})).front();
    return static_cast<double>(sent.count()) / static_cast<double>(pair.multiplications);
  };
  EXPECT_NEAR(per_operation(4, 32) / per_operation(2, 32), 3, 1e-9);  // (k - 1)
  EXPECT_NEAR(per_operation(8, 32) / per_operation(2, 32), 7, 1e-9);
  EXPECT_NEAR(per_operation(4, 64) / per_operation(4, 32), 0.5, 1e-9);  // 1 / width
}

}  // namespace
}  // namespace cox::exercises
