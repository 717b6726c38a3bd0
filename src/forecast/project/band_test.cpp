// SPDX-License-Identifier: Apache-2.0
// Properties of bands from a sample to another size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/base/stats.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/project/project.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

using test::KnownJob;
using test::sample_of;

SizePoint point_of(const Sample& sample, std::int64_t ranks) {
  ProjectOptions options;
  options.replicates = 60;
  return project(calibrate(sample).value(), {ranks}, options).points.at(0);
}

double width_of(const Sample& sample, std::int64_t ranks) {
  const SizePoint at = point_of(sample, ranks);
  return (at.mean.high - at.mean.low).count();
}

std::vector<KnownJob> jobs() {
  return {{.residual = 2},
          {.node_step = 2, .residual = 1, .correlation = 0.5},
          {.rank = 1, .node = 1, .residual = 1}};
}

TEST(Band, MoreStepsDoNotWidenItBeyondChance) {
  for (const KnownJob& job : jobs()) {
    std::vector<double> ratios;
    for (std::uint64_t seed = 0; seed < 7; ++seed) {
      ratios.push_back(width_of(sample_of(job, 8, 4, 1200, seed), 1024) /
                       width_of(sample_of(job, 8, 4, 300, seed), 1024));
    }
    EXPECT_LE(median(ratios), 1.1) << job.rank;
  }
}

TEST(Band, HalfTheStepsDoNotNarrowItBeyondChance) {
  // The median of 25 ratios; bench/forecast_accuracy --properties has 100.
  for (const KnownJob& job : jobs()) {
    std::vector<double> ratios;
    for (std::uint64_t seed = 0; seed < 25; ++seed)
      ratios.push_back(width_of(sample_of(job, 4, 4, 100, seed), 256) /
                       width_of(sample_of(job, 4, 4, 200, seed), 256));
    EXPECT_GE(median(ratios), 0.95) << job.rank;
  }
}

TEST(Band, MillisecondsChangeNoRatio) {
  for (const KnownJob& job : jobs()) {
    Sample scaled = sample_of(job, 4, 4, 200, 1);
    for (Seconds& x : scaled.positions[0].own) x *= 1e-3;
    for (SampleStep& s : scaled.steps) s.length *= 1e-3;
    const SizePoint s = point_of(sample_of(job, 4, 4, 200, 1), 256);
    const SizePoint ms = point_of(scaled, 256);
    EXPECT_NEAR(ms.mean.low / s.mean.low, 1e-3, 1e-8);
    EXPECT_NEAR(ms.mean.high / s.mean.high, 1e-3, 1e-8);
    EXPECT_NEAR(ms.p99.high / s.p99.high, 1e-3, 1e-8);
    EXPECT_NEAR(ms.elasticity, s.elasticity, 1e-6);
    EXPECT_EQ(ms.refused.empty(), s.refused.empty());
  }
}

TEST(Band, GrowthThatOneSizeDoesNotShowIsInItBeyondThatSize) {
  const Parts parts = calibrate(sample_of({.residual = 1}, 4, 4, 200, 1)).value();
  const Projection told = project(parts, {16, 64}, {.replicates = 60});
  const Projection unseen =
      project(parts, {16, 64}, {.growth = {.usual = 0.02, .most = 0.5}, .replicates = 60});
  EXPECT_EQ(unseen.points[0].mean.high, told.points[0].mean.high) << "at its own size nothing grows";
  EXPECT_EQ(unseen.points[1].mean.value, told.points[1].mean.value);
  EXPECT_EQ(unseen.points[1].mean.low, told.points[1].mean.low) << "there may be no growth";
  // 95 of 100 powers are below 0.06, and below 0.475.
  const double mean = told.points[1].mean.value.count();
  EXPECT_NEAR(unseen.points[1].mean.high.count() / mean, std::pow(4, 0.06), 0.03);
  EXPECT_NEAR(unseen.points[1].with_shared.high.count() / mean, std::pow(4, 0.475), 0.1);
  EXPECT_EQ(unseen.points[1].without_growth.low, told.points[1].mean.low);
  EXPECT_EQ(unseen.points[1].without_growth.high, told.points[1].mean.high);
  EXPECT_EQ(told.points[1].with_shared.high.count(), 0);
  EXPECT_EQ(told.points[1].without_growth.high.count(), 0);
}

TEST(Band, MoreNodesMakeWhatLastsSurer) {
  std::vector<double> ratios;
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    const KnownJob job = {.rank = 1, .node = 2, .residual = 1};
    ratios.push_back(width_of(sample_of(job, 16, 4, 200, seed), 4096) /
                     width_of(sample_of(job, 4, 4, 200, seed), 4096));
  }
  EXPECT_LT(median(ratios), 0.8);
}

TEST(Band, ALargerSizeIsNoSurer) {
  for (const KnownJob& job : jobs()) {
    const Parts parts = calibrate(sample_of(job, 8, 4, 400, 1)).value();
    const Projection p = project(parts, {64, 128, 256, 512, 1024, 2048, 4096, 8192});
    for (std::size_t i = 1; i < p.points.size(); ++i) {
      EXPECT_GE((p.points[i].mean.high - p.points[i].mean.low).count(),
                0.98 * (p.points[i - 1].mean.high - p.points[i - 1].mean.low).count())
          << p.points[i].ranks;
    }
  }
}

TEST(Band, TheSizeThatWasSeenComesBack) {
  // The sample's own mean step: 7 and the slowest of 32.
  for (const KnownJob& job : jobs()) {
    const Sample sample = sample_of(job, 8, 4, 1000, 3);
    double mean = 0;
    for (const SampleStep& step : sample.steps) mean += step.length.count() / 1000;
    EXPECT_NEAR(point_of(sample, 32).mean.value.count(), mean, 0.01 * mean);
  }
}

TEST(Band, OfConstantTimesHasNoWidth) {
  const SizePoint at = point_of(sample_of({.residual = 0}, 4, 4, 50, 1), 4096);
  EXPECT_EQ(at.mean.value, at.median.value);
  EXPECT_LE((at.p999.high - at.p999.low).count(),
            7 * 1.001);  // communication alone: at most twice what was seen
  EXPECT_NEAR(at.p999.value.count(), 107, 1e-9);
  EXPECT_NEAR(at.cv, 0, 1e-9);
}

TEST(Band, SizesBelowTheMeasuredOneAreAnswered) {
  const SizePoint at = point_of(sample_of({.residual = 2}, 8, 4, 500, 2), 1);
  EXPECT_NEAR(at.mean.value.count(), 107, 0.5);
  EXPECT_TRUE(at.refused.empty()) << at.refused;
}

TEST(Band, SeveralSizesOfOneJobForetellTheNext) {
  // A resource that all share: 1.9 a rank.
  std::vector<Sample> samples;
  for (const int ranks : {4, 8, 16}) {
    Sample s = sample_of({.rank = 0.5, .residual = 2}, 1, ranks, 400, 7);
    for (Seconds& x : s.positions[0].own) x += Seconds{1.9 * ranks};
    for (SampleStep& step : s.steps) step.length += Seconds{1.9 * ranks};
    samples.push_back(std::move(s));
  }
  const Sample truth = sample_of({.rank = 0.5, .residual = 2}, 1, 64, 400, 8);
  double mean = 1.9 * 64;
  for (const SampleStep& step : truth.steps) mean += step.length.count() / 400;
  const SizePoint at = project(calibrate(samples).value(), {64}).points.at(0);
  EXPECT_NEAR(at.mean.value.count(), mean, 0.03 * mean);
  EXPECT_LE(at.mean.low.count(), mean);
  EXPECT_GE(at.mean.high.count(), mean);
}

}  // namespace
}  // namespace cox::forecast
