// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"

#include "forecast/checkpoints/goodput.hpp"

namespace cox::forecast {
namespace {

using Minutes = std::chrono::duration<double, std::ratio<60>>;

TEST(Intervals, OfTwentyOneHoursAndFiveMinutes) {
  const Seconds c = Minutes{5}, m = Minutes{1260};
  EXPECT_NEAR(Minutes(young_interval(c, m)).count(), 112.2497, 1e-4);
  EXPECT_NEAR(Minutes(daly_interval(c, m)).count(), 108.9411, 1e-4);
  EXPECT_NEAR(Minutes(best_interval(c, m)).count(), 108.9414, 1e-4);
  EXPECT_NEAR(1 - 1 / wall_over_work(best_interval(c, m), c, {}, m), 0.086461, 1e-6);
  EXPECT_NEAR(wall_over_work(Minutes{100}, c, Minutes{10}, m), 1.103716, 1e-6);
}

TEST(Intervals, WasteOverTheSweep) {
  const double tau[] = {30, 60, 90, 112.25, 180, 240, 360};
  const double of_wall[] = {15.47, 10.05, 8.79, 8.65, 9.67, 11.26, 14.97};
  for (int i = 0; i < 7; ++i)
    EXPECT_NEAR(100 * (1 - 1 / wall_over_work(Minutes{tau[i]}, Minutes{5}, {}, Minutes{1260})), of_wall[i],
                0.005);
}

TEST(Intervals, ThePlaceOfLeastCostIsFoundByAnySearch) {
  for (const double c : {1e-6, 1e-3, 0.1, 1.0, 10.0}) {
    const Seconds m{1000}, checkpoint{1000 * c};
    const Seconds exact = best_interval(checkpoint, m);
    const Seconds searched = least_cost(exact / 30, std::min(exact * 30, m * 50),
                                        [&](Seconds t) { return wall_over_work(t, checkpoint, {}, m); });
    EXPECT_NEAR(searched / exact, 1, 1e-5) << c;
  }
}

TEST(Intervals, RestartsOfAnyLengthLeaveTheOptimumWhereItIs) {
  const Seconds c = Minutes{5}, m = Minutes{1260};
  for (const double r : {0.0, 10.0, 30.0, 300.0}) {
    const Seconds best = least_cost(Minutes{20}, Minutes{1000},
                                    [&](Seconds t) { return wall_over_work(t, c, Minutes{r}, m); });
    EXPECT_NEAR(best / best_interval(c, m), 1, 1e-5) << r;
  }
}

TEST(Intervals, WeibullLives) {
  const Seconds c = Minutes{5}, m = Minutes{1260};
  EXPECT_NEAR(wall_over_work(Minutes{110}, c, Minutes{10}, m, weibull_survival(m, 0.7)), 1.10002, 1e-5);
  EXPECT_NEAR(wall_over_work(Minutes{100}, c, Minutes{10}, m, weibull_survival(m, 1)),
              wall_over_work(Minutes{100}, c, Minutes{10}, m), 1e-10);
  const double shapes[] = {1, 0.8, 0.7, 0.5};
  const double restarts[] = {10, 60};
  const double best[2][4] = {{108.9, 111.7, 114.3, 125.6}, {108.9, 113.0, 116.6, 130.6}};
  for (int r = 0; r < 2; ++r)
    for (int k = 0; k < 4; ++k) {
      const Survival lives = weibull_survival(m, shapes[k]);
      const Seconds found = least_cost(Minutes{50}, Minutes{400}, [&](Seconds t) {
        return wall_over_work(t, c, Minutes{restarts[r]}, m, lives);
      });
      EXPECT_NEAR(Minutes(found).count(), best[r][k], 0.1) << shapes[k] << ' ' << restarts[r];
    }
}

TEST(Intervals, ASimulationOfWeibullLivesAgrees) {
  // Each life: a restart, then as many intervals with their checkpoint as fit.
  const double m = 1260, c = 5, r = 10, tau = 110, shape = 0.7;
  const double scale = m / std::tgamma(1 + 1 / shape);
  const RandomStream random(7, 1);
  Welford lives, kept;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const double life = scale * std::pow(-std::log(random.uniform(i, 0)), 1 / shape);
    lives.add(life);
    kept.add(std::max(std::floor((life - r) / (tau + c)), 0.0) * tau);
  }
  const double law =
      wall_over_work(Minutes{tau}, Minutes{c}, Minutes{r}, Minutes{m}, weibull_survival(Minutes{m}, shape));
  const double relative = kept.stddev() / kept.mean() / std::sqrt(200'000.0);
  EXPECT_NEAR(lives.mean() / kept.mean(), law, 3 * law * relative);
}

}  // namespace
}  // namespace cox::forecast
