// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/learner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "cox/learn/drawn.hpp"
#include "cox/sync/policy.hpp"

namespace cox::learn {
namespace {

using model::PolicyKind;

/// f_w(x) = l_w (x - b_w)^2 / 2 on each worker: its gradients are known to the last digit.
class Scalars final : public Problem {
 public:
  Scalars(std::vector<double> curvatures, std::vector<double> optima, double start)
      : curvatures_(std::move(curvatures)), optima_(std::move(optima)), start_(start) {}
  std::span<const Tensor> tensors() const override { return {&tensor_, 1}; }
  void initial(std::span<float> x) const override { x[0] = static_cast<float>(start_); }
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override {
    const auto w = static_cast<std::size_t>(shard.worker) % curvatures_.size();
    const double away = x[0] - optima_[w];
    g[0] = static_cast<float>(curvatures_[w] * away);
    if (shard.first == poisoned) g[0] = std::numeric_limits<float>::quiet_NaN();
    return curvatures_[w] * away * away / 2;
  }
  Score score(std::span<const float> x) override { return {.loss = x[0]}; }
  Flops flops() const override { return Flops{2}; }

  std::int64_t poisoned = -1;  ///< sample

 private:
  std::vector<double> curvatures_, optima_;
  double start_;
  Tensor tensor_{.name = "x"};
};

Way way_of(std::string_view text) {
  auto way = read_way(text);
  EXPECT_TRUE(way) << way.error().to_string();
  return way ? *way : Way{};
}

OptimizerSpec sgd(double rate) {
  return {.kind = OptimizerKind::Sgd, .rate = rate};
}

/// After `updates` versions under constant step times.
double after(Problem& problem, const OptimizerSpec& optimizer, const Way& way, int workers,
             std::int64_t versions) {
  Learner learner(problem, optimizer, way, {}, workers);
  stream_drawn(way.policy, {.workers = workers}, [&](const sync::StreamEvent& e, Seconds) {
    return learner.take(e) && learner.version() < versions;
  });
  return learner.diverged() ? std::numeric_limits<double>::infinity() : learner.parameters()[0];
}

/// Edge of a constant delay: a = 2 sin(pi / (2 (2 tau + 1))).
double edge(int tau) {
  return 2 * std::sin(std::acos(-1.0) / (2 * (2 * tau + 1)));
}

TEST(Learner, ConstantDelaysAreStableUpToTheirEdge) {
  // Versions after which 1 % beyond the edge has grown a thousandfold: learning.md, check 10.
  const std::pair<int, std::int64_t> delays[] = {{0, 350},  {1, 1400},   {2, 2400},   {3, 3400},
                                                 {5, 5300}, {10, 10300}, {20, 20000}, {50, 49300}};
  for (const auto& [tau, versions] : delays)
    for (const double off : {0.99, 1.01}) {
      Scalars problem({1}, {0}, 1);
      Learner learner(problem, sgd(off * edge(tau)), way_of("asynchronous"), {}, tau + 1);
      double widest = 0;  // of the last period
      const std::int64_t period = 2 * (2 * std::int64_t{tau} + 1);
      stream_drawn({.kind = PolicyKind::Asynchronous}, {.workers = tau + 1},
                   [&](const sync::StreamEvent& e, Seconds) {
                     if (!learner.take(e)) return false;
                     if (learner.version() > versions - period)
                       widest = std::max(widest, std::abs(static_cast<double>(learner.parameters()[0])));
                     return learner.version() < versions;
                   });
      if (off < 1)
        EXPECT_LT(widest, 0.01) << "delay " << tau;
      else
        EXPECT_GT(widest, 100) << "delay " << tau;
    }
}

TEST(Learner, MomentumLowersTheEdge) {
  // Heavy ball 0.9 and Nesterov 0.9 at a delay of 1 and 10: learning.md, section 4.
  const std::tuple<OptimizerKind, int, double> edges[] = {{OptimizerKind::Momentum, 1, 0.1},
                                                          {OptimizerKind::Momentum, 10, 0.0113899},
                                                          {OptimizerKind::Nesterov, 1, 0.253138},
                                                          {OptimizerKind::Nesterov, 10, 0.0123036}};
  for (const auto& [kind, tau, at] : edges)
    for (const double off : {0.97, 1.03}) {
      Scalars problem({1}, {0}, 1);
      const OptimizerSpec spec{.kind = kind, .rate = off * at, .momentum = 0.9};
      Learner learner(problem, spec, way_of("asynchronous"), {}, tau + 1);
      double widest = 0;
      stream_drawn({.kind = PolicyKind::Asynchronous}, {.workers = tau + 1},
                   [&](const sync::StreamEvent& e, Seconds) {
                     if (!learner.take(e)) return false;
                     if (learner.version() > 39'000)
                       widest = std::max(widest, std::abs(static_cast<double>(learner.parameters()[0])));
                     return learner.version() < 40'000;
                   });
      if (off < 1)
        EXPECT_LT(widest, 0.1) << name_of(kind) << " delay " << tau;
      else
        EXPECT_TRUE(learner.diverged() || widest > 10) << name_of(kind) << " delay " << tau << ' ' << widest;
    }
}

TEST(Learner, LocalSgdFedAvgAndDiLoCoShareABiasedFixedPoint) {
  // Curvatures 1 and 3, optima 0 and 1, rate 0.1; the optimum of the mean is 0.75: learning.md, section 3.
  const std::pair<int, double> points[] = {
      {2, 0.728571}, {4, 0.688440}, {8, 0.623296}, {16, 0.550232}, {32, 0.508731}};
  for (const auto& [k, x] : points)
    for (const char* word : {"local-sgd", "diloco"}) {
      Scalars problem({1, 3}, {0, 1}, 5);
      Way way = way_of(word);
      way.policy.local_steps = k;
      EXPECT_NEAR(after(problem, sgd(0.1), way, 2, 600), x, 2e-6) << word << ' ' << k;
    }
  Scalars problem({1, 3}, {0, 1}, 5);
  EXPECT_NEAR(after(problem, sgd(0.1), way_of("synchronous"), 2, 600), 0.75, 1e-6);
  EXPECT_NEAR(after(problem, sgd(0.1), way_of("scaffold,local-steps=8"), 2, 2000), 0.75, 2e-6);
}

TEST(Learner, FedProxSolvedLocallyHasItsFixedPoint) {
  for (const auto& [pull, x] : {std::pair{1.0, 0.6}, std::pair{10.0, 0.717391}}) {
    Scalars problem({1, 3}, {0, 1}, 5);
    Way way = way_of("fedprox,local-steps=400");
    way.proximal = pull;
    EXPECT_NEAR(after(problem, sgd(0.05), way, 2, 300), x, 1e-5);
  }
}

TEST(Learner, DiLoCoDivergesWhereLocalSgdConverges) {
  // Inner factor q = (1 - a)^K = -0.95: near the inner edge, K odd. DiLoCo needs q > -0.939 at 0.7 and 0.9.
  for (const char* word : {"local-sgd,local-steps=1", "diloco,local-steps=1"}) {
    Scalars problem({1}, {0}, 1);
    const Way way = way_of(word);
    const double x = std::abs(after(problem, sgd(1.95), way, 1, 1000));
    if (way.is_local())
      EXPECT_GT(x, 100);
    else
      EXPECT_LT(x, 1e-10);
  }
}

TEST(Learner, SynchronousHasTheBitsOfTheCentralisedRunOnOneTo64Workers) {
  const ProblemSpec spec{.dimension = 50, .condition = 100, .noise = 1, .reflections = 2};
  std::vector<float> central;
  for (const int workers : {1, 2, 8, 64})
    for (const OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Adam}) {
      auto problem = make_problem(spec);
      ASSERT_TRUE(problem);
      Learner learner(**problem, {.kind = kind, .rate = 0.1}, {}, {.leaves = 64 / workers}, workers);
      stream_drawn({}, {.workers = workers, .law = StepLaw::Exponential, .steps = 20},
                   [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); });
      EXPECT_EQ(learner.version(), 20);
      EXPECT_EQ(learner.samples(), 20 * 64);
      const auto x = learner.parameters();
      if (workers == 1) {
        central.insert(central.end(), x.begin(), x.end());
      } else {
        const auto first = central.begin() + (kind == OptimizerKind::Sgd ? 0 : 50);
        EXPECT_TRUE(std::equal(x.begin(), x.end(), first)) << workers << " workers, " << name_of(kind);
      }
    }
}

TEST(Learner, LocalSgdOfOneStepIsSynchronousBitForBit) {
  const ProblemSpec spec{.dimension = 50, .noise = 1};
  std::vector<std::vector<float>> ends;
  for (const char* word : {"synchronous", "local-sgd,local-steps=1"}) {
    auto problem = make_problem(spec);
    Learner learner(**problem, sgd(0.1), way_of(word), {}, 5);
    stream_drawn(way_of(word).policy, {.workers = 5, .steps = 30},
                 [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); });
    ends.emplace_back(learner.parameters().begin(), learner.parameters().end());
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(Learner, WaitingWithBoundZeroIsSynchronousForSgdToRounding) {
  // N small steps with 1/N of the rate at the same version each, against one: the same sum.
  const ProblemSpec spec{.dimension = 20, .noise = 1};
  auto a = make_problem(spec), b = make_problem(spec);
  Learner whole(**a, sgd(0.1), {}, {}, 4);
  Learner parts(**b, sgd(0.1 / 4), way_of("bounded-wait,staleness=0"), {}, 4);
  stream_drawn({}, {.workers = 4, .steps = 50},
               [&](const sync::StreamEvent& e, Seconds) { return whole.take(e); });
  stream_drawn(way_of("bounded-wait,staleness=0").policy, {.workers = 4, .steps = 50},
               [&](const sync::StreamEvent& e, Seconds) { return parts.take(e); });
  for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(whole.parameters()[i], parts.parameters()[i], 2e-6);
}

TEST(Learner, NoiseHasItsFloorAndTheBatchDividesIt) {
  // f's floor: rate sigma^2 / (2 B (2 - rate L)); rate 0.5, sigma 2, B 8: 0.083333 (learning.md, check 20).
  for (const int workers : {1, 8}) {
    auto problem = make_problem({.dimension = 100, .condition = 1, .noise = 2});
    Learner learner(**problem, sgd(0.5), {}, {.leaves = 1, .samples = 8 / workers}, workers);
    double sum = 0;
    int count = 0;
    stream_drawn({}, {.workers = workers, .steps = 1040}, [&](const sync::StreamEvent& e, Seconds) {
      const bool more = learner.take(e);
      if (e.kind == sync::StreamEvent::Kind::Advanced && learner.version() > 40) {
        sum += (*problem)->score(learner.parameters()).loss / 100;
        ++count;
      }
      return more;
    });
    EXPECT_NEAR(sum / count, 0.083333, 0.001) << workers << " workers";
  }
}

TEST(Learner, CompressionThatKeepsAllIsDenseBitForBit) {
  const ProblemSpec spec{.dimension = 50, .noise = 1};
  std::vector<std::vector<float>> ends;
  for (const char* word :
       {"synchronous", "synchronous+top-k,keep=1", "synchronous+top-k,keep=1,feedback=none"}) {
    auto problem = make_problem(spec);
    Learner learner(**problem, sgd(0.1), way_of(word), {}, 4);
    stream_drawn({}, {.workers = 4, .steps = 30},
                 [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); });
    ends.emplace_back(learner.parameters().begin(), learner.parameters().end());
    EXPECT_EQ(learner.sent() > Bytes{}, ends.size() > 1);
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

TEST(Learner, UnlikeWorkersNeedFeedbackAndEf21IsExact) {
  // learning.md, section 5: no feedback stalls, feedback has a floor, EF21 has none (without noise).
  const ProblemSpec spec{.dimension = 20, .condition = 10, .spread = 3, .workers = 4};
  std::map<std::string, double> loss;
  for (const char* feedback : {"none", "error", "ef21"}) {
    auto problem = make_problem(spec);
    Learner learner(**problem, sgd(0.01),
                    way_of(std::string("synchronous+top-k,keep=0.1,feedback=") + feedback), {}, 4);
    stream_drawn({}, {.workers = 4, .steps = 20'000},
                 [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); });
    loss[feedback] = (*problem)->score(learner.parameters()).loss;
  }
  EXPECT_GT(loss["none"], 0.5);
  EXPECT_LT(loss["error"], 0.1 * loss["none"]);
  EXPECT_GT(loss["error"], 1e-6);
  EXPECT_LT(loss["ef21"], 1e-9);
}

TEST(Learner, ANumberThatIsNoneIsNamed) {
  Scalars problem({1}, {0}, 1);
  problem.poisoned = (7 * 4 + 2);  // worker 2 of 4, its step 7
  Learner learner(problem, sgd(0.1), {}, {}, 4);
  stream_drawn({}, {.workers = 4, .steps = 20},
               [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); });
  ASSERT_TRUE(learner.diverged());
  EXPECT_EQ(learner.diverged()->text(), "worker 2, step 7: x is not a number any more");
  EXPECT_EQ(learner.version(), 7);
}

TEST(Learner, WorkersComeAndGoWhileItLearns) {
  // One of four leaves, two join: the job goes on to the optimum of those who are there.
  Scalars problem({1, 1, 1, 1, 1, 1}, {9, 0, 0, 0, 0, 0}, 5);
  sync::Policy policy({}, 4);
  Learner learner(problem, sgd(0.1), {}, {}, 4);
  std::vector<int> released;
  const auto all = [&](std::initializer_list<int> workers, int steps) {
    for (int k = 0; k < steps; ++k)
      for (const int w : workers) {
        policy.delivered(w, released);
        for (const sync::StreamEvent& e : policy.events()) ASSERT_TRUE(learner.take(e));
      }
  };
  const auto take = [&] {
    for (const sync::StreamEvent& e : policy.events()) ASSERT_TRUE(learner.take(e));
  };
  all({0, 1, 2, 3}, 200);
  EXPECT_NEAR(learner.parameters()[0], 9.0 / 4, 1e-5);
  policy.left(0, released);
  take();
  all({1, 2, 3}, 200);
  EXPECT_NEAR(learner.parameters()[0], 0, 1e-5);
  EXPECT_EQ(policy.joined(released), 4);
  take();
  EXPECT_EQ(policy.joined(released), 5);
  take();
  all({1, 2, 3, 4, 5}, 100);
  EXPECT_EQ(learner.version(), 500);
  EXPECT_EQ(learner.samples(), 200 * 4 + 200 * 3 + 100 * 5);
}

TEST(Learner, DiscardedWorkIsCountedAndNotLearned) {
  Scalars problem({1}, {0}, 1);
  Learner learner(problem, sgd(0.01), way_of("bounded-discard,staleness=3"), {.samples = 2}, 8);
  std::int64_t discarded = 0, applied = 0;
  stream_drawn(way_of("bounded-discard,staleness=3").policy,
               {.workers = 8, .law = StepLaw::Lognormal, .cv = 0.3, .steps = 200},
               [&](const sync::StreamEvent& e, Seconds) {
                 if (e.kind == sync::StreamEvent::Kind::Delivered) ++(e.update.applied ? applied : discarded);
                 return learner.take(e);
               });
  EXPECT_EQ(learner.samples(), 2 * applied);
  EXPECT_EQ(learner.wasted_samples(), 2 * discarded);
  EXPECT_NEAR(static_cast<double>(discarded) / static_cast<double>(discarded + applied), 0.48,
              0.04);  // section 3
}

}  // namespace
}  // namespace cox::learn
