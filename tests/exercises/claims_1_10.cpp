// SPDX-License-Identifier: Apache-2.0
// A.1 to A.10: claims, true or false.
#include <algorithm>
#include <map>

#include "cox/model/closed_form.hpp"
#include "cox/simulate/max_plus.hpp"

#include "exercises/jobs.hpp"
#include "learn/stability/delay.hpp"
#include "learn/stability/local_rounds.hpp"
#include "simulate/training/plan/pipeline_orders.hpp"

namespace cox::exercises {
namespace {

using simulate::testing::data_parallel;
using simulate::testing::run_orders;
using simulate::testing::work_of;

// True: with B samples on each of n workers the variance of the mean gradient is sigma^2 / (n B).
TEST(ExerciseA, A01VarianceOfTheMeanFallsWithWorkersAtABatchEach) {
  const auto problem = problem_of({.dimension = 500, .noise = 2});
  for (const int n : {1, 2, 4, 16, 64}) {
    // 500 coordinates x 20 draws: a standard error of sqrt(2 / 10,000) = 1.4 %.
    EXPECT_NEAR(noise_of_mean(*problem, 20, n, 4) * n * 4 / 4.0, 1, 0.06) << n;
  }
}

// True as it is meant: a bounded age and a step of C / age keep convergence, where C < pi / 2. To a floor: with noise, not
// to the optimum.
TEST(ExerciseA, A02BoundedStalenessConvergesWhereTheStepFallsWithTheAge) {
  for (const std::int64_t tau : {1, 2, 5, 10, 50, 200}) {
    const double t = static_cast<double>(tau);
    EXPECT_LT(learn::growth({.delay = tau}, 0.95 / t), 1) << tau;
    EXPECT_GT(learn::growth({.delay = tau}, 1.6 / t), 1) << tau;
    const double fresh = 0.5 / t / (2 - 0.5 / t);  // rate^2 sigma^2 over the distance that one step leaves
    const double floor = 0.5 / t * (0.5 / t) * learn::stationary_variance({.delay = tau}, 0.5 / t);
    EXPECT_GT(floor, fresh) << tau;
    EXPECT_LT(floor, 4 * fresh) << tau;
  }
  const auto problem = problem_of({.dimension = 20, .condition = 10});
  const double rate = 0.9 / 9;
  EXPECT_LT(learn_for(*problem, sgd(rate), way_of("asynchronous"), {.workers = 10}, 8000).loss, 1e-6);
}

// True: a ring takes 2 (n - 1) latencies and 2 (n - 1) / n of the bytes.
TEST(ExerciseA, A03RingTakesItsLatenciesAndItsBytes) {
  const model::MessageCost cost{.latency = Seconds{3e-6},
                                .per_byte = Bandwidth::gbyte_per_s(20).time_per_byte()};
  for (const int n : {2, 3, 8, 60, 256}) {
    const Bytes d{std::int64_t{n} * 1'000'000};
    const double wanted = 2 * (n - 1) * 3e-6 + 2.0 * (n - 1) / n * static_cast<double>(d.count()) / 20e9;
    const model::CollectiveSpec ring{.ranks = n, .bytes = d};
    EXPECT_NEAR(model::closed_form(ring, cost)->count(), wanted, 1e-12 * n);
    std::vector<Seconds> times(static_cast<std::size_t>(n));
    const simulate::LinkCosts costs{.inside = cost, .across = cost};
    const auto schedule = schedule_of(ring);
    simulate::MaxPlus engine(schedule, costs, {.closure = false});
    engine.run(times, nullptr, 0, 0);
    EXPECT_NEAR(times.back().count(), wanted, 1e-12 * n);
  }
}

// False: p stages are not p times as fast; p m / (m + p - 1). Recomputing activations lengthens steps and leaves the share
// of the bubble.
TEST(ExerciseA, A04PipelineIsSlowerThanItsStagesPromise) {
  for (const int p : {2, 4, 8})
    for (const int m : {1, 4, 8, 32})
      for (const int recompute : {0, 2}) {
        const auto ran = run_orders({.schedule = model::PipelineSchedule::OneForwardOneBackward,
                                     .stages = p,
                                     .micro_batches = m,
                                     .input = 2 + recompute});
        ASSERT_TRUE(ran);
        const double serial = static_cast<double>(p) * m * (6 + recompute);
        EXPECT_NEAR(serial / ran->makespan, static_cast<double>(p) * m / (m + p - 1), 1e-12);
        EXPECT_LT(serial / ran->makespan, p);
      }
}

/// Variance of what noise moves in an epoch of 16 batches of 8, taken k at a time at k times the rate.
double noise_of_epoch(learn::Problem& problem, int epochs, int k) {
  const auto n = static_cast<std::size_t>(problem.parameters());
  const std::vector<float> optimum(n);
  std::vector<float> g(n);
  double squares = 0;
  std::int64_t first = std::int64_t{1'000'000} * k;  // other samples for each k
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::vector<double> moved(n);
    for (int step = 0; step < 16 / k; ++step, first += 8 * k) {
      problem.gradient(optimum, {.first = first, .count = 8 * k}, g);
      for (std::size_t i = 0; i < n; ++i) moved[i] += k * static_cast<double>(g[i]);
    }
    for (const double m : moved) squares += m * m;
  }
  return squares / (static_cast<double>(n) * epochs);
}

// True in one reading: a rate that grows with the batch keeps the noise of an epoch. That of a step grows by sqrt(k).
TEST(ExerciseA, A05LinearScalingKeepsTheNoiseOfAnEpochNotOfAStep) {
  const auto problem = problem_of({.dimension = 500, .noise = 1});
  const double one = noise_of_mean(*problem, 64, 1, 8);
  for (const int k : {4, 8, 16}) {
    const double step = noise_of_mean(*problem, 64, k, 8) * k * k / one;  // the rate is k times as large
    EXPECT_NEAR(step / k, 1, 0.08) << k;                                  // a variance: sqrt(k) in size
    EXPECT_NEAR(noise_of_epoch(*problem, 16, k) / noise_of_epoch(*problem, 16, 1), 1, 0.08) << k;
  }
}

struct ToTarget {
  double updates = std::numeric_limits<double>::infinity();
  double time = 0;
};
/// Asynchronous workers in turn, at the rate that needs the fewest updates; means of four seeds.
ToTarget best_of(int workers, double noise, double target) {
  ToTarget best;
  for (double rate = 0.005; rate < 2; rate *= 1.1) {
    ToTarget sum{.updates = 0};
    for (const std::int64_t seed : {1, 2, 3, 4}) {
      const auto problem = problem_of({.dimension = 10, .condition = 10, .noise = noise, .seed = seed});
      Seconds took{};
      sum.updates += static_cast<double>(versions_to(*problem, target, sgd(rate), way_of("asynchronous"),
                                                     {.workers = workers}, 2'000, &took)) /
                     4;
      sum.time += took.count() / 4;
    }
    if (sum.updates < best.updates) best = sum;
  }
  EXPECT_LT(best.updates, 2'000) << workers;
  return best;
}

// True: time to a target is iterations times their time. Workers that do not wait shorten an iteration and raise the number of
// iterations, each at its best rate: as much without noise, so that nothing is gained, and less where noise sets the pace.
TEST(ExerciseA, A06StalenessTradesIterationsForTheirTime) {
  for (const double noise : {0.0, 1.0}) {
    const double target = noise > 0 ? 0.02 : 1e-6;
    const ToTarget alone = best_of(1, noise, target);
    double last = alone.updates;
    for (const int workers : {4, 16}) {
      const ToTarget many = best_of(workers, noise, target);
      EXPECT_NEAR(many.time, many.updates / workers, 1) << workers;
      EXPECT_GT(many.updates, last) << workers;
      last = many.updates;
      if (noise > 0) {
        EXPECT_GT(alone.time / many.time, 0.8 * workers) << workers;
      } else {
        EXPECT_LT(alone.time / many.time, 1) << workers;
      }
    }
  }
}

// False: an unbiased compressor that adds variance does raise the floor, here by 1 / keep.
TEST(ExerciseA, A07UnbiasedCompressionRaisesTheFloor) {
  const auto floor = [](const char* word) {
    const auto problem = problem_of({.dimension = 1000, .condition = 1, .noise = 1});
    double sum = 0;
    for (const std::uint64_t seed : {1, 2, 3})
      sum += learn_for(*problem, sgd(0.05), way_of(word), {.workers = 2, .seed = seed}, 400).loss;
    return sum;
  };
  const double ratio = floor("synchronous+random-k,keep=0.25,feedback=none") / floor("synchronous");
  // (1 + omega) / (2 - a (1 + omega)) over 1 / (2 - a), 1 + omega = 4, a = 0.05: 4 x 1.95 / 1.8.
  EXPECT_NEAR(ratio, 4.33, 0.5);
}

// False: four times the workers are not four times as fast; 4 (C + 1) / (C + 4), C the compute over the communication.
TEST(ExerciseA, A08FourTimesTheWorkersAreNotFourTimesAsFast) {
  for (const double ratio : {1.0, 2.0, 3.0, 7.0}) {
    const auto step = [&](int n) {
      model::Scenario s = data_parallel(n, 1);
      work_of(s).overlap = false;
      work_of(s).optimizer = {};
      work_of(s).bucket = Bytes{1'000'000'000};
      s.across.latency = {};
      work_of(s).layers[0].gradients = Bytes{819'200'000};
      const Seconds message = s.across.per_byte.over(Bytes{2 * 819'200'000});
      work_of(s).layers[0].forward = message * (ratio * 256 / n / 3);
      work_of(s).layers[0].backward = message * (ratio * 256 / n * 2 / 3);
      return step_of(s).count();
    };
    const double speedup = step(256) / step(1024);
    EXPECT_NEAR(speedup, 4 * (ratio + 1) / (ratio + 4), 0.01) << ratio;
    if (ratio == 2) {
      EXPECT_NEAR(speedup, 2, 0.01);
    }
    EXPECT_LT(speedup, 4);
  }
}

/// Each worker's steps move its own parameter by 1: parameters count whose steps are in them.
class Counting final : public learn::Problem {
 public:
  explicit Counting(int workers) : tensor_{.name = "x", .rows = workers} {}
  std::span<const learn::Tensor> tensors() const override { return {&tensor_, 1}; }
  void initial(std::span<float> x) const override { std::fill(x.begin(), x.end(), 0.0F); }
  double gradient(std::span<const float> x, const learn::Shard& shard, std::span<float> g) override {
    std::fill(g.begin(), g.end(), 0.0F);
    g[static_cast<std::size_t>(shard.worker)] =
        static_cast<float>(g.size());  // the mean over workers takes it off
    seen[shard.first].assign(x.begin(), x.end());
    return 0;
  }
  learn::Score score(std::span<const float>) override { return {}; }
  Flops flops() const override { return Flops{1}; }
  std::map<std::int64_t, std::vector<float>> seen;  ///< by sample: where its gradient was asked for

 private:
  learn::Tensor tensor_;
};

// True as O(K (n - 1)), and tight as (K - 1) (n - 1): a worker's local step has not seen what the others did in its round, K - 1
// steps of each before its last one. With K = 1 nothing is stale.
TEST(ExerciseA, A09LocalStepsAreABoundedStaleness) {
  for (const int n : {2, 5})
    for (const int k : {1, 2, 7}) {
      Counting problem(n);
      learn::Way way = way_of("local-sgd");
      way.policy.local_steps = k;
      learn_for(problem, sgd(1), way, {.workers = n, .steps = 4 * k}, 4);
      ASSERT_EQ(problem.seen.size(), static_cast<std::size_t>(4 * k * n));
      long most = 0;
      for (const auto& [sample, x] : problem.seen) {
        const long step = static_cast<long>(sample) / n;  // that all are in
        const auto worker = static_cast<std::size_t>(sample % n);
        long missing = 0;  // steps of others that are over and not in the parameters
        for (std::size_t other = 0; other < x.size(); ++other)
          if (other != worker) missing += step - std::lround(-x[other]);
        most = std::max(most, missing);
      }
      EXPECT_EQ(most, (k - 1) * (n - 1));
    }
  // Drift: the distance of workers before they meet grows with rate and steps.
  EXPECT_NEAR(learn::local_spread(8, 0.01, 1e-6, 4) / learn::local_spread(8, 0.01, 1e-6, 1), 4, 1e-3);
  EXPECT_NEAR(learn::local_spread(8, 0.02, 1e-6, 4) / learn::local_spread(8, 0.01, 1e-6, 4), 4, 1e-3);
}

// False: with a fixed global batch the mean's variance does not fall with the workers; each worker's rises.
TEST(ExerciseA, A10FixedGlobalBatchKeepsItsVariance) {
  const auto problem = problem_of({.dimension = 500, .noise = 1});
  for (const int n : {1, 4, 16, 64}) {
    EXPECT_NEAR(noise_of_mean(*problem, 20, n, 64 / n) * 64, 1, 0.06) << n;
    EXPECT_NEAR(noise_of_mean(*problem, 20, 1, 64 / n) * 64, n, 0.06 * n) << n;
  }
}

}  // namespace
}  // namespace cox::exercises
