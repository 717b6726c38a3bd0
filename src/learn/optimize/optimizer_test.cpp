// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "cox/learn/optimize.hpp"

namespace cox::learn {
namespace {

const std::vector<Tensor> kTwo = {{.name = "w", .first = 0, .rows = 1, .columns = 2}};
constexpr double kClose = 2e-7;

/// Two weights after two steps; the gradient of each step is the same.
std::vector<float> after_two_steps(const OptimizerSpec& spec, const std::vector<Tensor>& tensors = kTwo) {
  Optimizer optimizer(spec, tensors);
  std::vector<float> x = {1, -2};
  const std::vector<float> g = {0.5F, 2};
  for (int i = 0; i < 2; ++i) optimizer.step(x, g);
  EXPECT_EQ(optimizer.steps(), 2);
  return x;
}

TEST(Optimizer, SgdSubtractsRateTimesGradient) {
  const auto x = after_two_steps({.kind = OptimizerKind::Sgd, .rate = 0.1});
  EXPECT_NEAR(x[0], 1 - 2 * 0.05, kClose);
  EXPECT_NEAR(x[1], -2 - 2 * 0.2, kClose);
}

TEST(Optimizer, CoupledDecayIsPartOfTheGradient) {
  const auto x = after_two_steps({.kind = OptimizerKind::Sgd, .rate = 0.1, .decay = 0.5});
  EXPECT_NEAR(x[0], (1 * 0.95 - 0.05) * 0.95 - 0.05, kClose);
  EXPECT_NEAR(x[1], (-2 * 0.95 - 0.2) * 0.95 - 0.2, kClose);
}

TEST(Optimizer, MomentumAddsUp) {
  const auto x = after_two_steps({.kind = OptimizerKind::Momentum, .rate = 0.1, .momentum = 0.9});
  EXPECT_NEAR(x[0], 1 - 0.1 * (0.5 + 0.95), kClose);  // v = 0.5, then 0.45 + 0.5
  EXPECT_NEAR(x[1], -2 - 0.1 * (2 + 3.8), kClose);
}

TEST(Optimizer, NesterovLooksAhead) {
  const auto x = after_two_steps({.kind = OptimizerKind::Nesterov, .rate = 0.1, .momentum = 0.9});
  EXPECT_NEAR(x[0], 1 - 0.1 * ((0.5 + 0.45) + (0.5 + 0.9 * 0.95)), kClose);
  EXPECT_NEAR(x[1], -2 - 0.1 * ((2 + 1.8) + (2 + 0.9 * 3.8)), kClose);
}

TEST(Optimizer, AdamTakesStepsOfTheRateWhileTheGradientStays) {
  const auto x = after_two_steps({.kind = OptimizerKind::Adam, .rate = 0.1});
  EXPECT_NEAR(x[0], 1 - 0.2, 1e-6);  // m / (1 - b1^t) = g and v / (1 - b2^t) = g^2, each step
  EXPECT_NEAR(x[1], -2 - 0.2, 1e-6);
}

TEST(Optimizer, AdamsMomentsForgetAtTheirOwnRates) {
  Optimizer optimizer({.kind = OptimizerKind::Adam, .rate = 1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.25},
                      kTwo);
  std::vector<float> x = {0, 0};
  optimizer.step(x, std::vector<float>{1, 2});
  EXPECT_NEAR(x[0], -1 / 1.25, kClose);
  EXPECT_NEAR(x[1], -2 / 2.25, kClose);
  optimizer.step(x, std::vector<float>{3, 0});
  const double m0 = (0.5 * 0.5 + 0.5 * 3) / 0.75;
  const double v0 = (0.75 * 0.25 + 0.25 * 9) / 0.4375;
  EXPECT_NEAR(x[0], -1 / 1.25 - m0 / (std::sqrt(v0) + 0.25), 1e-6);
  const double m1 = 0.5 * 1 / 0.75;
  const double v1 = 0.75 * 1 / 0.4375;
  EXPECT_NEAR(x[1], -2 / 2.25 - m1 / (std::sqrt(v1) + 0.25), 1e-6);
}

TEST(Optimizer, AdamAndAdamWDifferInWhereDecayGoes) {
  const auto coupled = after_two_steps({.kind = OptimizerKind::Adam, .rate = 0.1, .decay = 0.5});
  const auto decoupled = after_two_steps({.kind = OptimizerKind::AdamW, .rate = 0.1, .decay = 0.5});
  EXPECT_NEAR(coupled[0], 0.8, 1e-3);  // the direction's size is that of no decay
  EXPECT_NEAR(decoupled[0], (1 * 0.95 - 0.1) * 0.95 - 0.1, 1e-6);
  EXPECT_NEAR(decoupled[1], (-2 * 0.95 - 0.1) * 0.95 - 0.1, 1e-6);
}

TEST(Optimizer, LarsScalesByTheRatioOfNorms) {
  const OptimizerSpec spec{
      .kind = OptimizerKind::Lars, .rate = 2, .momentum = 0.9, .decay = 0.1, .trust = 0.01};
  Optimizer optimizer(spec, kTwo);
  std::vector<float> x = {3, 4};
  optimizer.step(x, std::vector<float>{0, 2});
  const double v = 2 * 0.01 * 5 / (2 + 0.1 * 5);  // |x| = 5, |g| = 2
  EXPECT_NEAR(x[0], 3 - v * 0.3, 1e-6);
  EXPECT_NEAR(x[1], 4 - v * 2.4, 1e-6);
}

TEST(Optimizer, LambScalesTheDirectionOfAdam) {
  const OptimizerSpec spec{.kind = OptimizerKind::Lamb, .rate = 0.1, .decay = 0.5};
  Optimizer optimizer(spec, kTwo);
  std::vector<float> x = {3, -4};
  optimizer.step(x, std::vector<float>{7, 1});
  const double r0 = 1 + 0.5 * 3;  // the first direction of Adam is the sign
  const double r1 = 1 - 0.5 * 4;
  const double q = 5 / std::hypot(r0, r1);
  EXPECT_NEAR(x[0], 3 - 0.1 * q * r0, 1e-6);
  EXPECT_NEAR(x[1], -4 - 0.1 * q * r1, 1e-6);
}

TEST(Optimizer, VectorsAndZeroNormsAreNotScaled) {
  const std::vector<Tensor> bias = {{.name = "b", .first = 0, .rows = 2, .columns = 1}};
  const auto lars =
      after_two_steps({.kind = OptimizerKind::Lars, .rate = 0.1, .momentum = 0, .decay = 0.5}, bias);
  EXPECT_NEAR(lars[0], 0.9, kClose);
  const auto lamb = after_two_steps({.kind = OptimizerKind::Lamb, .rate = 0.1, .decay = 0.5}, bias);
  EXPECT_NEAR(lamb[0], 0.8, 1e-6);
  for (const OptimizerKind kind : {OptimizerKind::Lars, OptimizerKind::Lamb}) {
    Optimizer optimizer({.kind = kind, .rate = 0.1}, kTwo);
    std::vector<float> x = {0, 0};
    optimizer.step(x, std::vector<float>{1, 1});
    EXPECT_NEAR(x[0], -0.1, 1e-6) << name_of(kind);
    x = {2, 2};
    optimizer.reset();
    optimizer.step(x, std::vector<float>{0, 0});
    EXPECT_EQ(x[0], 2) << name_of(kind);
  }
}

TEST(Optimizer, EachTensorHasItsOwnRatio) {
  const std::vector<Tensor> both = {{.name = "a", .first = 0, .rows = 1, .columns = 2},
                                    {.name = "b", .first = 2, .rows = 1, .columns = 2}};
  for (const OptimizerKind kind : {OptimizerKind::Lars, OptimizerKind::Lamb}) {
    Optimizer together({.kind = kind}, both);
    std::vector<float> x = {3, 4, 30, 40};
    together.step(x, std::vector<float>{1, 2, 5, 6});
    Optimizer alone({.kind = kind}, kTwo);
    std::vector<float> y = {30, 40};
    alone.step(y, std::vector<float>{5, 6});
    EXPECT_EQ(x[2], y[0]) << name_of(kind);
    EXPECT_EQ(x[3], y[1]) << name_of(kind);
  }
}

TEST(Optimizer, ClipsByNorm) {
  Optimizer optimizer({.kind = OptimizerKind::Sgd, .rate = 1, .clip = 1}, kTwo);
  std::vector<float> x = {0, 0};
  optimizer.step(x, std::vector<float>{3, 4});
  EXPECT_NEAR(x[0], -0.6, kClose);
  EXPECT_NEAR(x[1], -0.8, kClose);
  optimizer.step(x, std::vector<float>{0.3F, 0.4F});
  EXPECT_NEAR(x[0], -0.9, kClose);  // within the norm: as it is
}

TEST(Optimizer, FactorScalesTheRateAndResetForgets) {
  for (const OptimizerKind kind :
       {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Nesterov, OptimizerKind::Adam,
        OptimizerKind::AdamW, OptimizerKind::Lars, OptimizerKind::Lamb}) {
    const std::vector<float> g = {0.5F, 2};
    Optimizer whole({.kind = kind, .rate = 0.25, .decay = 0.125}, kTwo);
    Optimizer half({.kind = kind, .rate = 0.5, .decay = 0.125}, kTwo);
    std::vector<float> x = {1, -2};
    std::vector<float> y = x;
    whole.step(x, g);
    half.step(y, g, 0.5);
    EXPECT_EQ(x, y) << name_of(kind);
    whole.reset();
    EXPECT_EQ(whole.steps(), 0);
    y = {1, -2};
    whole.step(y, g);
    EXPECT_EQ(x, y) << name_of(kind);
  }
}

/// Split into two tensors at a block's end, elementwise kinds make the same bits.
TEST(Optimizer, SplittingElementwiseKindsChangesNoBit) {
  const std::vector<Tensor> whole = {{.name = "w", .first = 0, .rows = 1, .columns = 103}};
  const std::vector<Tensor> first = {{.name = "w", .first = 0, .rows = 1, .columns = 37}};
  const std::vector<Tensor> rest = {{.name = "w", .first = 0, .rows = 1, .columns = 66}};
  for (const OptimizerKind kind : {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Nesterov,
                                   OptimizerKind::Adam, OptimizerKind::AdamW}) {
    const OptimizerSpec spec{.kind = kind, .rate = 0.03, .decay = 0.01};
    Optimizer one(spec, whole);
    Optimizer a(spec, first);
    Optimizer b(spec, rest);
    std::vector<float> x(103);
    std::vector<float> g(103);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 7 - 5;
    std::vector<float> y = x;
    for (int t = 1; t < 5; ++t) {
      for (std::size_t i = 0; i < g.size(); ++i) g[i] = x[i] / static_cast<float>(t) + 0.3F;
      one.step(x, g);
      a.step(std::span(y).first(37), std::span(g).first(37));
      b.step(std::span(y).subspan(37), std::span(g).subspan(37));
    }
    EXPECT_EQ(x, y) << name_of(kind);
  }
}

}  // namespace
}  // namespace cox::learn
