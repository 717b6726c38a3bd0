// SPDX-License-Identifier: Apache-2.0
#include "train/run/step_forecast.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/random.hpp"

namespace cox::train {
namespace {

/// 1 s with noise of 10 %, that resembles itself by `likeness` from step to step.
std::vector<double> drawn(std::uint64_t seed, std::size_t steps, double likeness) {
  const RandomStream stream(seed, 1);
  std::vector<double> normals(steps);
  stream.normals(0, 0, normals);
  double at = normals[0];
  std::vector<double> times;
  for (const double n : normals) {
    at = likeness * at + std::sqrt(1 - likeness * likeness) * n;
    times.push_back(1 + 0.1 * at);
  }
  return times;
}

// Of 400 jobs of 600 steps, how often the mean of the rest is inside. Blocks of 11 know little of what holds on for 10 steps.
TEST(StepForecast, HoldsAsOftenAsItSays) {
  for (const auto& [likeness, least, most] : {std::tuple{0.0, 0.89, 0.98}, std::tuple{0.5, 0.84, 0.98}}) {
    int held = 0;
    constexpr int kJobs = 400;
    for (int job = 0; job < kJobs; ++job) {
      StepWatch watch(600);
      for (const double t : drawn(static_cast<std::uint64_t>(job), 600, likeness)) watch.took(Seconds{t});
      const auto said = watch.forecast();
      ASSERT_TRUE(said);
      EXPECT_EQ(said->from, 4);
      EXPECT_EQ(said->to, 123);
      EXPECT_EQ(said->rest, 477);
      held += said->held() ? 1 : 0;
    }
    EXPECT_GE(held, least * kJobs) << likeness;
    EXPECT_LE(held, most * kJobs) << likeness;
  }
}

TEST(StepForecast, ARestThatIsSlowerIsNotHeld) {
  StepWatch watch(300);
  for (int i = 0; i < 300; ++i) watch.took(Seconds{i < 100 ? 1.0 + 0.01 * (i % 7) : 1.2});
  const auto said = watch.forecast();
  ASSERT_TRUE(said);
  EXPECT_FALSE(said->held());
  EXPECT_NEAR(said->mean.count(), 1.03, 0.002);
  EXPECT_LT(said->high, Seconds{1.1});
  EXPECT_NEAR(said->measured.count(), (37 * 1.03 + 200 * 1.2) / 237, 0.003);
}

TEST(StepForecast, FewStepsSayNothing) {
  StepWatch few(kLeastForecastSteps - 1);
  for (int i = 0; i < 29; ++i) few.took(Seconds{1});
  EXPECT_FALSE(few.forecast());
  StepWatch stopped(100);
  for (int i = 0; i < 23; ++i) stopped.took(Seconds{1});
  EXPECT_FALSE(stopped.forecast()) << "nothing behind it";
  stopped.took(Seconds{1});
  EXPECT_TRUE(stopped.forecast());
}

}  // namespace
}  // namespace cox::train
