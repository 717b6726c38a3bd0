// SPDX-License-Identifier: Apache-2.0
#include "learn/run/loss_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"

#include "learn/compress/number_format.hpp"

namespace cox::learn {
namespace {

TEST(LossScale, HalvesAtAnOverflowAndDoublesAfterAnInterval) {
  LossScale scale({.factor = 1024, .dynamic = true, .growth_interval = 3});
  EXPECT_FALSE(scale.end_step(true));
  EXPECT_EQ(scale.factor(), 512);
  EXPECT_TRUE(scale.end_step(false));
  EXPECT_TRUE(scale.end_step(false));
  EXPECT_FALSE(scale.end_step(true));  // the row is broken
  EXPECT_EQ(scale.factor(), 256);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(scale.end_step(false));
  EXPECT_EQ(scale.factor(), 512);
  EXPECT_EQ(scale.skipped(), 2);
}

TEST(LossScale, AFixedOneStaysAndSkips) {
  LossScale scale({.factor = 8, .growth_interval = 1});
  EXPECT_FALSE(scale.end_step(true));
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(scale.end_step(false));
  EXPECT_EQ(scale.factor(), 8);
}

TEST(LossScale, HasBounds) {
  LossScale low({.factor = 1, .dynamic = true});
  for (int i = 0; i < 100; ++i) low.end_step(true);
  EXPECT_EQ(low.factor(), std::ldexp(1.0F, -24));
  LossScale high({.factor = 65536, .dynamic = true, .growth_interval = 1});
  for (int i = 0; i < 100; ++i) high.end_step(false);
  EXPECT_EQ(high.factor(), std::ldexp(1.0F, 24));
}

// Shares of a lognormal law outside FP16's range, in closed form: Phi of (ln bound - mu) / sigma.
TEST(LossScale, SharesOfALawOutsideTheRange) {
  const auto phi = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  const RandomStream random(3, 7);
  const auto measured = [&](double mu, double sigma, float scale, bool over) {
    int hits = 0;
    const int draws = 100'000;
    for (int i = 0; i < draws; ++i) {
      const auto x =
          static_cast<float>(std::exp(mu + sigma * random.normal(0, static_cast<std::uint64_t>(i))));
      const float y = decode(NumberFormat::Fp16, encode(NumberFormat::Fp16, x * scale));
      hits += over ? std::isinf(y) : y < 0x1p-14F;
    }
    return static_cast<double>(hits) / draws;
  };
  struct {
    double mu, sigma;
    float scale;
    bool over;
    double share;
  } rows[] = {{0, 1, 32768, true, 0.244},
              {0, 1, 1 << 20, true, 0.997},
              {-14, 2, 1, false, 0.984},
              {-14, 2, 32768, false, 0.0011}};
  for (const auto& r : rows) {
    const double bound = r.over ? 65520.0 : 0x1p-14;
    const double z = (std::log(bound / static_cast<double>(r.scale)) - r.mu) / r.sigma;
    const double exact = r.over ? 1 - phi(z) : phi(z);
    EXPECT_NEAR(exact, r.share, 0.02 * r.share + 0.00003);
    EXPECT_NEAR(measured(r.mu, r.sigma, r.scale, r.over), exact, 4 * std::sqrt(exact / 100'000));
  }
}

/// Gradients of `size` on all of three parameters, but for one worker in one of its steps.
class Burst final : public Problem {
 public:
  explicit Burst(float size) : size_(size) {}
  std::span<const Tensor> tensors() const override { return tensors_; }
  void initial(std::span<float> x) const override { std::fill(x.begin(), x.end(), 0.0F); }
  double gradient(std::span<const float>, const Shard& shard, std::span<float> g) override {
    std::fill(g.begin(), g.end(), size_);
    if (shard.first == loud) g[2] = 100;
    return 0;
  }
  Score score(std::span<const float> x) override { return {.loss = static_cast<double>(x[0])}; }
  Flops flops() const override { return Flops{1}; }
  std::int64_t loud = -1;  ///< sample

 private:
  float size_;
  std::vector<Tensor> tensors_{{.name = "a", .rows = 2}, {.name = "b", .first = 2}};
};

struct Ended {
  std::vector<float> x;
  ScaledSteps scaled;
};
Ended ended(Problem& problem, const std::string& policy, int steps) {
  const auto way = read_way(policy);
  EXPECT_TRUE(way) << policy << ' ' << (way ? "" : way.error().to_string());
  Learner learner(problem, {.rate = 1}, *way, {}, 4);
  stream_drawn(way->policy, {.workers = 4, .steps = steps},
               [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); });
  EXPECT_EQ(learner.version(), steps);
  return {{learner.parameters().begin(), learner.parameters().end()}, learner.scaled_steps()};
}

TEST(LossScale, OneOverflowIsSkippedByAllAndNamed) {
  Burst problem(0.5F);
  problem.loud = 4 * 3 + 2;  // worker 2, step 3
  const Ended run = ended(problem, "synchronous+fp16,loss-scale=4096", 10);
  EXPECT_EQ(run.x, std::vector<float>(3, -9 * 0.5F));
  EXPECT_EQ(run.scaled.skipped, 1);
  ASSERT_TRUE(run.scaled.last_overflow);
  EXPECT_EQ(run.scaled.last_overflow->worker, 2);
  EXPECT_EQ(run.scaled.last_overflow->step, 3);
  EXPECT_EQ(run.scaled.last_overflow->tensor, "b");
  EXPECT_EQ(run.scaled.factor, 4096);
  const Ended moving = ended(problem, "synchronous+fp16,loss-scale=4096,dynamic=yes", 10);
  EXPECT_EQ(moving.scaled.factor, 2048);
  EXPECT_EQ(moving.x, run.x);
}

TEST(LossScale, WithoutItTheSumIsSpoiled) {
  Burst problem(1e5F);
  const auto way = read_way("synchronous+fp16");
  Learner learner(problem, {.rate = 1}, *way, {}, 4);
  stream_drawn(way->policy, {.workers = 4, .steps = 10},
               [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); });
  EXPECT_FALSE(std::isfinite(learner.parameters()[0]));
}

TEST(LossScale, SmallGradientsVanishWithoutIt) {
  Burst problem(1e-8F);
  const Ended plain = ended(problem, "synchronous+fp16,loss-scale=1", 10);
  EXPECT_EQ(plain.x[0], 0);
  EXPECT_EQ(plain.scaled.vanished, 1);
  const Ended scaled = ended(problem, "synchronous+fp16,loss-scale=65536", 10);
  EXPECT_NEAR(scaled.x[0], -1e-7, 1e-9);
  EXPECT_EQ(scaled.scaled.vanished, 0);
}

TEST(LossScale, APowerOfTwoChangesNoBitsInsideTheRange) {
  const auto run = [](const char* policy) {
    const auto problem =
        make_problem({.kind = ProblemKind::Mlp, .dimension = 8, .hidden = 16, .held_out = 50});
    const auto way = read_way(policy);
    EXPECT_TRUE(problem && way);
    Learner learner(**problem, {.rate = 0.5}, *way, {.samples = 8}, 4);
    stream_drawn(way->policy, {.workers = 4, .steps = 30},
                 [&](const sync::StreamEvent& e, Seconds) { return learner.take(e); });
    return std::vector<float>(learner.parameters().begin(), learner.parameters().end());
  };
  EXPECT_EQ(run("synchronous+fp16,loss-scale=2048"), run("synchronous+fp16,loss-scale=8192"));
}

TEST(LossScale, BelongsToGradientsInFp16) {
  EXPECT_FALSE(read_way("synchronous+bf16,loss-scale=2"));
  EXPECT_FALSE(read_way("synchronous+fp16,loss-scale=0"));
  EXPECT_FALSE(read_way("synchronous+fp16,loss-scale=3"));  // no power of two
  EXPECT_FALSE(read_way("synchronous+fp16,growth-interval=5"));
  EXPECT_FALSE(read_way("synchronous+fp16,loss-scale=8,feedback=error"));
  EXPECT_FALSE(read_way("local-sgd,local-steps=4+fp16,loss-scale=8"));
  const auto way = read_way("asynchronous+fp16,dynamic=yes");
  ASSERT_TRUE(way);
  ASSERT_TRUE(way->compressor.loss_scale);
  EXPECT_EQ(way->compressor.loss_scale->factor, 65536);
}

}  // namespace
}  // namespace cox::learn
