// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/regimes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "forecast/regimes/recipe.hpp"

namespace cox::forecast {
namespace {

using testing::recipe;

RegimeBoundary inside(std::int64_t ranks) {
  return {RegimeBoundary::Place::Inside, ranks};
}

const MovedBoundary& without(const TransitionBand& band, const std::string& mechanism) {
  for (const MovedBoundary& m : band.without)
    if (m.mechanism == mechanism) return m;
  static const MovedBoundary none;
  ADD_FAILURE() << mechanism;
  return none;
}

TEST(Regimes, AreNamedByTheirElasticity) {
  EXPECT_EQ(name_of(regime_of(1.0)), "linear");
  EXPECT_EQ(name_of(regime_of(0.95)), "linear");
  EXPECT_EQ(name_of(regime_of(0.7)), "sublinear");
  EXPECT_EQ(name_of(regime_of(0.1)), "post-linear");
  EXPECT_EQ(name_of(regime_of(-0.1)), "collapse");
}

// All four regimes between 8 and 8,192 nodes: 90, 2,723 and 4,116 by a computation of its own (see `recipe`).
TEST(Regimes, TheRecipeHasAllFour) {
  const Regimes r = regimes_of(recipe(), {.from = 8, .to = 65'536});
  EXPECT_NEAR(static_cast<double>(r.n1.value.ranks), 90, 1);
  EXPECT_NEAR(static_cast<double>(r.n2.value.ranks), 2'723, 4);
  EXPECT_NEAR(static_cast<double>(r.n_star.value.ranks), 4'116, 4);
  EXPECT_EQ(r.n1.because, "oversubscription");
  EXPECT_EQ(r.n2.because, "failures, their checkpoints and restarts");
  EXPECT_EQ(r.n_star.because, "failures, their checkpoints and restarts");
}

// Where the range ends before either of two is seen to move it most, both are named.
TEST(Regimes, WhatMovesABoundaryBeyondTheRangeIsNamedWithAllOthersThatDo) {
  const Regimes r = regimes_of(recipe(), {.from = 8, .to = 10'000});
  EXPECT_EQ(r.n_star.because, "failures, their checkpoints and restarts; or restarts that grow with the job");
}

// One mechanism off moves what it makes, and hardly what it does not.
TEST(Regimes, SwitchingAMechanismOffMovesItsBoundary) {
  const Regimes r = regimes_of(recipe(), {.from = 8, .to = 65'536});
  const auto near = [](const RegimeBoundary& b, double wanted, double part) {
    ASSERT_TRUE(b.inside());
    EXPECT_NEAR(static_cast<double>(b.ranks), wanted, wanted * part);
  };
  near(without(r.n1, "oversubscription").at, 339, 0.005);
  near(without(r.n2, "restarts that grow with the job").at, 8'800, 0.005);
  near(without(r.n_star, "restarts that grow with the job").at, 16'290, 0.005);
  near(without(r.n2, "failures, their checkpoints and restarts").at, 18'500, 0.005);
  near(without(r.n_star, "failures, their checkpoints and restarts").at, 32'200, 0.005);
  near(without(r.n1, "jitter").at, 1.2 * 90, 0.02);
  near(without(r.n2, "time-outs").at, 1.02 * 2'723, 0.005);
  near(without(r.n_star, "time-outs").at, 1.02 * 4'116, 0.005);
}

// A tail of index 1/2 doubles the step with every fourfold size, and throughput rises all the same; a boundary of
// tiers lets it fall once. Neither is called what lowers throughput.
TEST(Regimes, WhatFlattensIsNeverSaidToLower) {
  std::vector<StepTerm> terms;
  terms.push_back({{"heavy tail", Reach::Flattens}, [](std::int64_t n) {
                     const double t = 0.1 * std::sqrt(static_cast<double>(n));
                     return TimeAtSize{Seconds{t}, Seconds{t / 2}};
                   }});
  const Regimes tail = regimes_of(job_of(Seconds{1}, terms), {.from = 1, .to = 1 << 20});
  EXPECT_EQ(tail.n_star.value.place, RegimeBoundary::Place::Above);
  EXPECT_TRUE(tail.map.peaks.empty());
  EXPECT_TRUE(tail.n1.value.inside());
  EXPECT_EQ(tail.n1.because, "heavy tail");
  EXPECT_TRUE(tail.n_star.because.empty());
  ASSERT_EQ(tail.notes.size(), 1U);
  EXPECT_NE(tail.notes[0].find("nothing lowers throughput"), std::string::npos);

  terms.push_back({{"tier", Reach::Flattens}, [](std::int64_t n) {
                     return TimeAtSize{Seconds{n > 8 ? 5.0 : 0.0}, {}};
                   }});
  const Regimes tier = regimes_of(job_of(Seconds{1}, terms), {.from = 1, .to = 32});
  ASSERT_EQ(tier.map.peaks.size(), 1U);
  EXPECT_EQ(tier.map.peaks[0].ranks, 8);
  EXPECT_TRUE(tier.n_star.because.empty());
}

// Strong scaling: T = W / N + b ln N + c N is shortest at (-b + sqrt(b^2 + 4 c W)) / 2c, and logarithms do make it fall.
TEST(Regimes, StrongScalingFallsByAnyGrowth) {
  ScalingJob job{.mechanisms = {{"rounds", Reach::Flattens}, {"coordination", Reach::Lowers}}};
  job.at = [](std::int64_t ranks, MechanismSet on) {
    const auto n = static_cast<double>(ranks);
    const double b = (on & 1) != 0 ? 0.01 : 0;
    const double c = (on & 2) != 0 ? 2e-5 : 0;
    const double t = 300 / n + b * std::log(n) + c * n;
    return ThroughputPoint{300 / t, -(-300 / n + b + c * n) / t};
  };
  const Regimes r = regimes_of(job, {.from = 1, .to = 1 << 20}, false);
  EXPECT_EQ(r.n_star.value, inside(3'631));
  EXPECT_EQ(without(r.n_star, "coordination").at, inside(30'000));
  EXPECT_EQ(r.n_star.because, "coordination");
}

// Amdahl's and Gunther's constants: the peak is at sqrt((1 - sigma) / kappa).
TEST(Regimes, TheUniversalLawPeaksWhereItsFormulaSays) {
  ScalingJob job;
  job.at = [](std::int64_t ranks, MechanismSet) {
    const auto n = static_cast<double>(ranks);
    const double d = 1 + 0.03 * (n - 1) + 1e-4 * n * (n - 1);
    return ThroughputPoint{n / d, 1 - n * (0.03 + 1e-4 * (2 * n - 1)) / d};
  };
  const RegimeMap map = map_regimes(job, {.from = 1, .to = 1024});
  ASSERT_TRUE(map.n_star.inside());
  EXPECT_NEAR(static_cast<double>(map.n_star.ranks), 98.4886, 1);
  ASSERT_EQ(map.peaks.size(), 1U);
  EXPECT_NEAR(map.peaks[0].throughput, 20.1622, 1e-3);
}

// The same law where the range ends a rank to a third behind its peak, and begins just before it: the peak is in one of the
// outer cells, where no size looked at is higher than both beside it.
TEST(Regimes, APeakBetweenTheLastTwoSizesLookedAtIsInside) {
  ScalingJob job;
  job.at = [](std::int64_t ranks, MechanismSet) {
    const auto n = static_cast<double>(ranks);
    const double d = 1 + 0.03 * (n - 1) + 1e-4 * n * (n - 1);
    return ThroughputPoint{n / d, 1 - n * (0.03 + 1e-4 * (2 * n - 1)) / d};
  };
  for (const int per_doubling : {1, 2, 8})
    for (std::int64_t to = 99; to <= 140; ++to) {
      const Regimes r = regimes_of(job, {.from = 8, .to = to, .per_doubling = per_doubling});
      EXPECT_NEAR(static_cast<double>(r.n_star.value.ranks), 98.5, 0.5) << to;
      EXPECT_TRUE(r.n_star.value.inside()) << to;
      for (const std::string& note : r.notes) EXPECT_EQ(note.find("nothing lowers"), std::string::npos);
    }
  for (std::int64_t from = 70; from <= 98; ++from)
    EXPECT_NEAR(static_cast<double>(map_regimes(job, {.from = from, .to = 1024}).n_star.ranks), 98.5, 0.5);
  const Regimes before = regimes_of(job, {.from = 8, .to = 98});
  EXPECT_EQ(before.n_star.value.place, RegimeBoundary::Place::Above);
}

// What falls from the first size on is not said to be flattened only.
TEST(Regimes, WhereThroughputFallsFromTheStartNothingIsSaidToLetItRise) {
  ScalingJob job;
  job.at = [](std::int64_t ranks, MechanismSet) {
    return ThroughputPoint{1 / static_cast<double>(ranks), -1};
  };
  const Regimes r = regimes_of(job, {.from = 8, .to = 1024});
  EXPECT_EQ(r.n_star.value.place, RegimeBoundary::Place::Below);
  EXPECT_TRUE(r.notes.empty());
}

// Two tiers, two peaks: both told, and the first crossings of several.
TEST(Regimes, EveryPeakAndCrossingIsTold) {
  ScalingJob job;
  job.at = [](std::int64_t ranks, MechanismSet) {
    const double x = std::log(static_cast<double>(ranks));
    return ThroughputPoint{std::exp(x / 4 - std::cos(x)), 0.25 + std::sin(x)};
  };
  const Regimes r = regimes_of(job, {.from = 2, .to = 100'000});
  ASSERT_EQ(r.map.peaks.size(), 2U);
  EXPECT_NEAR(std::log(r.map.peaks[0].ranks), M_PI + std::asin(0.25), 0.03);
  EXPECT_EQ(r.n_star.value.ranks, r.map.peaks[1].ranks);
  EXPECT_EQ(r.notes.size(), 3U);
}

// A replicate without a crossing counts: half of these never reach it, so the band is open above.
TEST(Regimes, ReplicatesWithoutACrossingAreCountedNotDropped) {
  const auto usl = [](double kappa) {
    ScalingJob job;
    job.at = [kappa](std::int64_t ranks, MechanismSet) {
      const auto n = static_cast<double>(ranks);
      const double d = 1 + kappa * n * (n - 1);
      return ThroughputPoint{n / d, 1 - n * kappa * (2 * n - 1) / d};
    };
    return job;
  };
  std::vector<ScalingJob> replicates;
  replicates.reserve(20);
  for (int i = 0; i < 20; ++i) replicates.push_back(usl(i % 2 == 0 ? 1e-4 : 1e-9));
  const Regimes r = regimes_of(usl(1e-4), {.from = 1, .to = 1000}, true, replicates, 2);
  EXPECT_EQ(r.n_star.value.ranks, 100);
  EXPECT_EQ(r.n_star.low, inside(100));
  EXPECT_EQ(r.n_star.high.place, RegimeBoundary::Place::Above);
  EXPECT_DOUBLE_EQ(r.n_star.above, 0.5);
  EXPECT_EQ(r.replicates, 20);
  const Regimes same = regimes_of(usl(1e-4), {.from = 1, .to = 1000}, true, replicates, 1);
  EXPECT_EQ(same.n2.high, r.n2.high);
}

// Milliseconds for seconds: no regime moves, no ratio changes.
TEST(Regimes, AUnitChangesNothing) {
  const auto job = [](double unit) {
    std::vector<StepTerm> terms;
    terms.push_back({{"coordination", Reach::Lowers}, [unit](std::int64_t n) {
                       const double t = 1e-6 * unit * static_cast<double>(n * n);
                       return TimeAtSize{Seconds{t}, Seconds{2 * t}};
                     }});
    return regimes_of(job_of(Seconds{unit}, terms), {.from = 1, .to = 65'536});
  };
  const Regimes s = job(1);
  const Regimes ms = job(1000);
  EXPECT_EQ(s.n1.value, ms.n1.value);
  EXPECT_EQ(s.n_star.value, inside(1000));
  EXPECT_EQ(ms.n_star.value, inside(1000));
  EXPECT_NEAR(s.n_star.cost, ms.n_star.cost, 1e-12);
}

}  // namespace
}  // namespace cox::forecast
