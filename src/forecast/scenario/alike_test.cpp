// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/alike.hpp"

#include <gtest/gtest.h>

#include "forecast/law/maximum.hpp"
#include "forecast/scenario/law_through.hpp"

namespace cox::forecast {
namespace {

PositionParts position(const char* name, double level, const Law& residual) {
  PositionParts p;
  p.name = name;
  p.level.value = Seconds{level};
  p.residual = residual.plus(-residual.mean());
  p.residual_sd.value = residual.deviation();
  return p;
}

TEST(Alike, TheSlowestOfTheMeanLawIsTheMeanOfTheSlowest) {
  Parts parts;
  parts.positions = {position("a", 10, Law::exponential(Seconds{1})),
                     position("b", 4, Law::normal(Seconds{5}, Seconds{0.5})),
                     position("c", 6, Law::lognormal(Seconds{2}, 0.6))};
  const AlikeStep step = alike_step(parts);
  ASSERT_EQ(step.times, 3);
  ASSERT_EQ(step.roles.size(), 1U);
  EXPECT_NEAR(step.roles[0].level.value.count(), 20.0 / 3, 1e-12);
  for (const std::int64_t n : {1, 64, 4096, 1'048'576}) {
    double apart = 0;
    for (const PositionParts& p : parts.positions) apart += Maximum({.own = p.residual}, n).mean().count();
    EXPECT_NEAR(3 * Maximum({.own = step.roles[0].residual}, n).mean().count(), apart, 0.005 * (1 + apart))
        << n;
  }
}

TEST(Alike, WhatIsHardlyWorkIsComputeOfItsRole) {
  Parts parts;
  parts.positions = {position("a", 10, Law::normal(Seconds{}, Seconds{1})), position("b", 0.1, Law())};
  const AlikeStep step = alike_step(parts);
  EXPECT_EQ(step.times, 1);
  EXPECT_NEAR(step.roles[0].level.value.count(), 10.1, 1e-12);
}

TEST(Alike, RolesStayApart) {
  Parts parts;
  parts.positions = {position("", 10, Law()), position("", 7, Law())};
  parts.positions[1].role = 1;
  const AlikeStep step = alike_step(parts);
  EXPECT_EQ(step.times, 1);
  ASSERT_EQ(step.roles.size(), 2U);
  EXPECT_EQ(step.roles[1].level.value, Seconds{7});
}

TEST(LawThrough, TheQuantilesOfALawGiveItBack) {
  for (const Law& law :
       {Law::exponential(Seconds{1}), Law::normal(Seconds{3}, Seconds{1}), Law::pareto(Seconds{1}, 3)}) {
    const Law through =
        law_through([&](double p) { return law.upper_quantile(std::max(p, 1e-12)); }, 400, 0.01).law;
    EXPECT_NEAR(through.mean() / law.mean(), 1, 0.003);
    for (const double p : {0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-6})
      EXPECT_NEAR(through.upper_quantile(p) / law.upper_quantile(p), 1, 0.01) << p;
  }
}

}  // namespace
}  // namespace cox::forecast
