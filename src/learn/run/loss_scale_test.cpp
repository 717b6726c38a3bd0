// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/loss_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/learn/drawn.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/number_format.hpp"

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

TEST(LossScale, GoesOnWhereItWas) {
  const LossScaleSpec spec{.factor = 1024, .dynamic = true, .growth_interval = 3};
  LossScale whole(spec), begun(spec);
  for (const bool over : {true, false, false}) {
    whole.end_step(over);
    begun.end_step(over);
  }
  LossScale rest(spec);
  rest.go_on(begun.state());
  for (const bool over : {false, false, true, false, false, false}) {
    EXPECT_EQ(rest.end_step(over), whole.end_step(over));
    EXPECT_EQ(rest.state(), whole.state());
  }
  EXPECT_EQ(rest.skipped(), 2);
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

/// Gradients of `size` wherever parameters are, and where they were asked for.
class Steady final : public Problem {
 public:
  explicit Steady(float size) : size_(size) {}
  std::span<const Tensor> tensors() const override { return tensors_; }
  void initial(std::span<float> x) const override { x[0] = 1; }
  double gradient(std::span<const float> x, const Shard&, std::span<float> g) override {
    asked.push_back(x[0]);
    g[0] = size_;
    return 0;
  }
  Score score(std::span<const float> x) override { return {.loss = static_cast<double>(x[0])}; }
  Flops flops() const override { return Flops{1}; }
  std::vector<float> asked;

 private:
  float size_;
  std::vector<Tensor> tensors_{{.name = "a", .rows = 1}};
};

// In BF16 1 - 0.001 is 1: without a master copy nothing would ever move. Gradients are asked for at its rounded values.
TEST(MixedPrecision, SmallStepsAreKeptByTheMasterCopy) {
  for (const NumberFormat format : {NumberFormat::Bf16, NumberFormat::Fp16}) {
    Steady problem(0.001F);
    const Ended run = ended(problem, "synchronous+" + std::string(name_of(format)) + ",master=yes", 100);
    const float each = decode(format, encode(format, 0.001F));
    EXPECT_NEAR(run.x[0], 1 - 100 * each, 1e-5);
    ASSERT_EQ(problem.asked.size(), 400U);
    EXPECT_EQ(problem.asked[4], decode(format, encode(format, 1 - each)));
    for (const float x : problem.asked) EXPECT_EQ(x, decode(format, encode(format, x)));
  }
}

// Between 512 and 1,024 BF16 has every fourth number: sums are rounded at each addition, the mean is taken of the last.
TEST(MixedPrecision, SumsAreRoundedAtEachAddition) {
  Burst problem(
      255);  // of the last parameter 255, 255, 255, 100: 510 and 355, which is 356; 866, which is 864
  problem.loud = 3;
  const Ended run = ended(problem, "synchronous+bf16,master=yes", 1);
  EXPECT_EQ(run.x[0], -255);
  EXPECT_EQ(run.x[2], -864.0F / 4);
}

TEST(MixedPrecision, AnOverflowIsSeenOfTheSumAndSkippedByAll) {
  Burst problem(8);
  problem.loud = 4 * 3 + 2;  // worker 2, step 3: 100 x 1024 is beyond FP16, 8 x 1024 x 4 is not
  const Ended run = ended(problem, "synchronous+fp16,master=yes,loss-scale=1024", 10);
  EXPECT_EQ(run.x, std::vector<float>(3, -9 * 8.0F));
  EXPECT_EQ(run.scaled.skipped, 1);
  ASSERT_TRUE(run.scaled.last_overflow);
  EXPECT_EQ(run.scaled.last_overflow->place(), "worker 2, step 3, b");
  const Ended sums = ended(problem, "synchronous+fp16,master=yes,loss-scale=4096", 10);  // 8 x 4096 x 4
  EXPECT_EQ(sums.scaled.skipped, 10);
  EXPECT_EQ(sums.x, std::vector<float>(3, 0));
}

TEST(MixedPrecision, BelongsToTwoBytesAndToGradients) {
  for (const char* fine : {"synchronous+bf16,master=yes", "synchronous+fp16,master=yes,dynamic=yes",
                           "asynchronous+bf16,master=yes", "synchronous+bf16,master=no"})
    EXPECT_TRUE(read_way(fine)) << fine;
  for (const char* wrong :
       {"synchronous+e5m2,master=yes", "synchronous+top-k,master=yes",
        "synchronous+bf16,master=yes,feedback=error", "synchronous+bf16,master=yes,loss-scale=8",
        "local-sgd,local-steps=4+bf16,master=yes", "gossip-ring+bf16,master=yes"}) {
    const auto read = read_way(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().id, "learn-001");
  }
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
